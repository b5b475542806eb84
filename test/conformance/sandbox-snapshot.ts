/** Cases 58, 59, 63, 66 and 67: snapshot, fork, reset, and what one sandbox may leave to the next: nothing. */
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { output } from "./sandbox-parts.ts";

export const SNAPSHOT_CASES: readonly ConformanceCase[] = [
  {
    number: 58,
    title: "nothing of one sandbox is ever seen in the next",
    run: async (boxes) => {
      await boxes.with((sandbox) =>
        output(sandbox, "for d in /tmp /dev/shm /root /etc /app /var/tmp; do echo secret > $d/left-over; done"),
      );
      await boxes.with(async (sandbox) => {
        expect(await output(sandbox, "find / -xdev -name left-over; ls /dev/shm")).toBe("");
        expect(await output(sandbox, "ipcs -a 2>/dev/null | grep -c 0x; true")).toBe("0\n");
      });
    },
  },
];
