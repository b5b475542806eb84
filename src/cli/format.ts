/** Numbers and small pictures as a person reads them. Pure; every function takes null for "not known yet". */
import type { PassRate } from "../core/events.ts";

const ABSENT = "–";
const BLOCKS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/** Thousands in groups of three. */
export function countText(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return ABSENT;
  return Math.round(value)
    .toString()
    .replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** A measured number with `digits` decimals; very small ones in scientific form, NaN and infinities by name. */
export function numberText(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return ABSENT;
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) return value.toExponential(1);
  return value.toFixed(digits);
}

/** A rate per second: one decimal below 100, whole above. */
export function rateText(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return ABSENT;
  return value < 100 ? value.toFixed(1) : countText(value);
}

/** `8.2 s`, `3 min 05 s`, `2 h 07 min`. */
export function durationText(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return ABSENT;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A short time: whole milliseconds below one second, else as `durationText`. */
export function millisText(ms: number): string {
  return ms < 999.5 ? `${Math.round(ms)} ms` : durationText(ms / 1_000);
}

/** Binary units, one decimal from KiB on. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** UTC, to the second: `2026-03-01 12:00:00`. */
export function timeText(epochMs: number): string {
  const format = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: "UTC" });
  return format.format(epochMs);
}

export function percentText(share: number | null): string {
  return share === null || !Number.isFinite(share) ? ABSENT : `${(100 * share).toFixed(1)} %`;
}

/** `0.412 [0.365, 0.461] of 400`; `– of 0` when no episode was graded, which is no rate of 0. */
export function passRateText(rate: PassRate | null): string {
  return rate === null ? ABSENT : `${intervalText(rate)} of ${countText(rate.episodes)}`;
}

/** `0.412 [0.365, 0.461]`. */
export function intervalText({ passRate, low, high, episodes }: PassRate): string {
  return episodes === 0 ? ABSENT : `${passRate.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** Eight heights between the least and the greatest value; `width` at most, each cell the mean of its share of steps. */
export function sparkline(values: readonly number[], width: number): string {
  const finite = values.filter((value) => Number.isFinite(value));
  if (finite.length === 0 || width < 1) return "";
  const cells = Math.min(width, finite.length);
  const means = Array.from({ length: cells }, (_, cell) => {
    const part = finite.slice(
      Math.floor((cell * finite.length) / cells),
      Math.max(Math.floor(((cell + 1) * finite.length) / cells), Math.floor((cell * finite.length) / cells) + 1),
    );
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const low = Math.min(...means);
  const span = Math.max(...means) - low;
  return means.map((mean) => BLOCKS[span === 0 ? 3 : Math.round(((mean - low) / span) * 7)]).join("");
}

/** Like `sparkline`, but each height is a share of `max`; a value that is not known is a gap. */
export function barLine(values: readonly (number | null)[], max: number, width: number): string {
  const cells = Math.min(width, values.length);
  return Array.from({ length: cells }, (_, cell) => {
    const from = Math.floor((cell * values.length) / cells);
    const part = values.slice(from, Math.max(from + 1, Math.floor(((cell + 1) * values.length) / cells)));
    const known = part.filter((value) => value !== null);
    if (known.length === 0 || max <= 0) return " ";
    const share = Math.max(...known) / max;
    return BLOCKS[Math.min(7, Math.max(0, Math.round(share * 7)))];
  }).join("");
}

/** `width` cells, filled by eighths. */
export function progressBar(
  done: number,
  total: number,
  width: number,
): { readonly full: string; readonly rest: string } {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  const eighths = Math.floor(share * width * 8);
  const partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8] ?? "";
  const full = "█".repeat(Math.floor(eighths / 8)) + partial;
  return { full, rest: "░".repeat(Math.max(0, width - full.length)) };
}
