import { createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readClientHello } from "./client-hello.ts";

/** What a real TLS client sends first. */
async function realHello(servername: string): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const got = new Promise<Buffer>((resolve) =>
    server.once("connection", (socket) =>
      socket.once("data", (bytes: Buffer) => {
        resolve(bytes);
        socket.destroy();
      }),
    ),
  );
  const client = connectTls({ host: "127.0.0.1", port: address.port, servername });
  client.on("error", () => undefined);
  try {
    return await got;
  } finally {
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The same message cut into records of `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

/** A message with these extensions, each of a type and a content. */
function helloWith(extensions: readonly (readonly [number, Buffer])[]): Buffer {
  const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
  const list = Buffer.concat(
    extensions.map(([type, content]) => Buffer.concat([u16(type), u16(content.length), content])),
  );
  const body = Buffer.concat([Buffer.alloc(35), u16(2), u16(0x1301), Buffer.from([1, 0]), u16(list.length), list]);
  return Buffer.concat([Buffer.from([22, 3, 1]), u16(body.length + 4), Buffer.from([1, 0]), u16(body.length), body]);
}

function serverName(...names: readonly string[]): Buffer {
  const list = Buffer.concat(
    names.map((name) => Buffer.concat([Buffer.from([0, 0, name.length]), Buffer.from(name, "latin1")])),
  );
  return Buffer.concat([Buffer.from([0, list.length]), list]);
}

test("a real client's name is read, in lower case, however its message is cut", async () => {
  const hello = await realHello("Web.Example.org");
  const expected = { kind: "hello", name: "web.example.org", isHidden: false };
  expect(readClientHello(hello)).toEqual(expected);
  for (const size of [1, 7, 100]) expect(readClientHello(inRecords(hello, size))).toEqual(expected);
  expect(readClientHello(Buffer.concat([hello, Buffer.from("early data")]))).toEqual(expected);
});

test("a message that is not whole yet is waited for", async () => {
  const hello = await realHello("web.example.org");
  for (let length = 0; length < hello.length; length += 1)
    expect(readClientHello(hello.subarray(0, length)).kind, String(length)).toBe("incomplete");
});

test("a client without a name, and one that hides it, are told apart", () => {
  expect(readClientHello(helloWith([]))).toEqual({ kind: "hello", name: null, isHidden: false });
  const hidden = helloWith([
    [0, serverName("a.example")],
    [0xfe0d, Buffer.alloc(10)],
  ]);
  expect(readClientHello(hidden)).toEqual({ kind: "hello", name: "a.example", isHidden: true });
});

test("two names, a list of names, an empty one and other protocols are no honest client's", () => {
  const two = helloWith([
    [0, serverName("a.example")],
    [0, serverName("b.example")],
  ]);
  const others = [
    two,
    helloWith([[0, serverName("a.example", "b.example")]]),
    helloWith([[0, serverName("")]]),
    helloWith([[0, serverName("a.example\0.b.example")]]),
    helloWith([[0, Buffer.alloc(0)]]),
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.from("SSH-2.0-x\r\n"),
    Buffer.from([0x80, 0x2e, 1, 3, 1]), // SSL 2
    Buffer.from([22, 3, 1, 0, 0, 1]),
    Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), // a server's message
    Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255]),
  ];
  for (const bytes of others) expect(readClientHello(bytes), bytes.toString("hex")).toEqual({ kind: "not_tls" });
});

test("no bytes make the reader throw or look beyond them", () => {
  const base = helloWith([[0, serverName("a.example")]]);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 6 }), (changes) => {
      const bytes = Buffer.from(base);
      for (const [at, value] of changes) bytes[at] = value;
      expect(["incomplete", "not_tls", "hello"]).toContain(readClientHello(bytes).kind);
    }),
    { numRuns: 5_000 },
  );
});
