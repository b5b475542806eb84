/** `sandlot finding list|show|review`: what detectors said of a run's episodes, and what a person decides about it. */
import { userInfo } from "node:os";
import { type Command, Option } from "commander";
import { Failure } from "../core/errors.ts";
import { FINDING_TIERS, type FindingRow, type FindingTier, REVIEW_STATES, type ReviewState } from "../core/finding.ts";
import type { Review, Store } from "../core/store.ts";
import { commandName } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { EXIT } from "./exit-code.ts";
import { findRun } from "./find-run.ts";
import { cut, findingText, reviewText, shortId } from "./finding-text.ts";
import { countText } from "./format.ts";
import { withReader } from "./run.ts";
import { tableText } from "./table.ts";

const DECISIONS = REVIEW_STATES.filter((state) => state !== "open");
const FINDINGS_SHOWN = 200;
const PREFIX_MIN = 4;
/** Of a reason and of an author: both are kept for good and shown with every list of decisions. */
const REVIEW_CHARACTERS_MAX = 2_000;
/** From this many columns on a list also names the task. */
const WIDE = 110;

export function addFinding(program: Command): void {
  const finding = program
    .command("finding")
    .summary("list, show and review findings")
    .description("What detectors said of episodes: evidence first, tiers A (deterministic) to D (a trend).");
  finding
    .command("list")
    .description("Lists the findings of a run, strongest first within each episode.")
    .argument("<run>", "run id, its beginning, or latest")
    .addOption(new Option("--tier <tier>", "only of this tier").choices([...FINDING_TIERS]))
    .addOption(new Option("--review <state>", "only in this state").choices([...REVIEW_STATES]))
    .addHelpText("after", "\nExample:\n  sandlot finding list latest --review open\n")
    .action(action(listFindings));
  finding
    .command("show")
    .description("Shows one finding: where, the evidence, its effect, every decision on it.")
    .argument("<finding>", "id of the finding, or a beginning of its last part")
    .addHelpText("after", "\nExample:\n  sandlot finding show 3f9a2c1b\n")
    .action(action(showFinding));
  finding
    .command("review")
    .description("Adds a decision to a finding. The last one holds; none is ever changed.")
    .argument("<finding>", "id of the finding, or a beginning of its last part")
    .addOption(new Option("--as <decision>", "what it is").choices(DECISIONS).makeOptionMandatory())
    .requiredOption("--reason <text>", "why, in a sentence")
    .option("--author <name>", "who decides (default: this machine's user)")
    .addHelpText(
      "after",
      "\nconfirmed: it stays held back. legitimate: the episode trains again. task-defect: no episode of the task trains." +
        "\ndetector-defect: the detector was wrong.\n\nExample:\n  sandlot finding review 3f9a2c1b --as legitimate --reason 'the task asks for a conftest'\n",
    )
    .action(action(review));
}

interface ListOptions {
  readonly tier?: FindingTier;
  readonly review?: ReviewState;
}

async function listFindings(context: CliContext, args: readonly unknown[], options: ListOptions): Promise<number> {
  return withReader(async (store) => {
    const { runId } = await findRun(store, String(args[0]));
    const { tier, review } = options;
    const rows = await store.findings({ runId, ...(tier && { tier }), ...(review && { review }) });
    const quarantined = await store.quarantinedTasks(runId);
    context.json({ runId, findings: rows, quarantinedTasks: quarantined });
    if (rows.length === 0)
      context.print(`No findings${tier || review ? " of this kind" : ""} in run ${printableLine(runId)}.`);
    else context.print(listText(rows, context));
    for (const { taskKey, reason, episodeNo } of quarantined) {
      const why = reason === "task-defect" ? "a person found it defective" : "its verdicts did not repeat";
      context.print(
        `Set aside: task ${printableLine(taskKey)}, ${why} (episode ${episodeNo}); none of its episodes train.`,
      );
    }
    return EXIT.done;
  });
}

function listText(rows: readonly FindingRow[], { width, paint }: CliContext): string {
  const isWide = width >= WIDE;
  const columns = [
    { title: "finding" },
    { title: "tier, detector" },
    { title: "effect" },
    { title: "review" },
    { title: "episode", align: "right" as const },
    ...(isWide ? [{ title: "task" }] : []),
  ];
  const cells = rows
    .slice(0, FINDINGS_SHOWN)
    .map((row) => [
      shortId(row),
      cut(`${row.tier} ${printableLine(row.detector)}`, 30),
      row.effect,
      row.review,
      String(row.episodeNo),
      ...(isWide ? [cut(printableLine(row.taskKey), width - 86)] : []),
    ]);
  const more =
    rows.length > cells.length ? `\nand ${countText(rows.length - cells.length)} more; --json lists all` : "";
  const hint = paint("dim", `Look at one: ${commandName()} finding show ${shortId(rows[0] ?? { findingId: "ID" })}`);
  return `${tableText(columns, cells)}${more}\n${hint}`;
}

async function showFinding(context: CliContext, args: readonly unknown[]): Promise<number> {
  return withReader(async (store) => {
    const { findingId } = await findFinding(store, String(args[0]));
    const found = await store.finding(findingId);
    if (found === null) throw unknown(findingId);
    context.json(found);
    context.print(findingText(found.row, context));
    if (found.reviews.length > 0) context.print(`${context.paint("bold", "Decisions")}\n${reviewText(found.reviews)}`);
    const { runId, episodeNo } = found.row;
    context.print(
      context.paint("dim", `  Its episode: ${commandName()} episode show ${printableLine(runId)} ${episodeNo}`),
    );
    return EXIT.done;
  });
}

interface ReviewOptions {
  readonly as: Review["decision"];
  readonly reason: string;
  readonly author?: string;
}

async function review(context: CliContext, args: readonly unknown[], options: ReviewOptions): Promise<number> {
  for (const [flag, text] of [["--reason", options.reason] as const, ["--author", options.author ?? ""] as const]) {
    if (text.length <= REVIEW_CHARACTERS_MAX) continue;
    const had = `${flag} has ${countText(text.length)} characters, more than ${countText(REVIEW_CHARACTERS_MAX)}`;
    throw new Failure("request_invalid", `${had}; say it in a sentence.`);
  }
  const app = await import("../app.ts");
  const { findingId } = await withReader((store) => findFinding(store, String(args[0])));
  const decided = { decision: options.as, author: options.author ?? userInfo().username, reason: options.reason };
  await app.reviewFinding(findingId, decided, app.dataFolder(process.env));
  return withReader(async (store) => {
    const found = await store.finding(findingId);
    context.json(found);
    if (found !== null) context.print(`${findingText(found.row, context)}\n${reviewText(found.reviews)}`);
    return EXIT.done;
  });
}

/** The finding a person means: its whole id, or a beginning of its last part that no other has. */
async function findFinding(store: Store, asked: string): Promise<FindingRow> {
  const whole = await store.finding(asked);
  if (whole !== null) return whole.row;
  const rows =
    asked.length < PREFIX_MIN ? [] : (await store.findings()).filter((row) => shortId(row).startsWith(asked));
  if (rows[0] !== undefined && rows.length === 1) return rows[0];
  if (rows.length > 1) {
    const ids = rows.slice(0, 5).map(shortId);
    throw new Failure(
      "not_found",
      `"${asked}" begins ${rows.length} findings: ${ids.join(", ")}. Give more of the id.`,
    );
  }
  throw unknown(asked);
}

function unknown(asked: string): Failure {
  return new Failure(
    "not_found",
    `There is no finding "${asked}" in this data folder. List them: ${commandName()} finding list latest`,
  );
}
