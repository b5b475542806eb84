/** Faults of commands: their ends, their output and input, and what they leave running. */
import { type FaultHooks, hurried, hurriedWith, optionsWith, outputReplacing, resultWith } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { OPTIONS } from "./sandbox-parts.ts";

const empty = new Uint8Array();

/** A timeout that misses one process of the command. */
const leavesProcess: FaultHooks = {
  result: async (result, { sandbox }) => {
    if (result.verdict !== "exited") await sandbox.exec("setsid sleep 987 & true", OPTIONS);
    return result;
  },
};

const withoutLastByte: FaultHooks = {
  result: (result) => ({ ...result, stdout: result.stdout.subarray(0, -1) }),
};

const PROCESSES: readonly Fault[] = [
  { breaks: "1", what: "says of a timeout that it was none", ...resultWith({ timedOut: false }) },
  { breaks: "1b", what: "loses the output of a command that fell silent", ...resultWith({ stdout: empty }) },
  { breaks: "2", what: "misses a detached process at a timeout", ...leavesProcess },
  {
    breaks: "3",
    what: "tells the kill at a timeout as the command's own end",
    result: (result) => ({ ...result, verdict: "signalled", signal: "SIGKILL" }),
  },
  { breaks: "3b", what: "kills at once, without the grace", ...optionsWith({ killGraceMs: 0 }) },
  { breaks: "4", what: "ends children that were to be kept", ...optionsWith({ descendants: "kill" }) },
  {
    breaks: "4b",
    what: "ends a kept child with its first write",
    ...hurriedWith({ descendants: "kill" }),
  },
  { breaks: "4c", what: "keeps descendants that were to be ended", ...optionsWith({ descendants: "keep" }) },
  { breaks: "6", what: "takes a stopped command for an ended one", ...resultWith({ verdict: "exited" }) },
  {
    breaks: "9",
    what: "reaps nothing",
    ...hurried,
    sandbox: (sandbox) => ({
      exec: async (command, options) => {
        const zombie = "import os, time\nos.fork() or os._exit(0)\ntime.sleep(987)";
        await sandbox.start(["python3", "-c", zombie], OPTIONS);
        return sandbox.exec(command, options);
      },
    }),
  },
  {
    breaks: "5",
    what: "gives the input of one command to the next",
    options: (options, command) => (command === "cat" ? { ...options, input: Buffer.from("left over") } : options),
  },
  { breaks: "18", what: "counts its timeouts by the clock", ...resultWith({ verdict: "exited", exitCode: 0 }) },
  {
    breaks: "11",
    what: "loses its first process to a kill from inside",
    result: async (result, { command, sandbox }) => {
      if (String(command).includes("kill")) await sandbox.destroy();
      return result;
    },
  },
  {
    breaks: "13",
    what: "gives every failed start one reason",
    result: (result) => ({ ...result, startError: result.startError && "not_found" }),
  },
  { breaks: "14", what: "gives commands the output of others", ...mixingOutputs() },
  { breaks: "15", what: "gives a cancelled command an exit code", ...resultWith({ verdict: "exited", exitCode: 130 }) },
  {
    breaks: "15b",
    what: "sends another signal than the one asked for",
    sandbox: (sandbox) => ({
      start: async (command, options) => {
        const process = await sandbox.start(command, options);
        return { ...process, kill: () => process.kill("SIGTERM") };
      },
    }),
  },
  {
    breaks: "17",
    what: "says of an exit that it was a timeout as well",
    ...resultWith({ timedOut: true, verdict: "exited" }),
  },
  {
    breaks: "21",
    what: "takes exit code 137 for a lack of memory",
    result: (result) => ({ ...result, oomKilled: result.exitCode === 137 || result.signal === "SIGKILL" }),
  },
];

const OUTPUT: readonly Fault[] = [
  {
    breaks: "32",
    what: "miscounts the dropped bytes by one",
    result: (result) => ({ ...result, stdoutBytesTruncated: Math.max(0, result.stdoutBytesTruncated - 1) }),
  },
  {
    breaks: "32b",
    what: "goes on past the output limit",
    ...hurriedWith({ onOutputLimit: "drop" }),
  },
  { breaks: "32c", what: "has one cap for both streams", ...resultWith({ stderr: empty }) },
  {
    breaks: "34b",
    what: "replaces what is cut in two",
    options: (options) => ({
      ...options,
      onOutput: (stream, bytes) => options.onOutput?.(stream, Buffer.from(Buffer.from(bytes).toString("utf8"))),
    }),
  },
  { breaks: "33", what: "loses what follows a full stream", ...resultWith({ stdout: empty }) },
  {
    breaks: "34",
    what: "decodes output as text",
    result: (result) => ({ ...result, stdout: Buffer.from(Buffer.from(result.stdout).toString("utf8")) }),
  },
  {
    breaks: "35",
    what: "takes output for a report",
    result: (result) => (result.stdout[8] === 35 ? { ...result, exitCode: 0 } : result),
  },
  { breaks: "36", what: "loses the last byte before an exit", ...withoutLastByte },
  { breaks: "36b", what: "loses what was not read yet when the command ended", ...withoutLastByte },
  {
    breaks: "37",
    what: "cuts long input",
    options: (options) =>
      options.input instanceof Uint8Array ? { ...options, input: options.input.subarray(0, 65_536) } : options,
  },
  {
    breaks: "38",
    what: "joins arguments by spaces",
    command: (command) => (typeof command === "string" ? command : command.join(" ")),
  },
  {
    breaks: "39",
    what: "does not tell a missing folder from a missing program",
    result: (result) => ({ ...result, startError: result.startError && "not_found" }),
  },
  {
    breaks: "53",
    what: "lets a command inherit a descriptor",
    options: (options) => ({ ...options, pipes: [...(options.pipes ?? []), { fd: 77 }] }),
  },
  {
    breaks: "53b",
    what: "drops what comes over declared descriptors",
    options: (options) => ({
      ...options,
      ...(options.pipes && { pipes: options.pipes.map(({ fd, input }) => ({ fd, ...(input && { input }) })) }),
    }),
  },
  { breaks: "71b", what: "gives output only at the end", ...holdingOutput() },
  { breaks: "74", what: "runs every command as root", options: ({ user: _, ...options }) => options },
  {
    breaks: "47",
    what: "lets a setuid program gain privileges",
    ...outputReplacing(/NoNewPrivs:\s+1/, "NoNewPrivs:\t0"),
  },
];

/** Each result carries the output of the one before. */
function mixingOutputs(): FaultHooks {
  let before: Uint8Array = empty;
  return {
    result: (result) => {
      const stdout = before;
      before = result.stdout;
      return { ...result, stdout };
    },
  };
}

function holdingOutput(): FaultHooks {
  return {
    sandbox: (sandbox) => ({
      exec: async (command, { onOutput, ...options }) => {
        const result = await sandbox.exec(command, { ...options, timeoutMs: 1_500 });
        onOutput?.("stdout", result.stdout);
        return result;
      },
    }),
  };
}

export const FAULTS_OF_COMMANDS: readonly Fault[] = [...PROCESSES, ...OUTPUT];
