/** The static half of check 29: the manifest lists what the test files hold, and no test is written to be skipped. */
import type { Task } from "../../../core/task.ts";
import { derivedManifest } from "../../task-tests.ts";
import type { Finding } from "../check-contract.ts";
import { fileName, firstLine, sourcesOf } from "./test-sources.ts";

/** The static half of check 29: the manifest is what the files hold, and no test is written to be skipped. */
export function manifestMatches(task: Task): Finding {
  if (task.verifier.kind !== "tests") return { status: "pass", evidence: "the cases are the manifest" };
  const sources = sourcesOf(task);
  const { manifest } = task.verifier;
  const manifestFile = fileName(task, "tests/manifest.json");
  const derived = new Set(derivedManifest(sources, task.verifier.tiers).map(({ id }) => id));
  // One entry for each set of parameters of a test is as good as one for all of them.
  const listed = new Set(manifest.map(({ id }) => (id.endsWith("]") ? id.slice(0, id.indexOf("[")) : id)));
  const unlisted = [...derived].filter((id) => !listed.has(id));
  const absent = [...listed].filter((id) => !derived.has(id));
  if (unlisted.length > 0 || absent.length > 0) {
    const parts = [
      ...(unlisted.length > 0 ? [`not listed: ${unlisted.join(", ")}`] : []),
      ...(absent.length > 0 ? [`listed but not there: ${absent.join(", ")}`] : []),
    ];
    const evidence = `${manifestFile} differs from the test files (${parts.join("; ")}); run --write-manifest`;
    return { status: "fail", evidence, file: manifestFile };
  }
  for (const { path, text } of sources) {
    const hit = firstLine(
      text,
      /^\s*@(?:unittest\.|pytest\.mark\.)?(?:skip|expectedFailure|xfail)|^[^#]*(?:\bself\.skipTest\(|\bSkipTest\b|\bpytest\.skip\(|\btest\.(?:skip|todo)\()/,
    );
    if (hit === null) continue;
    const file = fileName(task, `tests/${path}`);
    return {
      status: "fail",
      evidence: `${file}:${hit.line} may skip a scored test: ${hit.text}`,
      file,
      line: hit.line,
    };
  }
  return { status: "pass", evidence: `${manifest.length} tests, each in the manifest` };
}
