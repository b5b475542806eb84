import { expect, test } from "vitest";
import { greetTask } from "../test/support/episode-parts.ts";
import { verdictIdentityOn } from "./app-parts.ts";
import type { JudgeSpec } from "./core/judge.ts";
import type { Task } from "./core/task.ts";

const artifacts = { answer: "hello", files: [], missing: [], hash: "artifacts" };
const images = { resolve: async () => ({ hash: "image" }) } as unknown as Parameters<typeof verdictIdentityOn>[0];

function identity(task: Task, judge?: { readonly model: string; readonly endpoint: string }) {
  return verdictIdentityOn(images, judge)({ task, artifacts, gradingSeed: 1n, verifierVersion: 1 });
}

test("what one judge said is never the verdict of a run that asks another model or another endpoint", async () => {
  const judge: JudgeSpec = {
    items: [{ name: "clear", question: "Is it?", weight: 1 }],
    share: 0.2,
    votes: 1,
    model: null,
  };
  const task = greetTask({ judge });
  const asked = { model: "small", endpoint: "http://127.0.0.1:1/v1" };
  const first = await identity(task, asked);
  expect(await identity(task, { ...asked })).toBe(first);
  expect(await identity(task, { ...asked, model: "large" })).not.toBe(first);
  expect(await identity(task, { ...asked, endpoint: "http://127.0.0.1:2/v1" })).not.toBe(first);
  expect(await identity(greetTask({ judge: { ...judge, model: "named" } }), asked)).not.toBe(first);
});

test("a task without a judge shares its verdicts between runs whose judges differ", async () => {
  const without = await identity(greetTask());
  expect(await identity(greetTask(), { model: "small", endpoint: "" })).toBe(without);
});
