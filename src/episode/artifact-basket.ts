/** What has been taken out of a frozen sandbox so far, against the contract's caps, and what was refused and why. */
import type { FileContent } from "../core/sandbox-files.ts";
import type { ArtifactContract } from "../core/task.ts";
import type { RefusedArtifact } from "../core/verifier.ts";

/** Named refusals; a tree of a million links must not fill a record. */
const REFUSED_MAX = 100;
const PATH_CHARACTERS_MAX = 300;
const DEPTH_MAX = 32;
const SET_ID_BITS = 0o6000;

export class Basket {
  readonly files: FileContent[] = [];
  readonly refused: RefusedArtifact[] = [];
  readonly #contract: ArtifactContract;
  #bytes = 0;
  isOver = false;

  constructor(contract: ArtifactContract) {
    this.#contract = contract;
  }

  get bytesLeft(): number {
    return this.#contract.bytesMax - this.#bytes;
  }

  get entriesMax(): number {
    return this.#contract.entriesMax;
  }

  /** Says what was not taken; `path` may be hostile text. */
  refuse(path: string, reason: string): void {
    if (this.refused.length >= REFUSED_MAX) return;
    this.refused.push({ path: path.slice(0, PATH_CHARACTERS_MAX), reason });
  }

  /** Takes one regular file, unless it is one that must not cross. False when it was refused. */
  add(file: FileContent): boolean {
    const fault = fileFault(file);
    if (fault !== null) {
      this.refuse(plainName(file.path), fault);
      return false;
    }
    this.#bytes += file.bytes.length;
    this.files.push(file);
    if (this.#bytes > this.#contract.bytesMax || this.files.length > this.#contract.entriesMax) this.isOver = true;
    return true;
  }
}

/** A hostile name on one line of text. */
export function plainName(path: string): string {
  return JSON.stringify(path.toWellFormed()).slice(1, -1);
}

function fileFault({ path, mode }: FileContent): string | null {
  // A name that is no UTF-8 has no place in a record, which is text; a contract cannot name it either.
  if (!path.isWellFormed()) return "its name is no UTF-8";
  if (path.split("/").length - 1 > DEPTH_MAX) return `it lies deeper than ${DEPTH_MAX} folders`;
  return (mode & SET_ID_BITS) === 0 ? null : "it would run as another user (setuid or setgid)";
}
