/** What an episode's sandbox used, for `sandlot episode show`: totals, and how they came about as lines of bars. */
import type { ResourceCurve, Trajectory } from "../core/trajectory.ts";
import type { CliContext } from "./context.ts";
import { barLine, bytesText, millisText } from "./format.ts";
import { pairsText } from "./table.ts";

const WIDTH = 40;

/** What the sandbox used; of a longer episode also how that went, as one line of bars for each quantity. */
export async function resourceText(
  { resource, sandbox }: Pick<Trajectory, "resource" | "sandbox">,
  read: (hash: string) => Promise<string>,
  paint: CliContext["paint"],
): Promise<string> {
  if (resource === null || sandbox === null) return "";
  const blob = resource.curveBlob ?? null; // records of the first release have no such field
  const curve = blob === null ? null : (JSON.parse(await read(blob)) as ResourceCurve);
  const { limits } = sandbox;
  const bars = (values: readonly (number | null)[] | undefined, max: number): string =>
    values === undefined ? "" : `  ${paint("cyan", barLine(values, max, WIDTH))}`;
  const rows: [string, string][] = [];
  if (resource.cpuMs !== null) {
    const held =
      resource.throttledMs === null || resource.throttledMs < 1
        ? ""
        : `, held back ${millisText(resource.throttledMs)}`;
    const steps = curve === null ? undefined : loadOf(curve);
    rows.push(["processor", `${millisText(resource.cpuMs)}${held}${bars(steps, limits.cpus)}`]);
  }
  if (resource.memoryPeakBytes !== null) {
    const text = `${bytesText(resource.memoryPeakBytes)} at most, of ${bytesText(limits.memoryBytes)}`;
    rows.push(["memory", `${text}${bars(curve?.memoryBytes, limits.memoryBytes)}`]);
  }
  if (resource.diskBytes !== null) {
    const text = `${bytesText(resource.diskBytes)} of ${bytesText(limits.diskBytes)}`;
    rows.push(["disk", `${text}${bars(curve?.diskBytes, limits.diskBytes)}`]);
  }
  if ((resource.oomKills ?? 0) > 0) rows.push(["killed", `${resource.oomKills} for memory`]);
  return rows.length === 0 ? "" : `${paint("bold", "Sandbox")}\n${pairsText(rows)}`;
}

/** Cores in use between each sample and the one before. */
function loadOf(curve: ResourceCurve): (number | null)[] {
  return curve.cpuMs.map((cpuMs, index) => {
    const before = curve.cpuMs[index - 1] ?? 0;
    const spanMs = (curve.atMs[index] ?? 0) - (curve.atMs[index - 1] ?? 0);
    return cpuMs === null || spanMs <= 0 ? null : Math.max(0, cpuMs - before) / spanMs;
  });
}
