/** What a pipeline has to do: the world its data are of, how they are written, and which reading of each rule holds. */
import type { Random } from "../../../src/core/random.ts";

export interface World {
  readonly id: string;
  /** One record of it, after "a". */
  readonly thing: string;
  readonly things: string;
  /** Names of the columns. */
  readonly key: string;
  readonly group: string;
  readonly amount: string;
  readonly when: string;
  readonly area: string;
  /** Prefixes of keys and groups. */
  readonly keyPrefix: string;
  readonly groups: readonly string[];
  readonly areas: readonly string[];
  /** A whole unit, and the hundredth part of it. */
  readonly unit: string;
  readonly part: string;
  readonly notes: readonly string[];
}

export type Format = "csv" | "jsonl" | "mixed";
export type When = "offset" | "epoch" | "local";
export type Amount = "point" | "comma" | "unit";
export type Duplicates = "latest" | "first" | "conflict";
export type Unknown = "reject" | "keep";
export type Extra = "highest" | "median" | "different" | "latest";

export interface Spec {
  readonly world: World;
  readonly format: Format;
  readonly delimiter: "," | ";" | "|";
  readonly when: When;
  /** Hours that local times are ahead of UTC. */
  readonly aheadHours: number;
  readonly amount: Amount;
  readonly duplicates: Duplicates;
  readonly unknown: Unknown;
  /** Days between a file's day and a record's; null where any is taken. */
  readonly lateDays: number | null;
  readonly extra: Extra;
}

const WORLDS: readonly World[] = [
  {
    id: "meter-readings",
    thing: "meter reading",
    things: "readings",
    key: "reading_id",
    group: "meter",
    amount: "energy",
    when: "read_at",
    area: "district",
    keyPrefix: "R",
    groups: ["m-101", "m-102", "m-207", "m-311", "m-404"],
    areas: ["harbour", "hill", "old town"],
    unit: "kWh",
    part: "dWh",
    notes: ["", "by hand", "estimated", "seal broken", "second try"],
  },
  {
    id: "till-receipts",
    thing: "receipt of a till",
    things: "receipts",
    key: "receipt_no",
    group: "till",
    amount: "amount",
    when: "printed_at",
    area: "shop",
    keyPrefix: "B",
    groups: ["t1", "t2", "t3", "t7", "t9"],
    areas: ["market", "station", "airport"],
    unit: "EUR",
    part: "ct",
    notes: ["", "voucher", "returned goods", "staff", "no bag"],
  },
  {
    id: "freight-weighings",
    thing: "weighing of freight",
    things: "weighings",
    key: "slip",
    group: "scale",
    amount: "weight",
    when: "weighed_at",
    area: "yard",
    keyPrefix: "W",
    groups: ["north-1", "north-2", "quay", "rail", "gate"],
    areas: ["yard A", "yard B"],
    unit: "t",
    part: "ckg",
    notes: ["", "wet", "empty run", "two axles", "re-weighed"],
  },
  {
    id: "call-charges",
    thing: "charge for a call",
    things: "charges",
    key: "call_ref",
    group: "trunk",
    amount: "charge",
    when: "ended_at",
    area: "zone",
    keyPrefix: "C",
    groups: ["tr-a", "tr-b", "tr-c", "tr-d"],
    areas: ["inland", "overseas", "mobile"],
    unit: "CHF",
    part: "rp",
    notes: ["", "forwarded", "dropped", "conference"],
  },
  {
    id: "work-hours",
    thing: "entry of working hours",
    things: "entries",
    key: "entry",
    group: "crew",
    amount: "hours",
    when: "booked_at",
    area: "site",
    keyPrefix: "H",
    groups: ["red", "blue", "green", "night", "crane"],
    areas: ["bridge", "tunnel", "depot"],
    unit: "h",
    part: "ch",
    notes: ["", "overtime", "rain", "corrected", "stand-in"],
  },
];

/** How many of the rules take their harder reading grows with `rules`, from 1 to 5. */
export function drawSpec(random: Random, rules: number): Spec {
  const structure = random.fork("structure");
  const hard = (label: string): boolean => structure.fork(label).float() < rules / 6;
  const pick = <T>(label: string, easy: readonly T[], harder: readonly T[]): T =>
    structure.fork(`${label}-of`).pick(hard(label) ? harder : easy);
  return {
    world: random.fork("surface").pick(WORLDS),
    format: pick<Format>("format", ["csv", "jsonl"], ["mixed"]),
    delimiter: random.fork("surface-delimiter").pick([",", ";", "|"] as const),
    when: pick<When>("when", ["epoch"], ["offset", "local"]),
    aheadHours: structure.fork("ahead").integer(2, 9),
    amount: pick<Amount>("amount", ["point"], ["comma", "unit"]),
    duplicates: pick<Duplicates>("duplicates", ["first"], ["latest", "conflict"]),
    unknown: pick<Unknown>("unknown", ["keep"], ["reject"]),
    lateDays: hard("late") ? structure.fork("late-days").integer(1, 3) : null,
    extra: pick<Extra>("extra", ["highest"], ["median", "different", "latest"]),
  };
}

/** The columns of a source record, in their order. */
export function columnsOf({ key, group, when, amount }: World): readonly string[] {
  return [key, group, when, amount, "revision", "note"];
}

export const WRITTEN = {
  offset: "`2024-03-05T23:10:00+02:00`",
  epoch: "`1709673000`",
  local: "`05.03.2024 23:10`",
} as const;
