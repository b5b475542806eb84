/** The run told in plain lines, for pipes, files and CI: one line per thing worth knowing, no cursor control. */
import type { RunEvent, RunProgress } from "../core/events.ts";
import { printableLine } from "./escape.ts";
import { countText, durationText, numberText, passRateText, percentText, rateText } from "./format.ts";

/** A progress line at most this often; steps and results always have their own. */
const PROGRESS_EVERY_SECONDS = 15;

/** A sink that writes a line for each event a reader wants; episodes are counted in the progress lines. */
export function plainLines(write: (line: string) => void): (event: RunEvent) => void {
  let elapsed = 0;
  let shownAt = Number.NEGATIVE_INFINITY;
  return (event) => {
    if (event.kind === "progress-made") {
      elapsed = event.progress.elapsedSeconds;
      if (elapsed - shownAt < PROGRESS_EVERY_SECONDS) return;
      shownAt = elapsed;
    }
    if (event.kind === "phase-entered") shownAt = elapsed;
    const text = lineText(event);
    if (text !== null) write(`${durationText(elapsed).padStart(11)}  ${printableLine(text)}`);
  };
}

function lineText(event: RunEvent): string | null {
  switch (event.kind) {
    case "run-started":
      return `${event.isResumed ? "resuming" : "starting"} ${event.name}: run ${event.runId} in ${event.folder}`;
    case "phase-entered":
      return `${event.phase}: ${event.note === "" ? "entered" : event.note}`;
    case "progress-made":
      return progressText(event.progress);
    case "step-taken":
      return `${event.phase} step ${event.step}: ${metricsText(event.metrics)}`;
    case "evaluation-finished": {
      const greedy = event.greedy === null ? "" : `, greedy ${passRateText(event.greedy)}`;
      return `held-out ${event.label}: pass@1 ${passRateText(event.sampled)}${greedy}`;
    }
    case "checkpoint-saved":
      return `checkpoint ${event.name} saved`;
    case "episode-finished":
      return null;
    case "warning-raised":
      return `warning: ${event.message}`;
    case "run-stopping":
      return `stopping: ${event.reason}`;
    case "run-ended":
      return `run ${event.runId} ${event.state}`;
  }
}

function progressText(progress: RunProgress): string {
  const { phase, done, total } = progress;
  const parts = [`${phase} ${countText(done)}/${countText(total)}`];
  if (total > 0) parts.push(percentText(done / total));
  if (progress.etaSeconds !== null) parts.push(`ETA ${durationText(progress.etaSeconds)}`);
  parts.push(`${countText(progress.episodes)} episodes`);
  if (progress.sandboxesPerSecond !== null) parts.push(`${rateText(progress.sandboxesPerSecond)} sandboxes/s`);
  if (progress.tokensPerSecond !== null) parts.push(`${rateText(progress.tokensPerSecond)} tokens/s`);
  return parts.join(", ");
}

/** The few metrics a person follows first, then nothing: the rest are in the store. */
function metricsText(metrics: Readonly<Record<string, number>>): string {
  const shown = ["reward", "loss", "kl", "entropy", "grad_norm", "frac_reward_zero_std"];
  const known = shown.filter((id) => metrics[id] !== undefined);
  const ids = known.length > 0 ? known : Object.keys(metrics).slice(0, 6);
  return ids.map((id) => `${id} ${numberText(metrics[id])}`).join(", ");
}
