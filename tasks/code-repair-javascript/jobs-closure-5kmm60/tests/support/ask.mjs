/** Runs a function beside the graded package and gives back what it returned, as JSON. */
import assert from "node:assert/strict";
import { subject } from "sandlot-subject";

/**
 * Of a module, a function that runs `work(lib, given)` in a new process of the subject: `lib` is the module, `work` is
 * handed over as text, and so sees nothing of the test around it.
 */
export function askOf(module) {
  return (work, given = null) => {
    const program = [
      'import { readFileSync } from "node:fs";',
      'const given = JSON.parse(readFileSync(0, "utf8"));',
      "const lib = await import(" + JSON.stringify(module) + ");",
      "const answer = await (" + work + ")(lib, given);",
      "console.log(JSON.stringify([answer]));",
    ].join("\n");
    const ran = subject.run(["node", "--input-type=module", "-e", program], { stdin: JSON.stringify(given) });
    const failure = ran.timedOut ? "it did not end in time" : ran.stderr.toString().slice(-600);
    assert.equal(ran.exitCode, 0, "the program failed: " + failure);
    const [answer] = JSON.parse(ran.stdout.toString().trimEnd().split("\n").at(-1));
    return answer;
  };
}

/** Of random numbers from 0 up to 1, a function that gives whole numbers from low to high, both included. */
export function wholes(next) {
  return (low, high) => low + Math.floor(next() * (high - low + 1));
}
