/**
 * Modules to be written to an interface. The seed draws a subject and, for each of its rules, one of several readings,
 * so that a remembered solution of the subject fails; the hidden tests hold every rule alone and all together.
 */
import type { Random } from "../../../src/core/random.ts";
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftFiles, type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { LANGUAGES } from "./language.ts";
import type { Choice, Subject } from "./subject.ts";
import { LISTS } from "./subjects/lists.ts";
import { ORDERED } from "./subjects/ordered.ts";
import { STREAMS } from "./subjects/streams.ts";
import { TEXTS } from "./subjects/texts.ts";

const SUBJECTS: readonly Subject[] = [...ORDERED, ...STREAMS, ...TEXTS, ...LISTS];

/** A subject with a reading for each rule and a place for the module. */
interface Drawn {
  readonly subject: Subject;
  readonly choices: readonly Choice[];
  readonly path: string;
  readonly isMeasured: boolean;
}

export const generator: FolderGenerator = {
  name: "code-writing",
  family: "code-writing",
  version: 1,
  dials: {
    subject: {
      min: 0,
      max: SUBJECTS.length,
      step: 1,
      meaning: "what is written, from 1 in order of writing; 0 leaves it to the seed",
    },
    speed: { min: 0, max: 1, step: 1, meaning: "1: speed is asked for where the subject has a faster way" },
  },
  draw({ dials: { subject: wanted = 0, speed = 0 }, random }) {
    const structure = random.fork("structure");
    const subject = wanted === 0 ? structure.pick(SUBJECTS) : SUBJECTS[wanted - 1];
    if (subject === undefined) return null;
    const choices = subject.options.map((option) => structure.fork(option.name).pick(option.choices));
    const drawn = {
      subject,
      choices,
      path: pathOf(subject, random.fork("surface")),
      isMeasured: speed === 1 && subject.speed !== undefined,
    };
    const language = LANGUAGES[subject.language];
    const solutionOf = (code: string) => ({ solve: `cat > ${drawn.path} <<'MODULE'\n${moduleOf(drawn, code)}MODULE` });
    return drawnFolder({
      slug: subject.id,
      config: configOf(drawn),
      instruction: instructionOf(drawn),
      image: { base: "host", programs: [language.program, "bash"] },
      setup: "mkdir -p /app\nchown 1000:1000 /app",
      visible: { [language.visibleFile]: language.visible(subject, drawn.path) },
      tests: { ...language.tests(subject, drawn.path, moduleOf(drawn, subject.oracle)), ...performanceOf(drawn) },
      solution: solutionOf(subject.oracle),
      alternatives: { "another-way": solutionOf(subject.other) },
      wrong: wrongOf(drawn),
    });
  },
};

function pathOf({ id, language }: Subject, random: Random): string {
  const name = random.pick([id.replaceAll("-", "_"), "module", "solution", "work"]);
  return `/app/${name}.${LANGUAGES[language].suffix}`;
}

function moduleOf({ subject, choices }: Drawn, code: string, flipped?: string): string {
  const constants = subject.options.map(({ name, choices: all }, index) => {
    const other = all.find((choice) => choice !== choices[index]);
    return LANGUAGES[subject.language].constant(name, (name === flipped ? other : choices[index])?.value ?? "");
  });
  return `${constants.join("\n")}\n\n${code.trim()}\n`;
}

function instructionOf({ subject, choices, path, isMeasured }: Drawn): string {
  const language = LANGUAGES[subject.language];
  const rules = [...choices.map(({ rule }) => rule), subject.edge.rule];
  const speed = isMeasured
    ? `\n## Speed\n\nOne call with ${subject.speed?.told} is timed, on one processor with 512 MiB, against a baseline that compares each item with all the others. Full marks take at most half as long again as a reference whose time grows hardly faster than its input; a solution as slow as the baseline gets none of the marks for speed, and what lies between gets a part.\n`
    : "";
  return `# ${subject.title}

Write the ${language.title} module \`${path}\`. It ${language.exports} one function:

\`\`\`
${subject.signature}
\`\`\`

${subject.text}

${rules.map((rule) => `- ${rule}`).join("\n")}

The function changes none of its arguments and keeps nothing from one call to the next. Use the standard library alone.
${speed}
Some examples are in \`/visible/${language.visibleFile}\`; run them with \`${language.visibleCommand}\`. They show the plain cases only: the
hidden tests hold every rule above.
`;
}

const PERFORMANCE = "performance/workload.py";

