/** The tool `submit`: ends the episode, with an answer where the task asks for one. It needs no sandbox. */
import type { Tool } from "../../core/environment.ts";
import { argumentMistake, mistake, textResult } from "./tool-result.ts";

const FIELDS = { answer: { kind: "string", required: false } } as const;

export function submitTool(): Tool {
  return {
    name: "submit",
    description: "Ends the episode. Give `answer` when the task asks for one; otherwise the state of the files counts.",
    parameters: {
      type: "object",
      properties: { answer: { type: "string", description: "The answer, where the task asks for one." } },
      required: [],
      additionalProperties: false,
    },
    open: () => ({
      async call(args) {
        const wrong = argumentMistake("submit", args, FIELDS);
        if (wrong !== null) return mistake(wrong);
        const answer = typeof args["answer"] === "string" ? args["answer"] : null;
        return { ...textResult("Submitted."), submitted: { answer } };
      },
      close: async () => undefined,
    }),
  };
}
