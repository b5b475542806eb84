/** The codec between this process and the agent: whatever the chunk borders, the frames are the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeExit,
  encodeExec,
  encodeFrame,
  encodeRequest,
  FLAG_MORE,
  FRAME,
  type Frame,
  frameReader,
  JOB,
  PAYLOAD_BYTES_MAX,
} from "./frames.ts";

const frames = fc.array(
  fc.record({
    channel: fc.nat(),
    type: fc.nat(65_535),
    flags: fc.nat(65_535),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 12 },
);

function collect(chunks: readonly Buffer[]): Frame[] {
  const got: Frame[] = [];
  const read = frameReader((frame) => got.push({ ...frame, payload: Buffer.from(frame.payload) }));
  for (const chunk of chunks) read(chunk);
  return got;
}

test("frames survive any cut of the byte stream", () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, sizes) => {
      const bytes = Buffer.concat(sent.map((each) => encodeFrame(each.channel, each.type, each.flags, each.payload)));
      const chunks: Buffer[] = [];
      for (let at = 0, index = 0; at < bytes.length; index += 1) {
        const size = sizes[index % sizes.length] ?? 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      const got = collect(chunks);
      expect(got.map((frame) => ({ ...frame, payload: [...frame.payload] }))).toEqual(
        sent.map((frame) => ({ ...frame, payload: [...frame.payload] })),
      );
    }),
  );
});

test("a long request is cut into frames that say there is more, and the last says there is not", () => {
  const payload = Buffer.alloc(PAYLOAD_BYTES_MAX * 2 + 5, 7);
  const got = collect([encodeRequest(9, FRAME.exec, payload)]);
  expect(got.map((frame) => [frame.channel, frame.flags, frame.payload.length])).toEqual([
    [9, FLAG_MORE, PAYLOAD_BYTES_MAX],
    [9, FLAG_MORE, PAYLOAD_BYTES_MAX],
    [9, 0, 5],
  ]);
  expect(collect([encodeRequest(1, FRAME.exec, Buffer.alloc(0))])).toHaveLength(1);
});

test("the strings of a request end with NUL, in the order folder, arguments, variables", () => {
  const bytes = encodeExec({
    kind: JOB.command,
    killsAtLimit: true,
    killsDescendants: false,
    hasInput: true,
    uid: 1_000,
    timeoutMs: 1.5,
    idleOutputMs: 0,
    killGraceMs: 200,
    outputBytesMax: 10,
    pipes: [{ fd: 3, ways: 2 }],
    cwd: "/app",
    argv: ["echo", "é"],
    envVars: { A: "b" },
    terminal: { columns: 80, rows: 24 },
  });
  expect([bytes.readUInt16LE(36), bytes.readUInt16LE(38)]).toEqual([80, 24]);
  expect([...bytes.subarray(0, 4)]).toEqual([0, 1, 0, 1]);
  expect(bytes.readUInt32LE(12)).toBe(2);
  expect(bytes.subarray(56).toString("utf8")).toBe("/app\0echo\0é\0A=b\0");
});

test("an exit frame is read field by field", () => {
  const payload = Buffer.alloc(56);
  payload.writeUInt8(1, 0);
  payload.writeUInt8(9, 1);
  payload.writeUInt32LE(5, 4);
  payload.writeBigUInt64LE(2n ** 40n, 8);
  payload.writeBigUInt64LE(1_500n, 24);
  payload.writeUInt32LE(3, 48);
  payload.writeUInt8(2, 3);
  payload.writeUInt32LE(4, 52);
  expect(decodeExit(payload)).toMatchObject({
    how: "signalled",
    code: 9,
    flags: 5,
    stdoutBytesDropped: 2 ** 40,
    durationMs: 1.5,
    processLimitHits: 3,
    oomScope: "sandbox",
    processesLeft: 4,
  });
});

test("a frame longer than any agent sends is refused at once", () => {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(PAYLOAD_BYTES_MAX + 1, 0);
  expect(() => collect([header])).toThrow(/claims 65537 bytes/);
});
