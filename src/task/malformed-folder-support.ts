/** Changes that make the good task folder wrong in one way each, for the test that reads them. */
import { type Changes, GOOD_FOLDER, image, tomlWith } from "./folder-fixture-support.ts";

const toml = tomlWith;
const SANDLOT = 'family = "greeting"';

/** What is broken, the change that breaks it, and what the message must hold: file, field, remedy. */
export const MALFORMED: readonly (readonly [string, Changes, readonly string[]])[] = [
  ["no task.toml", { "task.toml": null }, ["greet/task.toml:", "is missing", "add it"]],
  ["task.toml is not TOML", toml("[agent]", "[agent"), ["task.toml:", "is not TOML", "mend that line"]],
  ["a key stands twice", toml("memory_mb = 128", "memory_mb = 128\nmemory_mb = 3"), ["task.toml:16", "is not TOML"]],
  ["an unsafe key", toml("[task]", "[task]\n__proto__ = 1"), ["task.toml", "is not TOML"]],
  [
    "task.toml is not UTF-8",
    { "task.toml": new Uint8Array([0xff, 0xfe, 0x41]) },
    ["task.toml", "is not UTF-8", "save it as UTF-8"],
  ],
  ["CR LF line ends", { "instruction.md": "Write.\r\n" }, ["instruction.md:1", "CR LF", "LF line ends"]],
  ["a NUL in the instruction", { "instruction.md": "a\nb\0" }, ["instruction.md:2", "NUL", "plain text"]],
  [
    "no instruction",
    { "instruction.md": null, "instructions.md": "x" },
    ["instruction.md", "is missing", "rename instructions.md"],
  ],
  ["an empty instruction", { "instruction.md": " \n" }, ["instruction.md", "length", "is empty", "end state"]],
  [
    "an id that is not kebab-case",
    toml("sandlot/greet", "Sandlot/Greet It"),
    ["task.toml:5", "task.name", "sandlot/greet-it"],
  ],
  ["an id without an organisation", toml("sandlot/greet", "greet"), ["task.toml:5", "task.name", "local/greet"]],
  ["an id with a path in it", toml("sandlot/greet", "../greet"), ["task.toml:5", "task.name", "org/name"]],
  [
    "a wrong type",
    toml("timeout_sec = 60", 'timeout_sec = "1 min"'),
    ["task.toml:9", "agent.timeout_sec", '"1 min"', "such as 900"],
  ],
  [
    "a negative time",
    toml("timeout_sec = 30", "timeout_sec = -1"),
    ["task.toml:12", "verifier.timeout_sec = -1", "such as 600"],
  ],
  [
    "a table where a text belongs",
    toml('"Write a greeting."', "{ a = 1 }"),
    ["task.toml:6", "task.description", "must be a text"],
  ],
  ["an unknown sandlot key", toml(SANDLOT, 'famly = "greeting"'), ["task.toml:19", "sandlot.famly", "write family"]],
  [
    "an unknown key of a tier",
    toml("weight = 0.5", "wieght = 0.5"),
    ["task.toml", "sandlot.tiers[0].wieght", "write weight"],
  ],
  [
    "an unknown limit",
    toml(SANDLOT, "limits = { turnsMax = 3 }"),
    ["task.toml:19", "sandlot.limits.turnsMax", "turns"],
  ],
  ["too many turns", toml(SANDLOT, "limits = { turns = 1000000 }"), ["task.toml:19", "sandlot.limits.turns", "10000"]],
  [
    "an unknown tier name",
    toml('"boundary"', '"edge"'),
    ["task.toml:26", "sandlot.tiers[1].name", '"edge"', "must be one of"],
  ],
  ["a tier twice", toml('name = "boundary"', 'name = "unit"'), ["sandlot.tiers[1].name", "stands twice", "merge"]],
  [
    "a tier that requires a later one",
    toml('requires = ["unit"]', 'requires = ["integration"]'),
    ["sandlot.tiers[1].requires", '"integration"', "not a tier declared before"],
  ],
  [
    "tiers that can earn nothing",
    { "task.toml": String(GOOD_FOLDER["task.toml"]).replaceAll("weight = 0.5", "weight = 0") },
    ["sandlot.tiers", "no hidden tier", "weight above 0"],
  ],
  [
    "a threshold above one",
    toml(SANDLOT, "threshold = 1.5"),
    ["task.toml:19", "sandlot.threshold = 1.5", "from 0 to 1"],
  ],
  [
    "a work folder that is not absolute",
    toml('"/app"\n', '"app"\n'),
    ["task.toml:16", "environment.workdir", '"/app"'],
  ],
  [
    "a work folder that climbs",
    toml('workdir = "/app"', 'workdir = "/app/../etc"'),
    ["environment.workdir", "without .."],
  ],
  [
    "an artifact that climbs",
    toml("/app/out.txt", "/app/../etc/shadow"),
    ["task.toml:2", "artifacts[0]", "without .."],
  ],
  ["an artifact with a glob", toml("/app/out.txt", "/app/*.txt"), ["task.toml:2", "artifacts[0]", "and *"]],
  [
    "an artifact twice",
    toml('["/app/out.txt"]', '["/app/out.txt", "/app/out.txt"]'),
    ["artifacts", "declared twice", "once"],
  ],
  [
    "an artifact moved elsewhere",
    toml('["/app/out.txt"]', '[{ source = "/app/a", destination = "/b" }]'),
    ["artifacts[0].destination", "leave destination out"],
  ],
  [
    "a declared contract of nothing",
    {
      ...toml('artifacts = ["/app/out.txt"]', ""),
      "task.toml": `${String(GOOD_FOLDER["task.toml"]).replace('artifacts = ["/app/out.txt"]', "")}\n[sandlot.contract]\nstate = "declared"\n`,
    },
    ["sandlot.contract.state", "needs files"],
  ],
  ["a root agent", toml("timeout_sec = 60", 'timeout_sec = 60\nuser = "root"'), ["agent.user", "root-agent"]],
  [
    "an unknown user",
    toml("timeout_sec = 60", 'timeout_sec = 60\nuser = "mallory"'),
    ["agent.user", '"mallory"', '"agent"'],
  ],
  [
    "old and new memory that disagree",
    toml("memory_mb = 128", 'memory_mb = 128\nmemory = "4G"'),
    ["environment.memory", '"4G"', "environment.memory_mb = 128", "old spelling"],
  ],
  [
    "a memory that is no size",
    toml("memory_mb = 128", 'memory = "lots"'),
    ["environment.memory", '"lots"', "memory_mb"],
  ],
  ["a version of another format", toml('"1.4"', '"2.0"'), ["task.toml:1", "schema_version", '"1.4"']],
  [
    "the name of no image",
    { "environment/image.toml": null, ...toml("memory_mb", 'docker_image = "debian 12"\nmemory_mb') },
    ["task.toml:15", "environment.docker_image", "debian:bookworm"],
  ],
  ["accelerators", toml("memory_mb", "gpus = 1\nmemory_mb"), ["environment.gpus = 1", "accelerators", "write 0"]],
  [
    "several parts",
    { "task.toml": `${String(GOOD_FOLDER["task.toml"])}\n[[steps]]\nname = "one"\n` },
    ["task.toml:30", "steps", "several parts", "a task of its own"],
  ],
  [
    "a tool server without a program",
    toml("memory_mb", 'mcp_servers = [{ name = "x" }]\nmemory_mb'),
    ["environment.mcp_servers[0]", "command and args", "/usr/bin/notes-mcp"],
  ],
  [
    "a tool server with an unknown transport",
    toml("memory_mb", 'mcp_servers = [{ name = "x", transport = "tcp" }]\nmemory_mb'),
    ["environment.mcp_servers[0].transport", "streamable-http"],
  ],
  [
    "a health check without a command",
    toml("memory_mb", "healthcheck = { retries = 2 }\nmemory_mb"),
    ["environment.healthcheck.command", "curl"],
  ],
  [
    "an allow-list of nobody",
    toml("memory_mb", 'network_mode = "allowlist"\nmemory_mb'),
    ["environment.allowed_hosts", "names no host", "example.org"],
  ],
  [
    "an address with a path in an allow-list",
    toml("memory_mb", 'network_mode = "allowlist"\nallowed_hosts = ["https://example.org/"]\nmemory_mb'),
    ["environment.allowed_hosts", "is not the name of a host"],
  ],
  [
    "hosts without an allow-list",
    toml("memory_mb", 'allowed_hosts = ["example.org"]\nmemory_mb'),
    ["environment.allowed_hosts", "has no effect", "allowlist"],
  ],
  [
    "an agent with more network than its environment",
    toml("timeout_sec = 60", 'timeout_sec = 60\nnetwork_mode = "public"'),
    ["task.toml:10", "agent.network_mode", "under [environment]"],
  ],
  [
    "a network for hidden tests",
    toml("timeout_sec = 30", 'timeout_sec = 30\nnetwork_mode = "public"'),
    ["task.toml:13", "verifier.network_mode", "no-network"],
  ],
  [
    "variables for tests that read none",
    toml("timeout_sec = 30", 'timeout_sec = 30\nenv = { KEY = "1" }'),
    ["task.toml:13", "verifier.env", "reward-file"],
  ],
  [
    "a skills folder that is relative",
    toml("memory_mb", 'skills_dir = "skills"\nmemory_mb'),
    ["environment.skills_dir", "absolute"],
  ],
  [
    "a variable of the host",
    toml("memory_mb = 128", `memory_mb = 128\nenv = { KEY = "${"$"}{KEY}" }`),
    ["environment.env.KEY", "write the value itself"],
  ],
  [
    "a judge without a rubric",
    toml(SANDLOT, "judge = { votes = 3 }"),
    ["task.toml", "sandlot.judge", "[[sandlot.judge.items]]"],
  ],
  [
    "a milestone whose fact is unknown",
    toml(SANDLOT, 'milestones = [{ name = "up", predicate = { prt = 80 } }]'),
    ["task.toml", "sandlot.milestones[0].predicate", "port"],
  ],
  [
    "a performance tier without a workload",
    {
      ...toml('name = "boundary"', 'name = "performance"'),
      "tests/boundary/test_out.py": null,
      "wrong/line-end/expect.toml": "reward_max = 0.5",
      "tests/manifest.json": '{"tests": [{"id": "unit/test_out.py::TestOut.test_text", "tier": "unit"}]}',
    },
    ["tests/manifest.json", '"performance"', "has no test", "tests/performance/workload.py"],
  ],
  [
    "an unknown runner",
    toml('name = "boundary"', 'name = "boundary"\nrunner = "pytst"'),
    ["task.toml:27", "sandlot.tiers[1].runner", '"pytst"', 'write "pytest"'],
  ],
  [
    "a tier whose files are of two runners",
    { "tests/unit/test_more.sh": "check more /bin/true\n" },
    ["sandlot.tiers[0].runner", "several runners (unittest, shell)", "a tier of their own"],
  ],
  [
    "a script that writes its own reward, without the risk",
    {
      ...toml('name = "boundary"', 'name = "boundary"\nrunner = "reward-file"'),
      "tests/boundary/test_out.py": null,
      "tests/boundary/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    },
    ["sandlot.tiers[1].runner", "weakness that must be accepted", 'risk = ["in-process-tests"]'],
  ],
  [
    "a risk that nothing of the task has",
    toml(SANDLOT, 'risk = ["in-process-tests"]'),
    ["sandlot.risk", '"in-process-tests"', "leave it out"],
  ],
  [
    "repeats of a tier that is not measured",
    toml('name = "boundary"', 'name = "boundary"\nrepeats = 3'),
    ["sandlot.tiers[1].repeats", "performance tiers"],
  ],
  [
    "a service looked up in PATH",
    toml(SANDLOT, `${SANDLOT}\n[[sandlot.services]]\nname = "web"\nargv = ["python3"]\nport = 8080\n`),
    ["sandlot.services[0].argv", '"python3"', "absolute path"],
  ],
  [
    "two services on one port",
    toml(
      SANDLOT,
      ["a", "b"].map((name) => `[[sandlot.services]]\nname = "${name}"\nargv = ["/bin/a"]\nport = 80\n`).join("\n"),
    ),
    ["sandlot.services[1].port", "80", "stands twice"],
  ],
  [
    "a protected path that climbs",
    toml(SANDLOT, 'protected = ["/app/../etc"]'),
    ["sandlot.protected[0]", '"/app/../etc"', "absolute path"],
  ],
  ["no image.toml", { "environment/image.toml": null }, ["environment/image.toml", "is missing", 'base = "host"']],
  [
    "several containers",
    { "environment/image.toml": null, "environment/docker-compose.yaml": "services: {}" },
    ["environment/docker-compose.yaml", "several containers", "setup.sh"],
  ],
  ["another base", { "environment/image.toml": 'base = "python"' }, ["image.toml:1", "base", '"python"', '"host"']],
  ["packages to install", { "environment/image.toml": 'packages = ["git"]' }, ["image.toml:1", "packages", "programs"]],
  ["an unknown image key", { "environment/image.toml": "filez = []" }, ["image.toml:1", "filez", "write files"]],
  [
    "a program that is a command",
    { "environment/image.toml": 'programs = ["rm -rf /"]' },
    ["image.toml", "programs", "bare name"],
  ],
  ["a source that climbs", image('source = "../task.toml"'), ["image.toml:3", "files[0].source", "without .."]],
  ["an absolute source", image('source = "/etc/passwd"'), ["image.toml:3", "files[0].source", "relative path"]],
  ["a source that is not there", image('source = "nots"'), ["image.toml:3", "files[0].source", "does not exist"]],
  [
    "a target that climbs",
    image('source = "notes"', 'target = "/app/../tests"'),
    ["image.toml:4", "files[0].target", "without .."],
  ],
  [
    "a target over the hidden tests",
    image('source = "notes"', 'target = "/tests/unit"'),
    ["files[0].target", "/tests", "another"],
  ],
  [
    "a mode that is none",
    image('source = "notes"', 'target = "/app/n"\nmode = "u+x"'),
    ["image.toml:5", "files[0].mode", '"0644"'],
  ],
  [
    "two files at one place",
    {
      "environment/image.toml":
        '[[files]]\nsource = "notes/a.txt"\ntarget = "/app/a"\n[[files]]\nsource = "setup.sh"\ntarget = "/app/a"\n',
    },
    ["image.toml", "files.target", '"/app/a"', "placed twice"],
  ],
  ["a test.sh", { "tests/test.sh": "exit 0" }, ["tests/test.sh", "belongs to no tier", "tests/unit/test.sh"]],
  [
    "an image of the verifier",
    { "verifier/Dockerfile": "FROM debian" },
    ["verifier/Dockerfile", "not served", "remove"],
  ],
  [
    "folders of parts",
    { "steps/one/instruction.md": "x" },
    ["steps/one/instruction.md", "several parts", "of its own"],
  ],
  [
    "no tests",
    { "tests/unit/test_out.py": null, "tests/boundary/test_out.py": null },
    ["/tests:", "no hidden test", "tests/unit/test_NAME.py"],
  ],
  [
    "a test file without a test",
    { "tests/unit/test_out.py": "x = 1\n" },
    ["tests/unit/test_out.py", "holds no test", "unittest.TestCase"],
  ],
  [
    "a test defined twice",
    {
      "tests/unit/test_out.py": `${String(GOOD_FOLDER["tests/unit/test_out.py"])}\n    def test_text(self):\n        pass\n`,
    },
    ["tests/unit/test_out.py", "TestOut.test_text", "twice", "rename"],
  ],
  [
    "tests of an undeclared tier",
    { "tests/integration/test_more.py": String(GOOD_FOLDER["tests/unit/test_out.py"]) },
    ["tests/integration/test_more.py", '"integration"', "[[sandlot.tiers]]"],
  ],
  [
    "a tier without tests",
    { "tests/manifest.json": '{"tests": [{"id": "unit/test_out.py::TestOut.test_text", "tier": "unit"}]}' },
    ["manifest.json", '"boundary"', "has no test"],
  ],
  ["no manifest", { "tests/manifest.json": null }, ["tests/manifest.json", "is missing", "--write-manifest"]],
  [
    "a manifest that is not JSON",
    { "tests/manifest.json": "[" },
    ["tests/manifest.json", "is not JSON", "--write-manifest"],
  ],
  [
    "a manifest of another form",
    { "tests/manifest.json": '{"tests": [1]}' },
    ["tests/manifest.json", "tests.0", "--write-manifest"],
  ],
  [
    "a manifest with a path that climbs",
    { "tests/manifest.json": '{"tests": [{"id": "../test_a.py::T.test_a", "tier": "unit"}]}' },
    ["manifest.json", "tests[0].id", "is not a test id"],
  ],
  [
    "a manifest that lists a test twice",
    {
      "tests/manifest.json": String(GOOD_FOLDER["tests/manifest.json"]).replace(
        "boundary/test_out.py::TestOut.test_no_line_end",
        "unit/test_out.py::TestOut.test_text",
      ),
    },
    ["tests[1].id", "stands twice"],
  ],
  ["no oracle", { "solution/solve.sh": null }, ["solution/solve.sh", "is missing", "bash script"]],
  [
    "an alternative with an odd name",
    { "solution/alternative/Other Way/solve.sh": "" },
    ["solution/alternative/Other Way", '"Other Way"', "kebab-case"],
  ],
  ["a wrong solution without a script", { "wrong/empty/solve.sh": null }, ["wrong/empty/solve.sh", "is missing"]],
  [
    "a wrong solution as a patch",
    { "wrong/empty/solve.sh": null, "wrong/empty/change.patch": "x" },
    ["wrong/empty/change.patch", "not served", "solve.sh"],
  ],
  [
    "a wrong solution without an expectation",
    { "wrong/empty/expect.toml": null },
    ["wrong/empty/expect.toml", "is missing", "reward_max"],
  ],
  [
    "a wrong solution that may earn all",
    { "wrong/empty/expect.toml": "reward_max = 1.0" },
    ["expect.toml:1", "reward_max = 1", "below 1"],
  ],
  [
    "a wrong solution that fails an unknown tier",
    { "wrong/empty/expect.toml": 'reward_max = 0\nfails_tier = "untit"' },
    ["expect.toml:2", "fails_tier", "write unit"],
  ],
  ["an unknown expectation", { "wrong/empty/expect.toml": "reward = 0\n" }, ["expect.toml:1", "reward", "reward_max"]],
];
