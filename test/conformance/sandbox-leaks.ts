/** Cases 16, 60 to 62, 65 and 68: the end of a sandbox, of its owner, and what is left of both: nothing. */
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { OPTIONS } from "./sandbox-parts.ts";

export const LEAKS_CASES: readonly ConformanceCase[] = [
  {
    number: 61,
    title: "destroying a sandbox settles what runs in it",
    run: async (boxes) => {
      const sandbox = await boxes.create();
      const running = sandbox.exec("sleep 987", OPTIONS).catch((error: unknown) => error);
      await sandbox.destroy();
      expect(await running).toMatchObject({ code: "sandbox_destroyed" });
    },
  },
  {
    number: 62,
    title: "destroying twice is fine, and using a destroyed sandbox says so",
    run: async (boxes) => {
      const sandbox = await boxes.create();
      await Promise.all([sandbox.destroy(), sandbox.destroy()]);
      await sandbox.destroy();
      await expect(sandbox.exec("true", OPTIONS)).rejects.toMatchObject({ code: "sandbox_destroyed" });
      await expect(sandbox.files.read("/etc/passwd", { bytesMax: 10 })).rejects.toMatchObject({
        code: "sandbox_destroyed",
      });
    },
  },
];
