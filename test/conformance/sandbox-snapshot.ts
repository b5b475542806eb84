/** Cases 58, 59, 63, 66 and 67: snapshot, fork, reset, and what one sandbox may leave to the next: nothing. */
import { expect } from "vitest";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { CaseContext, ConformanceCase } from "./case.ts";
import { OPTIONS, output } from "./sandbox-parts.ts";

/** Files of a sandbox's own, away from what an image brings. */
const SEED =
  "mkdir /app/kept && for i in 1 2 3 4 5; do echo $i > /app/kept/$i; done; rmdir /srv; echo first > /app/turn";

/** What the kernel and the sandbox tell of themselves; nothing of it may repeat in a sandbox made from another. */
const IDENTITY =
  "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; cat /proc/sys/kernel/random/boot_id >/dev/null; echo $$";

const now = async (sandbox: Sandbox): Promise<number> => Number(await output(sandbox, "date +%s"));

async function expectDiverged(sandbox: Sandbox, others: readonly Sandbox[]): Promise<void> {
  const all = [sandbox, ...others];
  await Promise.all(
    all.map((each, at) => output(each, `echo ${at} > /app/turn; rm /app/kept/${at + 1}; echo > /app/of-${at}`)),
  );
  for (const [at, each] of all.entries()) {
    expect(await output(each, "cat /app/turn; ls /app/kept | wc -l; ls /app | grep of-")).toBe(`${at}\n4\nof-${at}\n`);
    expect(await output(each, `test -e /app/kept/${at + 1} || echo removed; test -e /srv || echo removed`)).toBe(
      "removed\nremoved\n",
    );
  }
}

const FRESH_CASES: readonly ConformanceCase[] = [
  {
    number: 58,
    title: "nothing of one sandbox is ever seen in the next",
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        const folders = "/tmp /dev/shm /root /etc /app /var/tmp /run /home/agent";
        await output(sandbox, `for d in ${folders}; do echo secret > $d/left-over; done`);
        await output(sandbox, "mkdir -p /var/spool/cron && echo '* * * * * true' > /var/spool/cron/left-over");
        await output(sandbox, "mkdir -p /app/.git/refs/heads && echo secret > /app/.git/refs/heads/left-over");
        await sandbox.start("exec -a left-over sleep 300", { ...OPTIONS, timeoutMs: 300_000 });
        const shell = await sandbox.shell({});
        await shell.run("cd /tmp && export LEFT_OVER=secret && left_over=secret", OPTIONS);
      });
      await boxes.with(async (sandbox) => {
        expect(await output(sandbox, "find / -xdev -name 'left-over*'; ls /dev/shm; env | grep -i left; true")).toBe(
          "",
        );
        expect(await output(sandbox, "ipcs -a 2>/dev/null | grep -c 0x; true")).toBe("0\n");
        expect(await output(sandbox, "grep -l left-over /proc/[0-9]*/cmdline; pwd")).not.toContain("left-over");
        const shell = await sandbox.shell({});
        const { output: seen } = await shell.run('echo "$LEFT_OVER$left_over:$PWD"', OPTIONS);
        expect(Buffer.from(seen).toString()).toBe(":/root\n");
        await shell.close();
      });
    },
  },
  {
    number: 59,
    part: "d",
    title: "a reset sandbox is as fresh as a new one, under the same id, and proves it",
    request: { envVars: { KEPT: "yes" } },
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        const { id } = sandbox;
        await output(sandbox, "echo secret > /app/left-over; echo secret > /dev/shm/left-over; rm -r /opt");
        const process = await sandbox.start("sleep 300", { ...OPTIONS, timeoutMs: 300_000 });
        const shell = await sandbox.shell({});
        await shell.run("export LEFT_OVER=secret", OPTIONS);
        const report = await sandbox.reset();
        expect(report).toMatchObject({ bytes: 0, files: 0, processes: 0 });
        await expect(process.result).rejects.toMatchObject({ code: "sandbox_destroyed" });
        expect(sandbox.id).toBe(id);
        expect(await output(sandbox, "ls /app /dev/shm; ls -d /opt; echo $KEPT$LEFT_OVER")).toBe(
          "/app:\n\n/dev/shm:\n/opt\nyes\n",
        );
        expect(Buffer.from((await shell.run("echo $LEFT_OVER", OPTIONS)).output).toString()).toBe("\n");
        expect((await sandbox.processes()).filter(({ command }) => command.includes("sleep"))).toEqual([]);
        expect(await sandbox.diff()).toEqual([]);
      });
    },
  },
];

