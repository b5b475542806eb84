/** What every command hands to the application: where data lie, who listens, and how it is told to stop. */
import type { EventSink } from "./core/events.ts";

export interface AppOptions {
  readonly dataFolder: string;
  readonly onEvent: EventSink;
  /** First stop: finish the step, save, leave a run that can go on. */
  readonly drain: AbortSignal;
  /** Second stop: leave at once; the last checkpoint holds. */
  readonly abort: AbortSignal;
}
