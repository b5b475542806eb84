import { expect, test } from "vitest";
import { showTask } from "./app.ts";

test("a folder of tasks and a generator are not taken for one task, and the refusal names what to do", async () => {
  await expect(showTask("tasks")).rejects.toThrow("tasks holds tasks but is none. Name one of them, such as tasks/");
  await expect(showTask("tasks/generator/first-light")).rejects.toThrow("is a generator");
  expect((await showTask("tasks/shell-files/tidy-shell-files")).key).toBe("sandlot/tidy-shell-files");
});
