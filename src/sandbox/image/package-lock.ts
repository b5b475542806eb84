/**
 * The versions and hashes of the packages an image was made of. The first build writes them down; a later build of the
 * same reference that would get others is refused with the package's name, so an image never changes unseen.
 */
import { Failure } from "../../core/errors.ts";

export interface PackagePin {
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  /** Of the archive's package file. */
  readonly sha256: string;
}

/** From what `apt-cache show NAME:ARCHITECTURE=VERSION …` says. Sorted by name. */
export function pinsOf(stanzas: string): readonly PackagePin[] {
  const pins = stanzas.split(/\n\n+/).flatMap((stanza): PackagePin[] => {
    const field = (name: string): string => new RegExp(`^${name}: *(.+)$`, "m").exec(stanza)?.[1]?.trim() ?? "";
    const name = field("Package");
    return name === ""
      ? []
      : [{ name, architecture: field("Architecture"), version: field("Version"), sha256: field("SHA256") }];
  });
  const unique = new Map(pins.map((pin) => [`${pin.name}:${pin.architecture}`, pin]));
  return [...unique.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pin]) => pin);
}

/** One line per package; what a lock file holds and what lies in the image as /usr/share/sandlot/packages.lock. */
export function lockText(pins: readonly PackagePin[]): string {
  return pins
    .map(({ name, architecture, version, sha256 }) => `${name} ${architecture} ${version} ${sha256}\n`)
    .join("");
}

/** Throws `image_unavailable` naming the first line that is no pin. */
export function parseLock(text: string, file: string): readonly PackagePin[] {
  return text.split("\n").flatMap((line, index): PackagePin[] => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const [name = "", architecture = "", version = "", sha256 = "", ...rest] = line.split(" ");
    if (!/^[0-9a-f]{64}$/.test(sha256) || rest.length > 0)
      throw new Failure(
        "image_unavailable",
        `${file}:${index + 1}: is no line NAME ARCHITECTURE VERSION SHA256; write the lock anew with "sandlot image build --relock".`,
      );
    return [{ name, architecture, version, sha256 }];
  });
}

/** Throws `image_unavailable` naming the package that is not what the lock says. */
export function refuseDrift(reference: string, expected: readonly PackagePin[], found: readonly PackagePin[]): void {
  const key = (pin: PackagePin): string => `${pin.name}:${pin.architecture}`;
  const now = new Map(found.map((pin) => [key(pin), pin]));
  const drifted = expected.flatMap((pin): string[] => {
    const other = now.get(key(pin));
    if (other === undefined) return [`${pin.name} ${pin.version} is not installed any more`];
    if (other.version !== pin.version) return [`${pin.name} is ${other.version} now, locked is ${pin.version}`];
    return other.sha256 === pin.sha256 ? [] : [`${pin.name} ${pin.version} has another hash than locked`];
  });
  const known = new Set(expected.map(key));
  for (const pin of found) if (!known.has(key(pin))) drifted.push(`${pin.name} ${pin.version} is new`);
  if (drifted.length === 0) return;
  const more = drifted.length > 5 ? `, and ${drifted.length - 5} more` : "";
  throw new Failure(
    "image_unavailable",
    `The mirror's packages for ${reference} have drifted from its lock: ${drifted.slice(0, 5).join("; ")}${more}. ` +
      'Build it with "sandlot image build --relock" to accept them, or name a day (debian:SUITE@DATE) with a snapshot mirror.',
  );
}
