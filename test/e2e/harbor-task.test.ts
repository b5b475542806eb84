/** A Harbor task as its author wrote it, proven in real sandboxes: nothing of ours in it but what stands for its image. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkAll } from "../../src/app-check.ts";
import type { Evidence } from "../../src/core/finding.ts";
import { readTaskFolder } from "../../src/task/read-folder.ts";
import { openMachinery } from "../hacks/machinery.ts";

const TIMEOUT_MS = 120_000;

/** Set-up starts what is up half a second later, and the health check waits for it. */
const FILES: Readonly<Record<string, string>> = {
  "task.toml": `version = "1.0"

[verifier]
timeout_sec = 60.0
env = { EXPECTED = "good morning" }

[agent]
timeout_sec = 60.0

[solution]
env = { GREETING = "good morning" }

[environment]
memory = "256M"
storage = "64M"
healthcheck = { command = "test -e /srv/up", interval_sec = 0.1, timeout_sec = 5, retries = 100 }
`,
  "instruction.md": "Write the greeting of the morning, two words in lower case, into the file /app/greeting.txt.\n",
  "environment/Dockerfile": "FROM debian:bookworm\nWORKDIR /app\n",
  "environment/image.toml": 'base = "host"\nprograms = ["bash", "python3"]\n',
  "environment/setup.sh": "mkdir -p /srv\n(sleep 0.5; touch /srv/up) &\n",
  "solution/solve.sh": '#!/bin/bash\ntest -e /srv/up && echo "$GREETING" > /app/greeting.txt\n',
  "tests/test.sh":
    "#!/bin/bash\n# The system's own programs are found, as the agent finds them.\ncommand -v ldconfig && python3 /tests/greeting.py && reward=1 || reward=0\necho $reward > /logs/verifier/reward.txt\n",
  "tests/greeting.py":
    'import os\nfrom pathlib import Path\n\nassert Path("/app/greeting.txt").read_text().strip() == os.environ["EXPECTED"]\nassert Path("/srv/up").exists()\n',
};

const ASKS = 'import urllib.request; urllib.request.urlopen("http://no.example/", timeout=10)';

let top = "";

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), "sandlot-harbor-"));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(top, "greet", path)), { recursive: true });
    await writeFile(join(top, "greet", path), text);
  }
});

afterAll(() => rm(top, { recursive: true, force: true }));

test("earns 1 by its oracle and 0 by nothing, once what it starts has answered", { timeout: TIMEOUT_MS }, async () => {
  expect(await statuses(join(top, "greet"))).toEqual({ "oracle-passes": "pass", "nop-fails": "pass" });
});

test("has no verdict where its health check never passes, and says which", { timeout: TIMEOUT_MS }, async () => {
  const folder = join(top, "ill");
  await cp(join(top, "greet"), folder, { recursive: true });
  const toml = await readFile(join(folder, "task.toml"), "utf8");
  await writeFile(join(folder, "task.toml"), toml.replace("/srv/up", "/srv/never").replace("= 100 }", "= 2 }"));
  const [report] = await check(folder);
  const oracle = report?.checks.find(({ id }) => id === "oracle-passes");
  expect(oracle?.status).toBe("not-assessed");
  expect(oracle?.evidence).toMatch(/its health check never passed: test -e \/srv\/never/);
});

test("leaves the agent only what is left of the network once set-up is done", { timeout: TIMEOUT_MS }, async () => {
  const folder = join(top, "narrow");
  await cp(join(top, "greet"), folder, { recursive: true });
  const toml = await readFile(join(folder, "task.toml"), "utf8");
  const listed = (part: string, ...hosts: readonly string[]): string =>
    `[${part}]\nnetwork_mode = "allowlist"\nallowed_hosts = ${JSON.stringify(hosts)}`;
  const wide = toml.replace("[environment]", listed("environment", "no.example", "other.example"));
  expect(await refusals(folder, wide)).toEqual(["unresolved"]);
  const narrow = wide.replace("[agent]", listed("agent", "other.example"));
  expect(await refusals(folder, narrow)).toEqual(["not_listed"]);
});

/** Why an agent is not led to a host whose name nobody has. */
async function refusals(folder: string, toml: string): Promise<readonly unknown[]> {
  await writeFile(join(folder, "task.toml"), toml);
  const machinery = openMachinery();
  try {
    const asks = { name: "asks", answer: null, files: [], commands: [`python3 -c '${ASKS}'; true`] };
    const { document, bodies } = await machinery.episode({ task: await readTaskFolder(folder) }, asks);
    const evidence = JSON.parse(new TextDecoder().decode(bodies.get(document.evidenceBlob ?? ""))) as Evidence;
    return evidence.network?.attempts.map(({ reason }) => reason) ?? [];
  } finally {
    await machinery.close();
  }
}

function check(folder: string) {
  const only = ["oracle-passes", "nop-fails"];
  return checkAll([folder], { profile: "ci", only, signal: new AbortController().signal });
}

async function statuses(folder: string): Promise<Readonly<Record<string, string>>> {
  const [report] = await check(folder);
  const ran = report?.checks.filter(({ id }) => id === "oracle-passes" || id === "nop-fails") ?? [];
  return Object.fromEntries(ran.map(({ id, status }) => [id, status]));
}
