/**
 * Runs a graded JavaScript module in its own sandbox: takes one call at a time, answers with plain data.
 *
 * Descriptor 4 brings lines of JSON: first what to load, then one [nonce, arguments] a line. Descriptor 3 takes lines:
 * hello, loaded or refused, then one answer a line with the nonce of its call. Everything in this process belongs to the
 * graded program, so a forged line is only another answer: expected values are never here.
 */
import { readSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { decode, encode, TooMuch } from "./plain-data.mjs";

const REPLIES = 3;
const CALLS = 4;
const BYTES_MAX = 1 << 20;
const { parse, stringify } = JSON;
const buffer = Buffer.alloc(65_536);
let rest = "";

/** The next line, all of it ASCII; null at the end. Nothing else of this process runs while it waits for a call. */
function nextLine() {
  for (;;) {
    const end = rest.indexOf("\n");
    if (end >= 0) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      return line;
    }
    const count = readSync(CALLS, buffer);
    if (count === 0) return null;
    rest += buffer.latin1Slice(0, count);
  }
}

function send(line) {
  const bytes = Buffer.from(`${line}\n`, "latin1");
  for (let at = 0; at < bytes.length; ) at += writeSync(REPLIES, bytes, at);
}

/** What was thrown, as text in the spelling of the platform: the hex of UTF-16. */
function said(error) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  return `["text","${Buffer.from(text.slice(0, 400), "utf16le").toString("hex")}"]`;
}

async function load() {
  const { path, entry } = parse(nextLine() ?? "{}");
  const module = await import(pathToFileURL(path).href);
  const found = module[entry] ?? module.default?.[entry];
  if (typeof found !== "function") throw new TypeError(`${path} exports no function ${stringify(entry)}`);
  return found;
}

async function answer(call, args) {
  try {
    const text = encode(await call(...decode(args, { nonFinite: true })));
    return ` value ${text.length <= BYTES_MAX ? text : '["other","too large"]'}`;
  } catch (error) {
    if (error instanceof TooMuch) return ' value ["other","too large"]';
    return ` error ${said(error)}`;
  }
}

send("hello");
let call = null;
try {
  call = await load();
} catch (error) {
  send(`refused ${said(error)}`);
}
if (call !== null) {
  send("loaded");
  for (let line = nextLine(); line !== null; line = nextLine()) {
    const [nonce, args] = parse(line);
    send(nonce + (await answer(call, args)));
  }
}
process.exit(0);
