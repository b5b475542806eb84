/** Each check that only reads: a folder that passes it, and the same with one thing changed that fails it. */
import { expect, test } from "vitest";
import { Failure } from "../../core/errors.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { readFolderFiles } from "../folder-files.ts";
import { type Changes, GOOD_FOLDER, tomlWith, withFolder } from "../folder-fixture-support.ts";
import { readTask } from "../read-folder.ts";
import type { CheckContext, Finding, PeerTask } from "./check-contract.ts";
import { TEXT_CHECKS } from "./text-checks.ts";

const UNIT_ID = "unit/test_out.py::TestOut.test_text";
const BOUNDARY_ID = "boundary/test_out.py::TestOut.test_no_line_end";
const requirement = (id: string, ...tests: readonly string[]) =>
  `\n[[sandlot.requirements]]\nid = "${id}"\ntext = "It holds."\ntests = ${JSON.stringify(tests)}\n`;
const TOML = String(GOOD_FOLDER["task.toml"]);
const SOUND: Changes = {
  "task.toml": `${TOML}${requirement("text", UNIT_ID)}${requirement("no-line-end", BOUNDARY_ID)}`,
};
const unit = (body: string): Changes => ({
  "tests/unit/test_out.py": String(GOOD_FOLDER["tests/unit/test_out.py"]).replace("self.assertEqual(1, 1)", body),
});

async function finding(id: string, changes: Changes, more: Partial<CheckContext> = {}): Promise<Finding> {
  const [check] = TEXT_CHECKS.filter((each) => each.id === id);
  if (check === undefined) throw new Error(`no check ${id}`);
  return withFolder({ ...SOUND, ...changes }, async (folder) => {
    const { task, warnings } = await readTask(folder);
    const unused = () => Promise.reject(new Failure("unexpected", "a check that reads runs nothing"));
    return check.check({
      ...{ task, files: await readFolderFiles(folder), warnings, profile: "release", runtime: systemRuntime() },
      ...{ signal: new AbortController().signal, judge: null, history: async () => [] },
      ...{ runs: unused, withAgentSandbox: unused, ...more },
    });
  });
}

const PEER: PeerTask = {
  ...{ key: "x/twin", hash: "h", split: "train", tests: "" },
  instruction: `${GOOD_FOLDER["instruction.md"]} and nothing else at all is asked of anybody here`,
};

