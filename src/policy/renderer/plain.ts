/**
 * The renderer `plain`: turns as token ids for a model that was trained on nothing but them.
 *
 *     <bos> <turn:observation> text … <turn:policy> text <tool> NAME newline ARGUMENTS <tool> … <end>
 *
 * A sampled turn is put back as its own ids, never encoded again, so a prefix once rendered never changes. Text of the
 * environment cannot forge a turn: encoding never produces a special id. A turn without a call is a final answer.
 */
import type { Action, Message, State, ToolCall } from "../../core/environment.ts";
import { SPECIAL_TOKENS, type Tokenizer, type TokenRenderer } from "../../core/policy.ts";
import { parseArguments } from "../parse-arguments.ts";

export interface PlainRendererOptions {
  readonly tokenizer: Tokenizer;
  /** Shows the instruction alone, without system text and limits, so that a short context suffices. */
  readonly isBare: boolean;
}

/** A renderer that can also show one instruction alone, for demonstrations that never were episodes. */
export interface PlainRenderer extends TokenRenderer {
  /** The ids of a bare prompt: exactly what an episode of a task with this instruction begins with when `isBare`. */
  promptOf(instruction: string): Int32Array;
}

export function plainRenderer(options: PlainRendererOptions): PlainRenderer {
  const { tokenizer } = options;
  const { special } = tokenizer;
  const encode = cleanEncoder(tokenizer);
  return {
    name: options.isBare ? "plain-bare" : "plain",
    stopIds: [special["<end>"]],
    prompt: (state) => {
      const parts: Int32Array[] = [Int32Array.of(special["<bos>"])];
      let isObserving = false;
      for (const message of shownMessages(state, options.isBare)) {
        if (message.role === "policy") {
          parts.push(Int32Array.of(special["<turn:policy>"]), actionIds(message.action, tokenizer, encode));
          isObserving = false;
          continue;
        }
        // What is told between two turns of the policy is one observation; its parts are apart by a blank line.
        parts.push(isObserving ? encode("\n\n") : Int32Array.of(special["<turn:observation>"]));
        parts.push(encode(message.role === "tool" ? message.observation.text : message.text));
        isObserving = true;
      }
      return joined([...parts, Int32Array.of(special["<turn:policy>"])]);
    },
    promptOf: (instruction) => {
      const head = Int32Array.of(special["<bos>"], special["<turn:observation>"]);
      return joined([head, encode(instruction), Int32Array.of(special["<turn:policy>"])]);
    },
    parse: (ids) => parseTurn(ids, tokenizer),
  };
}

function joined(parts: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function shownMessages(state: State, isBare: boolean): readonly Message[] {
  return isBare ? state.messages.filter((message) => message.role !== "system") : state.messages;
}

type Encode = (text: string) => Int32Array;

/** The ids of a turn: those that were sampled, or, for an action made by code, those that would say the same. */
function actionIds(action: Action, tokenizer: Tokenizer, encode: Encode): Int32Array {
  return action.tokens === null ? turnIds(action, tokenizer, encode) : action.tokens.ids;
}

/** Ids that parse to these calls and this text. A lone submit of an answer is written as the answer itself. */
function turnIds(action: Pick<Action, "calls" | "text">, tokenizer: Tokenizer, encode: Encode): Int32Array {
  const tool = Int32Array.of(tokenizer.special["<tool>"]);
  const end = Int32Array.of(tokenizer.special["<end>"]);
  const [only] = action.calls;
  const answer = only?.arguments?.["answer"];
  const isFinal = action.calls.length === 1 && only?.name === "submit" && action.text === "";
  if (isFinal && typeof answer === "string") return joined([encode(answer), end]);
  const calls = action.calls.flatMap((call) => [tool, encode(`${call.name}\n${call.argumentsRaw}`)]);
  return joined([encode(action.text), ...calls, end]);
}

/** Sampled ids as an action. Malformed output becomes calls with `parseError`, never an exception. */
function parseTurn(ids: Int32Array, tokenizer: Tokenizer): Pick<Action, "calls" | "text"> {
  const { special } = tokenizer;
  const end = ids.indexOf(special["<end>"]);
  const spans: number[][] = [[]];
  for (const id of end === -1 ? ids : ids.subarray(0, end)) {
    if (id === special["<tool>"]) spans.push([]);
    else spans.at(-1)?.push(id);
  }
  const [first = [], ...rest] = spans;
  const text = tokenizer.decode(Int32Array.from(first));
  if (rest.length > 0) return { text, calls: rest.map((span, index) => parseCall(span, index, tokenizer)) };
  const answer = { answer: text };
  const call = { id: "0", name: "submit", argumentsRaw: JSON.stringify(answer), arguments: answer, parseError: null };
  return { text: "", calls: [call] };
}

function parseCall(span: readonly number[], index: number, tokenizer: Tokenizer): ToolCall {
  const body = tokenizer.decode(Int32Array.from(span));
  const newline = body.indexOf("\n");
  const name = newline === -1 ? body : body.slice(0, newline);
  const argumentsRaw = newline === -1 ? "" : body.slice(newline + 1);
  const misplaced = SPECIAL_TOKENS.find((token) => span.includes(tokenizer.special[token]));
  const parsed =
    misplaced === undefined
      ? parseArguments(argumentsRaw)
      : { arguments: null, parseError: `the call holds the special token ${misplaced}` };
  return { id: String(index), name, argumentsRaw, ...parsed };
}

/** Encodes any text: characters outside a declared set become `?` where that is in it, and are left out where not. */
function cleanEncoder(tokenizer: Tokenizer): Encode {
  if (tokenizer.kind === "bytes") return (text) => tokenizer.encode(text);
  const known = new Set(tokenizer.toJson().characters);
  const substitute = known.has("?") ? "?" : "";
  return (text) => {
    try {
      return tokenizer.encode(text);
    } catch {
      return tokenizer.encode(
        Array.from(text, (character) => (known.has(character) ? character : substitute)).join(""),
      );
    }
  };
}
