/** What the instruction demands, and the hidden tests that hold it: each test stands with one requirement. */
import type { Tier } from "./hidden-tests.ts";
import type { Job } from "./job.ts";

interface Requirement {
  readonly id: string;
  readonly text: string;
  readonly kind: "functional" | "boundary";
  readonly tests: readonly (readonly [Tier, string])[];
}

export function requirementsOf({ kind }: Job): readonly Requirement[] {
  const edge = (id: string, text: string, name: string): Requirement => ({
    id,
    text,
    kind: "boundary",
    tests: [["boundary", name]],
  });
  const plain = (id: string, text: string, tier: Tier, name: string): Requirement => ({
    id,
    text,
    kind: "functional",
    tests: [[tier, name]],
  });
  return [
    plain("one-message", "A good message has its effect and is acknowledged.", "unit", "test_one_message"),
    plain("duplicates", "A message that comes again does nothing more.", "unit", "test_a_message_sent_twice"),
    plain("dead-letters", "A malformed message becomes a dead letter.", "unit", "test_a_malformed_message"),
    plain("given-messages", "The messages that were given are handled.", "unit", "test_given_messages"),
    plain("many", "Hundreds of messages of all sorts are handled.", "integration", "test_some_hundred_messages"),
    plain("later-starts", "A later start goes on where the one before ended.", "integration", "test_two_starts"),
    edge("work-first", "What had its effect and was not acknowledged has it once.", "test_ended_before_acknowledging"),
    edge("no-loss", "What is acknowledged has had its effect.", "test_ended_while_acknowledging"),
    edge("one-dead-letter", "A message becomes one dead letter at most.", "test_ended_at_a_dead_letter"),
    edge("many-ends", "Any number of ends changes nothing.", "test_ended_again_and_again"),
    edge("limit", "A message of an unknown key is given up at its limit.", "test_unknown_until_the_limit"),
    edge("known-later", "A key that becomes known in time counts.", "test_known_before_the_limit"),
    edge("broker-restart", "A restart of the broker is survived.", "test_broker_restarted"),
    edge("empty", "An empty stream ends the program well.", "test_nothing_to_do"),
    edge("forms", "All that is no good message is malformed.", "test_all_ways_to_be_malformed"),
    edge("rule-edges", "Messages at the edge of the rule fall on the right side.", "test_edges"),
    ...(kind.isPublishing
      ? [edge("published-once", "What is published is published once.", "test_ended_while_publishing")]
      : []),
  ];
}
