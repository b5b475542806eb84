/**
 * How a fault is planted into a real provider: hooks see each request, command, result, file call and shell run on its
 * way and may change it. What is not hooked goes through untouched.
 */
import type { ExecOptions, ExecResult, ShellOptions, ShellResult } from "../../src/core/exec.ts";
import type { Sandbox, SandboxProvider, SandboxRequest } from "../../src/core/sandbox.ts";
import type { SandboxFiles } from "../../src/core/sandbox-files.ts";

type Command = string | readonly string[];

interface Call {
  readonly command: Command;
  readonly options: ExecOptions;
  /** Without the fault. */
  readonly sandbox: Sandbox;
}

export interface FaultHooks {
  readonly request?: (request: SandboxRequest) => SandboxRequest;
  readonly command?: (command: Command) => Command;
  readonly options?: (options: ExecOptions, command: Command) => ExecOptions;
  readonly result?: (result: ExecResult, call: Call) => ExecResult | Promise<ExecResult>;
  readonly shellOptions?: (options: ShellOptions) => ShellOptions;
  readonly shellResult?: (result: ShellResult, command: string) => ShellResult | Promise<ShellResult>;
  readonly files?: (files: SandboxFiles, sandbox: Sandbox) => Partial<SandboxFiles>;
  readonly sandbox?: (sandbox: Sandbox, request: SandboxRequest) => Partial<Sandbox>;
  readonly provider?: (provider: SandboxProvider) => Partial<SandboxProvider>;
}

export function withFault(real: SandboxProvider, hooks: FaultHooks): SandboxProvider {
  const faulty: SandboxProvider = {
    ...real,
    create: async (request, signal) => {
      const changed = hooks.request?.(request) ?? request;
      return faultySandbox(await real.create(changed, signal), changed, hooks);
    },
  };
  return { ...faulty, ...hooks.provider?.(faulty) };
}

function faultySandbox(sandbox: Sandbox, request: SandboxRequest, hooks: FaultHooks): Sandbox {
  const asked = (command: Command, options: ExecOptions): [Command, ExecOptions] => [
    hooks.command?.(command) ?? command,
    hooks.options?.(options, command) ?? options,
  ];
  const told = async (result: ExecResult, command: Command, options: ExecOptions): Promise<ExecResult> =>
    (await hooks.result?.(result, { command, options, sandbox })) ?? result;
  const files = { ...sandbox.files, ...hooks.files?.(sandbox.files, sandbox) };
  const faulty: Sandbox = {
    ...sandbox,
    files,
    fork: async (count, options) =>
      (await sandbox.fork(count, options)).map((fork) => faultySandbox(fork, request, hooks)),
    exec: async (command, options) => told(await sandbox.exec(...asked(command, options)), command, options),
    start: async (command, options) => {
      const process = await sandbox.start(...asked(command, options));
      const result = process.result.then((each) => told(each, command, options));
      void result.catch(() => undefined);
      return { ...process, result };
    },
    shell: async (options) => {
      const shell = await sandbox.shell(hooks.shellOptions?.(options) ?? options);
      const run: typeof shell.run = async (command, runOptions) => {
        const result = await shell.run(command, runOptions);
        return (await hooks.shellResult?.(result, command)) ?? result;
      };
      return { ...shell, run };
    },
  };
  return { ...faulty, ...hooks.sandbox?.(faulty, request) };
}

/** Changes fields of every result. */
export function resultWith(change: Partial<ExecResult>): FaultHooks {
  return { result: (result) => ({ ...result, ...change }) };
}

/** Changes options of every command. */
export function optionsWith(change: Partial<ExecOptions>): FaultHooks {
  return { options: (options) => ({ ...options, ...change }) };
}

/** The same; commands that wait for what never comes are given up early besides, so that the fault is soon told. */
export function hurriedWith(change: Partial<ExecOptions>): FaultHooks {
  return {
    options: (options) => ({ ...options, timeoutMs: Math.min(options.timeoutMs, 1_500), ...change }),
  };
}

export const hurried: FaultHooks = hurriedWith({});

/** Changes limits of every sandbox. */
export function limitsWith(change: Partial<SandboxRequest["limits"]>): FaultHooks {
  return { request: (request) => ({ ...request, limits: { ...request.limits, ...change } }) };
}

/** Adds to the output of every command that ended well, as a provider would whose sandbox lets `what` through. */
export function outputWith(what: string): FaultHooks {
  return {
    result: (result) =>
      result.exitCode === 0 ? { ...result, stdout: Buffer.concat([Buffer.from(what), result.stdout]) } : result,
  };
}

/** Replaces in the output of every command. */
export function outputReplacing(pattern: RegExp, by: string): FaultHooks {
  return {
    result: (result) => ({
      ...result,
      stdout: Buffer.from(Buffer.from(result.stdout).toString().replace(pattern, by)),
    }),
  };
}
