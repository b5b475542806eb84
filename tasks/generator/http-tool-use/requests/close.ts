/** Close the tickets of a customer who asks for it, and refuse by a note, with its reason, what may not be closed. */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnRequest, RequestDials, RequestKind, RuleFlaw, Wanted } from "../request.ts";
import { spotsOf } from "../spots.ts";
import {
  DESKS,
  drawComments,
  drawDesk,
  drawTicket,
  TICKETS,
  type TicketEdit,
  type TicketRow,
} from "../worlds/tickets.ts";
import { dayAfter, drawToday } from "../worlds/words.ts";

type Desk = ReturnType<typeof drawDesk>;

/** Reasons to refuse, in the order in which the policy asks them. */
interface Rules {
  readonly reasons: readonly Reason[];
  readonly days: number;
  readonly hold: string;
  readonly team: string;
}

type Reason = "on-hold" | "urgent" | "too-fresh" | "other-team";

export const CLOSE: RequestKind = {
  name: "close",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const structure = random.fork("structure");
    const optional = structure.shuffle<Reason>(["urgent", "too-fresh", "other-team"]).slice(0, dials.clauses);
    const rules: Rules = {
      reasons: structure.shuffle<Reason>(["on-hold", ...optional]),
      days: structure.pick([3, 5, 7]),
      hold: surface.pick(["legal-hold", "dispute", "audit"]),
      team: structure.pick(["blue", "green"]),
    };
    const today = drawToday(surface);
    const desk = drawDesk(surface.fork("desk"));
    const [asking] = desk.shuffled;
    if (asking === undefined) throw new RangeError("a desk has requesters");
    const { tickets, marks } = drawTickets(surface, dials, rules, today, desk);
    const edits = new Map<string, TicketEdit>([
      ...(dials.faults >= 2 ? [[marks.edited, { labels: ["web", "called-back"] }] as const] : []),
      ...(dials.faults >= 3 ? [[marks.held, { labels: ["web", rules.hold] }] as const] : []),
    ]);
    return {
      world: TICKETS,
      slug: "close-or-refuse",
      description:
        "Close the tickets of a customer as far as the policy lets one, and refuse the others with a reason.",
      service: surface.pick(DESKS),
      today,
      tables: {
        requesters: desk.requesters,
        agents: desk.agents,
        tickets,
        comments: drawComments(surface, tickets, desk),
        notes: [],
      },
      ask: `${asking.name} is annoyed by our mails and insists that each and every open or pending ticket of theirs is closed at once, whatever we think of it. Please see to it.`,
      policy: policyOf(rules),
      wanted: wantedOf(tickets, desk, rules, today, edits),
      faults: {
        edits: [...edits].map(([id, set]) => ({ record: `tickets/${id}`, set: { ...set } })),
        losses: marks.lost.map((id) => ({ path: "/v1/notes", where: { subject: `tickets/${id}` } })),
      },
      main: "tickets",
      edges: marks.edges,
      edited: [...edits.keys()],
      isStaleWrong: dials.faults >= 3,
      solve: solveOf(asking.name, rules),
      flaws: flawsOf(rules),
    };
  },
};

function drawTickets(random: Random, dials: RequestDials, rules: Rules, today: string, desk: Desk) {
  const spots = spotsOf<Partial<TicketRow>>(random.fork("spots"), dials.records);
  const own = desk.agents.find(({ team }) => team === rules.team)?.id ?? null;
  const foreign = desk.agents.find(({ team }) => team !== rules.team)?.id ?? null;
  const ticket = (more: Partial<TicketRow> = {}): Partial<TicketRow> => ({
    requester_id: desk.shuffled[0]?.id ?? "",
    status: "open",
    priority: "normal",
    labels: ["web"],
    assignee_id: own,
    opened_on: dayAfter(today, -rules.days - 5),
    ...more,
  });
  spots.first(ticket());
  spots.first(ticket({ status: "pending", priority: "high", labels: [], assignee_id: null }));
  spots.first(ticket({ labels: [rules.hold] }));
  const lostFirst = spots.first(ticket({ labels: ["mobile", rules.hold], priority: "low" }));
  spots.first(ticket({ status: "solved" }));
  spots.first(ticket({ requester_id: desk.shuffled[1]?.id ?? "" }));
  spots.later(ticket({ priority: "low" }));
  const lostLater = spots.later(ticket({ labels: ["beta", rules.hold] }));
  spots.later(ticket({ priority: "urgent" }));
  spots.later(ticket({ assignee_id: foreign }));
  const edges = [
    spots.later(ticket({ opened_on: dayAfter(today, -rules.days) })),
    spots.later(ticket({ opened_on: dayAfter(today, 1 - rules.days) })),
    // More than one reason at once: the first of the policy counts.
    spots.later(ticket({ labels: [rules.hold], priority: "urgent", assignee_id: foreign, opened_on: today })),
    spots.later(ticket({ priority: "urgent", assignee_id: foreign, opened_on: dayAfter(today, -1) })),
  ];
  spots.later(ticket({ labels: [`${rules.hold}-over`] }));
  spots.later(ticket({ status: "merged", merged_into: "T-1001" }));
  const edited = spots.later(ticket());
  const held = spots.later(ticket({ status: "pending" }));
  const tickets = Array.from({ length: dials.records }, (_, index) => {
    const given = spots.at(index) ?? {
      requester_id: desk.shuffled[1 + random.fork(`of-${index}`).integer(0, desk.shuffled.length - 2)]?.id ?? "",
    };
    return drawTicket(random.fork(`ticket-${index}`), index, today, desk, given);
  });
  const idAt = (index: number): string => tickets[index]?.id ?? "";
  return {
    tickets,
    marks: {
      lost: [idAt(lostFirst), idAt(lostLater)],
      edges: edges.map(idAt),
      edited: idAt(edited),
      held: idAt(held),
    },
  };
}

