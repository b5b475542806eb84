/**
 * A program that makes, uses and destroys sandboxes over and over while it sweeps, beside others that do the same on the
 * same folders. Arguments: image folder, cycles (0: until it is killed), seed. Prints `ready`, then what it did as JSON.
 * Exits with 1 at the first sandbox that did not go as if it were alone.
 */
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { OPTIONS, output, REQUEST } from "../conformance/sandbox-parts.ts";

const [imageFolder = "", cycles = "0", seed = "0"] = process.argv.slice(2);
const provider = namespaceProvider({ runtime: systemRuntime(), imageFolder });
const never = new AbortController().signal;
let done = 0;

async function cycle(index: number): Promise<void> {
  const sandbox = await provider.create({ ...REQUEST, attemptId: `${seed}-${index}` }, never);
  const mark = `${seed}-${index}`;
  await output(sandbox, `echo ${mark} > /tmp/mark; (setsid sleep 984 &) & true`);
  if (index % 3 === 0) await provider.sweep();
  const read = await output(sandbox, "cat /tmp/mark; ls /tmp | wc -l");
  if (read !== `${mark}\n1\n`) throw new Error(`Another's files showed: ${JSON.stringify(read)}`);
  if (index % 4 === 0) void sandbox.exec("sleep 984", OPTIONS).catch(() => undefined);
  await sandbox.destroy();
  done += 1;
}

console.log("ready");
try {
  for (let index = 0; cycles === "0" || index < Number(cycles); index += 2)
    await Promise.all([cycle(index), cycle(index + 1)]);
  await provider.close();
  console.log(JSON.stringify({ done }));
} catch (error) {
  console.error(error);
  process.exit(1);
}
