import { expect, test } from "vitest";
import { verdictIdentity } from "./identity.ts";

const inputs = { artifactsHash: "a", verifierHash: "v", agentHash: "e", imageHash: "i", gradingSeed: 7n, version: 1 };

test("equal inputs have an equal verdict identity", () => {
  expect(verdictIdentity({ ...inputs })).toBe(verdictIdentity(inputs));
  expect(verdictIdentity(inputs)).toMatch(/^[0-9a-f]{64}$/);
});

test.each([
  ["artifacts", { artifactsHash: "b" }],
  ["verifier", { verifierHash: "w" }],
  ["environment of the task", { agentHash: "f" }],
  ["image", { imageHash: "j" }],
  ["grading seed", { gradingSeed: 8n }],
  ["version of the verifier", { version: 2 }],
  ["judge", { judge: { model: "m", endpoint: "" } }],
])("another %s is another verdict identity", (_name, change) => {
  expect(verdictIdentity({ ...inputs, ...change })).not.toBe(verdictIdentity(inputs));
});
