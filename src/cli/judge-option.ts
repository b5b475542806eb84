/** The options that name a judge, shared by every command that grades tasks with one. */
import { type Command, Option } from "commander";
import type { Recipe } from "../run/recipe.ts";

export interface JudgeFlags {
  readonly judge: string;
  readonly judgeUrl: string;
  readonly judgeKeyVariable: string;
}

/** Adds `--judge`, `--judge-url` and `--judge-key-variable`; all are empty when not given. */
export function addJudgeOptions(command: Command): void {
  const add = (flags: string, text: string): void =>
    void command.addOption(new Option(flags, text).default("", "none"));
  add("--judge <model>", "model that is asked where a task has a judge");
  add("--judge-url <url>", "base URL of the judge's OpenAI-compatible endpoint");
  add("--judge-key-variable <name>", "environment variable that holds the judge's key");
}

/** The judge that the options name; an empty model is nobody. */
export function judgeNamed({ judge, judgeUrl, judgeKeyVariable }: JudgeFlags): Recipe["judge"] {
  return { endpoint: judgeUrl, model: judge, keyVariable: judgeKeyVariable };
}
