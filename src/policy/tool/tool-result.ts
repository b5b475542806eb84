/** The two plain results of a tool: text that came of a good call, and a described mistake of the policy. */
import type { ToolResult } from "../../core/environment.ts";
import type { Json } from "../../core/json.ts";

const encoder = new TextEncoder();

/** The result of a valid call that ran no command. */
export function textResult(text: string): ToolResult {
  return {
    output: encoder.encode(text),
    outputBytesTruncated: 0,
    exitCode: null,
    timedOut: false,
    oomKilled: false,
    isInvalid: false,
    submitted: null,
  };
}

/** The policy's mistake, described so that it can be put right in the next turn. */
export function mistake(message: string): ToolResult {
  return { ...textResult(message), isInvalid: true };
}

/** How one field of a tool's arguments must look. */
type FieldKind = "string" | "integer";

/**
 * What is wrong with the arguments, naming the field; null when they fit. Fields not declared are mistakes too: a
 * misspelt optional field would otherwise do nothing, silently.
 */
export function argumentMistake(
  tool: string,
  args: Readonly<Record<string, Json>>,
  fields: Readonly<Record<string, { readonly kind: FieldKind; readonly required: boolean; readonly min?: number }>>,
): string | null {
  for (const name of Object.keys(args)) {
    if (!Object.hasOwn(fields, name)) {
      return `${tool} has no field ${JSON.stringify(name.slice(0, 100))}. Its fields are: ${Object.keys(fields).join(", ")}.`;
    }
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = args[name];
    if (value === undefined || (value === null && !field.required)) {
      if (field.required) return `${tool} needs the field ${name} (${field.kind}).`;
      continue;
    }
    const fits = field.kind === "string" ? typeof value === "string" : Number.isSafeInteger(value);
    if (!fits) return `The field ${name} of ${tool} must be of type ${field.kind}.`;
    if (field.min !== undefined && typeof value === "number" && value < field.min) {
      return `The field ${name} of ${tool} must be at least ${field.min}.`;
    }
  }
  return null;
}
