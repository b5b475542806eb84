/** The program worlds of Python repairs. */
import type { World } from "../../support/repair/world.ts";
import { LEDGER } from "./ledger.ts";

export const WORLDS: readonly World[] = [LEDGER];