test.each([
  ["no-secrets", { "environment/notes/a.txt": "-----BEGIN RSA PRIVATE KEY-----\n" }, /a\.txt:1 holds a private key/],
  ["no-secrets", { "visible/test_seen.py": `KEY = "AKIA${"A".repeat(16)}"\n` }, /test_seen\.py:1 holds an access key/],
  [
    "dependencies-pinned",
    { "environment/notes/requirements.txt": "flask==3.0.0\nrequests>=2\n" },
    /requirements\.txt:2 is not pinned: requests>=2/,
  ],
  ["no-install-at-grading", unit('os.system("pip install requests")'), /test_out\.py:6 installs or downloads/],
  ["no-install-at-grading", unit('os.system("apt-get -y install git")'), /installs or downloads/],
  [
    "behaviour-judged",
    unit('self.assertIn("def total", (artifacts / "app" / "cart.py").read_text())'),
    /judges the words of the product's source/,
  ],
  ["no-unsafe-load", unit("self.assertTrue(pickle.load(artifacts / 'out'))"), /loads data of the agent's as code/],
  [
    "no-unsafe-load",
    unit("self.assertTrue(eval((artifacts / 'app').read_text()))"),
    /loads data of the agent's as code/,
  ],
  [
    "names-stated",
    unit('self.assertEqual(subject.call("/app/cart.py:total", []), 0)'),
    /calls \/app\/cart\.py, which neither/,
  ],
  [
    "names-stated",
    { "instruction.md": "Write the text hello into the right file, without a line end.\n" },
    /out\.txt is collected/,
  ],
  ["requirements-covered", { "task.toml": TOML }, /it lists no requirements/],
  [
    "requirements-covered",
    { "task.toml": `${TOML}${requirement("text", UNIT_ID)}` },
    /no requirement names boundary\/test_out/,
  ],
  [
    "requirements-covered",
    { "task.toml": `${TOML}${requirement("a", UNIT_ID, BOUNDARY_ID)}${requirement("b", BOUNDARY_ID, UNIT_ID)}` },
    /requirement b has the very tests of another/,
  ],
] as const)(
  "%s fails where it should, by file and remedy, and passes on a sound task",
  async (id, changes, evidence) => {
    const bad = await finding(id, changes);
    expect(bad).toMatchObject({ status: "fail", evidence: expect.stringMatching(evidence) });
    expect((await finding(id, {})).status).toBe(id === "dependencies-pinned" ? "skip" : "pass");
  },
);

test("a test asserts also after a long text that is indented less, and one that only holds such a text does not", async () => {
  const long = (rest: string) => unit(`ran = ask("""\nshow(1)\n""")\n        ${rest}`);
  expect((await finding("tests-assert", long("self.assertEqual(ran, 1)"))).status).toBe("pass");
  expect((await finding("tests-assert", long("print(ran)"))).status).toBe("fail");
});

test("exact versions pass, and a local mirror is no download", async () => {
  const pinned = { "environment/notes/requirements.txt": "flask==3.0.0\n# a comment\n" };
  expect((await finding("dependencies-pinned", pinned)).status).toBe("pass");
  const mirror = unit('self.assertTrue(run("pip install --no-index --find-links /app/mirror flask"))');
  expect((await finding("no-install-at-grading", mirror)).status).toBe("pass");
});

test("an image that another day would make otherwise fails, and the machine's own needs no pin", async () => {
  const based = (base: string) => ({ "environment/image.toml": `base = "${base}"\n`, "environment/notes/a.txt": null });
  expect((await finding("image-pinned", {})).status).toBe("skip");
  expect((await finding("image-pinned", based("recipe:ops"))).status).toBe("pass");
  expect((await finding("image-pinned", based("debian:bookworm+git"))).status).toBe("fail");
  expect((await finding("image-pinned", based("oci:python:3.12"))).status).toBe("fail");
  const built = (text: string) => ({ ...based(""), "environment/image.toml": null, "environment/Dockerfile": text });
  const digest = `debian@sha256:${"0".repeat(64)}`;
  const pinned = `FROM ${digest} AS build\nRUN true\nFROM build\n`;
  expect((await finding("image-pinned", built(pinned))).status).toBe("pass");
  expect(await finding("image-pinned", built(`FROM ${digest}\nFROM --platform=x debian:12\n`))).toMatchObject({
    status: "fail",
    line: 2,
    file: expect.stringMatching(/environment\/Dockerfile$/),
  });
});

test("a twin in the set is named, and weighs more where it lies in a split that is reported on", async () => {
  const same = { ...PEER, instruction: String(GOOD_FOLDER["instruction.md"]) };
  const tests = await withFolder({}, async (folder) =>
    (await readFolderFiles(folder))
      .filter(({ path }) => /^tests\/(?!manifest)/.test(path))
      .map(({ bytes }) => new TextDecoder().decode(bytes))
      .join("\n"),
  );
  const twin = await finding("near-duplicate", {}, { peers: [{ ...same, tests, split: "eval" }] });
  expect(twin).toMatchObject({ status: "fail", severity: "E", evidence: expect.stringContaining("x/twin") });
  const other = {
    ...PEER,
    instruction: "Something else is asked here, which no other task of this set asks for at all.",
    tests: "",
  };
  expect((await finding("near-duplicate", {}, { peers: [other] })).status).toBe("pass");
  expect((await finding("near-duplicate", {})).status).toBe("skip");
});

test("a waiver names a check that may stand, and says why", async () => {
  const waived = (check: string, reason: string) => ({
    "task.toml": `${TOML}\n[[sandlot.waivers]]\ncheck = "${check}"\nreason = "${reason}"\n`,
  });
  const read = (changes: Changes) => withFolder(changes, readTask);
  const reason = "The reference needs most of the memory.";
  expect((await read(waived("headroom", reason))).task.waivers).toEqual([{ check: "headroom", reason }]);
  await expect(read(waived("oracle-passes", reason))).rejects.toThrow(/oracle-passes" blocks whatever the reason/);
  await expect(read(waived("hedroom", reason))).rejects.toThrow(/write headroom/);
  await expect(read(waived("headroom", "so"))).rejects.toThrow(/at least 20 characters/);
  await expect(read(tomlWith("[sandlot]", "[sandlot]\nwaivers = 3"))).rejects.toThrow(/must be a list of tables/);
});
