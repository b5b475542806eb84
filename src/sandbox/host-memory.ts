/** What memory this machine has and has free, as its kernel tells. */
import { readFileSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import type { MemoryState } from "./pool-admission.ts";

/** `MemAvailable` counts what the kernel can give back; where there is none, what is free. */
export function hostMemory(): MemoryState {
  try {
    const text = readFileSync("/proc/meminfo", "utf8");
    const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]) * 1_024;
    const state = { totalBytes: field("MemTotal"), availableBytes: field("MemAvailable") };
    if (Number.isFinite(state.totalBytes) && Number.isFinite(state.availableBytes)) return state;
  } catch {}
  return { totalBytes: totalmem(), availableBytes: freemem() };
}
