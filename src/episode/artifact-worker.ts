/**
 * The thread that reads what an agent says is JSON, CSV, SQLite or a dump. It has its own bounded heap, so that a text
 * made to exhaust memory ends this thread and nothing else. It answers with a reason, or null for what is sound.
 */
import { parentPort } from "node:worker_threads";
import type { ParsedKind } from "./artifact-kinds.ts";

const CSV_FIELDS_MAX = 10_000;
const SQLITE_MAGIC = "SQLite format 3\0";
const SQLITE_HEADER_BYTES = 100;

const readers: Readonly<Record<ParsedKind, (bytes: Uint8Array) => string | null>> = {
  json: (bytes) => {
    JSON.parse(textOf(bytes));
    return null;
  },
  csv: (bytes) => csvFault(textOf(bytes)),
  sqlite: sqliteFault,
  dump: (bytes) => {
    const text = textOf(bytes);
    if (text.trim() === "") return "it is empty";
    return text.includes("\0") ? "it holds NUL, which no SQL text does" : null;
  },
};

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** RFC 4180: quotes close, nothing follows them in a field, and each record has as many fields as the first. */
function csvFault(text: string): string | null {
  if (text.includes("\0")) return "it holds NUL, which no CSV does";
  let fields = 0;
  let wanted = 0;
  let record = 1;
  let at = 0;
  while (at < text.length) {
    at = text[at] === '"' ? closingQuote(text, at + 1) : nextOf(text, at, /[,\r\n"]/g);
    if (at < 0) return `the quote that record ${record} opens is never closed`;
    if (at < text.length && !/[,\r\n]/.test(text[at] ?? ""))
      return `record ${record} has a quote in the middle of a field`;
    fields += 1;
    if (fields > CSV_FIELDS_MAX) return `record ${record} has more than ${CSV_FIELDS_MAX} fields`;
    if (text[at] === ",") {
      at += 1;
      if (at < text.length && !/[\r\n]/.test(text[at] ?? "")) continue;
      fields += 1;
    }
    if (wanted === 0) wanted = fields;
    if (fields !== wanted) return `record ${record} has ${fields} fields, the first has ${wanted}`;
    at += text.startsWith("\r\n", at) ? 2 : 1;
    record += 1;
    fields = 0;
  }
  return wanted === 0 ? "it is empty" : null;
}

/** The place after the quote that ends a field; a doubled one is part of it. Below 0 when there is none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1;
  }
  return -1;
}

function nextOf(text: string, from: number, pattern: RegExp): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/** Only the head is looked at here; the pages are checked by SQLite itself, in a sandbox, before anything is asked. */
function sqliteFault(bytes: Uint8Array): string | null {
  if (bytes.length < SQLITE_HEADER_BYTES) return "it is shorter than the head of a SQLite database";
  const head = Buffer.from(bytes.subarray(0, SQLITE_HEADER_BYTES));
  if (head.toString("latin1", 0, 16) !== SQLITE_MAGIC) return "it does not begin as a SQLite database does";
  const written = head.readUInt16BE(16);
  const page = written === 1 ? 65_536 : written;
  if (page < 512 || (page & (page - 1)) !== 0) return `its pages have ${page} bytes, which SQLite does not know`;
  return bytes.length % page === 0 ? null : "its last page is cut";
}

parentPort?.on("message", ({ kind, bytes }: { readonly kind: ParsedKind; readonly bytes: Uint8Array }) => {
  let fault: string | null;
  try {
    fault = readers[kind](bytes);
  } catch (error) {
    fault = String(error).slice(0, 200);
  }
  parentPort?.postMessage({ fault });
});
