/**
 * One planted fault for each case of the suite: what a provider that does not keep the case would do. A case that still
 * passes with its fault in place holds nothing.
 */
import type { FaultHooks } from "./fault-hooks.ts";
import { FAULTS_OF_COMMANDS } from "./faults-commands.ts";
import { FAULTS_OF_FILES } from "./faults-files.ts";
import { FAULTS_OF_MACHINE } from "./faults-machine.ts";
import { FAULTS_OF_NETWORK } from "./faults-network.ts";
import { FAULTS_OF_SHELL } from "./faults-shell.ts";
import { FAULTS_OF_SNAPSHOT } from "./faults-snapshot.ts";
import { FAULTS_OF_TERMINALS } from "./faults-terminal.ts";
import { FAULTS_OF_TRACES } from "./faults-trace.ts";
import { FAULTS_OF_TREES } from "./faults-trees.ts";

export interface Fault extends FaultHooks {
  /** Number and part of the case it must fail. */
  readonly breaks: string;
  /** What goes wrong, as the rest of "a provider that …". */
  readonly what: string;
}

export const FAULTS: readonly Fault[] = [
  ...FAULTS_OF_COMMANDS,
  ...FAULTS_OF_MACHINE,
  ...FAULTS_OF_FILES,
  ...FAULTS_OF_NETWORK,
  ...FAULTS_OF_SHELL,
  ...FAULTS_OF_SNAPSHOT,
  ...FAULTS_OF_TERMINALS,
  ...FAULTS_OF_TREES,
  ...FAULTS_OF_TRACES,
];
