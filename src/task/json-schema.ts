/**
 * The fields of `task.toml` and `environment/image.toml` as JSON Schema, for editors that complete and check TOML. What
 * spans fields or files is known to the reader alone.
 */
import { z } from "zod";
import { IMAGE_SCHEMA, TASK_SCHEMA } from "./task-schema.ts";

export type SchemaName = "task" | "image";

/** JSON Schema, draft 2020-12. Keys that the reader refuses where they are unknown are refused here, too. */
export function taskJsonSchema(name: SchemaName): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(name === "task" ? TASK_SCHEMA : IMAGE_SCHEMA, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema, path }) => {
      const isOurs = name === "image" || path.includes("sandlot");
      if (isOurs && jsonSchema.properties !== undefined) jsonSchema.additionalProperties = false;
      if (path.length === 0) jsonSchema.title = name === "task" ? "task.toml" : "environment/image.toml";
    },
  });
}
