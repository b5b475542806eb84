/** Which run a person means: its whole id, a beginning of it that only one run has, or `latest`. */
import { Failure } from "../core/errors.ts";
import { nearestName } from "../core/naming.ts";
import type { RunRow, Store } from "../core/store.ts";
import { commandName } from "./command-name.ts";

const PREFIX_MIN = 4;

/** Throws `not_found` naming what was asked and the next command. */
export async function findRun(store: Pick<Store, "runs">, asked: string): Promise<RunRow> {
  const runs = await store.runs();
  const exact = asked === "latest" ? runs[0] : runs.find(({ runId }) => runId === asked);
  if (exact !== undefined) return exact;
  const found = asked.length < PREFIX_MIN ? [] : runs.filter(({ runId }) => runId.startsWith(asked));
  if (found[0] !== undefined && found.length === 1) return found[0];
  if (found.length > 1) {
    const ids = found.slice(0, 5).map(({ runId }) => runId);
    throw new Failure("not_found", `"${asked}" begins ${found.length} runs: ${ids.join(", ")}. Give more of the id.`);
  }
  const ids = runs.map(({ runId }) => runId);
  const nearest = nearestName(asked, ids);
  const hint = nearest === null ? `List them: ${commandName()} run list` : `Did you mean ${nearest}?`;
  throw new Failure("not_found", `There is no run "${asked}" in this data folder. ${hint}`);
}