const FORK_CASES: readonly ConformanceCase[] = [
  {
    number: 59,
    title: "forks go their own ways, and the sandbox they come from goes on unchanged",
    run: async (boxes) => {
      const parent = await boxes.create();
      await output(parent, SEED);
      const forks = await parent.fork(3);
      expect(new Set([parent, ...forks].map(({ id }) => id)).size).toBe(4);
      for (const fork of forks)
        expect(fork.info).toMatchObject({ limits: parent.info.limits, labels: parent.info.labels });
      await expectDiverged(parent, forks);
      await parent.destroy();
      const [first, ...rest] = forks;
      if (first === undefined) throw new Error("no fork was made");
      expect(await output(first, "cat /app/turn /app/kept/5")).toBe("1\n5\n");
      expect(await output(first, "ls /app/kept | wc -l")).toBe("4\n");
      await Promise.all([first, ...rest].map((fork) => fork.destroy()));
    },
  },
  {
    number: 59,
    part: "b",
    title: "a fork has its own randomness, ports and processes, and the right clock and name",
    run: async (boxes) => {
      const parent = await boxes.create();
      const [one, other] = await parent.fork(2);
      if (one === undefined || other === undefined) throw new Error("two forks were asked for");
      const all = [parent, one, other];
      const told = await Promise.all(all.map((each) => output(each, IDENTITY.replace("; echo $$", ""))));
      expect(new Set(told.flatMap((text) => text.trim().split("\n"))).size).toBe(6);
      for (const each of all) {
        expect(Math.abs((await now(each)) - Date.now() / 1000)).toBeLessThan(60);
        expect(await output(each, "hostname; cat /etc/hostname")).toBe("sandbox\nsandbox\n");
        expect((await each.processes()).length).toBeLessThanOrEqual(1);
      }
      const listen =
        "import socket,time;s=socket.socket();s.bind(('127.0.0.1',8123));s.listen();print('up',flush=True);time.sleep(300)";
      for (const each of all) {
        let seen = "";
        await each.start(["python3", "-c", listen], {
          ...OPTIONS,
          timeoutMs: 300_000,
          onOutput: (_, bytes) => {
            seen += Buffer.from(bytes).toString();
          },
        });
        await boxes.until("the port is taken", () => seen.startsWith("up"));
      }
      await Promise.all(all.map((each) => each.destroy()));
    },
  },
  {
    number: 59,
    part: "c",
    title: "a sandbox goes back to any of its snapshots, and again",
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        const points: string[] = [];
        for (const turn of ["one", "two", "three"]) {
          await output(sandbox, `echo ${turn} > /app/turn; echo > /app/of-${turn}`);
          points.push((await sandbox.snapshot()).id);
        }
        for (const [at, turn] of [
          [1, "two"],
          [0, "one"],
          [2, "three"],
          [1, "two"],
        ] as const) {
          const report = await sandbox.reset(points[at]);
          expect(report).toMatchObject({ files: 0, processes: 0 });
          expect(await output(sandbox, "cat /app/turn; ls /app | grep -c of-; echo changed > /app/turn")).toBe(
            `${turn}\n${at + 1}\n`,
          );
        }
        await expect(sandbox.reset("no-such-snapshot")).rejects.toMatchObject({ code: "not_found" });
        expect(await output(sandbox, "cat /app/turn")).toBe("changed\n");
      });
    },
  },
];

async function writeOn(sandbox: Sandbox): Promise<void> {
  const loop = "i=0; while true; do i=$((i+1)); echo $i > /app/next && mv /app/next /app/count; done";
  await sandbox.start(loop, { ...OPTIONS, timeoutMs: 300_000 });
  await output(sandbox, "until test -e /app/count; do sleep 0.01; done");
}

