/**
 * Check 46: no task is nearly another of the checked set. The share of five-word runs that two tasks have in common is
 * estimated by MinHash (Broder 1997), so that a set of thousands is compared without holding all their texts.
 */
import { createHash } from "node:crypto";
import type { CheckContext, Finding } from "../check-contract.ts";
import { hiddenText } from "./test-sources.ts";

const RUN_WORDS = 5;
const HASHES = 64;
/** Estimated share of common runs from which two tasks count as twins; one drawn family has much in common by itself. */
const TWIN_SHARE = 0.9;

export function nearDuplicate({ task, peers = [] }: CheckContext): Finding {
  if (peers.length === 0) return { status: "skip", evidence: "it is checked alone; name the folder of the whole set" };
  const own = signature(`${task.instruction}\n${hiddenText(task)}`);
  const near = peers
    .map((peer) => ({ peer, share: sharedOf(own, signature(`${peer.instruction}\n${peer.tests}`)) }))
    .sort((a, b) => b.share - a.share)[0];
  if (near === undefined || near.share < TWIN_SHARE) {
    const most = near === undefined ? "" : `, most with ${near.peer.key} (${(100 * near.share).toFixed(0)} %)`;
    return { status: "pass", evidence: `it has little in common with ${peers.length} other tasks${most}` };
  }
  const evidence = `${(100 * near.share).toFixed(0)} % of its text is that of ${near.peer.key}; keep one of them`;
  return { status: "fail", evidence, severity: near.peer.split === "train" ? "W" : "E" };
}

function signature(text: string): readonly number[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const least = new Array<number>(HASHES).fill(2 ** 32);
  for (let at = 0; at + RUN_WORDS <= words.length; at += 1) {
    const base = createHash("sha256")
      .update(words.slice(at, at + RUN_WORDS).join(" "))
      .digest();
    const [x, y] = [base.readUInt32LE(0), base.readUInt32LE(4) | 1];
    for (let index = 0; index < HASHES; index += 1) {
      const value = (x + Math.imul(y, index)) >>> 0;
      if (value < (least[index] ?? 0)) least[index] = value;
    }
  }
  return least;
}

function sharedOf(a: readonly number[], b: readonly number[]): number {
  return a.filter((value, index) => value === b[index]).length / HASHES;
}
