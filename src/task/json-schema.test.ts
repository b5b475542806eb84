/** The schemas that editors read are those of the reader. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type SchemaName, taskJsonSchema } from "./json-schema.ts";

test.each<SchemaName>(["task", "image"])("the published schema of %s.toml is the reader's own", (name) => {
  const published: unknown = JSON.parse(readFileSync(`schema/${name}.schema.json`, "utf8"));
  expect(published, `run: sandlot task schema ${name} > schema/${name}.schema.json`).toEqual(
    JSON.parse(JSON.stringify(taskJsonSchema(name))),
  );
});

test("unknown keys are refused under [sandlot] and kept elsewhere, as the reader does", () => {
  const { properties, additionalProperties } = taskJsonSchema("task") as {
    properties: Readonly<
      Record<string, { additionalProperties?: boolean; properties?: Readonly<Record<string, unknown>> }>
    >;
    additionalProperties?: boolean;
  };
  expect([additionalProperties, properties["environment"]?.additionalProperties]).toEqual([undefined, undefined]);
  expect(properties["sandlot"]?.additionalProperties).toBe(false);
  expect(properties["sandlot"]?.properties?.["limits"]).toMatchObject({ additionalProperties: false });
  expect(taskJsonSchema("image")["additionalProperties"]).toBe(false);
});
