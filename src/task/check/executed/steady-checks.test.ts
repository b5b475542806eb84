/** What no real sandbox does: the checks that hold the platform itself to what a task declares. */
import { expect, test } from "vitest";
import { greetTask } from "../../../../test/support/episode-parts.ts";
import { gradedBy } from "../../../core/outcome.ts";
import type { NetworkPolicy } from "../../../core/sandbox.ts";
import type { Trajectory } from "../../../core/trajectory.ts";
import type { CheckContext } from "../check-contract.ts";
import { STEADY_CHECKS } from "./steady-checks.ts";

async function statusOf(granted: string, network: NetworkPolicy): Promise<string | undefined> {
  const document = { sandbox: { network: granted } } as Trajectory;
  const run = { outcome: gradedBy("submitted", 1, []), tests: [], document };
  const context = { task: { ...greetTask(), network }, profile: "ci", runs: async () => [run] };
  const check = STEADY_CHECKS.find(({ id }) => id === "egress-declared");
  return (await check?.check(context as unknown as CheckContext))?.status;
}

test("an oracle that passed with a wider network than the task declares is found", async () => {
  expect(await statusOf("open", { mode: "off" })).toBe("fail");
  expect(await statusOf("open", { mode: "allow-list", hosts: ["example.org"] })).toBe("fail");
  expect(await statusOf("off", { mode: "off" })).toBe("pass");
});
