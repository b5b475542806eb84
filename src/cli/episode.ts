/** `sandlot episode show`: what really happened in one episode. */
import type { Command } from "commander";
import { Failure } from "../core/errors.ts";
import { commandName } from "./command-name.ts";
import { action, type CliContext } from "./context.ts";
import { episodeJson, episodeReplay } from "./episode-replay.ts";
import { EXIT } from "./exit-code.ts";
import { findRun } from "./find-run.ts";
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
    if (context.isJson) context.json(await episodeJson(stored));
    else context.print(await episodeReplay(stored, context));
    return EXIT.done;
  });
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
