/**
 * Whether two texts are expressions of equal value: LaTeX or plain, with fractions, roots, powers and unknowns. Equal
 * means proven equal by exact algebra, never near: 0.333 is not 1/3. What cannot be decided is not equal.
 *
 * The answer is hostile. Its length, nesting and characters are bounded before anything reads it; words, lists and
 * anything else that could carry several candidates are refused; and the algebra runs in a thread with bounded memory
 * that is ended when it takes too long, so that 9^9^9^9 costs one answer its point and nobody else anything.
 */
import { Worker } from "node:worker_threads";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";

const CHARACTERS_MAX = 2_000;
const DEPTH_MAX = 30;
/** Processor time of one question, so that a busy machine fails no right answer; a common one takes a hundredth of it. */
const DECIDE_CPU_MS = 4_000;
const DECIDE_MS = 60_000;
const LOOK_MS = 500;
/** Texts that took too long are not tried again, or one answer to many cases would keep all others waiting. */
const UNDECIDED_MAX = 1_000;
/** Loading the algebra; only a broken machine takes this long. */
const START_MS = 120_000;
const IDLE_MS = 20_000;
const MEMORY_MIB_MAX = 256;
const STACK_MIB = 4;

const COMMANDS = new Set(
  (
    "frac dfrac tfrac sqrt cdot times div left right pi ln log exp sin cos tan cot sec csc arcsin arccos arctan sinh " +
    "cosh tanh boxed displaystyle alpha beta gamma delta theta lambda mu sigma phi omega infty binom circ overline"
  ).split(" "),
);
const FUNCTIONS = new Set(
  "sqrt cbrt pi ln log exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh abs".split(" "),
);
/** Several letters side by side are a product, unless they are words; a product is not longer than this. */
const LETTERS_MAX = 3;
const WORDS = new Set(["or", "and", "to", "is", "not", "any", "all", "no", "yes", "nan", "inf"]);

/** Compares texts; one question at a time, the others wait. */
export interface MathEquality {
  /** Throws `verifier_crashed` when the algebra cannot be started. */
  equal(answer: string, expected: string): Promise<boolean>;
  /** Ends the thread. Not needed for the process to exit. */
  close(): Promise<void>;
}

/** Nothing is started before the first question that the texts alone do not decide. */
export function mathEquality(runtime: Runtime): MathEquality {
  let thread: Thread | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let cancelIdle = (): void => undefined;
  const undecided = new Set<string>();
  const close = async (): Promise<void> => {
    cancelIdle();
    const ending = thread;
    thread = null;
    await ending?.worker.terminate();
  };
  const ask = async (answer: string, expected: string): Promise<boolean> => {
    if (undecided.has(answer)) return false;
    cancelIdle();
    thread ??= await startThread(runtime);
    const isEqual = await thread.ask({ answer, expected }, DECIDE_MS);
    if (isEqual === null) {
      if (undecided.size >= UNDECIDED_MAX) undecided.clear();
      undecided.add(answer);
      await close();
    } else cancelIdle = runtime.timer(IDLE_MS, () => void close());
    return isEqual ?? false;
  };
  return {
    close,
    equal: (answer, expected) => {
      const [one, other] = [readable(answer), readable(expected)];
      if (one === null || other === null) return Promise.resolve(false);
      const decided = last.then(() => ask(one, other));
      last = decided.catch(() => undefined);
      return decided;
    },
  };
}

/** The one expression a text holds, without its dollar signs; null for what holds something else, or several. */
export function readable(text: string): string | null {
  const inner = /^\s*(?:\$\$(.*)\$\$|\$(.*)\$|\\\((.*)\\\)|\\\[(.*)\\\]|(.*))\s*$/.exec(text)?.slice(1);
  const found = inner?.find((part) => part !== undefined)?.trim() ?? "";
  if (found === "" || found.length > CHARACTERS_MAX || !/^[\p{L}\d\s+\-*/^(){}[\]|!.,_\\√π·×÷−%°]+$/u.test(found))
    return null;
  if (/[\r\n,;]|\\\\|\\[ ,:!]/.test(found) || /[\d.]\s+[\d.]|[)}]\s+\d/.test(found)) return null;
  if (depthOf(found) > DEPTH_MAX) return null;
  const commands = found.match(/\\[a-zA-Z]+/g) ?? [];
  if (!commands.every((command) => COMMANDS.has(command.slice(1)))) return null;
  const words = found.replace(/\\[a-zA-Z]+/g, " ").match(/\p{L}{2,}/gu) ?? [];
  const isWord = (word: string): boolean => WORDS.has(word.toLowerCase()) || word.length > LETTERS_MAX;
  return words.some((word) => !FUNCTIONS.has(word) && isWord(word)) ? null : plainPowers(found.replaceAll("−", "-"));
}

/** Outside LaTeX an exponent is the whole number after the sign, not its first digit. */
function plainPowers(text: string): string {
  return text.includes("\\") ? text : text.replace(/(?:\^|\*\*)([+-]?\d+(?:\.\d+)?)/g, "^{$1}");
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if ("({[^".includes(character)) depth += 1;
    else if (")}]".includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

interface Thread {
  readonly worker: Worker;
  /** Null when it took too long or ended; it is then of no more use. */
  ask(question: { readonly answer: string; readonly expected: string } | null, ms: number): Promise<boolean | null>;
}

async function processorMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1000;
}

async function startThread(runtime: Runtime): Promise<Thread> {
  const file = import.meta.url.endsWith(".ts") ? "./math-worker.ts" : "./math-worker.js";
  const worker = new Worker(new URL(file, import.meta.url), {
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB_MAX, maxYoungGenerationSizeMb: 32, stackSizeMb: STACK_MIB },
  });
  let why = "";
  worker.on("error", (error) => {
    why = String(error);
  });
  let id = 0;
  const ask: Thread["ask"] = (question, ms) =>
    new Promise((resolve) => {
      let isSettled = false;
      const settle = (isEqual: boolean | null): void => {
        isSettled = true;
        cancel();
        worker.off("message", onMessage).off("exit", onExit).unref();
        resolve(isEqual);
      };
      const onMessage = (reply: { readonly id: number; readonly isEqual: boolean }): void => {
        if (reply.id === id) settle(reply.isEqual);
      };
      const onExit = (): void => settle(null);
      const cancelLate = runtime.timer(ms, onExit);
      let cancelLook = (): void => undefined;
      const cancel = (): void => {
        cancelLate();
        cancelLook();
      };
      const look = (usedMs: number, from: number): void => {
        if (isSettled) return;
        if (usedMs - from > DECIDE_CPU_MS) settle(null);
        else cancelLook = runtime.timer(LOOK_MS, () => void processorMs(worker).then((now) => look(now, from), onExit));
      };
      if (question !== null) void processorMs(worker).then((from) => look(from, from), onExit);
      worker.on("message", onMessage).on("exit", onExit).ref();
      if (question !== null) worker.postMessage({ id: ++id, ...question });
    });
  if ((await ask(null, START_MS)) === null) {
    await worker.terminate();
    throw new Failure(
      "verifier_crashed",
      `The comparison of mathematical expressions did not start: ${why || "no answer"}`,
    );
  }
  return { worker, ask };
}
