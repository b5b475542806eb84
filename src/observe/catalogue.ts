/**
 * Every metric a run stores: its name, unit, which way is better, and what it means, so that one number has one name
 * everywhere. Its test holds it against the names the code stores. Names follow TRL, verl and prime-rl where those have
 * one.
 */

/** `+` more is better, `-` less is better, `=` should stay in a band, `.` says nothing by itself. */
export type Direction = "+" | "-" | "=" | ".";

export interface MetricDescription {
  readonly id: string;
  readonly unit: "1" | "ratio" | "nats" | "nats/token" | "tokens" | "episodes" | "groups" | "s";
  readonly direction: Direction;
  readonly help: string;
}

const metric = (
  id: string,
  unit: MetricDescription["unit"],
  direction: Direction,
  help: string,
): MetricDescription => ({ id, unit, direction, help });

/** In the order a reader wants them: what is learned, how healthy the update is, what the episodes did, what it took. */
export const METRICS: readonly MetricDescription[] = [
  metric("reward", "1", "+", "Mean of the group means of the reward."),
  metric("reward_std", "1", ".", "Spread of the reward inside groups, mean over groups."),
  metric("frac_reward_zero_std", "ratio", "-", "Groups whose members all earned the same and so teach nothing."),
  metric("eval/pass_at_1", "ratio", "+", "Held-out episodes, sampled once each, that reached the task's threshold."),
  metric("sft/loss", "nats/token", "-", "Mean negative log-probability of the demonstrations' tokens."),

  metric("loss", "1", ".", "Optimised loss; near 0 for GRPO by construction, so look at reward and grad_norm first."),
  metric("grad_norm", "1", "=", "Norm of the gradient before clipping."),
  metric("learning_rate", "1", ".", "Learning rate of the step."),
  metric("advantages/mean", "1", "=", "Mean advantage over the sequences of the batch."),
  metric("advantages/min", "1", "=", "Smallest advantage of the batch."),
  metric("advantages/max", "1", "=", "Largest advantage of the batch."),
  metric(
    "entropy",
    "nats/token",
    "=",
    "Entropy of the policy on tokens with a gradient; a fall to 0 ends exploration.",
  ),
  metric("kl", "nats/token", "=", "Divergence from the reference policy, by the k3 estimator."),
  metric("kl/k1", "nats/token", "=", "Divergence from the reference policy, by the k1 estimator; may be negative."),
  metric("kl/k3", "nats/token", "=", "Divergence from the reference policy, by the k3 estimator; never negative."),
  metric("kl/num_tokens", "tokens", ".", "Tokens the divergence was measured on."),
  metric(
    "sampling/sampling_logp_difference/mean",
    "nats",
    "-",
    "Mean distance of sampled and recomputed log-probability.",
  ),
  metric(
    "sampling/sampling_logp_difference/max",
    "nats",
    "-",
    "Largest distance of sampled and recomputed log-probability.",
  ),
  metric("clip_ratio/low_mean", "ratio", "=", "Trained tokens clipped below."),
  metric("clip_ratio/high_mean", "ratio", "=", "Trained tokens clipped above."),
  metric("clip_ratio/region_mean", "ratio", "=", "Trained tokens clipped on either side."),

  metric("completions/mean_length", "tokens", "=", "Sampled tokens per episode of the batch, mean."),
  metric("completions/min_length", "tokens", "=", "Sampled tokens of the shortest episode of the batch."),
  metric("completions/max_length", "tokens", "=", "Sampled tokens of the longest episode of the batch."),
  metric("rollout/effective_episodes", "episodes", "+", "Episodes of the batch with an advantage other than 0."),
  metric("rollout/groups_abandoned", "groups", "-", "Groups with too few graded members to be trained on."),
  metric("rollout/discards_infra_before", "ratio", "-", "Episodes of the step that failed before their first turn."),
  metric("rollout/discards_infra_during", "ratio", "-", "Episodes of the step that failed after their first turn."),
  metric("rollout/discards_verifier_fault", "ratio", "-", "Episodes of the step that could not be graded."),
  metric(
    "rollout/quarantined",
    "episodes",
    "-",
    "Graded episodes whose tokens findings hold back, where rewarded or whole.",
  ),
  metric("reward/findings_a", "episodes", "-", "Episodes with deterministic evidence of cheating (tier A)."),
  metric("reward/findings_b", "episodes", "-", "Episodes with strong evidence of cheating (tier B)."),

  metric("num_tokens", "tokens", ".", "Tokens of the batch, prompts included."),
  metric("step_time", "s", "-", "Wall time of the optimizer step, gathering excluded."),
  metric(
    "timing_s/gather",
    "s",
    "-",
    "Wall time of gathering the step's episodes: sampling, sandboxes and grading overlap.",
  ),
  metric("timing_s/train", "s", "-", "Wall time of the policy update and its snapshot."),
  metric("timing_s/store", "s", "-", "Wall time of reading the batch from the store and committing the step."),
];

const BY_ID: ReadonlyMap<string, MetricDescription> = new Map(METRICS.map((entry) => [entry.id, entry]));

/** Null for a name the catalogue does not have; such points are kept and shown under their name alone. */
export function describeMetric(id: string): MetricDescription | null {
  return BY_ID.get(id) ?? null;
}
