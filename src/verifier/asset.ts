/** The Python programs of the verifier, read once from the `python` folder beside this file. */
import { readFileSync } from "node:fs";

const texts = new Map<string, string>();

export type AssetName =
  | "place_files.py"
  | "subject_driver.py"
  | "unittest_runner.py"
  | "unittest_child.py"
  | "sandlot_subject.py";

/** The text of a program. Throws when the installation is incomplete. */
export function asset(name: AssetName): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = readFileSync(new URL(`./python/${name}`, import.meta.url), "utf8");
    texts.set(name, text);
  }
  return text;
}
