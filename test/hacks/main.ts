/**
 * `npm run hacks`: runs the suite, keeps its counts beside the document and writes the document's generated part.
 * `--pairs N` and `--seeds N` set the size, `--mutate` takes each prevention out in a copy and sees its test fail,
 * `--print` only prints the document again from the kept counts. Exits 1 when anything was forged or found wrongly.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ALL_DETECTORS } from "../../src/verifier/detect/detect.ts";
import { runCampaign } from "./campaign.ts";
import { FIXTURES, HACKS } from "./catalogue/all.ts";
import { PATTERNS } from "./catalogue/patterns.ts";
import { openMachinery } from "./machinery.ts";
import { type MutationResult, runMutations } from "./preventions.ts";
import { generatedPart, withGenerated } from "./report.ts";
import { type Tally, tallyOf } from "./tally.ts";

const DOCUMENT = join(import.meta.dirname, "../../docs/reference/reward-integrity.md");
const COUNTS = join(import.meta.dirname, "../../docs/reference/reward-integrity.json");

interface Counts {
  readonly tally: Tally;
  readonly mutations: readonly MutationResult[] | null;
}

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "20" },
    seeds: { type: "string", default: "8" },
    jobs: { type: "string", default: "4" },
    mutate: { type: "boolean", default: false },
    print: { type: "boolean", default: false },
  },
});

async function campaign(): Promise<Tally> {
  const pairsPerPattern = Number(values.pairs);
  const honestSeeds = Number(values.seeds);
  const machinery = openMachinery();
  const onProgress = (done: number, all: number): void => {
    if (done % 50 === 0 || done === all) console.log(`${done} of ${all} episodes`);
  };
  const jobs = Number(values.jobs);
  const options = { hacks: HACKS, fixtures: FIXTURES, pairsPerPattern, honestSeeds, jobs, onProgress };
  const trials = await runCampaign(machinery, options).finally(() => machinery.close());
  const patterns = new Set(HACKS.map(({ pattern }) => pattern)).size;
  const fixtures = FIXTURES.map(({ kind }) => kind);
  const corpus = { patterns, hacks: HACKS.length, fixtures, pairsPerPattern, honestSeeds };
  return tallyOf(trials, corpus, PATTERNS, ALL_DETECTORS);
}

async function kept(): Promise<Counts | null> {
  const text = await readFile(COUNTS, "utf8").catch(() => null);
  return text === null ? null : (JSON.parse(text) as Counts);
}

const before = await kept();
const isCampaign = !values.mutate && !values.print;
const tally = isCampaign ? await campaign() : before?.tally;
if (tally === undefined) throw new Error("there are no counts yet; run npm run hacks first");
const mutations = values.mutate ? await runMutations(console.log) : (before?.mutations ?? null);
await writeFile(COUNTS, `${JSON.stringify({ tally, mutations } satisfies Counts, null, 1)}\n`);
const document = await readFile(DOCUMENT, "utf8");
await writeFile(DOCUMENT, withGenerated(document, generatedPart(tally, mutations)));
for (const line of tally.faults) console.log(line);
console.log("written to docs/reference/reward-integrity.md");
process.exitCode = tally.faults.length > 0 || mutations?.some((one) => !one.isRed) === true ? 1 : 0;
