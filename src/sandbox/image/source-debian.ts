/**
 * Images of Debian packages, made by mmdebstrap: a suite's minimal system with the packages asked for, files put in and
 * commands run at build time only. Manuals, translations and documentation are left out. What a failed build says names
 * the package or the step at fault.
 */
import { lchownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import { aptLines, aptNetworkOptions } from "./apt-sources.ts";
import { decompressed } from "./byte-reader.ts";
import type { BuildContext, BuiltImage, ImageSource } from "./image-source.ts";
import { lockText, type PackagePin, pinsOf, refuseDrift } from "./package-lock.ts";
import { findProgram, lastWords, readIfThere, runTool } from "./run-tool.ts";
import { readTar } from "./tar-read.ts";

export interface DebianPlan {
  readonly reference: string;
  readonly suite: string;
  /** Of a snapshot mirror; null for the mirror of now. */
  readonly date: string | null;
  readonly components: readonly string[];
  readonly packages: readonly string[];
  /** Host files copied in before the commands run. */
  readonly files: readonly { readonly source: string; readonly target: string; readonly mode: string }[];
  /** Shell commands run as root inside the tree; `place` names one in a message. */
  readonly run: readonly { readonly command: string; readonly place: string }[];
  /** Where a package is asked for, such as a recipe's line; null without. */
  placeOf(packageName: string): string | null;
  readonly envVars: Readonly<Record<string, string>>;
  readonly workdir: string | null;
  /** Versions this image must have, of a lock file; null without one. */
  readonly lock: readonly PackagePin[] | null;
  readonly inputs: string;
}

const SUITE = /^[a-z][a-z0-9-]{1,30}$/;
export const PACKAGE = /^[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+)?$/;
const LEFT_OUT = ["man", "locale", "doc", "info", "lintian", "doc-base"];
const KEPT = "/usr/share/doc/*/copyright";

/** Reads `debian:SUITE[@DATE][+PKG,PKG…]`. Throws `request_invalid` saying what is malformed. */
export function parseDebian(rest: string, reference: string): DebianPlan {
  const [head = "", ...tail] = rest.split("+");
  const [suite = "", date = null] = head.split("@") as [string, string?];
  const packages = [
    ...new Set(
      tail
        .join("+")
        .split(",")
        .filter((name) => name !== ""),
    ),
  ].sort();
  const invalid = (what: string): Failure =>
    new Failure(
      "request_invalid",
      `Image "${reference}": ${what}; write debian:SUITE+PACKAGE,PACKAGE such as debian:bookworm+python3,git.`,
    );
  if (!SUITE.test(suite)) throw invalid(`"${suite}" is no suite`);
  if (date !== null && !/^\d{8}(T\d{6}Z)?$/.test(date)) throw invalid(`"${date}" is no day such as 20260131`);
  for (const name of packages) if (!PACKAGE.test(name)) throw invalid(`"${name}" is no package name`);
  const canonical = `debian:${suite}${date === null ? "" : `@${date}`}${packages.length === 0 ? "" : `+${packages.join(",")}`}`;
  return {
    reference: canonical,
    suite,
    date,
    components: ["main"],
    packages,
    files: [],
    run: [],
    placeOf: () => null,
    envVars: {},
    workdir: null,
    lock: null,
    inputs: canonical,
  };
}

/**
 * Runs a program in namespaces of its own, so that its end takes every process and mount of the chroot with it. The tree
 * is made in memory where there is plenty: dpkg waits for the disk at every file.
 */
const APART: readonly string[] = [
  ...["--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"],
  'free=$(sed -n "s/^MemAvailable: *\\([0-9]*\\) kB/\\1/p" /proc/meminfo); ' +
    '[ -z "$free" ] || [ "$free" -lt 4194304 ] || mount -t tmpfs -o mode=755,size=75% sandlot "$TMPDIR" || true; exec "$@"',
  "sh",
];

export function debianSource(plan: DebianPlan, snapshotMirror: string | null): ImageSource {
  return {
    reference: plan.reference,
    inputs: async () => plan.inputs,
    build: (context) => build(plan, snapshotMirror, context),
  };
}

async function build(plan: DebianPlan, snapshotMirror: string | null, context: BuildContext): Promise<BuiltImage> {
  const program = findProgram("mmdebstrap");
  if (program === null)
    throw new Failure(
      "image_unavailable",
      `Image "${plan.reference}" is made by mmdebstrap, which is not installed. Run: apt-get install mmdebstrap`,
    );
  const stanzas = join(context.workFolder, "packages");
  const temporary = join(context.workFolder, "tmp");
  mkdirSync(temporary, { mode: 0o755 });
  const count = plan.packages.length === 1 ? "1 package" : `${plan.packages.length} packages`;
  context.onStep(`installing ${plan.suite}${plan.packages.length === 0 ? "" : ` with ${count}`}`);
  const args = toolArgs(plan, snapshotMirror, stanzas);
  const isRoot = process.geteuid?.() === 0;
  const end = await runTool({
    program: isRoot ? "unshare" : program,
    args: isRoot ? [...APART, program, "--mode=root", ...args] : ["--mode=unshare", ...args],
    log: context.log,
    envVars: { TMPDIR: temporary, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    signal: context.signal,
    onLine: (line) => context.onLine(line.replace(/^I: /, "")),
    read: (stdout) => context.tree.lay(readTar(decompressed(stdout))),
  });
  if (end.exitCode !== 0) throw buildFailure(plan, end.said, context.log);
  const pins = pinsOf(readIfThere(stanzas));
  for (const expected of [plan.lock, context.pins]) if (expected !== null) refuseDrift(plan.reference, expected, pins);
  writePins(context, pins);
  return { envVars: plan.envVars, workdir: plan.workdir, pins };
}

function toolArgs(plan: DebianPlan, snapshotMirror: string | null, stanzas: string): readonly string[] {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const marked = (place: string, command: string): string => `echo ${quoted(`sandlot-step ${place}`)} >&2; ${command}`;
  const args = ["--variant=minbase", "--format=tar", "--skip=output/dev,output/mknod"];
  args.push(`--components=${plan.components.join(",")}`);
  if (plan.packages.length > 0) args.push(`--include=${plan.packages.join(",")}`);
  for (const option of aptNetworkOptions()) args.push(`--aptopt=${option}`);
  if (plan.date !== null) args.push("--aptopt=Acquire::Check-Valid-Until false");
  for (const name of LEFT_OUT) args.push(`--dpkgopt=path-exclude=/usr/share/${name}/*`);
  args.push(`--dpkgopt=path-include=${KEPT}`);
  for (const { source, target, mode } of plan.files) {
    const at = `"$1"${quoted(target)}`;
    args.push(`--customize-hook=${marked(`file ${target}`, `install -D -m ${mode} ${quoted(source)} ${at}`)}`);
  }
  for (const { command, place } of plan.run)
    args.push(`--customize-hook=${marked(place, `chroot "$1" /bin/sh -ec ${quoted(command)}`)}`);
  const installed = `$(chroot "$1" dpkg-query -W -f '\${Package}:\${Architecture}=\${Version} ')`;
  args.push(`--customize-hook=APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-cache show ${installed} > ${quoted(stanzas)}`);
  /* Of no use to a sandbox, and other at each build. */
  const caches = [
    "var/cache/ldconfig/aux-cache",
    "var/cache/debconf/*-old",
    "var/lib/apt/lists/*",
    "var/log/*.log",
    "var/log/apt/*",
  ];
  args.push(`--customize-hook=cd "$1" && rm -rf ${caches.join(" ")}`);
  return [...args, plan.suite, "-", ...aptLines(plan.suite, plan.date, plan.components, snapshotMirror)];
}

/** Names the package or the step at fault, with the tool's own last words. */
function buildFailure(plan: DebianPlan, said: string, log: string): Failure {
  const missing =
    /Unable to locate package (\S+)|Package '?(\S+?)'? has no installation candidate|Version '\S+' for '(\S+)' was not found/.exec(
      said,
    );
  const name = missing?.slice(1).find((part) => part !== undefined);
  const unmet = /The following packages have unmet dependencies:\s*\n\s*(\S+)/.exec(said)?.[1];
  const step = [...said.matchAll(/^sandlot-step (.+)$/gm)].pop()?.[1];
  const dpkg = /error processing (?:package|archive) (\S+)/.exec(said)?.[1];
  const culprit = name ?? unmet ?? dpkg;
  const place = culprit === undefined ? null : plan.placeOf(culprit.split(":")[0] ?? culprit);
  const where =
    culprit !== undefined
      ? `${place ?? "its packages"}: package "${culprit}" ${name === undefined ? "cannot be installed" : `is not in ${plan.suite} of this mirror`}`
      : step === undefined
        ? "mmdebstrap failed"
        : `${step} failed`;
  return new Failure(
    "image_unavailable",
    `Image "${plan.reference}" could not be built: ${where}.\n${lastWords(said)}\nThe whole log: ${log}`,
  );
}

/** The lock goes into the image, so that the image's hash covers it. */
function writePins(context: BuildContext, pins: readonly PackagePin[]): void {
  const folder = join(context.root, "usr/share/sandlot");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "packages.lock"), lockText(pins));
  for (const path of [folder, join(folder, "packages.lock")]) lchownSync(path, context.rootId, context.rootId);
}

/** Whether this machine can build such images. */
export function canBuildDebian(): boolean {
  return findProgram("mmdebstrap") !== null;
}