function wantedOf(
  tickets: readonly TicketRow[],
  desk: Desk,
  rules: Rules,
  today: string,
  edits: ReadonlyMap<string, TicketEdit>,
): Wanted[] {
  const first = dayAfter(today, -rules.days);
  const holds: Readonly<Record<Reason, (ticket: TicketRow) => boolean>> = {
    "on-hold": ({ labels }) => labels.includes(rules.hold),
    urgent: ({ priority }) => priority === "urgent",
    "too-fresh": ({ opened_on }) => opened_on > first,
    "other-team": ({ assignee_id }) =>
      assignee_id !== null && desk.agents.find(({ id }) => id === assignee_id)?.team !== rules.team,
  };
  const reasonOf = (ticket: TicketRow) => rules.reasons.find((reason) => holds[reason](ticket));
  const meant = tickets.filter(
    ({ requester_id, status }) => requester_id === desk.shuffled[0]?.id && ["open", "pending"].includes(status),
  );
  return meant.flatMap((given): Wanted[] => {
    const about = given.id;
    const refusal = (code: string): Wanted => ({
      table: "notes",
      id: null,
      fields: { subject: `tickets/${about}`, kind: "refusal", code },
      about,
      aspect: "refusals",
    });
    const before = reasonOf(given);
    if (before !== undefined) return [refusal(before)];
    const edit = edits.get(about) ?? {};
    const after = reasonOf({ ...given, ...edit });
    const change = (fields: Wanted["fields"]): Wanted => ({
      table: "tickets",
      id: about,
      fields,
      about,
      aspect: "closings",
    });
    if (after !== undefined) return [change({ ...edit }), refusal(after)];
    return [change({ ...edit, status: "solved" })];
  });
}

function policyOf({ reasons, days, hold, team }: Rules): readonly string[] {
  const texts: Readonly<Record<Reason, string>> = {
    "on-hold": `it has the label \`${hold}\`: code \`on-hold\``,
    urgent: "its priority is `urgent`: code `urgent`",
    "too-fresh": `it was opened less than ${days} days before the business date (one that was opened exactly ${days} days before it may be closed): code \`too-fresh\``,
    "other-team": `it is assigned to an agent who is not of team \`${team}\` (one that is assigned to nobody may be closed): code \`other-team\``,
  };
  return [
    "A ticket is closed by setting its status to `solved`. Only tickets that are `open` or `pending` can be closed, and only those of the customer who asks.",
    `Nobody may have a ticket closed for any of these reasons, whoever insists:\n${reasons.map((reason) => `   - ${texts[reason]}`).join(";\n")}.`,
    "For each ticket whose closing was asked for and is refused so, one note is made about it, of kind `refusal`, with the code of the reason; where there are several reasons, of the first in the order above. The ticket itself stays as it is.",
    "No note is made about a ticket that is closed, or about one that is solved or merged already.",
  ];
}

function solveOf(name: string, { reasons, days, hold, team }: Rules): string {
  const conditions: Readonly<Record<Reason, string>> = {
    "on-hold": `"${hold}" in row["labels"]`,
    urgent: 'row["priority"] == "urgent"',
    "too-fresh": `(date.fromisoformat(TODAY) - date.fromisoformat(row["opened_on"])).days < ${days}`,
    "other-team": `row["assignee_id"] is not None and teams[row["assignee_id"]] != "${team}"`,
  };
  return `
asking = next(row["id"] for row in every("/v1/requesters") if row["name"] == "${name}")
teams = {row["id"]: row["team"] for row in every("/v1/agents")}


def refused_for(row):
${reasons.map((reason) => `    if ${conditions[reason]}:\n        return "${reason}"`).join("\n")}
    return None


def closed(row):
    if row["status"] not in ("open", "pending") or refused_for(row):
        return None
    return "PATCH", "", {"status": "solved"}


for ticket in every("/v1/tickets"):
    if ticket["requester_id"] != asking or ticket["status"] not in ("open", "pending"):
        continue
    if write("tickets/" + ticket["id"], closed) is None:
        _, now = call("GET", "/v1/tickets/" + ticket["id"])
        if now["status"] in ("open", "pending"):
            note("tickets/" + ticket["id"], "refusal", refused_for(now), "Our policy does not let us close this.")
`;
}

function flawsOf({ reasons, days }: Rules): readonly RuleFlaw[] {
  return [
    { name: "closes-all", failsTier: "integration", from: " or refused_for(row):", to: ":" },
    {
      name: "refuses-in-silence",
      failsTier: "unit",
      from: '            note("tickets/" + ticket["id"], "refusal", refused_for(now), ',
      to: "            print(",
    },
    {
      name: "code-of-its-own",
      failsTier: "integration",
      from: '"refusal", refused_for(now)',
      to: '"refusal", "forbidden"',
    },
    ...(reasons.includes("too-fresh")
      ? [
          {
            name: "edge-day-is-fresh",
            failsTier: "integration",
            from: `.days < ${days}`,
            to: `.days <= ${days}`,
          } as const,
        ]
      : []),
    ...(reasons.length > 1
      ? [
          {
            name: "last-reason-counts",
            failsTier: "integration",
            from: "refused_for(now), ",
            to: `"${reasons.at(-1) ?? ""}", `,
          } as const,
        ]
      : []),
  ];
}
