/** The tries of a task's health check as one command of the sandbox, so that each asks from where the service is. */
import type { Healthcheck } from "./task.ts";

/** Run as root in the work folder; ends with 0 as soon as one try did, else with a last line on stderr that says which. */
export interface HealthcheckCommand {
  readonly argv: readonly string[];
  /** All its tries take no longer. */
  readonly timeoutMs: number;
}

const LOOP = `end=$(($(date +%s) + $5)) failed=0
while ! timeout "$2" sh -c "$1"; do
  if [ "$(date +%s)" -lt "$end" ]; then sleep "$6"; continue; fi
  failed=$((failed + 1))
  [ "$failed" -ge "$4" ] && { echo "its health check never passed: $1" >&2; exit 1; }
  sleep "$3"
done`;
const MARGIN_MS = 5_000;

export function healthcheckCommand(check: Healthcheck): HealthcheckCommand {
  const { command, intervalMs, timeoutMs, startPeriodMs, startIntervalMs, retries } = check;
  const seconds = (ms: number): string => String(ms / 1_000);
  const startSeconds = Math.ceil(startPeriodMs / 1_000);
  return {
    argv: [
      "/bin/sh",
      "-c",
      LOOP,
      "healthcheck",
      command,
      seconds(timeoutMs),
      seconds(intervalMs),
      String(retries),
      String(startSeconds),
      seconds(startIntervalMs),
    ],
    timeoutMs: startSeconds * 1_000 + startIntervalMs + timeoutMs + retries * (intervalMs + timeoutMs) + MARGIN_MS,
  };
}
