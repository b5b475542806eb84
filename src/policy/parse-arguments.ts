/** The arguments of a sampled call, from its raw text. What is malformed is described, never thrown. */
import type { ToolCall } from "../core/environment.ts";
import type { Json } from "../core/json.ts";

/** No text at all is a call without arguments; anything else must be one JSON object. */
export function parseArguments(raw: string): Pick<ToolCall, "arguments" | "parseError"> {
  if (raw.trim() === "") return { arguments: {}, parseError: null };
  try {
    const value = JSON.parse(raw) as Json;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      return { arguments: value as Readonly<Record<string, Json>>, parseError: null };
    }
    return { arguments: null, parseError: "they are JSON, but not an object" };
  } catch (error) {
    return {
      arguments: null,
      parseError: `they are not JSON (${error instanceof Error ? error.message : String(error)})`,
    };
  }
}
