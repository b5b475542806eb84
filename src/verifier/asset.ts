/** Programs of the verifier that are no TypeScript, read once from the folders beside this file. */
import { readFileSync } from "node:fs";

const texts = new Map<string, string>();

/** A file of `python/` or of `node/`. */
export type AssetName = `${string}.py` | `${string}.mjs`;

/** The text of a program. Throws when the installation is incomplete. */
export function asset(name: AssetName): string {
  let text = texts.get(name);
  if (text === undefined) {
    const folder = name.endsWith(".py") ? "python" : "node";
    text = readFileSync(new URL(`./${folder}/${name}`, import.meta.url), "utf8");
    texts.set(name, text);
  }
  return text;
}
