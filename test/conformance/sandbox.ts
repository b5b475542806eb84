/**
 * The suite every sandbox provider passes; the numbers are the cases of the sandbox design. A provider is opened once
 * and each case gets a fresh sandbox. Cases need `sh`, `bash` and `python3` in the image. What a case waits for is an
 * event, never a time.
 */
import { describe } from "vitest";
import { filesConformance } from "./sandbox-files.ts";
import { ioConformance } from "./sandbox-io.ts";
import { kernelConformance } from "./sandbox-kernel.ts";
import { limitsConformance } from "./sandbox-limits.ts";
import { boxes, type CreateProvider } from "./sandbox-parts.ts";
import { processConformance } from "./sandbox-processes.ts";
import { shellConformance } from "./sandbox-shell.ts";

export type { CreateProvider } from "./sandbox-parts.ts";

/** Declares all cases for one provider, inside the caller's test file. */
export function sandboxConformance(createProvider: CreateProvider): void {
  describe("sandbox conformance", () => {
    const all = boxes(createProvider);
    processConformance(all);
    limitsConformance(all);
    ioConformance(all);
    filesConformance(all);
    kernelConformance(all);
    shellConformance(all);
  });
}
