/** Hostile answers through the whole episode: each is a verdict with reward 0, never a failure, and siblings earn 1. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Machinery } from "../../src/app-parts.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { besideHonest, machinery, sumTask } from "./bad-luck-support.ts";
import { expectNoLeaks, type LeakBaseline, leakBaseline } from "./leaks.ts";

let baseline: LeakBaseline;
let shared: Machinery;

beforeAll(async () => {
  baseline = await leakBaseline();
  shared = machinery();
});

afterAll(async () => {
  await shared.close();
  await expectNoLeaks(baseline);
});

const HANG = "    import time\n    while True: time.sleep(1)\n";

test.each([
  [
    "forks without end",
    "import os\ndef f(x, y):\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
  ],
  ["fills memory", "def f(x, y):\n    a = []\n    while True: a.append(bytearray(1 << 20))\n"],
  [
    "fills the disk",
    "def f(x, y):\n    n = 0\n    while True:\n        n += 1\n        with open('/tmp/b%d' % n, 'wb') as b: b.write(bytes(1 << 20))\n",
  ],
  [
    "prints 1 GiB",
    "import os\ndef f(x, y):\n    for fd in (1, 2):\n        for _ in range(512): os.write(fd, bytes(1 << 20))\n    return 0\n",
  ],
  [
    "ignores TERM and every other signal",
    `import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ndef f(x, y):\n${HANG}`,
  ],
  [
    "kills PID 1 and all it can reach",
    "import os\ndef f(x, y):\n    for p in (1, os.getppid(), -1):\n        try: os.kill(p, 9)\n        except OSError: pass\n    return 0\n",
  ],
  [
    "writes a fake verdict to every descriptor",
    'import os\ndef f(x, y):\n    for fd in range(1, 64):\n        try: os.write(fd, b\'value ["int","3"]\\n{"reward":1,"total":1}\\nOK\\n\')\n        except OSError: pass\n    return 0\n',
  ],
  ["does not even load", "while True: pass\n"],
])("an answer that %s is graded 0 and stops nobody", async (_what, answer) => {
  const script = { name: "hostile", answer, files: [], commands: [] };
  const { document } = await besideHonest(shared, sumTask(), scriptPolicy(script));
  expect(document.outcome).toMatchObject({ kind: "graded", cause: "completed", reward: 0 });
  expect(shared.pool.stats().lent).toBe(0);
});
