/**
 * The steps of a build as a person follows them: on a terminal the step in hand moves, with its time and the tool's last
 * words, and becomes one line when it is over; elsewhere each step is a line of its own, and a long one says now and then
 * that it goes on.
 */
import { stripVTControlCharacters } from "node:util";
import type { ImageEvent } from "../app-image.ts";
import type { Runtime } from "../core/runtime.ts";
import type { CliContext } from "./context.ts";
import { printableLine } from "./escape.ts";
import { durationText } from "./format.ts";

export interface ImageProgress {
  readonly onEvent: (event: ImageEvent) => void;
  /** Ends the step in hand; the cursor is where it was before. */
  close(end: "done" | "failed"): void;
  result(): { readonly isFresh: boolean; readonly seconds: number };
}

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const TICK_MS = 100;
const STILL_SECONDS = 15;

interface Step {
  readonly text: string;
  readonly started: number;
}

export function openImageProgress(context: CliContext, runtime: Pick<Runtime, "monotonic" | "timer">): ImageProgress {
  const started = runtime.monotonic();
  const isLive = context.stream.isTTY === true && process.env["TERM"] !== "dumb";
  const seconds = (since: number): number => (runtime.monotonic() - since) / 1_000;
  let step: Step | null = null;
  let said = "";
  let log = "";
  let isFresh = false;
  let frame = 0;
  let saidAt = started;
  let cancelTick = (): void => undefined;

  const clear = (): void => {
    if (isLive) context.stream.write("\r\x1b[2K");
  };
  const draw = (): void => {
    if (step === null) return;
    frame += 1;
    const head = `${context.paint("cyan", FRAMES[frame % FRAMES.length] ?? "")} ${step.text}  ${durationText(seconds(step.started))}`;
    const room = context.width - stripVTControlCharacters(head).length - 3;
    const words = room > 8 && said !== "" ? context.paint("dim", `  ${cut(said, room)}`) : "";
    clear();
    context.stream.write(head + words);
  };
  const tick = (): void => {
    if (isLive) draw();
    else if (step !== null && seconds(saidAt) >= STILL_SECONDS) {
      saidAt = runtime.monotonic();
      context.print(`${stamp()}  still ${step.text}${said === "" ? "" : `: ${cut(said, 100)}`}`);
    }
    cancelTick = runtime.timer(TICK_MS, tick);
  };
  const stamp = (): string => durationText(seconds(started)).padStart(11);
  const endStep = (end: "done" | "failed"): void => {
    if (step === null) return;
    clear();
    const mark = end === "done" ? context.paint("green", "✓") : context.paint("red", "✗");
    if (isLive) context.print(`${mark} ${step.text}  ${context.paint("dim", durationText(seconds(step.started)))}`);
    step = null;
    said = "";
  };
  tick();

  return {
    onEvent: (event) => {
      if (event.kind === "tool-said") {
        said = printableLine(event.text);
        log = event.log;
      } else if (event.kind === "step-started") {
        endStep("done");
        step = { text: printableLine(event.text), started: runtime.monotonic() };
        saidAt = runtime.monotonic();
        if (isLive) draw();
        else context.print(`${stamp()}  ${step.text}`);
      } else {
        endStep("done");
        isFresh = event.isFresh;
      }
    },
    close: (end) => {
      cancelTick();
      endStep(end);
      if (end === "failed" && log !== "" && isLive) context.print(context.paint("dim", `log: ${log}`));
    },
    result: () => ({ isFresh, seconds: Math.round(seconds(started) * 10) / 10 }),
  };
}

function cut(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`;
}
