/** Faults of whole trees, watches, diffs and layers. */
import { copyFileSync, cpSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SandboxFiles } from "../../src/core/sandbox-files.ts";
import type { FaultHooks } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { OPTIONS, text } from "./sandbox-parts.ts";

/** Does more than asked for after a download. */
const afterDownload = (more: (hostFolder: string, refused: readonly string[]) => void): FaultHooks => ({
  files: (files): Partial<SandboxFiles> => ({
    download: async (path, hostFolder, limits) => {
      const report = await files.download(path, hostFolder, limits);
      if (report.ok) more(hostFolder, report.value.refused);
      return report;
    },
  }),
});

const HOSTILE: readonly Fault[] = [
  {
    breaks: "40b",
    what: "uploads through a link that leads to the host",
    files: (files, sandbox) => ({
      upload: async (hostFolder, path, limits) => {
        const target = text((await sandbox.exec(["readlink", path], OPTIONS)).stdout).trim();
        if (target.startsWith(tmpdir())) cpSync(hostFolder, target, { recursive: true });
        return files.upload(hostFolder, path, limits);
      },
    }),
  },
  {
    breaks: "41b",
    what: "brings what a swapped link led to",
    ...afterDownload((folder) => copyFileSync(join(dirname(folder), "secret"), join(folder, "brought"))),
  },
  {
    breaks: "42",
    what: "makes the links of a tree on the host",
    ...afterDownload((folder, refused) => {
      for (const name of refused.slice(0, 1)) symlinkSync("/etc/passwd", join(folder, name));
    }),
  },
  {
    breaks: "42b",
    what: "does not name what it left out",
    files: (files) => ({
      upload: async (hostFolder, path, limits) => {
        const report = await files.upload(hostFolder, path, limits);
        return report.ok ? { ok: true, value: { ...report.value, refused: [] } } : report;
      },
    }),
  },
  {
    breaks: "43b",
    what: "lists folders through /proc",
    files: () => ({ list: async () => ({ ok: true, value: [] }) }),
  },
  {
    breaks: "44b",
    what: "changes the mode of what is no file",
    files: (_files, sandbox) => ({
      chmod: async (path, mode) => {
        await sandbox.exec(["chmod", mode.toString(8), path], OPTIONS);
        return { ok: true, value: null };
      },
    }),
  },
  {
    breaks: "45b",
    what: "reads every name as UTF-8",
    files: (files) => ({
      list: async (path, options) => {
        const listed = await files.list(path, options);
        if (!listed.ok) return listed;
        return { ok: true, value: listed.value.map((entry) => ({ ...entry, path: entry.path.toWellFormed() })) };
      },
    }),
  },
];

const HONEST: readonly Fault[] = [
  {
    breaks: "69c",
    what: "tells times in whole seconds",
    files: (files) => ({
      stat: async (path) => {
        const found = await files.stat(path);
        if (!found.ok) return found;
        return { ok: true, value: { ...found.value, modifiedMs: Math.floor(found.value.modifiedMs / 1_000) * 1_000 } };
      },
    }),
  },
  {
    breaks: "69d",
    what: "reads a range from the start of the file",
    files: (files) => ({ readRange: (path, range) => files.readRange(path, { ...range, offset: 0 }) }),
  },
  {
    breaks: "69e",
    what: "gives an uploaded tree to root",
    files: (files) => ({
      upload: (hostFolder, path, { user: _, ...limits }) => files.upload(hostFolder, path, limits),
    }),
  },
  {
    breaks: "69f",
    what: "leaves the folders of a tree that was too large",
    files: (files) => ({
      upload: async (hostFolder, path, limits) => {
        const report = await files.upload(hostFolder, path, limits);
        if (!report.ok) await files.mkdir(path);
        return report;
      },
    }),
  },
  {
    breaks: "69g",
    what: "does not tell removals",
    files: (files) => ({
      watch: (path, onEvent, signal) =>
        files.watch(path, (event) => (event.kind === "removed" ? undefined : onEvent(event)), signal),
    }),
  },
  {
    breaks: "69h",
    what: "leaves special bits out of a tree's modes",
    files: (files) => ({
      readTree: async (path, limits) => {
        const read = await files.readTree(path, limits);
        return read.ok ? { ok: true, value: read.value.map((file) => ({ ...file, mode: file.mode & 0o777 })) } : read;
      },
    }),
  },
  {
    breaks: "78",
    what: "leaves removals out of a diff",
    sandbox: (sandbox) => ({
      diff: async (options) => (await sandbox.diff(options)).filter(({ change }) => change !== "removed"),
    }),
  },
  {
    breaks: "78b",
    what: "has no whiteout for a removed file",
    sandbox: (sandbox) => ({
      exportLayer: async function* () {
        await sandbox.exec("touch /etc/group", OPTIONS);
        yield* sandbox.exportLayer();
      },
    }),
  },
];

export const FAULTS_OF_TREES: readonly Fault[] = [...HOSTILE, ...HONEST];
