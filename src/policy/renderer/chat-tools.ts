/**
 * The renderer `chat-tools`: states as messages and JSON Schema tools for endpoints that speak the OpenAI chat protocol
 * with tool calls, and such an endpoint's messages back into turns. Text of the environment stands between <output>
 * marks that it cannot forge, so that instructions inside a file are seen to be data. A prefix once rendered never changes.
 */
import type { Action, Message, Observation, State, ToolCall, ToolDefinition } from "../../core/environment.ts";
import { parseArguments } from "../parse-arguments.ts";

export interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: readonly ChatToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export interface ChatTool {
  readonly type: "function";
  readonly function: Pick<ToolDefinition, "name" | "description" | "parameters">;
}

/** Everything the endpoint is shown at this state. */
export function chatMessages(state: State): ChatMessage[] {
  return state.messages.map(chatMessage);
}

export function chatTools(tools: readonly ToolDefinition[]): ChatTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
}

/** What an endpoint answered, as the calls and the text of an action. Malformed arguments become a parse error. */
export function parseChatTurn(answer: {
  readonly content: string | null;
  readonly tool_calls?: readonly ChatToolCall[] | undefined;
}): Pick<Action, "calls" | "text"> {
  return { text: answer.content ?? "", calls: (answer.tool_calls ?? []).map(parseCall) };
}

/** The text of an observation, from a message that shows it. */
export function parseChatObservation(content: string): string {
  return content.slice(OPEN.length, -CLOSE.length).replace(ESCAPED_MARKS, "<$1$2output");
}

function chatMessage(message: Message): ChatMessage {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return { role: "user", content: message.text };
    case "policy":
      return assistantMessage(message.action);
    case "tool":
      return observationMessage(message.observation);
  }
}

function assistantMessage(action: Action): ChatMessage {
  const content = action.text === "" && action.calls.length > 0 ? null : action.text;
  if (action.calls.length === 0) return { role: "assistant", content };
  return { role: "assistant", content, tool_calls: action.calls.map(chatCall) };
}

/** An observation that answers no call can only be told by the user. */
function observationMessage(observation: Observation): ChatMessage {
  const content = `${OPEN}${observation.text.replace(MARKS, "<\\$1$2output")}${CLOSE}`;
  if (observation.callId === "") return { role: "user", content };
  return { role: "tool", tool_call_id: observation.callId, content };
}

const OPEN = "<output>\n";
const CLOSE = "\n</output>";
/** Any mark in the text, with the backslashes it already has; one more is put before them, and taken away again. */
const MARKS = /<(\\*)(\/?)output/g;
const ESCAPED_MARKS = /<\\(\\*)(\/?)output/g;

/** Endpoints read the arguments of earlier calls as JSON and refuse the whole conversation over a malformed one. */
const MALFORMED = "malformed";

function chatCall(call: ToolCall): ChatToolCall {
  /* Blank text is a call without arguments for us, and no JSON for an endpoint; no text at all is neither refused. */
  const isBlank = call.argumentsRaw !== "" && call.argumentsRaw.trim() === "";
  const isPlain = call.parseError === null && !isBlank && !Object.hasOwn(call.arguments ?? {}, MALFORMED);
  const text = isPlain ? call.argumentsRaw : JSON.stringify({ [MALFORMED]: call.argumentsRaw });
  return { id: call.id, type: "function", function: { name: call.name, arguments: text } };
}

function parseCall(call: ChatToolCall, index: number): ToolCall {
  const argumentsRaw = call.function.arguments;
  return {
    id: call.id === "" ? `call-${index}` : call.id,
    name: call.function.name,
    argumentsRaw,
    ...parseArguments(argumentsRaw),
  };
}

/** A turn as it was rendered earlier: undoes what `chatMessages` did to malformed arguments. */
export function parseRenderedTurn(
  message: Extract<ChatMessage, { role: "assistant" }>,
): Pick<Action, "calls" | "text"> {
  const turn = parseChatTurn(message);
  const calls = turn.calls.map((call) => {
    const raw = call.arguments?.[MALFORMED];
    return typeof raw === "string" ? { ...call, argumentsRaw: raw, ...parseArguments(raw) } : call;
  });
  return { ...turn, calls };
}
