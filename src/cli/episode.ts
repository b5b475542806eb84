/** `sandlot episode`: what really happened in one episode, and its sandbox as it was after a turn. */
import type { Command } from "commander";
import { Failure } from "../core/errors.ts";
import type { FindingRow } from "../core/finding.ts";
import type { RegradeRow } from "../core/store.ts";
import { commandName } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { episodeJson, episodeReplay } from "./episode-replay.ts";
import { printableLine } from "./escape.ts";
import { wholeNumber } from "./evaluate.ts";
import { EXIT } from "./exit-code.ts";
import { findRun } from "./find-run.ts";
import { findingText } from "./finding-text.ts";
import { numberText, timeText } from "./format.ts";
import { atTerminal, LOGIN_SHELL } from "./persons-terminal.ts";
import { withReader } from "./run.ts";

export function addEpisode(program: Command): void {
  const episode = program.command("episode").summary("replay an episode").description("The episodes of a run.");
  episode
    .command("show")
    .description("Prints a readable replay: instruction, actions, observations, verdict, reward.")
    .argument("<run>", "run id, its beginning, latest, or a whole episode id such as RUN-12")
    .argument("[episode]", "number of the episode in its run, from 1")
    .addHelpText("after", "\nExamples:\n  sandlot episode show latest 1\n  sandlot episode show latest 1 --json\n")
    .action(action(showEpisode));
  episode
    .command("fork")
    .summary("open the sandbox of an episode as it was after a turn")
    .description(
      "Puts you into a fresh sandbox with the files an episode had after a turn. Running processes are not carried. " +
        'The run must have kept them: sandbox.snapshots = "turns" in a recipe, or evaluate --snapshots turns.',
    )
    .argument("<run>", "run id, its beginning, latest, or a whole episode id such as RUN-12")
    .argument("[episode]", "number of the episode in its run, from 1")
    .argument("[command...]", "what to run instead of a login shell; put -- before it")
    .option("--turn <number>", "the turn after which; the last that was kept when not named", wholeNumber(1))
    .option("--user <name>", "root, agent, verifier, subject or a number", "agent")
    .addHelpText(
      "after",
      "\nExamples:\n  sandlot episode fork latest 1 --turn 2\n  sandlot episode fork latest 1 --turn 2 -- ls -la /app\n",
    )
    .action(action(forkEpisode));
}

interface ForkOptions {
  readonly turn?: number;
  readonly user: string;
}

async function forkEpisode(context: CliContext, args: readonly unknown[], options: ForkOptions): Promise<number> {
  const { forkedEpisode } = await import("../app-sandbox.ts");
  const given = (args[2] as readonly string[] | undefined) ?? [];
  const second = args[1] === undefined ? null : String(args[1]);
  /* After a whole episode id the next word is the command's first. */
  const isNumber = second !== null && /^\d+$/.test(second);
  const command = second === null || isNumber ? given : [second, ...given];
  const { run: asked, episodeNo } = episodeAsked(String(args[0]), isNumber ? second : null);
  return withReader(async (store) => {
    const { runId } = await findRun(store, asked);
    const stored = await store.trajectory(runId, episodeNo);
    if (stored === null) throw new Failure("not_found", `Run ${runId} has no record of episode ${episodeNo}.`);
    const what = { user: options.user, command: command.length === 0 ? LOGIN_SHELL : command };
    return atTerminal(context, command.length === 0, (terminal, signal) =>
      forkedEpisode(stored, options.turn ?? null, what, terminal, signal, (line) =>
        process.stderr.write(`${printableLine(line)}\n`),
      ),
    );
  });
}

async function showEpisode(context: CliContext, args: readonly unknown[]): Promise<number> {
  const { run: asked, episodeNo } = episodeAsked(String(args[0]), args[1] === undefined ? null : String(args[1]));
  return withReader(async (store) => {
    const { runId } = await findRun(store, asked);
    const stored = await store.trajectory(runId, episodeNo);
    if (stored === null) {
      const total = Object.values(await store.counts(runId)).reduce((sum, count) => sum + count, 0);
      const isPlanned = episodeNo >= 1 && episodeNo <= total;
      const planned = total === 0 ? "It has planned none yet." : `It has planned episodes 1 to ${total}.`;
      const had = isPlanned ? "That episode has not ended." : planned;
      throw new Failure("not_found", `Run ${runId} has no record of episode ${episodeNo}. ${had}`);
    }
    const findings = await store.findings({ runId, episodeNo });
    const regrades = await store.regrades(runId, episodeNo);
    if (context.isJson) context.json({ ...(await episodeJson(stored)), findings, regrades });
    else context.print([await episodeReplay(stored, context), ...afterwards(findings, regrades, context)].join("\n\n"));
    return EXIT.done;
  });
}

/** What was said of the episode beside its record: findings, and verdicts given later. */
function afterwards(
  findings: readonly FindingRow[],
  regrades: readonly RegradeRow[],
  context: CliContext,
): readonly string[] {
  const { paint } = context;
  const parts: string[] = [];
  if (findings.length > 0) {
    parts.push(`${paint("bold", "Findings")}\n${findings.map((row) => findingText(row, context)).join("\n")}`);
  }
  if (regrades.length > 0) {
    const lines = regrades.map(({ regradeId, gradedAt, reward, failure, isAdopted }) => {
      const said =
        failure === null ? `reward ${numberText(reward)}` : `${failure.code}: ${printableLine(failure.message)}`;
      return `  ${timeText(gradedAt)} UTC  regrade ${printableLine(regradeId)}  ${said}${isAdopted ? ", adopted" : ""}`;
    });
    parts.push(`${paint("bold", "Later verdicts")}\n${lines.join("\n")}`);
  }
  return parts;
}

/** `RUN 12` and `RUN-12` mean the same. Throws `request_invalid` when there is no number. */
export function episodeAsked(
  run: string,
  episode: string | null,
): { readonly run: string; readonly episodeNo: number } {
  const joined = /^(.+)-(\d+)$/.exec(run);
  const [name, number] = episode === null ? [joined?.[1], joined?.[2]] : [run, episode];
  if (name === undefined || number === undefined || !/^\d{1,12}$/.test(number)) {
    throw new Failure(
      "request_invalid",
      `Name the run and the number of the episode: ${commandName()} episode show RUN 12`,
    );
  }
  return { run: name, episodeNo: Number(number) };
}
