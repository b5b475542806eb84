import { afterAll, expect, test } from "vitest";
import type { FileContent } from "../core/sandbox-files.ts";
import type { Task } from "../core/task.ts";
import { file, gradingRig, hiddenTask } from "./grading-support.ts";

const rig = gradingRig();

afterAll(async () => {
  expect(await rig.close()).toEqual([]);
});

const PRODUCT = file("/app/product.sh", "echo 42\n", 0o755);

/** A task whose one test is a script that writes its own reward. */
function task(script: string, change: Partial<Task> = {}) {
  const made = hiddenTask("reward-file", { path: "test.sh", text: script, names: [] }, change);
  const verifier = { ...made.verifier, manifest: [{ id: "unit/test.sh", tier: "unit" }] };
  return { ...made, verifier };
}

async function graded(script: string, left: readonly FileContent[] = [PRODUCT], change: Partial<Task> = {}) {
  return rig.grade(task(script, change), left);
}

const ONE = "echo 1 > /logs/verifier/reward.txt\n";

test("the script's own number is the score of its tier, and all it wrote is kept beside it", async () => {
  const verdict = await graded('echo \'{"reward": 0.25, "speed": 3}\' > /logs/verifier/reward.json; echo fine');
  expect(verdict).toMatchObject({
    total: 0.25,
    tests: [{ id: "unit/test.sh", status: "failed", detail: expect.stringContaining("fine") }],
  });
  expect(verdict.scores.map(({ name, value, weight }) => [name, value, weight])).toEqual([
    ["unit", 0.25, 1],
    ["reward", 0.25, 0],
    ["speed", 3, 0],
  ]);
});

test("the script finds the artifacts at their own places, its files beside it, and may write in the work folder", async () => {
  const script = `set -e
test "$(bash product.sh)" = 42
test "$PWD" = /app; test "$(id -u)" = 1001; test "$(umask)" = 0077
echo built > made; test -f /tests/unit/data.txt; test -f /tests/data.txt
test "$(stat -c '%a %u' /logs/verifier)" = "700 1001"; test -z "$(ls -A /logs/verifier)"
${ONE}`;
  const made = task(script);
  const files = [...made.verifier.files, file("/tests/unit/data.txt", "x")];
  const verdict = await rig.grade({ ...made, verifier: { ...made.verifier, files } }, [PRODUCT]);
  expect(verdict).toMatchObject({ total: 1, tests: [{ status: "passed" }] });
});

test.each([
  ["no file", "true", "reward_absent", "tests/unit/test.sh of test/hidden, which ended with 0"],
  ["a script that dies", "kill -9 $$", "reward_absent", "ended with -9"],
  ["a script that bash cannot read", "if then", "reward_absent", "syntax error"],
  [
    "two files that disagree",
    `${ONE} echo '{"reward": 0}' > /logs/verifier/reward.json`,
    "reward_disagreement",
    "test.sh",
  ],
  ["no number", "echo nan > /logs/verifier/reward.txt", "reward_invalid", "nan"],
  ["an empty file", ": > /logs/verifier/reward.txt", "reward_invalid", "reward.txt"],
  [
    "a link to a file",
    `echo 1 > /tmp/r; ln -s /tmp/r /logs/verifier/reward.txt`,
    "reward_unreadable",
    "no regular file",
  ],
  ["a link to nothing", `ln -s /no /logs/verifier/reward.txt`, "reward_unreadable", "no regular file"],
  ["a second name of a file", `${ONE} ln /logs/verifier/reward.txt /tmp/r`, "reward_unreadable", "second name"],
  ["a FIFO", "mkfifo /logs/verifier/reward.txt", "reward_unreadable", "no regular file"],
  ["a folder", "mkdir /logs/verifier/reward.json", "reward_unreadable", "no regular file"],
  [
    "a socket",
    "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('/logs/verifier/reward.txt')\"",
    "reward_unreadable",
    "no regular file",
  ],
  ["a large file", "head -c 70000 /dev/zero > /logs/verifier/reward.txt", "reward_unreadable", "70000 bytes"],
  ["a sparse terabyte", "truncate -s 1G /logs/verifier/reward.txt", "reward_unreadable", "more than 65536"],
])("%s is a fault that names the script, never a reward of 0", async (_name, script, code, said) => {
  await expect(graded(script)).rejects.toMatchObject({ code, message: expect.stringContaining(said) });
});

test("a script that hangs is a fault, but a reward it wrote before counts", async () => {
  const limits = { ...task("").limits, gradeMs: 3_000 };
  await expect(graded("sleep 600", [], { limits })).rejects.toMatchObject({ code: "verifier_timeout" });
  expect(await graded(`${ONE} sleep 600`, [], { limits })).toMatchObject({ total: 1 });
});

