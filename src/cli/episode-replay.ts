/**
 * One stored episode as a person reads it: instruction, each action and what came back, the verdict test by test, the
 * reward and the outcome. Everything of the policy or the task is made printable first.
 */
import type { StoredTrajectory } from "../core/store.ts";
import type { ToolCallRecord, Trajectory, TurnRecord } from "../core/trajectory.ts";
import type { CliContext } from "./context.ts";
import { resourceText } from "./episode-resource.ts";
import { printable, printableLine } from "./escape.ts";
import { countText, millisText, numberText, timeText } from "./format.ts";
import { pairsText, tableText, wrappedList } from "./table.ts";

type Look = Pick<CliContext, "paint">;
type ReadText = (hash: string | null) => Promise<string>;

/** Lines of one text shown; the rest is counted, and `--json` has all of it. */
const LINES_SHOWN = 400;
/** Of the phases under `End`, so that they fit beside their label into 80 columns. */
const TIME_WIDTH = 68;

export async function episodeReplay(stored: StoredTrajectory, look: Look): Promise<string> {
  const { document } = stored;
  const read: ReadText = async (hash) => (hash === null ? "" : new TextDecoder().decode(await stored.body(hash)));
  const parts = [heading(document, look)];
  for (const node of document.nodes) {
    if (node.role !== "system" && node.role !== "user") continue;
    const title = node.role === "user" ? "Instruction" : "System";
    parts.push(section(title, await read(node.body), look));
  }
  for (const turn of document.turns) parts.push(await turnText(turn, read, look));
  if (document.answerBlob !== null) parts.push(section("Answer", await read(document.answerBlob), look));
  parts.push(verdictText(document, look), await resourceText(document, read, look.paint), endText(document, look));
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The same for machines: the document with every body it names as text. */
export async function episodeJson(stored: StoredTrajectory): Promise<object> {
  const { document } = stored;
  const hashes = new Set<string>();
  for (const node of document.nodes) hashes.add(node.body);
  for (const turn of document.turns) {
    hashes.add(turn.textBlob);
    for (const { observation } of turn.toolCalls) hashes.add(observation.contentBlob);
  }
  if (document.answerBlob !== null) hashes.add(document.answerBlob);
  if (document.resource?.curveBlob != null) hashes.add(document.resource.curveBlob);
  const bodies: Record<string, string> = {};
  for (const hash of hashes) bodies[hash] = new TextDecoder().decode(await stored.body(hash));
  return { ...document, bodies };
}

function heading(document: Trajectory, { paint }: Look): string {
  const { task, policy } = document;
  const versions =
    policy.versionFirst === policy.versionLast
      ? `${policy.versionFirst}`
      : `${policy.versionFirst}–${policy.versionLast}`;
  const sandbox = document.sandbox;
  return `${paint("bold", `Episode ${printableLine(document.id)}`)}\n${pairsText([
    ["task", `${printableLine(task.key)} (${printableLine(task.split)})`],
    ["policy", `${printableLine(policy.name)}, version ${versions}, temperature ${policy.sampling.temperature}`],
    ["group", `${printableLine(document.groupId)}, member ${document.member}, attempt ${document.attempt}`],
    ["started", `${timeText(document.startedAt)} UTC`],
    [
      "sandbox",
      sandbox === null ? "none was needed" : `${sandbox.provider}, ${sandbox.isolation}, network ${sandbox.network}`,
    ],
  ])}`;
}

function section(title: string, text: string, { paint }: Look): string {
  return `${paint("bold", title)}\n${indented(text)}`;
}

function indented(text: string, prefix = "  "): string {
  const lines = printable(text).replace(/\n+$/, "").split("\n");
  const shown = lines.slice(0, LINES_SHOWN).map((line) => `${prefix}${line}`);
  if (lines.length > shown.length)
    shown.push(`${prefix}[… ${countText(lines.length - shown.length)} lines more; --json has them …]`);
  return shown.join("\n");
}

async function turnText(turn: TurnRecord, read: ReadText, look: Look): Promise<string> {
  const { paint } = look;
  const time = `model ${millisText(turn.modelMs)}, tools ${millisText(turn.toolMs)}`;
  const lines = [
    `${paint("bold", `Turn ${turn.index}`)}  ${paint("dim", `${countText(turn.sampledTokens)} tokens, ${time}`)}`,
  ];
  const said = await read(turn.textBlob);
  if (said.trim() !== "") lines.push(indented(said));
  for (const call of turn.toolCalls) lines.push(await callText(call, read, look));
  return lines.join("\n");
}

async function callText(call: ToolCallRecord, read: ReadText, { paint }: Look): Promise<string> {
  const args = call.arguments as Readonly<Record<string, unknown>> | null;
  const names = args === null ? [] : Object.keys(args);
  const only = names.length === 1 && names[0] !== undefined ? args?.[names[0]] : undefined;
  // One text argument, such as a command, reads best as it is; anything else as it was sampled.
  const argument = typeof only === "string" ? only : call.argumentsRaw;
  const [first = "", ...rest] = printable(argument).replace(/\n+$/, "").split("\n");
  const head = `  ${paint("cyan", `${printableLine(call.name)} ›`)} ${first}`;
  const lines = [head, ...rest.map((line) => `    ${line}`)];
  if (call.parseError !== null) lines.push(`    ${paint("yellow", printableLine(call.parseError))}`);
  const observation = await read(call.observation.contentBlob);
  if (observation !== "") lines.push(indented(observation, "    "));
  const marks = [
    call.timedOut ? "timed out" : "",
    call.oomKilled ? "out of memory" : "",
    call.isInvalid ? "not a valid call" : "",
    call.observation.truncatedBytes > 0 ? `${countText(call.observation.truncatedBytes)} bytes left out` : "",
  ].filter((mark) => mark !== "");
  if (marks.length > 0) lines.push(`    ${paint("yellow", marks.join(", "))}`);
  return lines.join("\n");
}

/** Scores by tier, then each test that did not pass. */
function verdictText(document: Trajectory, { paint }: Look): string {
  const { outcome, tests, verification } = document;
  if (outcome.kind !== "graded" && tests.length === 0) return "";
  const scores = outcome.kind === "graded" ? outcome.scores : [];
  const rows = scores.map((score) => {
    const own = tests.filter(({ tier }) => tier === score.tier);
    const passed = own.filter(({ status }) => status === "passed").length;
    return [
      `  ${printableLine(score.tier)}`,
      numberText(score.value),
      numberText(score.weight, 2),
      own.length === 0 ? "–" : `${passed} of ${own.length}`,
      [score.visibility, score.gate ? "gate" : ""].filter((word) => word !== "").join(", "),
    ];
  });
  const columns = [
    { title: "  tier" },
    { title: "score", align: "right" as const },
    { title: "weight", align: "right" as const },
    { title: "tests passed", align: "right" as const },
    { title: "" },
  ];
  const reused = verification?.isReused === true ? paint("dim", "  an equal verdict was reused") : "";
  const lines = [`${paint("bold", "Verdict")}${reused}`];
  if (rows.length > 0) lines.push(tableText(columns, rows));
  for (const test of tests) {
    if (test.status === "passed") continue;
    lines.push(`  ${paint("red", test.status)} ${printableLine(test.id)}`);
    if (test.detail !== "") lines.push(indented(test.detail, "      "));
  }
  return lines.join("\n");
}

function endText(document: Trajectory, { paint }: Look): string {
  const { outcome, timing } = document;
  const phases = Object.entries(timing).map(([phase, ms]) => `${phase} ${millisText(ms)}`);
  const time = wrappedList(phases, TIME_WIDTH);
  const pairs: [string, string][] = [["outcome", `${outcome.kind}, ${outcome.cause}`]];
  if (outcome.kind === "graded") {
    pairs.push(["stopped", outcome.stopReason]);
    pairs.push(["reward", paint(outcome.reward > 0 ? "green" : "yellow", numberText(outcome.reward))]);
  } else if (outcome.kind === "failed") {
    pairs.push(
      ["failure", `${outcome.failure}: ${printableLine(outcome.message)}`],
      ["reward", "none: it was not graded"],
    );
  }
  if (time !== "") pairs.push(["time", time]);
  return `${paint("bold", "End")}\n${pairsText(pairs)}`;
}
