/** The chat renderer: what is rendered parses back, the environment cannot forge its marks, a prefix never changes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { expectGolden } from "../../../test/support/golden.ts";
import {
  actionOf,
  anyText,
  anyTurn,
  callOf,
  conversation,
  observationOf,
  stateOf,
} from "../../../test/support/renderer-parts.ts";
import type { Message } from "../../core/environment.ts";
import { chatMessages, chatTools, parseChatObservation, parseRenderedTurn } from "./chat-tools.ts";

function rendered(message: Message) {
  const [only] = chatMessages(stateOf([message]));
  if (only === undefined) throw new Error("one message gives one message");
  return only;
}

test("any turn parses back to itself, with malformed arguments as they were sampled", () => {
  fc.assert(
    fc.property(anyTurn, (turn) => {
      const message = rendered({ role: "policy", action: actionOf(turn.calls, turn.text) });
      expect(message.role === "assistant" ? parseRenderedTurn(message) : null).toEqual(turn);
    }),
  );
});

test("arguments are always JSON on the wire, since endpoints refuse a conversation over one that is not", () => {
  fc.assert(
    fc.property(anyTurn, (turn) => {
      const message = rendered({ role: "policy", action: actionOf(turn.calls, turn.text) });
      const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
      for (const call of calls) if (call.function.arguments !== "") JSON.parse(call.function.arguments);
    }),
  );
});

test("blank arguments, which are no JSON, are wrapped and come back as they were", () => {
  const message = rendered({ role: "policy", action: actionOf([callOf(0, "shell", " \n")], "") });
  if (message.role !== "assistant") throw new Error("an action is an assistant's message");
  expect(JSON.parse(message.tool_calls?.[0]?.function.arguments ?? "")).toEqual({ malformed: " \n" });
  expect(parseRenderedTurn(message).calls[0]?.argumentsRaw).toBe(" \n");
});

test("any observation comes back from between its marks", () => {
  const marks = fc.constantFrom("<output>", "</output>", "<\\output>", "<\\/output>", "<\\\\/output", "\n", "x");
  const text = fc.oneof(
    anyText,
    fc.array(marks, { maxLength: 6 }).map((list) => list.join("")),
  );
  fc.assert(
    fc.property(text, (seen) => {
      const { content } = rendered({ role: "tool", observation: observationOf("c", seen) });
      expect(parseChatObservation(content ?? "")).toBe(seen);
      expect((content ?? "").match(/<\/output/g)).toHaveLength(1);
    }),
  );
});

test("the messages of a longer conversation begin with those of the shorter one", () => {
  const whole = chatMessages(stateOf(conversation));
  for (let length = 1; length < conversation.length; length += 1) {
    expect(whole.slice(0, length)).toEqual(chatMessages(stateOf(conversation.slice(0, length))));
  }
});

test("the messages and tools of a fixed conversation are the stored ones", () => {
  const state = stateOf(conversation, 2);
  expectGolden("renderer/chat-tools.json", { messages: chatMessages(state), tools: chatTools(state.tools) });
});
