import { expect, test } from "vitest";
import { greetTask } from "../../test/support/episode-parts.ts";
import { Limits } from "./limits.ts";

const { limits } = greetTask();
const still = { monotonic: () => 0 } as never;

test("time waited for an endpoint beyond its objective is not charged to the agent", () => {
  const books = new Limits(limits, still, 1_000);
  books.chargeModel(30_000);
  expect(books.left().agentMs).toBe(limits.agentMs - 1_000);
  const patient = new Limits(limits, still);
  patient.chargeModel(30_000);
  expect(patient.left().agentMs).toBe(limits.agentMs - 30_000);
});

test("an answer later than the objective and the episode allow is the endpoint's fault, and one within it the agent's", () => {
  expect(new Limits(limits, still, 1_000).actDeadline().fault).toBe("endpoint");
  expect(new Limits({ ...limits, agentMs: 500 }, still, 1_000).actDeadline()).toEqual({ ms: 500, fault: "agent" });
});
