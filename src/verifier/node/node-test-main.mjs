/**
 * What Node starts with: gives tests their link to the graded program, then loads the one hidden file. A file that
 * cannot be loaded whatever the agent did (no program, a module that is not there) is a fault of the task's.
 */
import { send } from "./runner-link.mjs";

const { folder, file } = JSON.parse(process.argv[2] ?? "{}");

try {
  await import(`${folder}/${file}`);
} catch (error) {
  const isBroken = error?.name === "SyntaxError" || error?.code === "ERR_MODULE_NOT_FOUND";
  const text = `tests/${file} cannot be loaded (${error?.name}: ${error?.message})`;
  send(isBroken ? { kind: "fault", text: `${text}; correct it` } : { kind: "log", text });
  process.exit(1);
}
