/** The days that the agent is given: a few records each, with some of what can be wrong. */
import type { Random } from "../../../src/core/random.ts";
import { columnsOf, type Spec } from "./spec.ts";

export interface Given {
  /** Text by file name. */
  readonly files: Readonly<Record<string, string>>;
  readonly reference: string;
}

const HOUR_MS = 3_600_000;

export function drawGiven(random: Random, spec: Spec, days: number): Given {
  const { world } = spec;
  const first = Date.UTC(2024, random.integer(0, 11), random.integer(1, 20));
  const keys: string[] = [];
  const files = Array.from({ length: days }, (_, index) => {
    const start = first + index * 24 * HOUR_MS;
    const day = new Date(start).toISOString().slice(0, 10);
    const isCsv = spec.format === "csv" || (spec.format === "mixed" && Number(day.slice(-2)) % 2 === 1);
    const one = random.fork(day);
    const lines = Array.from({ length: one.integer(9, 14) }, () => recordOf(one, spec, start, keys)).map((fields) =>
      lineOf(spec, fields, isCsv),
    );
    lines.splice(one.integer(2, lines.length), 0, isCsv ? "not a record" : '{"note": "not a record"}');
    const head = isCsv ? [columnsOf(world).join(spec.delimiter)] : [];
    return [`${day}.${isCsv ? "csv" : "jsonl"}`, `${[...head, ...lines].join("\n")}\n`] as const;
  });
  const areas = random.fork("areas");
  const rows = world.groups.slice(0, -1).map((name) => `${name},${areas.pick(world.areas)}`);
  return {
    files: Object.fromEntries(files),
    reference: `${[`${world.group},${world.area}`, ...rows].join("\n")}\n`,
  };
}

function recordOf(random: Random, spec: Spec, start: number, keys: string[]): readonly string[] {
  const { world } = spec;
  const isAgain = keys.length > 0 && random.float() < 0.1;
  const key = isAgain ? random.pick(keys) : `${world.keyPrefix}${random.integer(1_000, 999_999)}`;
  keys.push(key);
  const isOdd = random.float() < 0.06;
  return [
    key,
    random.pick(world.groups),
    whenText(random, spec, start + random.integer(0, 24 * 60 - 1) * 60_000),
    isOdd ? random.pick(["", "n/a", "1.234.5"]) : amountText(random, spec, random.integer(-500, 40_000)),
    String(random.integer(1, 5)),
    random.pick([...world.notes, `north${spec.delimiter} south`, 'marked "late"']),
  ];
}

function whenText(random: Random, { when, aheadHours }: Spec, ms: number): string {
  const text = (ahead: number): string => new Date(ms + ahead * HOUR_MS).toISOString();
  if (when === "epoch") return String(ms / 1_000);
  if (when === "local") {
    const [date = "", time = ""] = text(aheadHours).split("T");
    return `${date.split("-").reverse().join(".")} ${time.slice(0, 5)}`;
  }
  const ahead = random.pick([0, 1, 2, 5, -4]);
  if (ahead === 0) return text(0).replace(".000", "");
  const offset = `${ahead < 0 ? "-" : "+"}${String(Math.abs(ahead)).padStart(2, "0")}:00`;
  return text(ahead).replace(".000Z", offset);
}

function amountText(random: Random, { amount, world }: Spec, hundredths: number): string {
  if (amount === "unit" && random.float() < 0.4) return `${hundredths} ${world.part}`;
  const sign = hundredths < 0 ? "-" : "";
  const size = Math.abs(hundredths);
  const rest = String(size % 100).padStart(2, "0");
  const text = `${sign}${Math.floor(size / 100)}${amount === "comma" ? "," : "."}${rest}`;
  return amount === "unit" ? `${text} ${world.unit}` : text;
}

function lineOf({ world, delimiter }: Spec, fields: readonly string[], isCsv: boolean): string {
  if (!isCsv) return JSON.stringify(Object.fromEntries(columnsOf(world).map((name, index) => [name, fields[index]])));
  const quoted = fields.map((field) =>
    field.includes(delimiter) || field.includes('"') ? `"${field.replaceAll('"', '""')}"` : field,
  );
  return quoted.join(delimiter);
}
