/** Where a member of an archive may land: a name inside the tree, or a reason why not. Names are raw bytes (latin1). */
import { ArchiveError } from "./byte-reader.ts";
import { shownName } from "./tar-read.ts";

const NAME_BYTES_MAX = 255;
const PATH_BYTES_MAX = 4_095;

/**
 * The parts of a member's path, none of which leads upwards; empty for the root itself. Throws ArchiveError naming the
 * member. `role` says whose path it is: the member's own, or the file a hard link names.
 */
export function pathParts(path: string, member: string, role: "path" | "hard link target"): readonly string[] {
  const refuse = (reason: string): never => {
    throw new ArchiveError(`has the member ${shownName(member)}, whose ${role} ${reason}`);
  };
  if (path === "") return refuse("is empty");
  if (path.startsWith("/")) return refuse("is absolute");
  if (path.includes("\0")) return refuse("holds a NUL byte");
  if (path.length > PATH_BYTES_MAX) return refuse(`is over ${PATH_BYTES_MAX} bytes long`);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return refuse('leads upwards by ".."');
  if (parts.some((part) => part.length > NAME_BYTES_MAX)) return refuse(`has a name of over ${NAME_BYTES_MAX} bytes`);
  return parts;
}

const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";

/** What an OCI layer says by a name: that a name, or all of a folder, is gone from the layers below. */
export function whiteoutOf(parts: readonly string[]): { readonly kind: "name" | "all"; readonly gone: string } | null {
  const name = parts.at(-1) ?? "";
  if (!name.startsWith(WHITEOUT)) return null;
  const parent = parts.slice(0, -1).join("/");
  if (name === OPAQUE) return { kind: "all", gone: parent };
  const gone = name.slice(WHITEOUT.length);
  if (gone === "" || gone === "." || gone === "..")
    throw new ArchiveError(`has the whiteout ${shownName(parts.join("/"))}, which names nothing`);
  return { kind: "name", gone: parent === "" ? gone : `${parent}/${gone}` };
}