test("a program in the background cannot rewrite the reward after the script has ended", async () => {
  const rewriter = file(
    "/app/rewriter.sh",
    "while kill -0 $1 2> /dev/null; do sleep 0.02; done; sleep 0.1; while :; do echo 1 > /logs/verifier/reward.txt; done\n",
  );
  const script = "setsid bash /app/rewriter.sh $$ & disown; echo 0 > /logs/verifier/reward.txt; sleep 0.3";
  expect(await graded(script, [rewriter])).toMatchObject({ total: 0 });
});

test("a script, and the product beside it, reaches nothing of what runs it: not its process, its report or its clock", async () => {
  const script = `kill -9 $PPID 2> /dev/null && exit 1
ls /proc/$PPID/fd > /dev/null 2>&1 && exit 1
for fd in 3 4 5 6 7 8 9; do echo '{"before": null, "code": 0, "isLate": false, "files": {}}' >&$fd; done 2> /dev/null
touch /run/runner-clock /logs/reward.txt 2> /dev/null && exit 1
mv /logs/verifier /logs/other 2> /dev/null && exit 1
rm -rf /tests 2> /dev/null; test -f /tests/test.sh || exit 1
echo 0.5 > /logs/verifier/reward.txt; kill -9 -1`;
  expect(await graded(script)).toMatchObject({ total: 0.5 });
});

test("a script that forks without end leaves nothing alive, and its reward still counts", async () => {
  const script = `${ONE} bomb() { bomb | bomb & }; bomb 2> /dev/null; sleep 0.5`;
  expect(await graded(script)).toMatchObject({ total: 1 });
});

test("a script that fills the disk has no reward, and one that prints without end keeps its own", async () => {
  const full = "cat /dev/zero > /tmp/full 2> /dev/null; echo 1 > /logs/verifier/reward.txt";
  await expect(graded(full)).rejects.toMatchObject({ code: "reward_invalid" });
  expect(await graded(`${ONE} head -c 30000000 /dev/zero; echo '{"before":null}' >&3`)).toMatchObject({ total: 1 });
});

test("a script that uses up all files it may have keeps the reward it wrote before", async () => {
  const script = `${ONE} for ((n = 0; n < 9000; n++)); do : > /tmp/file-$n || break; done 2> /dev/null`;
  const contract = { ...task("").contract, entriesMax: 1 };
  expect(await graded(script, [PRODUCT], { contract })).toMatchObject({ total: 1 });
});

test("a script whose memory runs out has no reward, or the one it wrote before", async () => {
  const hog = "python3 -c 'a = []\nwhile 1: a.append(bytearray(1 << 22))'";
  await expect(graded(`${hog} && ${ONE}`)).rejects.toMatchObject({ code: "reward_absent" });
  expect(await graded(`${ONE} ${hog}`)).toMatchObject({ total: 1 });
});

test("a reward folder that the set-up or the image has filled before is a fault", async () => {
  const setup = "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt";
  await expect(graded("true", [], { setup })).rejects.toMatchObject({
    code: "reward_unreadable",
    message: expect.stringContaining("holds 'reward.txt' before the script has run"),
  });
  const linked = { setup: "mkdir -p /logs && ln -s /app /logs/verifier" };
  await expect(graded(ONE, [], linked)).rejects.toMatchObject({ code: "reward_unreadable" });
});

test.each(["/logs", "/logs/verifier", "/logs/verifier/reward.txt", "/usr/local/bin", "/etc/profile", "/tests", "/"])(
  "a contract that would let the agent place %s beside the script is refused, by the task's file",
  async (path) => {
    const contract = { ...task("").contract, state: "declared" as const, files: [{ path, required: false }] };
    const planted = [file("/logs/verifier/reward.txt", "1"), file("/usr/local/bin/cat", "#!/bin/sh\nexit 0\n", 0o755)];
    await expect(graded("true", planted, { contract })).rejects.toMatchObject({
      code: "task_invalid",
      message: expect.stringContaining("task.toml of test/hidden"),
    });
  },
);

test("programs and start-up files in the work folder, and hooks in variables, change nothing of how a script runs", async () => {
  const trojan = "echo 1 > /logs/verifier/reward.txt; exit 0\n";
  const left = ["cat", "test", ".bashrc", ".profile", "evil.sh"].map((name) => file(`/app/${name}`, trojan, 0o755));
  const envVars = {
    BASH_ENV: "/app/evil.sh",
    ENV: "/app/evil.sh",
    LD_PRELOAD: "/app/evil.so",
    PS4: "$(sh /app/evil.sh)",
  };
  const script = `cat /tests/test.sh > /dev/null; test "$BASH_ENV$ENV$LD_PRELOAD" = "" || exit 1
echo 0.5 > /logs/verifier/reward.txt`;
  expect(await graded(script, left, { envVars })).toMatchObject({ total: 0.5 });
});
