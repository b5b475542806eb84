/** Addresses and judges that a person names on the command line, refused before anything is started. */
import { Failure } from "./core/errors.ts";
import type { Task } from "./core/task.ts";
import type { Recipe } from "./run/recipe.ts";

/** The address is stored with the run and shown by `run show`; a secret in it would be too. Throws `config_invalid`. */
export function refuseCredentials(flag: "--base-url" | "--judge-url", address: string | null): void {
  if (address === null) return;
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Failure(
      "config_invalid",
      `${flag} is not an http or https address; write one such as http://127.0.0.1:8000/v1`,
    );
  }
  if (url.username === "" && url.password === "" && url.search === "" && url.hash === "") return;
  throw new Failure(
    "config_invalid",
    `${flag} holds a user, a password or a query, which would be stored with the run; name the endpoint's key by ${flag === "--base-url" ? "--key-variable" : "--judge-key-variable"} instead.`,
  );
}

/** A judge of which only the address or the key was named would be none, and nobody would be told. Throws `config_invalid`. */
export function refuseHalfJudge({ model, endpoint, keyVariable }: Recipe["judge"]): void {
  refuseCredentials("--judge-url", endpoint === "" ? null : endpoint);
  if (model !== "" || (endpoint === "" && keyVariable === "")) return;
  const flag = endpoint === "" ? "--judge-key-variable" : "--judge-url";
  throw new Failure("config_invalid", `${flag} names no model, so no judge would be asked; add --judge MODEL.`);
}

/** Throws `config_invalid` for a task with a judge where nobody is named to be asked: no episode of it could be graded. */
export function requireJudge(task: Task, { model }: Recipe["judge"]): void {
  if (task.judge === undefined || model !== "") return;
  throw new Failure(
    "config_invalid",
    `Task ${task.key} has a [sandlot.judge] in task.toml and no judge is named: add --judge MODEL and --judge-url URL, or take the table out.`,
  );
}
