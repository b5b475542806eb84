/** `sandlot image`: builds, lists, checks and removes the images sandboxes run on. */
import { type Command, InvalidArgumentError } from "commander";
import type { GcReport, StoredImage } from "../app-image.ts";
import { systemRuntime } from "../runtime/system.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { bytesText, countText, timeText } from "./format.ts";
import { openImageProgress } from "./image-progress.ts";
import { pairsText, tableText } from "./table.ts";

const GIB = 2 ** 30;
const HASH_SHOWN = 12;

export function addImage(program: Command): void {
  const image = program
    .command("image")
    .summary("build, list, check and remove images")
    .description("Images that sandboxes run on, built once and kept by their content.");
  addBuilding(image);
  image
    .command("list")
    .summary("images in the store")
    .description("Lists the images in the store and the recipes there are, the last used first.")
    .option("--verify", "hash every image anew, and exit 1 when one has changed")
    .addHelpText("after", "\nExample:\n  sandlot image list --json\n")
    .action(action(list));
  image
    .command("verify")
    .summary("whether images are unchanged")
    .description("Hashes images anew and compares; all without a name. Exits 1 when one has changed.")
    .argument("[images...]", "references, hashes or beginnings of hashes")
    .addHelpText("after", "\nExample:\n  sandlot image verify recipe:base\n")
    .action(action(verify));
  image
    .command("rm")
    .summary("remove images")
    .description("Removes images no live process uses, and forgets the versions they were locked to.")
    .argument("<images...>", "references, hashes or beginnings of hashes")
    .addHelpText("after", "\nExample:\n  sandlot image rm recipe:ops\n")
    .action(action(remove));
  image
    .command("gc")
    .summary("free space")
    .description("Removes the images used longest ago until at most so much is left, never one in use.")
    .option("--keep <GiB>", "how much may stay", gibibytes, 10)
    .addHelpText("after", "\nExample:\n  sandlot image gc --keep 2\n")
    .action(action(gc));
}

function addBuilding(image: Command): void {
  image
    .command("build")
    .summary("build an image")
    .description("Builds the image of a reference, or finds it built.")
    .argument("<reference>", "debian:SUITE+PKG,…, recipe:NAME, oci:REF, dockerfile:FOLDER, folder:PATH or tar:PATH")
    .option("--refresh", "look at the source again where the image is there already")
    .option("--relock", "accept other package versions than an earlier build had")
    .option("--write-lock <file>", "write the package versions it is made of into a lock file")
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot image build recipe:ops\n  sandlot image build debian:bookworm+python3,git\n  sandlot image build dockerfile:environment\n",
    )
    .action(action((context, args, options: BuildFlags) => build(context, String(args[0]), options)));
  image
    .command("import")
    .summary("an image of a folder or archive")
    .description("Takes a folder, a tar file of a tree, or a container engine's image archive into the store.")
    .argument("<path>", "folder, or tar file (plain, gzip or zstd)")
    .addHelpText("after", "\nExample:\n  sandlot image import rootfs.tar.zst\n")
    .action(
      action(async (context, args, options: BuildFlags) => {
        const { importReference } = await import("../app-image.ts");
        return build(context, importReference(String(args[0])), options);
      }),
    );
}

interface BuildFlags {
  readonly refresh?: boolean;
  readonly relock?: boolean;
  readonly writeLock?: string;
}

