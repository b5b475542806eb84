import { Duplex, PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { AgentClient } from "../agent-client.ts";
import { encodeFrame, FRAME } from "../frames.ts";
import { type EngineStream, engineStream } from "./engine-stream.ts";

/** A connection to an engine: what the engine sends, and what it was sent. */
function connection(): { readonly attached: Duplex; readonly engine: PassThrough; readonly sent: Buffer[] } {
  const engine = new PassThrough();
  const sent: Buffer[] = [];
  const attached = Duplex.from({
    readable: engine,
    writable: new PassThrough().on("data", (chunk) => sent.push(chunk)),
  });
  return { attached, engine, sent };
}

function piece(kind: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test("the output of a container comes without the engine's headers, wherever its pieces are cut", async () => {
  const bytes = Buffer.concat([piece(1, "one "), piece(2, "a complaint"), piece(1, ""), piece(1, "two")]);
  for (const size of [1, 3, 8, 9, bytes.length]) {
    const { attached, engine } = connection();
    const stream = engineStream(attached, () => undefined);
    const got: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => got.push(chunk));
    for (let at = 0; at < bytes.length; at += size) {
      engine.write(bytes.subarray(at, at + size));
      await settled();
    }
    expect([size, Buffer.concat(got).toString()]).toEqual([size, "one two"]);
    expect(stream.errorText).toBe("a complaint");
  }
});

test("the end of the engine's stream is a question, and the answer closes the sandbox's channel", async () => {
  const { attached, engine } = connection();
  let questions = 0;
  const stream = engineStream(attached, () => (questions += 1)).resume() as EngineStream;
  let isClosed = false;
  stream.on("close", () => (isClosed = true));
  engine.end();
  await settled();
  await settled();
  expect([questions, stream.endStatus, isClosed]).toEqual([1, null, false]);
  stream.finish(9);
  stream.finish(0);
  await settled();
  expect([questions, stream.endStatus, isClosed]).toEqual([1, 9, true]);
});

test("a container that ends in the middle of a frame still says how it ended, and its client is gone", async () => {
  for (const [status, code] of [
    [2, "sandbox_killed"],
    [9, "sandbox_lost"],
  ] as const) {
    const { attached, engine } = connection();
    const stream = engineStream(attached, () => undefined);
    const client = new AgentClient("s", stream, { endStatus: () => stream.endStatus });
    const frame = encodeFrame(1, FRAME.gone, 0, Buffer.alloc(100));
    engine.write(Buffer.concat([piece(1, ""), piece(1, frame.subarray(0, 50).toString("latin1"))]));
    await settled();
    stream.finish(status);
    await client.gone;
    expect(client.failure?.code).toBe(code);
  }
});

test("a channel its reader closed is closed only when the container is known to be gone", async () => {
  const { attached } = connection();
  let questions = 0;
  const stream = engineStream(attached, () => (questions += 1));
  let isClosed = false;
  stream.on("close", () => (isClosed = true));
  stream.destroy();
  await settled();
  expect([questions, isClosed]).toEqual([1, false]);
  stream.finish(9);
  await settled();
  expect(isClosed).toBe(true);
});

test("what is no engine's stream loses the sandbox instead of waiting for its bytes", async () => {
  for (const noise of [Buffer.from("HTTP/1.1 500 no"), piece(7, "x"), Buffer.from([1, 0, 0, 0, 255, 255, 255, 255])]) {
    const { attached, engine } = connection();
    let questions = 0;
    engineStream(attached, () => (questions += 1)).resume();
    engine.write(noise);
    await settled();
    expect(questions).toBe(1);
  }
});
