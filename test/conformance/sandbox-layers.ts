/** Cases of what a sandbox changed: its diff, and its layer as an archive. */
import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import type { ConformanceCase } from "./case.ts";
import { output } from "./sandbox-parts.ts";

export const LAYER_CASES: readonly ConformanceCase[] = [
  {
    number: 78,
    title: "the diff of a sandbox is what it added, changed and removed, and nothing else",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        expect(await sandbox.diff()).toEqual([]);
        await output(
          sandbox,
          "mkdir /app/d; printf hello >/app/d/f; printf x >>/etc/passwd; rm /etc/group; touch /etc/shells /etc/hosts",
        );
        const changes = await sandbox.diff();
        expect(
          changes.map(({ change, path }) => `${change} ${path}`).filter((line) => !/shells|hosts/.test(line)),
        ).toEqual(["added /app/d", "added /app/d/f", "removed /etc/group", "modified /etc/passwd"]);
        expect(changes[1]).toMatchObject({
          kind: "file",
          bytes: 5,
          sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        });
        await sandbox.freeze();
        await expect(sandbox.diff({ entriesMax: 1 })).rejects.toMatchObject({ code: "request_invalid" });
        expect((await sandbox.diff()).length).toBe(changes.length);
      }),
  },
  {
    number: 78,
    part: "b",
    title: "the layer of a sandbox is a tar with its changes and whiteouts for what it removed",
    run: (boxes) =>
      boxes.with(async (sandbox) => {
        await output(
          sandbox,
          "mkdir /app/d; printf hello >/app/d/f; ln -s f /app/d/l; rm /etc/group; rm -r /opt; mkdir /opt; : >/opt/new",
        );
        const parts: Uint8Array[] = [];
        for await (const part of sandbox.exportLayer()) parts.push(part);
        const listed = execFileSync("tar", ["-tf", "-"], { input: Buffer.concat(parts), encoding: "utf8" })
          .trimEnd()
          .split("\n");
        expect(listed).toEqual(
          expect.arrayContaining(["app/d/", "app/d/f", "app/d/l", "etc/.wh.group", "opt/", "opt/new"]),
        );
        expect(listed.filter((path) => path.startsWith("usr"))).toEqual([]);
      }),
  },
];
