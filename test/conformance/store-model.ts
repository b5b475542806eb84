/**
 * The lease machine in its plainest form, without storage: what each call must answer. Store adapters are compared
 * with it over random sequences of calls.
 */

export interface HeldLease {
  readonly episodeNo: number;
  readonly attempt: number;
  readonly fence: number;
}

interface ModelEpisode {
  state: "ready" | "leased" | "done" | "failed" | "cancelled";
  attempt: number;
  fence: number;
  notBefore: number;
  leaseUntil: number;
}

/** One run with one group of each `members` episodes; the time is handed to each call. */
export class LeaseModel {
  readonly episodes: ModelEpisode[];
  readonly #answers = new Map<string, string>();
  readonly #members: number;

  constructor(count: number, members: number) {
    this.#members = members;
    this.episodes = Array.from({ length: count }, () => ({
      state: "ready",
      attempt: 0,
      fence: 0,
      notBefore: 0,
      leaseUntil: 0,
    }));
  }

  claim(now: number, episodesMax: number, leaseMs: number): HeldLease[] {
    const leases: HeldLease[] = [];
    for (const [episodeNo, episode] of this.episodes.entries()) {
      if (leases.length === episodesMax) break;
      if (episode.state !== "ready" || episode.notBefore > now) continue;
      episode.state = "leased";
      episode.attempt += 1;
      episode.fence += 1;
      episode.leaseUntil = now + leaseMs;
      leases.push({ episodeNo, attempt: episode.attempt, fence: episode.fence });
    }
    return leases;
  }

  commit(lease: HeldLease): string {
    return this.#end(lease, ["accepted"], (episode) => {
      episode.state = "done";
      return "accepted";
    });
  }

  release(now: number, lease: HeldLease, retryInMs: number | null): string {
    return this.#end(lease, ["requeued", "closed"], (episode) => {
      episode.state = retryInMs === null ? "failed" : "ready";
      episode.notBefore = now + (retryInMs ?? 0);
      return retryInMs === null ? "closed" : "requeued";
    });
  }

  cancel(groupFrom: number): number {
    const open = this.episodes.filter(
      ({ state }, episodeNo) => isOpen(state) && Math.floor(episodeNo / this.#members) >= groupFrom,
    );
    for (const episode of open) episode.state = "cancelled";
    return open.length;
  }

  reap(now: number): number {
    const lost = this.episodes.filter(({ state, leaseUntil }) => state === "leased" && leaseUntil <= now);
    for (const episode of lost) {
      episode.state = "ready";
      episode.notBefore = now;
    }
    return lost.length;
  }

  counts(): Record<ModelEpisode["state"], number> {
    const counts = { ready: 0, leased: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { state } of this.episodes) counts[state] += 1;
    return counts;
  }

  /** Repeats the first answer to an ended attempt if it was one of `own`, and refuses every fence but the present one. */
  #end(lease: HeldLease, own: readonly string[], close: (episode: ModelEpisode) => string): string {
    const name = `${lease.episodeNo}/${lease.attempt}/${lease.fence}`;
    const first = this.#answers.get(name);
    if (first !== undefined) return own.includes(first) ? first : "superseded";
    const episode = this.episodes[lease.episodeNo];
    if (episode?.state !== "leased" || episode.fence !== lease.fence) return "superseded";
    const answer = close(episode);
    this.#answers.set(name, answer);
    return answer;
  }
}

function isOpen(state: ModelEpisode["state"]): boolean {
  return state === "ready" || state === "leased";
}
