/** The checks that run, on real sandboxes: a sound task passes the whole of `ci`, and each fault is found by its check. */
import { expect, test } from "vitest";
import { checkAll } from "../../../app-check.ts";
import { type Changes, withFolder } from "../../folder-fixture-support.ts";
import type { CheckReport } from "../check-report.ts";

const TIMEOUT_MS = 600_000;
const REQUIREMENTS = `
[[sandlot.requirements]]
id = "text"
text = "The file holds the word."
tests = ["unit/test_out.py::TestOut.test_text"]

[[sandlot.requirements]]
id = "no-line-end"
text = "Nothing stands after the word."
kind = "boundary"
tests = ["boundary/test_out.py::TestOut.test_no_line_end"]
`;
const TOML = `schema_version = "1.4"
artifacts = ["/app/out.txt"]

[task]
name = "sandlot/greet"

[agent]
timeout_sec = 60

[verifier]
timeout_sec = 60

[environment]
memory_mb = 256

[sandlot]
milestones = [{ name = "file-is-there", predicate = { file = "/app/out.txt", bytes_min = 1 } }]
tiers = [{ name = "unit" }, { name = "boundary", requires = ["unit"] }]
${REQUIREMENTS}`;

const testFile = (name: string, body: string): string => `import unittest

from sandlot_subject import artifacts


class TestOut(unittest.TestCase):
    def ${name}(self):
        path = artifacts / "app" / "out.txt"
        self.assertTrue(path.is_file())
        ${body}
`;

/** The folder that is sound, as changes of the one that other tests begin with. */
const SOUND: Changes = {
  "task.toml": TOML,
  "environment/image.toml": 'base = "host"\nprograms = ["bash"]\n',
  "environment/notes/a.txt": null,
  "environment/setup.sh": "mkdir -p /app\nchown 1000:1000 /app\n",
  "tests/unit/test_out.py": testFile("test_text", 'self.assertIn("hello", path.read_text(errors="replace"))'),
  "tests/boundary/test_out.py": testFile("test_no_line_end", 'self.assertEqual(path.read_bytes(), b"hello")'),
};

async function check(changes: Changes, only: readonly string[] = []): Promise<CheckReport> {
  return withFolder({ ...SOUND, ...changes }, async (folder) => {
    const [report] = await checkAll([folder], { profile: "ci", only, signal: new AbortController().signal });
    if (report === undefined) throw new Error("a folder that is checked has a report");
    return report;
  });
}

function failed({ checks }: CheckReport): Readonly<Record<string, string>> {
  return Object.fromEntries(checks.filter(({ status }) => status === "fail").map(({ id, evidence }) => [id, evidence]));
}

test(
  "a sound task is valid at the profile ci, with every check assessed or not applicable but the one that is not built",
  async () => {
    const report = await check({});
    expect(failed(report)).toEqual({});
    expect(report.checks.filter(({ status }) => status === "not-assessed").map(({ id }) => id)).toEqual([
      "tests-cover-oracle",
    ]);
    expect(report.verdict).toBe("valid");
    expect(report.flake).toMatchObject({ flips: 0, isQuarantined: false });
  },
  TIMEOUT_MS,
);

const pays = testFile("test_text", "pass");
/** Twelve coins: that two gradings throw alike happens once in four thousand. */
const COINS = Array.from({ length: 12 }, (_, index) => `test_coin_${index}`);
const coins = `import secrets
import unittest

from sandlot_subject import artifacts


class TestOut(unittest.TestCase):
    def setUp(self):
        self.assertTrue((artifacts / "app" / "out.txt").is_file())
${COINS.map((name) => `\n    def ${name}(self):\n        self.assertTrue(secrets.randbits(1))\n`).join("")}`;
const coinManifest = JSON.stringify({
  tests: [
    ...COINS.map((name) => ({ id: `unit/test_out.py::TestOut.${name}`, tier: "unit" })),
    { id: "boundary/test_out.py::TestOut.test_no_line_end", tier: "boundary" },
  ],
});
/** A verifier that believes a file of the agent's folder: what is planted there passes. */
const believes = (name: string): Changes => ({
  "task.toml": TOML.replace('artifacts = ["/app/out.txt"]\n', ""),
  "tests/unit/test_out.py": testFile("test_text", "pass").replace('"out.txt"', `"${name}"`),
});
const LEAK = `mkdir -p /app
cat > /app/.hint <<'LEAK'
${testFile("test_no_line_end", 'self.assertEqual(path.read_bytes(), b"hello")')}LEAK
chown -R 1000:1000 /app
`;
const HISTORY = `mkdir -p /app/repo && cd /app/repo
export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q . && echo 1 > a && git add a && git commit -qm one
echo 2 > a && git commit -qam two && git reset -q --hard HEAD~1
chown -R 1000:1000 /app
`;

test.each([
  [
    "a test that passes for any file",
    { "tests/unit/test_out.py": pays, "tests/boundary/test_out.py": testFile("test_no_line_end", "pass") },
    ["exit-and-skip", "trivial-answers"],
  ],
  [
    "a verifier that throws coins",
    {
      "task.toml": TOML.replace(REQUIREMENTS, ""),
      "tests/unit/test_out.py": coins,
      "tests/manifest.json": coinManifest,
    },
    ["verifier-stable", "oracle-stable"],
  ],
  ["a verifier that believes a planted reward", believes("reward.txt"), ["reward-path"]],
  ["a verifier that believes a planted hook", believes("conftest.py"), ["trojans"]],
  ["an image that nobody has", { "environment/image.toml": `base = "sha256:${"0".repeat(64)}"\n` }, ["image-builds"]],
  ["a hidden test left by the set-up", { "environment/setup.sh": LEAK }, ["hidden-absent"]],
  ["a repository with a later state", { "environment/setup.sh": HISTORY }, ["history-clean"]],
  [
    "a milestone that holds at the start",
    { "task.toml": TOML.replace('{ file = "/app/out.txt", bytes_min = 1 }', '{ file = "/etc/passwd" }') },
    ["milestones-observable"],
  ],
  [
    "an oracle that reads the tests",
    { "solution/solve.sh": "cat /tests/unit/test_out.py 2>/dev/null\nprintf hello > /app/out.txt\n" },
    ["oracle-honest"],
  ],
] as const)(
  "%s is found",
  async (_what, changes, ids) => {
    const faults = failed(await check(changes, ids));
    for (const id of ids) expect(faults).toHaveProperty(id);
  },
  TIMEOUT_MS,
);
