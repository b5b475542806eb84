/** Checks 27, 31, 32 and 39: what hidden tests must not do with a machine or with the agent's work. */
import type { Task } from "../../../core/task.ts";
import type { Finding } from "../check-contract.ts";
import { fileName, firstLine, sourcesOf } from "./test-sources.ts";

/** Answers of fewer different forms than this can be guessed at the rate that check 39 allows, one in fifty. */
const ANSWERS_MIN = 50;

/** Check 27, the half that can be read: no test file installs or downloads. */
export function noInstall(task: Task): Finding {
  return noneHas(
    task,
    /^[^#]*\b(?:apt-get|apk|dnf|yum)\s+(?:-\S+\s+)*install\b|^(?!.*--(?:no-index|offline))[^#]*\b(?:pip3?|uv|npm|pnpm)\s+(?:-\S+\s+)*(?:install|add|ci)\b|^[^#]*\b(?:curl|wget)\s+\S*https?:\/\/(?!127\.|localhost)/,
    "installs or downloads while it grades",
    "no test file installs or downloads, and gradings have no network",
  );
}

/** Check 31: product source is run, not searched for words. */
export function behaviourJudged(task: Task): Finding {
  return noneHas(
    task,
    /(?:assertIn|assertRegex|assertNotIn|search|match)\(.*artifacts.*\.(?:py|js|mjs|ts|c|sh|go|rs)\b|grep\s.*\/artifacts\/\S+\.(?:py|js|mjs|ts|c|sh|go|rs)\b/,
    "judges the words of the product's source; run it and judge what it does",
    "no test searches the product's source for words",
  );
}

/** Check 32: nothing the agent left is evaluated, unpickled or put into a shell. */
export function noUnsafeLoad(task: Task): Finding {
  const agents = "(?:artifacts|stdout|stderr|answer|read_text|read_bytes|result|reply|output)";
  const pattern = new RegExp(
    `\\b(?:pickle|marshal|shelve|dill)\\.loads?\\(|\\byaml\\.(?:load|unsafe_load)\\((?!.*SafeLoader)|(?<![.\\w])(?:eval|exec)\\([^)]*\\b${agents}|\\bos\\.system\\([^)]*${agents}|shell=True.*${agents}`,
  );
  return noneHas(
    task,
    pattern,
    "loads data of the agent's as code",
    "no test evaluates or unpickles what the agent left",
  );
}

/** Check 39: an answer that is compared as text has too many forms to be guessed. */
export function answerSpace({ verifier }: Task): Finding {
  if (verifier.kind !== "match" || verifier.subject.form !== "text") {
    return { status: "skip", evidence: "the product is run or compared as files, and is no answer out of a few" };
  }
  const forms = new Set([1n, 2n, 3n].flatMap((seed) => verifier.cases(seed).map(({ expected }) => String(expected))));
  const guessable = [...forms].find(
    (text) => /^(?:true|false|yes|no|[a-e])$/i.test(text) || answerCount(text) < ANSWERS_MIN,
  );
  if (guessable === undefined)
    return { status: "pass", evidence: `${forms.size} expected answers, none of a few forms` };
  return {
    status: "fail",
    evidence: `"${guessable}" is one of fewer than ${ANSWERS_MIN} answers of its form; ask for more`,
  };
}

/** How many texts look like this one: as many as its digits can make, or many. */
function answerCount(text: string): number {
  return /^\d+$/.test(text) ? 10 ** text.length : Number.POSITIVE_INFINITY;
}

function noneHas(task: Task, pattern: RegExp, what: string, ok: string): Finding {
  if (task.verifier.kind !== "tests") return { status: "skip", evidence: "there are no test files" };
  for (const { path, text } of sourcesOf(task)) {
    const hit = path === "manifest.json" ? null : firstLine(text, pattern);
    if (hit === null) continue;
    const file = fileName(task, `tests/${path}`);
    return { status: "fail", evidence: `${file}:${hit.line} ${what}: ${hit.text}`, file, line: hit.line };
  }
  return { status: "pass", evidence: ok };
}
