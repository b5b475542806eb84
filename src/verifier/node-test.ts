/** The `node-test` template: files of `node:test`, `unit/mean.test.mjs::suite > name`, run by the Node of the image. */
import { NODE_PATHS } from "./node-subject.ts";
import type { Template, TemplateParts } from "./template.ts";
import { type TestFilesRunner, testFilesTemplate } from "./test-files.ts";

/** Hidden files of `node:test`, each in a child with the permission model on. */
export const NODE_TEST: TestFilesRunner = {
  testFile: /\.test\.mjs$/,
  child: "node_test_child",
  programs: ["node_test_child.py", "node-test-main.mjs", "test-reporter.mjs", "runner-link.mjs"],
  modules: { "sandlot-subject": ["sandlot-subject.mjs", "plain-data.mjs", "runner-link.mjs"] },
  config: ({ spec }) => ({ nodePaths: NODE_PATHS, manifest: spec.manifest.map((entry) => entry.id) }),
};

/** Throws `task_invalid` where the image of the task has no Node of version 20 or later. */
export function nodeTestTemplate(parts: TemplateParts): Template {
  return testFilesTemplate(NODE_TEST, parts);
}
