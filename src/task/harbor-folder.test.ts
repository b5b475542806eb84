/** Harbor tasks as their authors wrote them, without a table of ours: what the reader makes of them. */
import { cp, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { TestsVerifierSpec } from "../core/task.ts";
import { readFolderFiles } from "./folder-files.ts";
import { type Changes, GOOD_FOLDER, withFolder } from "./folder-fixture-support.ts";
import { readTask } from "./read-folder.ts";
import { writeFolder } from "./write-folder.ts";

/** Nothing of the good folder but its instruction and oracle. */
const PLAIN: Changes = {
  ...Object.fromEntries(Object.keys(GOOD_FOLDER).map((path) => [path, null])),
  "instruction.md": String(GOOD_FOLDER["instruction.md"]),
  "solution/solve.sh": "printf hello > /srv/work/out.txt\n",
  "tests/test.sh": "#!/bin/bash\npython3 /tests/state.py && echo 1 > /logs/verifier/reward.txt\n",
  "tests/state.py": "print('ok')\n",
  "environment/Dockerfile":
    "FROM debian:bookworm AS build\nWORKDIR /build\nFROM debian:bookworm\nWORKDIR /srv\nWORKDIR /srv/work\nCOPY notes.txt .\n",
  "environment/notes.txt": "a\n",
  "task.toml": `version = "1.0"

[metadata]
difficulty = "easy"

[verifier]
env = { LEVEL = "3" }

[solution]
env = { NAME = "o'hara" }

[environment]
memory = "1G"
network_mode = "allowlist"
allowed_hosts = ["example.org", "*.example.com:8443"]
skills_dir = "/skills"
healthcheck = { command = "test -e /srv/work", interval_sec = 0.5, retries = 2 }
mcp_servers = [
  { name = "notes", transport = "streamable-http", url = "http://127.0.0.1:8000/mcp" },
  { name = "files", command = "/usr/bin/files-mcp", args = ["--read-only"] },
]

[agent]
network_mode = "no-network"
`,
};

test("a script at the top of tests/ decides, beside what it reads, in the folder that the Dockerfile works in", async () => {
  await withFolder(PLAIN, async (folder) => {
    const { task, warnings } = await readTask(folder);
    expect(warnings).toEqual([]);
    const verifier = task.verifier as TestsVerifierSpec;
    expect(verifier.tiers.map(({ name, runner }) => [name, runner])).toEqual([["unit", "reward-file"]]);
    expect(verifier.manifest).toEqual([{ id: "unit/test.sh", tier: "unit" }]);
    expect(verifier.files.map(({ path }) => path)).toEqual(["/tests/unit/state.py", "/tests/unit/test.sh"]);
    expect(verifier.envVars).toEqual({ LEVEL: "3" });
    expect(task).toMatchObject({
      key: "local/greet",
      image: `dockerfile:${resolve(folder, "environment")}`,
      workdir: "/srv/work",
      setup: "\nchown -R 1000:1000 '/srv/work'\n",
      resources: { memoryBytes: 2 ** 30, diskBytes: 10 * 2 ** 30 },
      network: { mode: "allow-list", hosts: ["example.org", "*.example.com:8443"] },
      agentNetwork: { mode: "off" },
      skillsFolder: "/skills",
      healthcheck: { command: "test -e /srv/work", intervalMs: 500, timeoutMs: 5_000, startPeriodMs: 0, retries: 2 },
      mcpServers: [
        { name: "notes", transport: "streamable-http", url: "http://127.0.0.1:8000/mcp" },
        { name: "files", transport: "stdio", argv: ["/usr/bin/files-mcp", "--read-only"] },
      ],
      contract: { state: "workdir" },
    });
    expect(task.oracle.commands).toEqual(["NAME='o'\\''hara' bash /solution/solve.sh"]);
  });
});

test("a table of ours must say itself that the script runs beside the product, and keeps our limits", async () => {
  const ours = (lines: string): Changes => ({
    ...PLAIN,
    "task.toml": `schema_version = "1.4"\n\n[sandlot]\n${lines}\n`,
  });
  await withFolder(ours('family = "greeting"'), async (folder) => {
    await expect(readTask(folder)).rejects.toThrow(/tests\/test\.sh: belongs to no tier/);
  });
  const tiered = {
    ...ours('risk = ["in-process-tests"]\ntiers = [{ name = "unit", runner = "reward-file" }]'),
    "tests/test.sh": null,
    "tests/unit/test.sh": String(PLAIN["tests/test.sh"]),
    "tests/manifest.json": '{"tests": [{"id": "unit/test.sh", "tier": "unit"}]}',
  };
  await withFolder(tiered, async (folder) => {
    const { task } = await readTask(folder);
    expect(task.resources).toMatchObject({ memoryBytes: 512 * 2 ** 20, diskBytes: 2 ** 30 });
    expect([task.setup, task.network, task.agentNetwork]).toEqual([null, { mode: "off" }, undefined]);
  });
});

test("a network that the agent keeps whole is not narrowed", async () => {
  for (const mode of ["no-network", "public"]) {
    const toml = `version = "1.0"\n[environment]\nnetwork_mode = "${mode}"\n[agent]\nnetwork_mode = "${mode}"\n`;
    await withFolder({ ...PLAIN, "task.toml": toml }, async (folder) => {
      expect((await readTask(folder)).task.agentNetwork).toBeUndefined();
    });
  }
});

test("the image is the one that is named, else what image.toml says in its place, which is told", async () => {
  const named = String(PLAIN["task.toml"]).replace('memory = "1G"', 'docker_image = "debian:bookworm"');
  await withFolder({ ...PLAIN, "task.toml": named }, async (folder) => {
    expect((await readTask(folder)).task.image).toBe("oci:debian:bookworm");
  });
  const both = { ...PLAIN, "task.toml": named, "environment/image.toml": 'base = "host"\n' };
  await withFolder(both, async (folder) => {
    const { task, warnings } = await readTask(folder);
    expect([task.image, task.workdir]).toEqual(["host", "/srv/work"]);
    expect(warnings.filter((line) => /Dockerfile.*is not built|docker_image.*is not used/.test(line))).toHaveLength(2);
  });
});

test("where the folder lies makes no other task of it, what its Dockerfile or its variables say does", async () => {
  await withFolder(PLAIN, async (folder) => {
    const { task } = await readTask(folder);
    const copy = join(dirname(folder), "elsewhere");
    await cp(folder, copy, { recursive: true });
    const { task: copied } = await readTask(copy);
    expect([copied.agentHash, copied.verifierHash]).toEqual([task.agentHash, task.verifierHash]);
  });
  const hashes = async (changes: Changes) =>
    withFolder({ ...PLAIN, ...changes }, async (folder) => {
      const { agentHash, verifierHash } = (await readTask(folder)).task;
      return [agentHash, verifierHash];
    });
  const [agent, verifier] = await hashes({});
  const [otherAgent] = await hashes({ "environment/Dockerfile": "FROM debian:trixie\nWORKDIR /srv/work\n" });
  const toml = String(PLAIN["task.toml"]).replace('LEVEL = "3"', 'LEVEL = "4"');
  const [sameAgent, otherVerifier] = await hashes({ "task.toml": toml });
  expect(otherAgent).not.toBe(agent);
  expect(sameAgent).toBe(agent);
  expect(otherVerifier).not.toBe(verifier);
});

test("a folder that is read and written again is the same, with the keys that no reader here knows", async () => {
  const toml = `${String(PLAIN["task.toml"])}\n[environment.tea]\nkind = "green" # kept\n`;
  await withFolder({ ...PLAIN, "task.toml": toml }, async (folder) => {
    const files = await readFolderFiles(folder);
    const copy = join(dirname(folder), "copy");
    await writeFolder(copy, files);
    expect(await readFile(join(copy, "task.toml"), "utf8")).toBe(toml);
    expect(await readFolderFiles(copy)).toEqual(files);
    expect((await readTask(copy)).warnings).toEqual([
      expect.stringMatching(/task\.toml:\d+: environment\.tea is not a known key and is kept unread/),
    ]);
  });
});