function configOf({ subject, path, isMeasured }: Drawn): Readonly<Record<string, unknown>> {
  const { ids } = LANGUAGES[subject.language];
  return {
    task: {
      description: `${subject.title}: a module to an interface with exact rules.`,
      keywords: ["writing", subject.language, subject.id],
    },
    agent: { timeout_sec: 900 },
    verifier: { timeout_sec: 300 },
    environment: { cpus: 1, memory_mb: 512, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "code-writing",
      difficulty: {
        level: isMeasured ? 4 : subject.language === "python" ? 3 : 2,
        dials: { speed: Number(isMeasured) },
      },
      limits: { turns: 40, command_sec: 60 },
      contract: { files: [{ path, required: true, bytes_max: 262_144 }] },
      tiers: [
        { name: "unit", weight: isMeasured ? 0.3 : 0.4 },
        { name: "boundary", weight: isMeasured ? 0.5 : 0.6, requires: ["unit"] },
        ...(isMeasured ? [{ name: "performance", weight: 0.2, requires: ["boundary"], noise: 0.5 }] : []),
      ],
      milestones: [{ name: "module-written", predicate: { file: path, regex: subject.entry } }],
      requirements: [
        { id: "plain-cases", text: subject.text, kind: "functional", tests: [ids.plain] },
        ...subject.options.map(({ name }, index) => ({
          id: name.toLowerCase().replaceAll("_", "-"),
          text: ruleAt(subject, index),
          kind: "boundary",
          tests: [ids.option(name)],
        })),
        { id: "stated-edge", text: subject.edge.rule, kind: "boundary", tests: [ids.edge] },
        {
          id: "all-together",
          text: "All rules hold together on any arguments.",
          kind: "functional",
          tests: [ids.random],
        },
        ...(isMeasured
          ? [
              {
                id: "speed",
                text: "One large call is far faster than the baseline.",
                kind: "performance",
                tests: [PERFORMANCE],
              },
            ]
          : []),
      ],
    },
  };
}

/** A requirement names the rule, not which reading was drawn: that stands in the instruction. */
function ruleAt(subject: Subject, index: number): string {
  return `The stated reading of this rule holds: ${subject.options[index]?.choices.map(({ rule }) => rule).join(" Or: ")}`;
}

function performanceOf(drawn: Drawn): DraftFiles {
  const { subject, path, isMeasured } = drawn;
  if (!isMeasured || subject.speed === undefined) return {};
  return {
    "performance/performance.json": JSON.stringify({ call: `${path}:${subject.entry}`, callMs: 5_000 }),
    "performance/workload.py": `"""One large call."""\n\nfrom support import reference\n\n\ndef make(random):\n    return ${subject.speed.make}\n\n\ndef check(args, value):\n    return value == reference.${subject.entry}(*args)\n`,
    [`performance/baseline${path}`]: moduleOf(drawn, subject.speed.baseline),
    // The slower of two right ways, so that neither is punished.
    [`performance/reference${path}`]: moduleOf(drawn, subject.other),
  };
}

function wrongOf(drawn: Drawn): Readonly<Record<string, DraftWrong>> {
  const { subject, path, isMeasured } = drawn;
  const language = LANGUAGES[subject.language];
  const [unit, boundary] = isMeasured ? [0.3, 0.5] : [0.4, 0.6];
  const tests = subject.options.length + 2;
  const upTo = (failed: number) => Number((unit + (boundary * (tests - failed)) / tests).toFixed(4));
  const wrong = (code: string, rewardMax: number, failsTier: string): DraftWrong => ({
    solve: `cat > ${path} <<'MODULE'\n${code.trim()}\nMODULE`,
    rewardMax,
    failsTier,
  });
  return {
    ...Object.fromEntries(
      subject.options.map(({ name }) => [
        `other-${name.toLowerCase().replaceAll("_", "-")}`,
        wrong(moduleOf(drawn, subject.oracle, name), upTo(2), "boundary"),
      ]),
    ),
    [subject.slip.name]: wrong(
      moduleOf(drawn, subject.oracle.replace(subject.slip.from, subject.slip.to)),
      upTo(1),
      "boundary",
    ),
    "examples-only": wrong(language.examplesOnly(subject), unit, "boundary"),
    "no-result": wrong(language.noResult(subject), 0, "unit"),
    ...(isMeasured && subject.speed !== undefined
      ? { "as-slow-as-the-baseline": wrong(moduleOf(drawn, subject.speed.baseline), unit + boundary, "performance") }
      : {}),
  };
}
