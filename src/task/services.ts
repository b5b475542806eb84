/** The services of a task: programs of the product that a tier probes while they run, from `[[sandlot.services]]`. */
import type { ServiceSpec } from "../core/task.ts";
import { rulePath } from "./contract.ts";
import type { TaskToml } from "./task-schema.ts";
import type { TomlDocument } from "./task-toml.ts";
import { wrong } from "./tiers.ts";

const READY_SECONDS = 10;

/** In their order. Throws `task_invalid` for two of one name or port, and for a program without an absolute path. */
export function servicesOf(document: TomlDocument<TaskToml>): readonly ServiceSpec[] {
  const { sandlot, environment } = document.value;
  const declared = sandlot?.services ?? [];
  return declared.map((service, index): ServiceSpec => {
    const at = (key: string) => ["sandlot", "services", index, key];
    for (const key of ["name", "port"] as const) {
      if (declared.findIndex((other) => other[key] === service[key]) === index) continue;
      throw wrong(document, at(key), {
        value: service[key],
        message: "stands twice",
        remedy: `give each service its own ${key}`,
      });
    }
    const [program = ""] = service.argv;
    if (!program.startsWith("/")) {
      throw wrong(document, at("argv"), {
        value: program,
        message: "is not the absolute path of a program, and nothing is looked up in PATH at grading",
        remedy: 'write one such as "/usr/bin/python3"',
      });
    }
    return {
      name: service.name,
      argv: service.argv,
      cwd: service.cwd === undefined ? (environment?.workdir ?? "/app") : rulePath(document, at("cwd"), service.cwd),
      envVars: service.env ?? {},
      port: service.port,
      readyMs: Math.round((service.ready_sec ?? READY_SECONDS) * 1_000),
    };
  });
}
