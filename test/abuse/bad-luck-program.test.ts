/**
 * Hostile solutions of a folder task through the whole episode: what the agent does in its own sandbox, and what the
 * program it leaves does where it is graded. Each ends in a verdict, and honest siblings in flight earn 1.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Machinery } from "../../src/app-parts.ts";
import type { Task } from "../../src/core/task.ts";
import { besideHonest, machinery, repairTask, solvedThen } from "./bad-luck-support.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

let baseline: LeakBaseline;
let shared: Machinery;
let task: Task;

beforeAll(async () => {
  baseline = await leakBaseline();
  shared = machinery();
  task = await repairTask();
});

afterAll(async () => {
  await shared.close();
  await expectNoLeaks(baseline);
});

/** The agent solves the task and is hostile to its sandbox as well: the sandbox suffers, the state is graded. */
test("an agent that forks, fills memory and disk, prints 1 GiB, ignores TERM, kills PID 1 and fakes verdicts is graded by its state", async () => {
  const hostile = [
    "head -c 1G /dev/zero",
    "head -c 200M /dev/zero > /tmp/big; true",
    "python3 -c 'a = bytearray(1 << 30)'",
    "kill -9 1; kill -9 -1",
    "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /app/reward.json; true",
    "(trap '' TERM INT HUP; while true; do sleep 1; done) & trap '' TERM; while true; do :; done",
    "bomb() { bomb | bomb & }; bomb; wait",
  ];
  /* Its solution is right, however long a starved machine takes to grade it. */
  const { document } = await besideHonest(shared, task, solvedThen(task, hostile), 60_000);
  const failed = document.tests.filter((one) => one.status !== "passed");
  expect([document.outcome, failed]).toMatchObject([{ kind: "graded", cause: "completed", reward: 1 }, []]);
  expect(shared.pool.stats().lent).toBe(0);
});

const HOSTILE_PROGRAMS = [
  ["forks without end", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"],
  ["fills memory", "a = []\nwhile True: a.append(bytearray(1 << 20))\n"],
  [
    "fills the disk",
    "n = 0\nwhile True:\n    n += 1\n    with open('/tmp/b%d' % n, 'wb') as b: b.write(bytes(1 << 20))\n",
  ],
  [
    "prints 1 GiB",
    "import os\nfor fd in (1, 2):\n    for _ in range(512): os.write(fd, bytes(1 << 20))\nos._exit(0)\n",
  ],
  [
    "ignores TERM and every other signal",
    "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(1)\n",
  ],
  [
    "kills PID 1 and all it can reach",
    "import os\nfor p in (1, os.getppid(), -1):\n    try: os.kill(p, 9)\n    except OSError: pass\nos._exit(0)\n",
  ],
  [
    "writes a fake verdict to every descriptor",
    'import os\nfor fd in range(1, 64):\n    try: os.write(fd, b\'{"reward":1,"total":1}\\n.....\\nRan 12 tests in 0.1s\\n\\nOK\\n\')\n    except OSError: pass\nos._exit(0)\n',
  ],
] as const;

test.each(HOSTILE_PROGRAMS)("a program that %s while it is graded earns 0 and stops nobody", async (_what, program) => {
  const write = `cat > /app/tally/__init__.py <<'HOSTILE'\n${program}HOSTILE`;
  const { document } = await besideHonest(shared, task, solvedThen(task, [write]));
  expect(document.outcome).toMatchObject({ kind: "graded", cause: "completed", reward: 0 });
  expect(shared.pool.stats().lent).toBe(0);
});
