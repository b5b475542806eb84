/** The arguments of a sampled call, from its raw text. What is malformed is described, never thrown. */
import type { ToolCall } from "../core/environment.ts";
import type { Json } from "../core/json.ts";

/** Far more than any tool takes; what nests deeper could not be written into a record. */
const DEPTH_MAX = 64;

/** No text at all is a call without arguments; anything else must be one JSON object that a record can hold. */
export function parseArguments(raw: string): Pick<ToolCall, "arguments" | "parseError"> {
  if (raw.trim() === "") return { arguments: {}, parseError: null };
  try {
    const value = JSON.parse(raw) as Json;
    const fault = recordFault(value);
    if (fault !== null) return { arguments: null, parseError: fault };
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

/** Why a value has no place in a record, which a policy must not be able to keep from being written; null when it has. */
function recordFault(value: Json): string | null {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return `they nest deeper than ${DEPTH_MAX} levels`;
    if (level.some((item) => typeof item === "number" && !Number.isFinite(item))) return "they hold a number too large";
    level = level.flatMap((item): Json[] => (item !== null && typeof item === "object" ? Object.values(item) : []));
  }
  return null;
}
