/** A connection to an agent: a silent one is pinged and then lost, a slow one is not, and every call settles once. */
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import type { Runtime } from "../core/runtime.ts";
import { systemRuntime } from "../runtime/system.ts";
import { AgentClient } from "./agent-client.ts";
import { encodeFrame, FRAME, type Frame, frameReader } from "./frames.ts";

/** A connection whose other end is this test. */
function connection() {
  const got: Frame[] = [];
  const read = frameReader((frame) => got.push({ ...frame, payload: Buffer.from(frame.payload) }));
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      read(chunk);
      done();
    },
  });
  const say = async (channel: number, type: number, payload: Uint8Array = new Uint8Array()): Promise<void> => {
    stream.push(encodeFrame(channel, type, 0, payload));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { stream, got, say };
}

/** The system's runtime with timers that fire when told; there is never more than one here. */
function steppedRuntime() {
  const due: { ms: number; fire: () => void }[] = [];
  const runtime: Runtime = {
    ...systemRuntime(),
    timer: (ms, fire) => {
      const one = { ms, fire };
      due.push(one);
      return () => void (due.includes(one) && due.splice(due.indexOf(one), 1));
    },
  };
  return { runtime, due, step: (): void => due.shift()?.fire() };
}

const pings = (got: readonly Frame[]): number => got.filter(({ type }) => type === FRAME.ping).length;

test("an agent that stays silent while a call is open is pinged twice, then lost, and its call with it", async () => {
  const { stream, got, say } = connection();
  const { runtime, due, step } = steppedRuntime();
  let kills = 0;
  const client = new AgentClient("box", stream, { runtime, kill: () => (kills += 1) });
  await say(0, FRAME.ready);
  const call = client.ask(FRAME.stats);
  expect(due.map(({ ms }) => ms)).toEqual([5_000]);
  step();
  step();
  step();
  expect([pings(got), kills]).toEqual([2, 0]);
  step();
  expect(kills).toBe(1);
  await expect(call).rejects.toMatchObject({ code: "sandbox_lost" });
  expect(() => client.open({ onFrame: () => undefined, onEnd: () => undefined })).toThrow(/silent/);
  expect(due).toEqual([]);
});

test("an agent that answers its ping is not lost, and one with no open call is left alone", async () => {
  const { stream, got, say } = connection();
  const { runtime, due, step } = steppedRuntime();
  const client = new AgentClient("box", stream, { runtime, kill: () => expect.unreachable() });
  await say(0, FRAME.ready);
  const call = client.ask(FRAME.stats);
  for (let round = 0; round < 10; round += 1) {
    step();
    await say(0, FRAME.reply);
  }
  expect(client.failure).toBeNull();
  await say(1, FRAME.reply, Buffer.from("x"));
  expect((await call).toString()).toBe("x");
  step();
  expect(due).toEqual([]);
  expect(pings(got)).toBe(0);
});

test("a creation may take long: nothing is pinged before the agent's first word", () => {
  const { stream, got } = connection();
  const { runtime, step } = steppedRuntime();
  const client = new AgentClient("box", stream, { runtime });
  client.ask(FRAME.stats).catch(() => undefined);
  for (let round = 0; round < 10; round += 1) step();
  expect([pings(got), client.failure]).toEqual([0, null]);
});

test("a ping resolves with its answer, and rejects when the sandbox ends first", async () => {
  const { stream, got, say } = connection();
  const client = new AgentClient("box", stream);
  const first = client.ping();
  expect(got.map(({ type, channel }) => [type, channel])).toEqual([[FRAME.ping, 1]]);
  await say(1, FRAME.reply);
  await first;
  const second = client.ping();
  client.markDestroyed();
  await expect(second).rejects.toMatchObject({ code: "sandbox_destroyed" });
});

test("frames on channels that the agent opened go to the relay alone", async () => {
  const { stream, say } = connection();
  const relayed: number[] = [];
  const client = new AgentClient("box", stream, { onRelayFrame: ({ channel }) => relayed.push(channel) });
  await say(0x8000_0001, FRAME.reply);
  await say(3, FRAME.reply);
  expect([relayed, client.failure]).toEqual([[0x8000_0001], null]);
});

test("what an agent must not send ends its sandbox, and nothing else", async () => {
  const { stream } = connection();
  const client = new AgentClient("box", stream);
  const call = client.ask(FRAME.stats);
  stream.push(Buffer.alloc(12, 0xff));
  await expect(call).rejects.toMatchObject({ code: "sandbox_lost" });
  await client.gone;
});
