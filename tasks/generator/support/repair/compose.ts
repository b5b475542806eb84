/**
 * Makes a task of a program world: puts faults in, writes the bug report, the repository around the program, the hidden
 * tests of the chosen faults, and the right and wrong ways with what each may earn at most.
 */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnFolder } from "../../../../src/core/task-folder.ts";
import { type DraftFiles, type DraftSolution, type DraftWrong, drawnFolder } from "../../../../src/task/draft.ts";
import { editScript } from "./edit.ts";
import type { Edit, Language } from "./language.ts";
import { instructionOf } from "./report.ts";
import { type Fault, named, type World } from "./world.ts";

/** How much the two tiers that pay weigh; the integration tier pays nothing and takes all. */
const UNIT_WEIGHT = 0.6;
const BOUNDARY_WEIGHT = 0.4;

export interface RepairDials {
  readonly faults: number;
  readonly distance: number;
  readonly files: number;
}

export const REPAIR_DIALS = {
  faults: { min: 1, max: 3, step: 1, meaning: "faults in the program" },
  distance: { min: 1, max: 3, step: 1, meaning: "how far the cause lies from where the symptom shows" },
  files: { min: 0, max: 48, step: 8, meaning: "files of the repository that have nothing to do with the faults" },
} as const;

/** Draws one repair task, or null where the world has too few faults. */
export function drawRepair(
  language: Language,
  worlds: readonly World[],
  dials: RepairDials,
  random: Random,
): DrawnFolder | null {
  const structure = random.fork("structure");
  const world = structure.pick(worlds);
  const faults = chosenFaults(world, dials, structure);
  if (faults.length < dials.faults) return null;
  const surface = random.fork("surface");
  const names = Object.fromEntries(Object.entries(world.names).map(([word, choices]) => [word, surface.pick(choices)]));
  return new Composer(language, world, faults, names, dials, surface).folder();
}

/** One fault as far from its symptom as asked, or the nearest there is, and others from anywhere, each in its own place. */
function chosenFaults(world: World, { faults, distance }: RepairDials, random: Random): readonly Fault[] {
  const away = (fault: Fault): number => Math.abs(fault.distance - distance);
  const near = random.shuffle(world.faults).sort((a, b) => away(a) - away(b));
  return near.slice(0, faults);
}

class Composer {
  readonly #language: Language;
  readonly #world: World;
  readonly #faults: readonly Fault[];
  readonly #names: Readonly<Record<string, string>>;
  readonly #dials: RepairDials;
  readonly #surface: Random;

  constructor(
    language: Language,
    world: World,
    faults: readonly Fault[],
    names: Readonly<Record<string, string>>,
    dials: RepairDials,
    surface: Random,
  ) {
    this.#language = language;
    this.#world = world;
    this.#faults = faults;
    this.#names = names;
    this.#dials = dials;
    this.#surface = surface;
  }

  folder(): DrawnFolder {
    const language = this.#language;
    const packageName = this.#name("PKG");
    return drawnFolder({
      slug: `${this.#world.name}-${this.#faults.map(({ kind }) => kind)[0] ?? "fault"}`,
      config: this.#config(packageName),
      instruction: this.#name(instructionOf(this.#world, this.#faults, language, packageName, this.#surface)),
      image: {
        base: "host",
        programs: [...language.programs, "git", "bash"],
        files: [{ source: "app", target: "/app" }],
      },
      setup: SETUP,
      environment: this.#repository(packageName),
      visible: { [language.visibleFile]: this.#name(language.visibleText(this.#suites("visible"))) },
      tests: {
        ...language.support,
        [`unit/${language.testFile("repair")}`]: this.#name(language.hiddenText(this.#suites("unit"))),
        [`boundary/${language.testFile("edges")}`]: this.#name(language.hiddenText(this.#suites("boundary"))),
        [`integration/${language.testFile("unharmed")}`]: this.#name(
          language.hiddenText([{ name: "unharmed", tests: this.#world.integration }]),
        ),
      },
      solution: this.#solution(
        this.#faults.map((fault) => this.#edit(fault, fault.right)),
        true,
      ),
      alternatives: { "another-way": this.#solution(this.#faults.map((fault) => this.#edit(fault, fault.other))) },
      wrong: this.#wrong(packageName),
    });
  }

  #name(text: string): string {
    return named(text, this.#names);
  }

  #suites(part: "visible" | "unit" | "boundary"): readonly { readonly name: string; readonly tests: string }[] {
    return this.#faults.map((fault) => ({ name: fault.id, tests: fault[part] }));
  }

  #repository(packageName: string): DraftFiles {
    const { files, readme, own } = this.#world;
    const language = this.#language;
    const program = Object.entries(files).map(([path, text]): [string, string] => [
      `app/${packageName}/${path}`,
      this.#name(this.#withFaults(path, text)),
    ]);
    const around = Object.entries(language.around(packageName, this.#dials.files, this.#surface.fork("around")));
    return {
      ...Object.fromEntries(program),
      ...Object.fromEntries(around.map(([path, text]) => [`app/${path}`, text])),
      "app/README.md": this.#name(readme),
      [`app/tests/${language.testFile(packageName)}`]: this.#name(language.ownText(own)),
    };
  }

  #withFaults(path: string, text: string): string {
    const here = this.#faults.filter(({ file }) => file === path);
    return here.reduce((sum, { id, right, broken }) => {
      if (sum.split(right).length !== 2) throw new RangeError(`${this.#world.name}/${id} does not fit ${path} once`);
      return sum.replace(right, () => broken);
    }, text);
  }

  #edit({ file, broken }: Fault, text: string): Edit {
    return this.#named({ file, from: broken, to: text });
  }

  #named({ file, from, to }: Edit): Edit {
    return { file: `/app/${this.#name("PKG")}/${file}`, from: this.#name(from), to: this.#name(to) };
  }

  #solution(edits: readonly Edit[], isVerified = false): DraftSolution {
    const script = editScript(this.#language, edits);
    return { solve: isVerified ? `${script}\n${this.#language.visibleCommand}\n` : script };
  }

  #wrong(packageName: string): Readonly<Record<string, DraftWrong>> {
    const right = (fault: Fault): Edit => this.#edit(fault, fault.right);
    const result: Record<string, DraftWrong> = {};
    for (const fault of this.#faults) {
      const others = this.#faults.filter((other) => other !== fault).map(right);
      for (const { name, text, fails } of fault.wrong) {
        result[`${fault.id}-${name}`] = {
          ...this.#solution([...others, this.#edit(fault, text)]),
          ...this.#worth(fails),
        };
      }
      if (this.#faults.length > 1) {
        result[`leaves-${fault.id}`] = { ...this.#solution(others), ...this.#worth(this.#testsOf(fault, "unit")) };
      }
    }
    const { file, right: from, broken: to } = this.#world.neighbour;
    const harm = this.#named({ file, from, to });
    return {
      ...result,
      "harms-a-neighbour": {
        ...this.#solution([...this.#faults.map(right), harm]),
        rewardMax: 0,
        failsTier: "integration",
      },
      "edits-only-a-test": { solve: this.#language.testsOnly(packageName), rewardMax: 0, failsTier: "unit" },
    };
  }

  #testsOf(fault: Fault, tier: "unit" | "boundary"): readonly string[] {
    return this.#language.testNames(fault[tier]).map((name) => this.#name(name));
  }

  /** What is left of the reward when these tests of one fault fail and all other ones pass. */
  #worth(fails: readonly string[]): { readonly rewardMax: number; readonly failsTier: string } {
    const share = (tier: "unit" | "boundary"): number => {
      const all = this.#faults.flatMap((fault) => this.#testsOf(fault, tier));
      return all.filter((name) => !fails.includes(name)).length / all.length;
    };
    const unit = share("unit");
    const reward = UNIT_WEIGHT * unit + (unit === 1 ? BOUNDARY_WEIGHT * share("boundary") : 0);
    return { rewardMax: Math.ceil(reward * 1e6 - 1e-3) / 1e6, failsTier: unit === 1 ? "boundary" : "unit" };
  }

