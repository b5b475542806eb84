import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesText,
  countText,
  durationText,
  numberText,
  passRateText,
  progressBar,
  sparkline,
  timeText,
} from "./format.ts";

test("durations read as a person says them, and never as 60 seconds", () => {
  expect([0, 59.94, 59.96, 185, 3_599.6, 7_620].map(durationText)).toEqual([
    "0.0 s",
    "59.9 s",
    "1 min 00 s",
    "3 min 05 s",
    "1 h 00 min",
    "2 h 07 min",
  ]);
  expect(durationText(null)).toBe("–");
});

test("counts are grouped, bytes are binary, times are UTC", () => {
  expect([0, 999, 1_000, 1_234_567].map(countText)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect([0, 1_023, 1_024, 123_456_789].map(bytesText)).toEqual(["0 B", "1023 B", "1.0 KiB", "117.7 MiB"]);
  expect(timeText(Date.UTC(2026, 2, 1, 12, 0, 5))).toBe("2026-03-01 12:00:05");
});

test("a number too small for its decimals is not shown as zero, and NaN keeps its name", () => {
  expect([0, 0.0004, 0.25, Number.NaN, Number.POSITIVE_INFINITY].map((value) => numberText(value))).toEqual([
    "0.000",
    "4.0e-4",
    "0.250",
    "NaN",
    "Infinity",
  ]);
});

test("a sparkline rises with its values and skips what is not a number", () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([1, Number.NaN, 1], 8)).toBe("▄▄");
  expect(sparkline([], 8)).toBe("");
});

test("a sparkline and a bar never exceed their width", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double()),
      fc.integer({ min: 1, max: 80 }),
      fc.nat(),
      fc.nat(),
      (values, width, done, total) => {
        expect([...sparkline(values, width)].length).toBeLessThanOrEqual(width);
        const { full, rest } = progressBar(done, total, width);
        expect([...full, ...rest]).toHaveLength(width);
      },
    ),
  );
});

test("no graded episode is no rate of 0", () => {
  expect(passRateText({ passRate: 0, low: 0, high: 1, episodes: 0 })).toBe("– of 0");
  expect(passRateText({ passRate: 0, low: 0, high: 0.1, episodes: 30 })).toBe("0.000 [0.000, 0.100] of 30");
});
