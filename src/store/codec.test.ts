import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exampleRecord, exampleSegment, GRADED } from "../../test/conformance/store-record.ts";
import { TRAJECTORY_SCHEMA_VERSION, type Trajectory, type TrajectoryRecord } from "../core/trajectory.ts";
import { decodeDocument, encodeRecord } from "./codec.ts";
import { folderObjects } from "./folder-objects.ts";
import { readBlock, readContent, readPackIndex } from "./pack.ts";
import { parseSegment } from "./segment.ts";

const GOLDEN = join(import.meta.dirname, "../../test/golden/record");
const lease = { runId: "01RUN", episodeNo: 4, groupNo: 0, member: 0, attempt: 1, fence: 1 };
const good = exampleRecord({ lease, segment: exampleSegment(2, [-1]) });

interface GoldenRecord {
  readonly documentHash: string;
  /** Of the document in the present schema; absent where it was written in it. */
  readonly upgradedHash?: string;
  readonly segmentHash: string | null;
  readonly bodies: readonly string[];
}

const goldens = readdirSync(GOLDEN).flatMap((version) => {
  const manifest = JSON.parse(readFileSync(join(GOLDEN, version, "manifest.json"), "utf8")) as Record<
    string,
    GoldenRecord
  >;
  return Object.entries(manifest).map(([name, golden]) => ({ version, name, golden }));
});

test.each(goldens)(
  "the stored $name record of version $version reads, and is written and named the same",
  async ({ version, name, golden }) => {
    const objects = folderObjects(join(GOLDEN, version));
    const index = await readPackIndex(objects, `${name}.pack`, (await objects.get(`${name}.pack`)).length);
    const content = async (hash: string): Promise<Uint8Array> => {
      const bytes = await readContent(index, hash, (block) => readBlock(objects, index, block));
      if (bytes === null) throw new Error(`${name}.pack has no ${hash}`);
      return bytes;
    };
    const document = decodeDocument(await content(golden.documentHash));
    const written = JSON.parse(readFileSync(join(GOLDEN, version, `${name}.json`), "utf8")) as Trajectory;
    expect(document).toMatchObject({ ...written, schemaVersion: TRAJECTORY_SCHEMA_VERSION });
    const bodies = new Map<string, Uint8Array>();
    for (const hash of golden.bodies) bodies.set(hash, await content(hash));
    const segment = golden.segmentHash === null ? null : parseSegment(await content(golden.segmentHash));
    const again = encodeRecord({ document, bodies, segment, findings: [] });
    const documentHash = golden.upgradedHash ?? golden.documentHash;
    expect(again).toMatchObject({ documentHash, segmentHash: golden.segmentHash });
  },
);

test("equal documents are named equally, whatever the order of their fields", () => {
  const shuffled = Object.fromEntries(Object.entries(good.document).toReversed()) as unknown as Trajectory;
  expect(encodeRecord({ ...good, document: shuffled }).documentHash).toBe(encodeRecord(good).documentHash);
});

const changed = (change: Partial<Trajectory>): TrajectoryRecord => ({
  ...good,
  document: { ...good.document, ...change },
});
const [turn] = good.document.turns;
const turns = turn === undefined ? [] : [turn];

test.each<[string, TrajectoryRecord, RegExp]>([
  [
    "a reward that is not a number",
    changed({ outcome: { ...GRADED, reward: Number.NaN } as Trajectory["outcome"] }),
    /outcome\.reward is NaN/,
  ],
  ["a number JSON cannot carry", changed({ extra: { depth: Number.POSITIVE_INFINITY } }), /cannot be written as JSON/],
  [
    "turns that do not count from 1",
    changed({ turns: turns.map((row) => ({ ...row, index: 2 })) }),
    /turns\[0\]\.index is 2/,
  ],
  [
    "a body that is not there",
    changed({ answerBlob: "f".repeat(64) }),
    /answerBlob names body f+, which is not among its bodies/,
  ],
  [
    "a body that is not what its name says",
    { ...good, bodies: new Map([["a".repeat(64), Buffer.from("x")]]) },
    /the body named a+ has SHA-256/,
  ],
  ["a segment without counts", changed({ tokens: null }), /tokens\.count is undefined, but its segment says 3/],
  ["counts without a segment", { ...good, segment: null }, /there is no token segment/],
  ["a wrong count of sampled tokens", changed({ tokens: { count: 3, sampledCount: 2 } }), /tokens\.sampledCount is 2/],
  [
    "another schema version",
    changed({ schemaVersion: "0.9" as "1.1" }),
    /schemaVersion is 0\.9; this Sandlot writes 1\.1/,
  ],
])("%s is refused as record_invalid, by field", (_title, record, message) => {
  expect(() => encodeRecord(record)).toThrow(message);
  expect(() => encodeRecord(record)).toThrow(expect.objectContaining({ code: "record_invalid" }));
});

const stored = (schemaVersion: unknown): Uint8Array => Buffer.from(JSON.stringify({ id: "01RUN-4", schemaVersion }));

test("a newer major is refused, naming both versions; a newer minor is read with its fields", () => {
  expect(() => decodeDocument(stored("2.0"))).toThrow(/01RUN-4 has schema version 2\.0; this Sandlot reads up to 1\.1/);
  expect(decodeDocument(stored("1.7"))).toMatchObject({ id: "01RUN-4", schemaVersion: "1.7" });
});

test("an older major is upgraded step by step, or refused when no step leads on", () => {
  const upgrades = new Map([
    [0, (older: Record<string, unknown>) => ({ ...older, schemaVersion: "1.0", isUpgraded: true })],
  ]);
  expect(decodeDocument(stored("0.3"), upgrades)).toMatchObject({ schemaVersion: "1.1", isUpgraded: true });
  expect(() => decodeDocument(stored("0.3"))).toThrow(/schema version 0\.3, from which there is no upgrade to 1\.1/);
});

test.each([
  ["no JSON", Buffer.from("{")],
  ["no version", stored(undefined)],
  ["a version that is none", stored("one")],
])("stored bytes with %s are named as damaged", (_title, bytes) => {
  expect(() => decodeDocument(bytes)).toThrow(expect.objectContaining({ code: "record_invalid" }));
});