const SNAPSHOT_LIVE_CASES: readonly ConformanceCase[] = [
  {
    number: 66,
    title: "a snapshot while processes live is refused by default, and nothing is lost by that",
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        await writeOn(sandbox);
        await expect(sandbox.snapshot()).rejects.toMatchObject({ code: "sandbox_busy" });
        await expect(sandbox.fork(1)).rejects.toMatchObject({ code: "sandbox_busy" });
        const before = Number(await output(sandbox, "cat /app/count"));
        await boxes.until("the writer goes on", async () => Number(await output(sandbox, "cat /app/count")) > before);
      });
    },
  },
  {
    number: 66,
    part: "b",
    title: "a snapshot that ends the processes holds every file whole",
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        await output(sandbox, SEED);
        await writeOn(sandbox);
        const snapshot = await sandbox.snapshot({ live: "kill" });
        expect(snapshot).toMatchObject({ kind: "filesystem", image: null });
        expect(snapshot.bytes).toBeGreaterThan(0);
        expect(await output(sandbox, "cat /app/count")).toMatch(/^\d+\n$/);
        await output(sandbox, "rm -r /app/kept");
        await sandbox.reset(snapshot.id);
        expect(await output(sandbox, "cat /app/count")).toMatch(/^\d+\n$/);
        expect(await output(sandbox, "cat /app/kept/*")).toBe("1\n2\n3\n4\n5\n");
      });
    },
  },
  {
    number: 66,
    part: "c",
    title: "a copy of a running sandbox is consistent, and its processes go on",
    run: async (boxes) => {
      await boxes.with(async (sandbox) => {
        await output(sandbox, SEED);
        await writeOn(sandbox);
        const copied = await sandbox.snapshot({ live: "copy" }).catch((error: unknown) => error);
        if (copied instanceof Error) {
          expect(copied).toMatchObject({ code: expect.stringMatching(/^(unsupported|sandbox_unavailable)$/) });
          return;
        }
        const before = Number(await output(sandbox, "cat /app/count"));
        await boxes.until("the writer goes on", async () => Number(await output(sandbox, "cat /app/count")) > before);
        await sandbox.reset((copied as { readonly id: string }).id);
        expect(Number(await output(sandbox, "cat /app/count"))).toBeGreaterThan(0);
        expect(await output(sandbox, "cat /app/kept/*")).toBe("1\n2\n3\n4\n5\n");
      });
    },
  },
  {
    number: 66,
    part: "d",
    title: "a snapshot of a sandbox that has ended, or while another is under way, is a typed refusal",
    run: async (boxes) => {
      const sandbox = await boxes.create();
      await output(sandbox, SEED);
      const first = sandbox.snapshot();
      await expect(sandbox.snapshot()).rejects.toMatchObject({ code: "sandbox_busy" });
      await expect(sandbox.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_busy" });
      await first;
      expect(await output(sandbox, "cat /app/kept/5")).toBe("5\n");
      const late = sandbox.snapshot().catch((error: unknown) => error);
      await sandbox.destroy();
      await late;
      for (const call of [() => sandbox.snapshot(), () => sandbox.fork(1), () => sandbox.reset()])
        await expect(call()).rejects.toMatchObject({ code: "sandbox_destroyed" });
    },
  },
];

async function forkAgain(boxes: CaseContext, times: number): Promise<Sandbox> {
  let sandbox = await boxes.create();
  for (let at = 1; at <= times; at += 1) {
    await output(sandbox, `echo ${at} > /app/turn; echo ${at} > /app/of-${at}; rm -f /app/of-${at - 10}`);
    const [next] = await sandbox.fork(1);
    await sandbox.destroy();
    if (next === undefined) throw new Error("one fork was asked for");
    sandbox = next;
  }
  return sandbox;
}

const STACK_CASES: readonly ConformanceCase[] = [
  {
    number: 67,
    title: "a hundred forks, each of the one before, still see what the first wrote",
    request: {
      limits: {
        cpus: 2,
        memoryBytes: 64 << 20,
        diskBytes: 1 << 20,
        filesMax: 500,
        processesMax: 64,
        shmBytes: 1 << 20,
      },
    },
    run: async (boxes) => {
      const last = await forkAgain(boxes, 104);
      expect(await output(last, "cat /app/turn; ls /app | grep -c of-; cat /app/of-99 /app/of-104")).toBe(
        "104\n10\n99\n104\n",
      );
      const [one] = await last.fork(1);
      if (one === undefined) throw new Error("one fork was asked for");
      expect(await output(one, "ls /app | wc -l")).toBe("11\n");
      await Promise.all([last.destroy(), one.destroy()]);
    },
  },
];

const CREATE_CASES: readonly ConformanceCase[] = [
  {
    number: 63,
    title: "a creation that cannot succeed says so by its code and leaves nothing behind",
    run: async (boxes) => {
      const { limits } = boxes.request;
      /* The image fails before there is a machine, the memory only once its first program runs. */
      const image = `sha256:${"0".repeat(64)}`;
      await expect(boxes.create({ image })).rejects.toMatchObject({ code: "image_unavailable" });
      if (boxes.provider().capabilities.limits.memoryBytes !== "enforced") return;
      const tiny = { ...limits, memoryBytes: 131_072, diskBytes: 4_096, shmBytes: 4_096 };
      const failure = await boxes.create({ limits: tiny }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: expect.stringMatching(/^(sandbox_unavailable|request_invalid)$/) });
      await boxes.with(async (sandbox) => expect(await output(sandbox, "echo fine")).toBe("fine\n"));
    },
  },
];

export const SNAPSHOT_CASES: readonly ConformanceCase[] = [
  ...FRESH_CASES,
  ...FORK_CASES,
  ...CREATE_CASES,
  ...SNAPSHOT_LIVE_CASES,
  ...STACK_CASES,
];