async function build(context: CliContext, reference: string, flags: BuildFlags): Promise<number> {
  const { buildImage } = await import("../app-image.ts");
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    process.exitCode = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted }[signal as string] ?? EXIT.terminated;
    controller.abort(signal);
  };
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  const progress = openImageProgress(context, systemRuntime());
  try {
    const image = await buildImage(reference, {
      isRefresh: flags.refresh === true,
      isRelock: flags.relock === true,
      lockFile: flags.writeLock ?? null,
      signal: controller.signal,
      onEvent: progress.onEvent,
    });
    progress.close("done");
    const { isFresh, seconds } = progress.result();
    context.json({ reference, isFresh, seconds, ...image });
    context.print(
      pairsText([
        ["image", context.paint("bold", printableLine(reference))],
        ["hash", `sha256:${image.hash}`],
        ...(reference === "host"
          ? [["state", "this machine's own system, which needs no building"] as const]
          : [
              ["size", `${bytesText(image.bytes)} in ${countText(image.files)} entries`] as const,
              ["state", isFresh ? "newly built" : "was in the store"] as const,
            ]),
      ]),
    );
    return EXIT.done;
  } catch (error) {
    progress.close("failed");
    throw error;
  } finally {
    for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

async function list(context: CliContext, _args: readonly unknown[], flags: { verify?: boolean }): Promise<number> {
  const app = await import("../app-image.ts");
  const images = await app.listImages();
  const recipes = app.listRecipes();
  const reports = flags.verify === true ? await app.verifyImages([], () => undefined) : null;
  const changed = new Set(reports?.filter(({ isIntact }) => !isIntact).map(({ hash }) => hash));
  context.json({
    images: images.map((image) => ({ ...image, isIntact: reports && !changed.has(image.hash) })),
    recipes,
  });
  context.print(
    images.length === 0 ? "No image is in the store yet." : imagesTable(context, images, reports && changed),
  );
  const total = images.reduce((sum, { bytes }) => sum + bytes, 0);
  if (images.length > 1) context.print(context.paint("dim", `${images.length} images, ${bytesText(total)}`));
  const unbuilt = recipes.filter(({ name }) => !images.some(({ references }) => references.includes(`recipe:${name}`)));
  if (unbuilt.length > 0) {
    context.print(`\n${context.paint("bold", "Recipes not built here")}`);
    context.print(pairsText(unbuilt.map(({ name, description }) => [`recipe:${name}`, printableLine(description)])));
  }
  return changed.size === 0 ? EXIT.done : EXIT.gateFailed;
}

function imagesTable(context: CliContext, images: readonly StoredImage[], changed: ReadonlySet<string> | null): string {
  const rows = images.map(({ hash, references, bytes, files, layers, usedAt, holders }) => [
    hash.slice(0, HASH_SHOWN),
    bytesText(bytes),
    countText(files),
    String(layers),
    timeText(usedAt),
    holders === 0 ? "–" : String(holders),
    ...(changed === null ? [] : [changed.has(hash) ? "CHANGED" : "intact"]),
    references.length === 0 ? "–" : references.map(printableLine).join(", "),
  ]);
  const columns = [
    { title: "hash" },
    { title: "size", align: "right" as const },
    { title: "entries", align: "right" as const },
    { title: "layers", align: "right" as const },
    { title: "last used (UTC)" },
    { title: "in use by", align: "right" as const },
    ...(changed === null ? [] : [{ title: "bytes" }]),
    { title: "reference" },
  ];
  const [head = "", ...lines] = tableText(columns, rows).split("\n");
  const painted = lines.map((line, index) =>
    changed?.has(images[index]?.hash ?? "") === true ? context.paint("red", line) : line,
  );
  return [context.paint("bold", head), ...painted].join("\n");
}

async function verify(context: CliContext, args: readonly unknown[]): Promise<number> {
  const { verifyImages } = await import("../app-image.ts");
  const reports = await verifyImages(
    (args[0] as readonly string[] | undefined) ?? [],
    ({ hash, isIntact, changed }) => {
      const mark = isIntact ? context.paint("green", "✓ intact ") : context.paint("red", "✗ changed");
      const layers = isIntact ? "" : `; layers ${changed.map((layer) => layer.slice(0, HASH_SHOWN)).join(", ")}`;
      context.print(`${mark}  sha256:${hash}${layers}`);
    },
  );
  const isIntact = reports.every((report) => report.isIntact);
  context.json({ ok: isIntact, images: reports });
  if (reports.length === 0) context.print("No image is in the store yet.");
  if (!isIntact)
    context.print("A changed image must not be used: remove it with sandlot image rm, and build it again.");
  return isIntact ? EXIT.done : EXIT.gateFailed;
}

async function remove(context: CliContext, args: readonly unknown[]): Promise<number> {
  const { removeImages } = await import("../app-image.ts");
  const reports = await removeImages(args[0] as readonly string[]);
  return sayRemoved(context, {
    removed: reports.flatMap(({ removed }) => removed),
    kept: reports.at(-1)?.kept ?? [],
    bytesFreed: reports.reduce((sum, { bytesFreed }) => sum + bytesFreed, 0),
  });
}

async function gc(context: CliContext, _args: readonly unknown[], options: { readonly keep: number }): Promise<number> {
  const { collectImages } = await import("../app-image.ts");
  return sayRemoved(context, await collectImages(Math.round(options.keep * GIB)));
}

function sayRemoved(context: CliContext, report: GcReport): number {
  context.json(report);
  for (const hash of report.removed) context.print(`removed  sha256:${hash}`);
  const count = report.removed.length === 1 ? "1 image" : `${report.removed.length} images`;
  context.print(`${count} removed, ${bytesText(report.bytesFreed)} freed, ${report.kept.length} kept.`);
  return EXIT.done;
}

function gibibytes(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0)) throw new InvalidArgumentError("It must be a number of GiB, 0 or more.");
  return value;
}
