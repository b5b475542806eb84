/** The proxy under hostile bytes: whatever a command sends, only what is allowed is dialled and nothing is thrown. */
import { Duplex } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRuntime } from "../../runtime/system.ts";
import { FRAME, type Frame } from "../frames.ts";
import { hostRules } from "./host-rules.ts";
import { networkAudit } from "./network-audit.ts";
import { sandboxProxy } from "./proxy.ts";
import { relayOf } from "./relay.ts";

const CHANNEL = 0x8000_0100;
const escaped: unknown[] = [];
const onEscape = (error: unknown): void => {
  escaped.push(error);
};

beforeEach(() => {
  escaped.length = 0;
  process.on("unhandledRejection", onEscape).on("uncaughtException", onEscape);
});
afterEach(() => {
  process.off("unhandledRejection", onEscape).off("uncaughtException", onEscape);
});

const LINES = [
  "GET http://web.example.org/ HTTP/1.1",
  "POST http://web.example.org/ HTTP/1.1",
  "GET http://other.example.org/ HTTP/1.1",
  "GET http://web.example.org/\u00e9\u0001 HTTP/1.1",
  "CONNECT web.example.org:443 HTTP/1.1",
  "CONNECT 127.0.0.1:443 HTTP/1.1",
  "GET / HTTP/1.1",
  "Host: web.example.org",
  "Host: other.example.org",
  "Host: web.example.org:443",
  "Content-Length: 3",
  "Transfer-Encoding: chunked",
  "Connection: Upgrade, x",
  "Upgrade: websocket",
  "X: \u00ff\u0080",
  ": empty",
  " folded",
  "",
  "",
  "abc",
  "0",
  "\u0016\u0003\u0001\u0000\u0005\u0001\u0000\u0000\u0001",
];

/** Random lines seldom make a request that is let through; without one the test would see nothing dialled. */
const ALLOWED = [
  ["GET http://web.example.org/ HTTP/1.1", "Host: web.example.org", "", ""],
  ["CONNECT web.example.org:443 HTTP/1.1", "Host: web.example.org:443", "", ""],
] as const;

test("no bytes on any connection are thrown at the host, or lead to a host that is not allowed", async () => {
  const dialled: string[] = [];
  /* In a hurry, so that thousands of cases are no flood. */
  let now = 0;
  const monotonic = (): number => {
    now += 100;
    return now;
  };
  const runtime = { ...systemRuntime(), monotonic };
  const audit = networkAudit(runtime);
  const proxy = sandboxProxy(
    runtime,
    {
      resolve: async (name) => [name === "web.example.org" ? "93.184.216.34" : "93.184.216.99"],
      connect: (address, port) => {
        dialled.push(`${address}:${port}`);
        const upstream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
        setImmediate(() => upstream.emit("connect"));
        upstream.push("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        return upstream;
      },
    },
    audit,
  );
  proxy.setRules(hostRules({ mode: "allow-list", hosts: ["web.example.org"] }));
  const sent: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 8 }), async (lines) => {
      const relay = relayOf(
        {
          open: () => 1,
          close: () => undefined,
          gone: new Promise(() => undefined),
          send: (_channel, type, _flags, bytes) => {
            if (type === FRAME.relaySend) sent.push(Buffer.from(bytes).toString("latin1"));
          },
        },
        (connection) => proxy.serve(connection),
      );
      const frame = (type: number, flags: number, text: string): Frame => ({
        channel: CHANNEL,
        type,
        flags,
        payload: Buffer.from(text, "latin1"),
      });
      relay.onFrame(frame(FRAME.relayOpened, 0, ""));
      for (const line of lines) relay.onFrame(frame(FRAME.relayData, 0, `${line}\r\n`));
      for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      relay.onFrame(frame(FRAME.relayClosed, 0, ""));
      expect(escaped).toEqual([]);
    }),
    { numRuns: 3_000, examples: ALLOWED.map((lines): [string[]] => [[...lines]]) },
  );
  expect(new Set(dialled)).toEqual(new Set(["93.184.216.34:80", "93.184.216.34:443"]));
  expect(sent.some((text) => text.startsWith("HTTP/1.1 200"))).toBe(true);
  const { allowed, refused, attempts, attemptsDropped } = audit.log();
  expect(allowed + refused).toBe(attempts.length + attemptsDropped);
});
