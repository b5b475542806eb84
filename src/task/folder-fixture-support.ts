/** A small good task folder as text, for tests that break one thing in it at a time. Written to a fresh folder each time. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type FolderText = Readonly<Record<string, string | Uint8Array>>;

/** Files put in place of the good ones, or left out by null. */
export type Changes = Readonly<Record<string, string | Uint8Array | null>>;

export const GOOD_FOLDER: FolderText = {
  "task.toml": `schema_version = "1.4"
artifacts = ["/app/out.txt"]

[task]
name = "sandlot/greet"
description = "Write a greeting."

[agent]
timeout_sec = 60

[verifier]
timeout_sec = 30

[environment]
memory_mb = 128
workdir = "/app"

[sandlot]
family = "greeting"

[[sandlot.tiers]]
name = "unit"
weight = 0.5

[[sandlot.tiers]]
name = "boundary"
weight = 0.5
requires = ["unit"]
`,
  "instruction.md": "Write the text `hello` into the file `/app/out.txt`, without a line end.\n",
  "environment/image.toml": `base = "host"
programs = ["bash"]

[[files]]
source = "notes"
target = "/app/notes"
mode = "0600"
`,
  "environment/notes/a.txt": "a\n",
  "environment/setup.sh": "mkdir -p /app\n",
  "visible/test_seen.py": "import unittest\n",
  "tests/manifest.json": `{"tests": [
  {"id": "unit/test_out.py::TestOut.test_text", "tier": "unit"},
  {"id": "boundary/test_out.py::TestOut.test_no_line_end", "tier": "boundary"}
]}
`,
  "tests/unit/test_out.py": `import unittest


class TestOut(unittest.TestCase):
    def test_text(self):
        self.assertEqual(1, 1)
`,
  "tests/boundary/test_out.py": `import unittest


class TestOut(unittest.TestCase):
    def test_no_line_end(self):
        self.assertEqual(1, 1)
`,
  "solution/solve.sh": "printf hello > /app/out.txt\n",
  "solution/alternative/python/solve.sh": 'python3 -c \'open("/app/out.txt", "w").write("hello")\'\n',
  "wrong/empty/solve.sh": ": > /app/out.txt\n",
  "wrong/empty/expect.toml": 'reward_max = 0.0\nfails_tier = "unit"\n',
  "wrong/line-end/solve.sh": "echo hello > /app/out.txt\n",
  "wrong/line-end/expect.toml": 'reward_max = 0.5\nfails_tier = "boundary"\n',
};

/** Writes a folder below a fresh temporary one, lends it, and removes it. */
export async function withFolder<T>(changes: Changes, use: (folder: string) => Promise<T>): Promise<T> {
  const top = await mkdtemp(join(tmpdir(), "sandlot-task-"));
  try {
    const folder = join(top, "greet");
    for (const [path, body] of Object.entries({ ...GOOD_FOLDER, ...changes })) {
      if (body === null) continue;
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), body);
      if (path.endsWith(".sh")) await chmod(join(folder, path), 0o755);
    }
    return await use(folder);
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

/** The good `task.toml` with one piece of text put in place of another, which must be there. */
export function tomlWith(piece: string, replacement: string): Readonly<Record<string, string>> {
  const text = String(GOOD_FOLDER["task.toml"]);
  if (!text.includes(piece)) throw new Error(`the good task.toml holds no ${piece}`);
  return { "task.toml": text.replace(piece, replacement) };
}

/** An image.toml on the host with one entry of `files`; a source alone gets a target. */
export function image(...lines: readonly string[]): Changes {
  return {
    "environment/image.toml": `base = "host"\n[[files]]\n${["", ...lines].slice(1).join("\n")}\n${lines.length === 1 ? 'target = "/app/n"\n' : ""}`,
  };
}
