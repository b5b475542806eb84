import { expect, test } from "vitest";
import { tomlWith, withFolder } from "./folder-fixture-support.ts";
import { readTaskFolder } from "./read-folder.ts";

const WORKLOAD = "def make(random): return []\ndef check(args, value): return True\n";
const TIERS = `[[sandlot.tiers]]
name = "build"

[[sandlot.tiers]]
name = "unit"
weight = 0.5

[[sandlot.tiers]]
name = "integration"
veto = true

[[sandlot.tiers]]
name = "performance"
repeats = 5
noise = 0.2
requires = ["unit"]

[[sandlot.tiers]]
name = "boundary"
weight = 0.5
`;
const IDS = [
  ["build/test_build.sh::compiles", "build"],
  ["unit/test_out.py::test_text", "unit"],
  ["integration/probe.http.json::answers", "integration"],
  ["performance/workload.py", "performance"],
  ["boundary/test_out.py::TestOut.test_no_line_end", "boundary"],
] as const;

test("each tier gets the runner its files are written for, and what its kind needs", async () => {
  const changes: Record<string, string> = {
    ...tomlWith('[[sandlot.tiers]]\nname = "unit"\nweight = 0.5\n', TIERS.slice(0, TIERS.lastIndexOf("[["))),
    "tests/build/test_build.sh": "check compiles /usr/bin/true x\n",
    "tests/unit/test_out.py": "import pytest\n\ndef test_text():\n    assert True\n",
    "tests/integration/probe.http.json": '{"probes": [{"name": "answers"}]}',
    "tests/performance/workload.py": WORKLOAD,
    "tests/manifest.json": JSON.stringify({ tests: IDS.map(([id, tier]) => ({ id, tier })) }),
  };
  const toml = changes["task.toml"] ?? "";
  const withRunner = { ...changes, "task.toml": toml.replace('"unit"\n', '"unit"\nrunner = "pytest"\n') };
  await withFolder(withRunner, async (folder) => {
    const { verifier } = await readTaskFolder(folder);
    expect(verifier.tiers.map(({ name, runner, gate, veto }) => [name, runner, gate, veto ?? false])).toEqual([
      ["build", "shell", true, false],
      ["unit", "pytest", false, false],
      ["integration", "http", true, true],
      ["performance", "performance", false, false],
      ["boundary", "unittest", false, false],
    ]);
    expect(verifier.tiers[3]?.performance).toEqual({ repeats: 5, noise: 0.2 });
  });
});

test("commands that collect, kinds and caps of artifacts reach the contract", async () => {
  const files =
    'files = [{ path = "/app/shop.db", kind = "sqlite", bytes_max = 4096 }, { path = "/app/out", kind = "tree", entries_max = 3, required = false }]';
  const change = {
    ...tomlWith('family = "greeting"', `family = "greeting"\n[sandlot.contract]\n${files}\n`),
  };
  const toml = String(change["task.toml"]).replace(
    "timeout_sec = 30",
    'timeout_sec = 30\ncollect = [{ command = "dump" }]',
  );
  await withFolder({ "task.toml": toml }, async (folder) => {
    expect((await readTaskFolder(folder)).contract).toMatchObject({
      collect: ["dump"],
      files: [
        { path: "/app/out.txt", required: false },
        { path: "/app/shop.db", kind: "sqlite", bytesMax: 4_096, required: true },
        { path: "/app/out", kind: "tree", entriesMax: 3, required: false },
      ],
    });
  });
});

test("a service and protected paths reach the task, and change how it grades", async () => {
  const service = '[[sandlot.services]]\nname = "web"\nargv = ["/usr/bin/python3", "service.py"]\nport = 8080\n';
  const plain = await withFolder({}, readTaskFolder);
  await withFolder(
    tomlWith('family = "greeting"', `family = "greeting"\nprotected = ["/app/tests/"]\n${service}`),
    async (folder) => {
      const task = await readTaskFolder(folder);
      expect(task.protectedPaths).toEqual(["/app/tests"]);
      expect(task.verifier.kind === "tests" && task.verifier.services).toEqual([
        {
          name: "web",
          argv: ["/usr/bin/python3", "service.py"],
          cwd: "/app",
          envVars: {},
          port: 8080,
          readyMs: 10_000,
        },
      ]);
      expect(task.verifierHash).not.toBe(plain.verifierHash);
    },
  );
});
