/** The closed loop in its plainest form: five calls, a real sandbox, a real verifier. The README shows this example. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEnvironments, readTaskFolder, scriptAction, scriptCall } from "../../src/index.ts";

test("reset, execute, next, verify and close solve a shipped task from its oracle's commands", async () => {
  const task = await readTaskFolder(join(import.meta.dirname, "../../tasks/shell-files/tidy-shell-files"));
  const environments = openEnvironments();
  const environment = environments.open({ ...task, files: [...task.files, ...task.oracle.files] });
  try {
    let state = await environment.reset({});
    while (!state.done) {
      const command = task.oracle.commands[state.turn];
      const call = command === undefined ? scriptCall(0, "submit", {}) : scriptCall(0, "shell", { command });
      const result = await environment.execute(scriptAction([call]));
      state = environment.next(result);
    }
    const verdict = await environment.verify();
    expect(state.stopReason).toBe("submitted");
    expect(verdict.total).toBe(1);
  } finally {
    await environment.close();
    await environments.close();
  }
});
