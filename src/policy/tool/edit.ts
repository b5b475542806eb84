/**
 * The tool `edit`: replaces a text that occurs exactly once in a file; an empty `old` creates the file. Not found, or
 * found twice, is an observation that says so, and the file stays as it was.
 *
 * It works through the agent's own shell rights: what the agent's user may not read or write, this may not either.
 */
import type { Tool, ToolContext, ToolResult } from "../../core/environment.ts";
import { mayRead } from "./may-read.ts";
import { resolvePath } from "./resolve-path.ts";
import { argumentMistake, mistake, textResult } from "./tool-result.ts";

const FILE_BYTES_MAX = 1024 * 1024;

const FIELDS = {
  path: { kind: "string", required: true },
  old: { kind: "string", required: true },
  new: { kind: "string", required: true },
} as const;

export function editTool(): Tool {
  return {
    name: "edit",
    description:
      "Replaces `old`, which must occur exactly once in the file, by `new`. An empty `old` creates a file that does not exist yet.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "The file; relative paths start in the work folder." },
        old: { type: "string", description: "The exact text to replace; empty to create the file." },
        new: { type: "string", description: "The text to put in its place." },
      },
      required: ["path", "old", "new"],
      additionalProperties: false,
    },
    open: (context) => ({
      async call(args) {
        const wrong = argumentMistake("edit", args, FIELDS);
        if (wrong !== null) return mistake(wrong);
        const path = resolvePath(String(args["path"]), context().workdir);
        return edit(context(), path, String(args["old"]), String(args["new"]));
      },
      close: async () => undefined,
    }),
  };
}

async function edit(context: ToolContext, path: string, before: string, after: string): Promise<ToolResult> {
  const { files } = await context.sandbox();
  const read = await files.read(path, { bytesMax: FILE_BYTES_MAX });
  if (read.ok && !(await mayRead(context, path))) return textResult(`${path}: you may not read it.`);
  if (before === "") {
    if (read.ok) return textResult(`${path} exists already; give the text to replace in old.`);
    return read.error === "missing" ? write(context, path, after) : textResult(`${path}: ${read.message}`);
  }
  if (!read.ok) return textResult(`${path}: ${read.message}`);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(read.value);
  if (!Buffer.from(text).equals(Buffer.from(read.value)))
    return textResult(`${path} is not UTF-8 text; edit cannot change it.`);
  const first = text.indexOf(before);
  if (first === -1) return textResult(`The text in old does not occur in ${path}; nothing was changed.`);
  if (text.indexOf(before, first + 1) !== -1) {
    return textResult(`The text in old occurs more than once in ${path}; give more of it. Nothing was changed.`);
  }
  return write(context, path, text.slice(0, first) + after + text.slice(first + before.length));
}

/** Writes as the agent's user, over standard input, so that owner, mode and refusal are those of its own hand. */
async function write(context: ToolContext, path: string, text: string): Promise<ToolResult> {
  const sandbox = await context.sandbox();
  const script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"';
  const result = await sandbox.exec(["/bin/sh", "-c", script, "sh", path], {
    cwd: context.workdir,
    user: context.user,
    input: new TextEncoder().encode(text),
    timeoutMs: context.timeoutMs,
    outputBytesMax: 4096,
    signal: context.signal,
  });
  if (result.exitCode === 0) return textResult(`Wrote ${path}.`);
  return textResult(
    `${path} could not be written: ${new TextDecoder().decode(result.stderr).trim() || result.verdict}`,
  );
}
