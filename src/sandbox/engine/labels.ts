/** Labels of our containers: a later process finds them by these and knows whose they are, trusting no state file. */

export const LABEL = {
  /** The owner's token; see `leftovers.ts`. */
  owner: "sandlot.owner",
  /** Host name of the owner: of another machine's owners nothing can be told. */
  machine: "sandlot.machine",
  id: "sandlot.id",
  attemptId: "sandlot.attemptId",
  role: "sandlot.role",
  fence: "sandlot.fence",
  /** UTC milliseconds; after it anyone may remove the container. */
  expiresAt: "sandlot.expiresAt",
  /** The SandboxInfo, as JSON. */
  info: "sandlot.info",
} as const;
