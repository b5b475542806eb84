/** The program worlds of JavaScript repairs. */
import type { World } from "../../support/repair/world.ts";
import { CACHE } from "./cache.ts";
import { JOBS } from "./jobs.ts";
import { ROUTER_WORLD } from "./router.ts";

export const WORLDS: readonly World[] = [CACHE, JOBS, ROUTER_WORLD];
