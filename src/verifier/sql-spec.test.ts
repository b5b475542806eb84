/** A file of the sql runner that cannot be used is told to its author with file, field and remedy. */
import { expect, test } from "vitest";
import type { TestsVerifierSpec } from "../core/task.ts";
import { readSqlTest } from "./sql-spec.ts";

function read(written: object) {
  const bytes = new TextEncoder().encode(JSON.stringify(written));
  const files = [{ path: "/tests/unit/top.sql.json", bytes, mode: 0o644 }];
  return () => readSqlTest({ files } as unknown as TestsVerifierSpec, "unit/top.sql.json");
}

const query = { engine: "sqlite", query: "/app/top.sql", schema: "support/schema.sql", reference: "support/top.sql" };

test("too few data sets are told with what to add", () => {
  const datasets = [{ name: "small", data: "support/small.sql" }];
  expect(read({ ...query, datasets })).toThrow(
    "tests/unit/top.sql.json: datasets: has fewer than 3 data sets; add some, such as one with ties and one without rows.",
  );
});

test("a file that is named and is not there is told, and where paths start", () => {
  const datasets = ["a", "b", "c"].map((name) => ({ name, data: `support/${name}.sql` }));
  expect(read({ ...query, datasets })).toThrow("the file support/schema.sql is not there; paths are told from tests/");
});