  #config(packageName: string): Readonly<Record<string, unknown>> {
    const { name, keyword } = this.#language;
    const { faults, distance, files } = this.#dials;
    const kinds = [...new Set(this.#faults.map(({ kind }) => kind))];
    return {
      task: {
        description: `Find and mend ${faults === 1 ? "a fault" : `${faults} faults`} in a ${this.#world.title}.`,
        keywords: [keyword, "repair", this.#world.name, ...kinds],
      },
      agent: { timeout_sec: 900 },
      verifier: { timeout_sec: 180 },
      environment: { cpus: 1, memory_mb: 384, storage_mb: 64, workdir: "/app" },
      sandlot: {
        family: name,
        difficulty: {
          level: Math.min(5, faults + Math.ceil((distance - 1) / 2) + (files > 16 ? 1 : 0)),
          dials: { faults, distance, files },
        },
        limits: { turns: 40, command_sec: 60 },
        resources: { processes: 64 },
        protected: ["/app/tests"],
        contract: {
          files: [{ path: `/app/${packageName}`, required: true, kind: "tree" }],
          bytes_max: 4_194_304,
          entries_max: 500,
        },
        tiers: [
          { name: "integration", weight: 0, gate: true, veto: true },
          { name: "unit", weight: UNIT_WEIGHT },
          { name: "boundary", weight: BOUNDARY_WEIGHT, requires: ["unit"] },
        ],
        requirements: this.#requirements(),
      },
    };
  }

  #requirements(): readonly Readonly<Record<string, unknown>>[] {
    const language = this.#language;
    const ids = (tier: string, file: string, suite: string, tests: string): readonly string[] =>
      language
        .testNames(tests)
        .map((test) => `${tier}/${language.testFile(file)}::${language.testId(suite, this.#name(test))}`);
    return [
      ...this.#faults.flatMap((fault) => [
        {
          id: fault.id,
          text: this.#name(fault.rule),
          kind: "functional",
          tests: ids("unit", "repair", fault.id, fault.unit),
        },
        {
          id: `${fault.id}-edge`,
          text: this.#name(fault.edge),
          kind: "boundary",
          tests: ids("boundary", "edges", fault.id, fault.boundary),
        },
      ]),
      {
        id: "unharmed",
        text: "What the program did rightly before, it goes on doing.",
        kind: "functional",
        tests: ids("integration", "unharmed", "unharmed", this.#world.integration),
      },
    ];
  }
}

/** One clean commit: no history to read an answer from, and the same hashes everywhere. */
const SETUP = `set -eu
cd /app
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/app
git init -q --template= --initial-branch=main .
git add -A
GIT_AUTHOR_DATE="2024-03-04T09:00:00Z" GIT_COMMITTER_DATE="2024-03-04T09:00:00Z" \\
  git -c user.name=Maintainer -c user.email=maintainer@example.org -c core.logAllRefUpdates=false \\
  commit -q --no-gpg-sign -m "Import the library"
rm -rf .git/logs .git/COMMIT_EDITMSG
chown -R 1000:1000 /app
`;
