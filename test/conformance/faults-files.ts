/** Faults of the file interface: paths that lead out, answers that are not exact. */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { normalize } from "node:path";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { SandboxFiles } from "../../src/core/sandbox-files.ts";
import type { Fault } from "./faults.ts";
import { OPTIONS, text } from "./sandbox-parts.ts";

export const FAULTS_OF_FILES: readonly Fault[] = [
  {
    breaks: "69",
    what: "forgets the mode of a file",
    files: (files) => ({ write: (file, options) => files.write({ ...file, mode: 0o644 }, options) }),
  },
  {
    breaks: "69b",
    what: "lists in the order of the disk",
    files: (files) => ({
      list: async (path, options) => {
        const listed = await files.list(path, options);
        return listed.ok ? { ok: true, value: listed.value.toReversed() } : listed;
      },
    }),
  },
  { breaks: "40", what: "writes through a path that leads out", files: writingOutside },
  { breaks: "41", what: "follows a link of the sandbox on the host", files: followingLinks },
  {
    breaks: "43",
    what: "reads files with the sandbox's own cat",
    files: (_files, sandbox) => ({
      read: async (path) => ({ ok: true, value: (await sandbox.exec(["cat", path], OPTIONS)).stdout }),
    }),
  },
  {
    breaks: "44",
    what: "takes whatever is no file for missing",
    files: (files) => ({
      read: async (path, options) => {
        const read = await files.read(path, options);
        return read.ok ? read : { ...read, error: "missing" };
      },
    }),
  },
  {
    breaks: "45",
    what: "shortens names that are too long",
    files: (files) => ({ write: (file, options) => files.write({ ...file, path: file.path.slice(0, 200) }, options) }),
  },
];

function writingOutside(files: SandboxFiles): Partial<SandboxFiles> {
  return {
    write: async (file, options) => {
      const path = normalize(file.path);
      if (!path.startsWith(tmpdir())) return files.write(file, options);
      writeFileSync(path, file.bytes);
      return { ok: true, value: null };
    },
  };
}

function followingLinks(files: SandboxFiles, sandbox: Sandbox): Partial<SandboxFiles> {
  return {
    write: async (file, options) => {
      const target = text((await sandbox.exec("readlink /app/d || readlink /app/l", OPTIONS)).stdout).trim();
      if (target.startsWith(tmpdir())) writeFileSync(`${target}/file`, file.bytes);
      return files.write(file, options);
    },
  };
}
