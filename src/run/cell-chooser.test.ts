/** The curriculum of a run, fed by a real store: what it has learned is in the episodes alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exampleRecord } from "../../test/conformance/store-record.ts";
import { greetTask } from "../../test/support/episode-parts.ts";
import { gradedBy, type Outcome } from "../core/outcome.ts";
import type { Store } from "../core/store.ts";
import type { TaskCell } from "../core/task.ts";
import { groupSource } from "../rollout/source.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "../store/open-store.ts";
import { cellChooser } from "./cell-chooser.ts";
import { recipeSchema } from "./recipe.ts";
import { trainSections } from "./sections.ts";

const RUN = "train";
const CELLS: readonly TaskCell[] = ["easy", "fair", "hard"].map((id) => ({ id, family: id, dials: {} }));
const recipe = recipeSchema.parse({
  tasks: { heldOutHard: "" },
  rl: { steps: 40, groupsPerBatch: 8, groupSize: 4 },
  evaluation: { episodes: 1, isGreedyReported: false },
  curriculum: { isEnabled: true },
});
const sections = trainSections(recipe);
const section = sections.find(({ phase }) => phase === "train");

/** How an episode of a cell ends: `hard` mostly by a lost sandbox, which says nothing of the policy. */
function outcomeOf(cell: TaskCell, member: number): Outcome {
  if (cell.id === "hard") {
    return { kind: "failed", cause: "infra_during", failure: "sandbox_lost", message: "gone" };
  }
  return gradedBy("submitted", cell.id === "easy" || member % 2 === 0 ? 1 : 0, []);
}

async function withStore(use: (store: Store) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-cells-"));
  const store = await openStore({ folder, runtime: systemRuntime(), mode: "owner" });
  try {
    const run = { runId: RUN, kind: "train", state: "active", name: "t", createdAt: 0, recipeHash: "", config: "{}" };
    await store.createRun(run as Parameters<Store["createRun"]>[0]);
    await store.acquireRun(RUN);
    await use(store);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

test("a run goes where its policy is neither sure to pass nor to fail, and resumed chooses the same", async () => {
  await withStore(async (store) => {
    if (section === undefined) throw new Error("the recipe has a training section");
    const open = () => cellChooser({ runId: RUN, recipe, store, cells: CELLS, sections, taskAt: () => greetTask() });
    const source = groupSource(recipe.seed, () => greetTask());
    const going = open();
    for (let step = 1; step <= 15; step += 1) {
      const cells = await going.choose(step, 8);
      await store.plan(RUN, source.plan(section, (step - 1) * 8, step * 8, step, cells));
      const leases = await store.claim({ runId: RUN, workerId: "w", episodesMax: 1_000, leaseMs: 60_000 });
      for (const lease of leases) {
        const cell = cells[(lease.groupNo - section.groupFirst) % 8] ?? CELLS[0];
        const outcome = outcomeOf(cell as TaskCell, lease.member);
        await store.commit({ lease, record: exampleRecord({ lease, outcome }) });
      }
    }
    const resumed = open();
    expect(await resumed.choose(16, 64)).toEqual(await going.choose(16, 64));
    expect(resumed.cells()).toEqual(going.cells());
    const [easy, fair, hard] = resumed.cells();
    expect(easy?.episodes).toBeGreaterThanOrEqual(16);
    expect(fair?.episodes).toBeGreaterThan(2 * (easy?.episodes ?? 0));
    const next = (await resumed.choose(16, 400)).filter(({ id }) => id === "easy").length;
    expect(next / 400).toBeLessThan(0.15);
    expect(hard).toMatchObject({ episodes: 0, posterior: { a: 1, b: 1 } });
    // A regrade that was adopted counts in place of what was graded first.
    const regraded: Store = {
      ...store,
      episodes: async (...asked) => (await store.episodes(...asked)).map((row) => ({ ...row, rewardAdopted: 0 })),
    };
    const again = cellChooser({
      runId: RUN,
      recipe,
      store: regraded,
      cells: CELLS,
      sections,
      taskAt: () => greetTask(),
    });
    await again.choose(16, 1);
    expect(again.cells().map(({ posterior }) => posterior.a)).toEqual([1, 1, 1]);
  });
});
