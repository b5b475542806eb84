/** The tool `view`: numbered lines of a text file, or the listing of a folder. It changes nothing, and shows what the agent's user may read. */
import type { Tool, ToolContext } from "../../core/environment.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import { mayRead } from "./may-read.ts";
import { resolvePath } from "./resolve-path.ts";
import { argumentMistake, mistake, textResult } from "./tool-result.ts";

const ENTRIES_MAX = 1_000;

const FIELDS = {
  path: { kind: "string", required: true },
  from: { kind: "integer", required: false, min: 1 },
  to: { kind: "integer", required: false, min: 1 },
} as const;

export function viewTool(): Tool {
  return {
    name: "view",
    description: "Shows a text file with line numbers, all of it or the lines from..to, or lists a folder.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "A file or folder; relative paths start in the work folder." },
        from: { type: "integer", minimum: 1, description: "First line to show." },
        to: { type: "integer", minimum: 1, description: "Last line to show." },
      },
      required: ["path"],
      additionalProperties: false,
    },
    open: (context) => ({
      async call(args) {
        const wrong = argumentMistake("view", args, FIELDS);
        if (wrong !== null) return mistake(wrong);
        const from = typeof args["from"] === "number" ? args["from"] : 1;
        const to = typeof args["to"] === "number" ? args["to"] : Number.MAX_SAFE_INTEGER;
        if (to < from) return mistake("The field to of view must not be below from.");
        return view(context(), String(args["path"]), from, to);
      },
      close: async () => undefined,
    }),
  };
}

async function view(context: ToolContext, asked: string, from: number, to: number) {
  const { files } = await context.sandbox();
  const path = resolvePath(asked, context.workdir);
  const read = await files.read(path, { bytesMax: context.outputBytesMax });
  const isFolder = !read.ok && read.error === "is_directory";
  if ((read.ok || isFolder) && !(await mayRead(context, path))) return textResult(`${path}: you may not read it.`);
  if (!read.ok) return isFolder ? listing(files, path) : textResult(`${path}: ${read.message}`);
  const text = new TextDecoder().decode(read.value);
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  if (from > lines.length) return textResult(`${path} has ${lines.length} lines; there is no line ${from}.`);
  const shown = lines.slice(from - 1, to).map((line, index) => `${String(from + index).padStart(6)}\t${line}`);
  return textResult(shown.join("\n"));
}

async function listing(files: SandboxFiles, path: string) {
  const listed = await files.list(path, { recursive: false, entriesMax: ENTRIES_MAX });
  if (!listed.ok) return textResult(`${path}: ${listed.message}`);
  const lines = listed.value.map((entry) => {
    if (entry.kind === "folder") return `${entry.path}/`;
    return entry.kind === "file" ? `${entry.path} (${entry.bytes} bytes)` : `${entry.path} (${entry.kind})`;
  });
  return textResult(lines.length === 0 ? `${path} is empty.` : lines.join("\n"));
}
