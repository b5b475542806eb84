/**
 * Tells the runner how each test of a file ended; Node calls it with its events. A test is named by the suites it stands
 * in and its own name; what a test runs within itself is part of it. Only a test without any complaint has passed.
 */
import { readFileSync } from "node:fs";
import { send } from "./runner-link.mjs";

const DETAIL_CHARACTERS_MAX = 1_500;
const ARTIFACTS = "/artifacts";
const { folder, file, collected } = JSON.parse(process.argv[2] ?? "{}");

/** One string, so that Node has something to write: nothing. */
export default async function* report(events) {
  const open = [];
  const told = new Set();
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const within = open[data.nesting + 1] ?? [];
    open.length = data.nesting + 1;
    const results = isSuite(data) ? ofSuite(data, within) : [ofTest(type, data)];
    if (data.nesting === 0) tell(results, told);
    else open[data.nesting] = [...(open[data.nesting] ?? []), ...results];
  }
  send({ kind: "done" });
  yield "";
}

function isSuite(data) {
  return data.details?.type === "suite";
}

/** A suite whose own hooks failed takes its tests with it. */
function ofSuite(data, within) {
  const error = data.details?.error;
  const isHook = error?.failureType === "hookFailed";
  return within.map((result) => ({
    ...result,
    name: `${data.name} > ${result.name}`,
    ...(isHook && result.status === "passed" ? { status: "error", detail: described(error) } : {}),
  }));
}

function ofTest(type, { name, details, skip, todo }) {
  const seconds = (details?.duration_ms ?? 0) / 1000;
  const given = (mark) => mark !== undefined && mark !== false;
  if (given(skip)) return { name, status: "skipped", seconds, detail: String(skip) };
  if (given(todo)) return { name, status: "failed", seconds, detail: "an expected failure is not a pass" };
  if (type === "test:pass") return { name, status: "passed", seconds, detail: "" };
  blameUncollected(details?.error?.cause);
  return { name, status: statusOf(details?.error), seconds, detail: described(details?.error) };
}

/** A file that no contract brings is the task's mistake, where the test itself wrote out its name. */
function blameUncollected(cause) {
  if (collected === undefined || cause?.code !== "ENOENT" || !String(cause.path).startsWith(`${ARTIFACTS}/`)) return;
  const name = cause.path.slice(ARTIFACTS.length);
  if (collected.some((root) => name === root || name.startsWith(`${root.replace(/\/$/, "")}/`))) return;
  const source = readFileSync(`${folder}/${file}`, "utf8");
  if (!isWritten(source, name)) return;
  const remedy = "name it in task.toml, [sandlot.contract] files";
  send({
    kind: "fault",
    text: `tests/${file} reads ${name}, which the contract of the task does not collect; ${remedy}`,
  });
}

/** Whether the test spells the name right after the folder of artifacts; a name it read could repeat any word of it. */
function isWritten(source, name) {
  const parts = name.split("/").filter((part) => part !== "");
  const escaped = parts.map((part) => part.replace(/[^\w]/g, "\\$&"));
  return new RegExp(`${["artifacts", ...escaped].join("[\\s\"'`/,+)}]+")}(?:["'\`/\\s)]|$)`).test(source);
}

function statusOf(error) {
  const cause = error?.cause;
  if (error?.failureType === "testTimeoutFailure" || cause?.name === "SubjectTimeout") return "timeout";
  return cause?.code === "ERR_ASSERTION" || error?.failureType === "subtestsFailed" ? "failed" : "error";
}

function described(error) {
  const cause = error?.cause ?? error;
  return String(cause instanceof Error ? `${cause.name}: ${cause.message}` : cause).slice(-DETAIL_CHARACTERS_MAX);
}

function tell(results, told) {
  for (const { name, ...result } of results) {
    const id = `${file}::${name}`;
    if (told.has(id)) {
      send({ kind: "fault", text: `tests/${file} names two tests ${JSON.stringify(name)}; rename one of them` });
      continue;
    }
    told.add(id);
    send({ kind: "test", id, ...result });
  }
}
