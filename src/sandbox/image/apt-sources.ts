/**
 * Where packages come from: the mirrors the machine's own apt uses, asked for another suite if need be, with the proxies
 * apt was told of. So an image can be built wherever `apt-get install` works. Names of hosts and secrets stay in apt's
 * own files.
 */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import { readIfThere } from "./run-tool.ts";

interface AptSource {
  readonly url: string;
  readonly suite: string;
  readonly components: readonly string[];
  readonly signedBy: string | null;
}

/** Suites without updates and security parts of their own. */
const ROLLING = new Set(["sid", "unstable", "experimental", "testing"]);

/**
 * One-line sources of a suite. Empty where the machine is no Debian or says nothing fitting: the tool then takes its own
 * default. With a date, all come from the snapshot mirror, in whose URL `{date}` stands.
 */
export function aptLines(
  suite: string,
  date: string | null,
  components: readonly string[],
  snapshot: string | null,
): readonly string[] {
  if (date !== null) {
    if (snapshot === null)
      throw new Failure(
        "image_unavailable",
        `A day (@${date}) needs a snapshot mirror; set SANDLOT_SNAPSHOT_MIRROR to its URL with {date} in it.`,
      );
    return [`deb ${snapshot.replaceAll("{date}", date)} ${suite} ${components.join(" ")}`];
  }
  const codename = /^VERSION_CODENAME=(.+)$/m.exec(readIfThere("/etc/os-release"))?.[1]?.replaceAll('"', "") ?? "";
  if (!/^ID=debian$/m.test(readIfThere("/etc/os-release")) || codename === "") return [];
  const own = hostSources().filter((source) => source.suite === codename || source.suite.startsWith(`${codename}-`));
  const lines = own.flatMap((source): string[] => {
    const part = source.suite.slice(codename.length);
    if (part !== "" && ROLLING.has(suite)) return [];
    const option = source.signedBy === null ? "" : `[signed-by=${source.signedBy}] `;
    return [`deb ${option}${source.url} ${suite}${part} ${components.join(" ")}`];
  });
  return [...new Set(lines)];
}

/** apt's own settings for reaching the network, as `--aptopt` values. */
export function aptNetworkOptions(): readonly string[] {
  try {
    const dump = execFileSync("apt-config", ["dump"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return dump
      .split("\n")
      .filter((line) =>
        /^Acquire::(https?|ftp)::(.*::)?(Proxy|ProxyAutoDetect|CAInfo|CAPath|Verify-Peer)[^ ]* "[^"]+";$/i.test(line),
      )
      .map((line) => line.replace(/;$/, ""));
  } catch {
    return [];
  }
}

function hostSources(): readonly AptSource[] {
  const folder = "/etc/apt/sources.list.d";
  const names = (() => {
    try {
      return readdirSync(folder).sort();
    } catch {
      return [];
    }
  })();
  return [
    ...oneLineSources(readIfThere("/etc/apt/sources.list")),
    ...names
      .filter((name) => name.endsWith(".list"))
      .flatMap((name) => oneLineSources(readIfThere(join(folder, name)))),
    ...names
      .filter((name) => name.endsWith(".sources"))
      .flatMap((name) => stanzaSources(readIfThere(join(folder, name)))),
  ];
}

function oneLineSources(text: string): readonly AptSource[] {
  return text.split("\n").flatMap((line): AptSource[] => {
    const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line.trim());
    if (match === null) return [];
    const [, options = "", url = "", suite = "", components = ""] = match;
    return [
      { url, suite, components: components.split(/\s+/), signedBy: /signed-by=(\S+)/.exec(options)?.[1] ?? null },
    ];
  });
}

function stanzaSources(text: string): readonly AptSource[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const lines = stanza.split("\n").filter((line) => !line.startsWith("#"));
    const field = (name: string): readonly string[] =>
      lines
        .find((line) => line.toLowerCase().startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim()
        .split(/\s+/) ?? [];
    if (!field("types").includes("deb") || field("enabled")[0] === "no") return [];
    const signedBy = field("signed-by")[0];
    return field("uris").flatMap((url) =>
      field("suites").map(
        (suite): AptSource => ({
          url,
          suite,
          components: field("components"),
          signedBy: signedBy?.startsWith("/") === true ? signedBy : null,
        }),
      ),
    );
  });
}
