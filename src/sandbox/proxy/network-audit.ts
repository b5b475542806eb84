/**
 * The record of what one sandbox tried to reach: one entry per decision, which settles once the exchange is over. Bounded:
 * the first and the last attempts are kept, so that a flood hides neither how it began nor how it ended.
 */
import type { Runtime } from "../../core/runtime.ts";
import type { NetworkAttempt, NetworkLog, NetworkReason } from "../../core/sandbox.ts";
import type { RelayConnection } from "./relay.ts";

const KEPT_FIRST = 512;
const KEPT_LAST = 512;
const HOST_CHARACTERS_MAX = 256;

/** An entry that may still change. */
export interface OpenAttempt {
  readonly isAllowed: boolean;
  allow(address: string | null): void;
  refuse(reason: NetworkReason): void;
  /** What became of an allowed exchange; the first one counts. */
  note(reason: NetworkReason): void;
  /** Counts no more bytes. Idempotent. */
  finish(): void;
}

/** The record of one sandbox's attempts. */
export interface NetworkAudit {
  /** Begins as refused for `reason`, until it is allowed. Bytes are those of `connection` since its last attempt ended. */
  open(host: string, port: number, connection: RelayConnection, reason: NetworkReason): OpenAttempt;
  /** Every byte of every connection, for the totals. */
  count(bytesIn: number, bytesOut: number): void;
  readonly bytes: number;
  log(): NetworkLog;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Empty. */
export function networkAudit(runtime: Runtime): NetworkAudit {
  const first: Mutable<NetworkAttempt>[] = [];
  const last: Mutable<NetworkAttempt>[] = [];
  const live = new Map<Mutable<NetworkAttempt>, () => void>();
  const counted = new WeakMap<RelayConnection, { from: number; to: number }>();
  const totals = { allowed: 0, refused: 0, dropped: 0, bytesIn: 0, bytesOut: 0 };

  const keep = (attempt: Mutable<NetworkAttempt>): void => {
    if (first.length < KEPT_FIRST) {
      first.push(attempt);
      return;
    }
    last.push(attempt);
    if (last.length <= KEPT_LAST) return;
    last.shift();
    totals.dropped += 1;
  };
  return {
    open: (host, port, connection, reason) => {
      const attempt: Mutable<NetworkAttempt> = {
        atMs: runtime.now(),
        host: host.slice(0, HOST_CHARACTERS_MAX),
        port,
        address: null,
        decision: "refused",
        reason,
        bytesIn: 0,
        bytesOut: 0,
      };
      totals.refused += 1;
      keep(attempt);
      const since = counted.get(connection) ?? { from: 0, to: 0 };
      const measure = (): void => {
        attempt.bytesIn = connection.bytesTo - since.to;
        attempt.bytesOut = connection.bytesFrom - since.from;
      };
      live.set(attempt, measure);
      const decide = (decision: NetworkAttempt["decision"], why: NetworkReason | null): void => {
        totals[attempt.decision] -= 1;
        totals[decision] += 1;
        attempt.decision = decision;
        attempt.reason = why;
      };
      return {
        get isAllowed() {
          return attempt.decision === "allowed";
        },
        allow: (address) => {
          attempt.address = address;
          decide("allowed", null);
        },
        refuse: (why) => decide("refused", why),
        note: (why) => {
          if (attempt.decision === "allowed" && live.has(attempt)) attempt.reason ??= why;
        },
        finish: () => {
          if (!live.delete(attempt)) return;
          measure();
          counted.set(connection, { from: connection.bytesFrom, to: connection.bytesTo });
        },
      };
    },
    count: (bytesIn, bytesOut) => {
      totals.bytesIn += bytesIn;
      totals.bytesOut += bytesOut;
    },
    get bytes() {
      return totals.bytesIn + totals.bytesOut;
    },
    log: () => {
      for (const measure of live.values()) measure();
      const { allowed, refused, dropped, bytesIn, bytesOut } = totals;
      const attempts = [...first, ...last].map((attempt) => ({ ...attempt }));
      return { attempts, attemptsDropped: dropped, allowed, refused, bytesIn, bytesOut };
    },
  };
}
