/** Rename a label on all tickets that are alive, across pages, and what else the policy ties to that. */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnRequest, RequestDials, RequestKind, RuleFlaw, Wanted } from "../request.ts";
import { spotsOf } from "../spots.ts";
import {
  DESKS,
  drawComments,
  drawDesk,
  drawTicket,
  PRIORITIES,
  TICKETS,
  type TicketEdit,
  type TicketRow,
} from "../worlds/tickets.ts";
import { drawToday } from "../worlds/words.ts";

interface Rules {
  readonly from: string;
  readonly to: string;
  /** A label that keeps a ticket from being changed; null: no such clause. */
  readonly heldBy: string | null;
  /** The priority that tickets of enterprise customers are raised to; null: no such clause. */
  readonly raisedTo: string | null;
  /** A team whose tickets are given back; null: no such clause. */
  readonly givenBackBy: string | null;
}

type Desk = ReturnType<typeof drawDesk>;

export const RELABEL: RequestKind = {
  name: "relabel",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const rules = drawRules(random, dials.clauses);
    const today = drawToday(surface);
    const desk = drawDesk(surface.fork("desk"));
    const { tickets, marks } = drawTickets(surface, dials, rules, today, desk);
    const edits = new Map<string, TicketEdit>([
      ...(dials.faults >= 2 ? [[marks.edited, { labels: ["phone", rules.from, "callback"] }] as const] : []),
      ...(dials.faults >= 3 ? [[marks.solved, { status: "solved" }] as const] : []),
    ]);
    return {
      world: TICKETS,
      slug: `relabel-${rules.from}`,
      description: "Rename a label on all tickets that are alive, under a policy.",
      service: surface.pick(DESKS),
      today,
      tables: {
        requesters: desk.requesters,
        agents: desk.agents,
        tickets,
        comments: drawComments(surface, tickets, desk),
        notes: [],
      },
      ask: `We have a new name for one of our labels: \`${rules.from}\` is called \`${rules.to}\` from now on. Please bring all tickets up to date that our policy lets you change for this.`,
      policy: policyOf(rules),
      wanted: wantedOf(tickets, desk, rules, edits),
      faults: {
        edits: [...edits].map(([id, set]) => ({ record: `tickets/${id}`, set: { ...set } })),
        losses: marks.lost.map((id) => ({ path: "/v1/notes", where: { subject: `tickets/${id}` } })),
      },
      main: "tickets",
      edges: marks.edges,
      edited: [...edits.keys()],
      isStaleWrong: edits.size > 0,
      solve: solveOf(rules),
      flaws: flawsOf(rules),
    };
  },
};

function drawRules(random: Random, clauses: number): Rules {
  const structure = random.fork("structure");
  const chosen = structure.shuffle(["held", "raised", "given-back"]).slice(0, clauses);
  const [from, to] = random.fork("labels").shuffle(["billing", "payments", "checkout", "delivery", "returns", "login"]);
  return {
    from: from ?? "billing",
    to: to ?? "payments",
    heldBy: chosen.includes("held") ? structure.pick(["frozen", "legal-hold", "under-audit"]) : null,
    raisedTo: chosen.includes("raised") ? "high" : null,
    givenBackBy: chosen.includes("given-back") ? structure.pick(["blue", "green"]) : null,
  };
}

function drawTickets(random: Random, dials: RequestDials, rules: Rules, today: string, desk: Desk) {
  const { from, to } = rules;
  const spots = spotsOf<Partial<TicketRow>>(random.fork("spots"), dials.records);
  const ofPlan = (plan: string): string => desk.shuffled.find((requester) => requester.plan === plan)?.id ?? "";
  const ticket = (labels: readonly string[], more: Partial<TicketRow> = {}): Partial<TicketRow> => ({
    status: "open",
    labels,
    requester_id: ofPlan("team"),
    assignee_id: null,
    ...more,
  });
  const plain = spots.first(ticket([from]));
  const lostFirst = spots.first(ticket(["web", from, "beta"], { status: "pending" }));
  spots.first(ticket([from, "vip"], { requester_id: ofPlan("enterprise"), priority: "low" }));
  spots.first(ticket([`${from}-old`, "web"]));
  spots.first(ticket([from, "web"], { status: "solved" }));
  const both = spots.later(ticket(["web", from, to]));
  const bothOther = spots.later(ticket([to, "vip", from]));
  const part = spots.later(ticket([from, `${from}-old`]));
  const lostLater = spots.later(ticket(["mobile", from]));
  spots.later(ticket([from], { requester_id: ofPlan("enterprise"), priority: "urgent" }));
  spots.later(ticket([from, "phone"], { assignee_id: desk.agents[random.integer(0, 5)]?.id ?? null }));
  spots.later(ticket([from, "beta"], { assignee_id: desk.agents[0]?.id ?? null }));
  spots.later(ticket([from, "web"], { assignee_id: desk.agents[1]?.id ?? null }));
  spots.later(ticket([from], { status: "merged", merged_into: `T-${1001 + plain}` }));
  spots.later(ticket([to, "web"]));
  const edited = spots.later(ticket(["phone", from]));
  const solved = spots.later(ticket([from, "follow-up"]));
  if (rules.heldBy !== null) {
    spots.first(ticket([from, rules.heldBy]));
    spots.later(ticket([rules.heldBy, from, "web"]));
  }
  const tickets = Array.from({ length: dials.records }, (_, index) => {
    const one = random.fork(`ticket-${index}`);
    const drawn = drawTicket(one, index, today, desk, spots.at(index) ?? {});
    const isMore = spots.at(index) === undefined && one.fork("more").float() < 0.15;
    return isMore ? { ...drawn, labels: [...drawn.labels, from] } : drawn;
  });
  const idAt = (index: number): string => tickets[index]?.id ?? "";
  return {
    tickets,
    marks: {
      lost: [idAt(lostFirst), idAt(lostLater)],
      edges: [both, bothOther, part].map(idAt),
      edited: idAt(edited),
      solved: idAt(solved),
    },
  };
}

function wantedOf(
  tickets: readonly TicketRow[],
  desk: Desk,
  rules: Rules,
  edits: ReadonlyMap<string, TicketEdit>,
): Wanted[] {
  const { from, to, heldBy, raisedTo, givenBackBy } = rules;
  const isMeant = ({ status, labels }: TicketRow): boolean =>
    ["open", "pending"].includes(status) && labels.includes(from) && !(heldBy !== null && labels.includes(heldBy));
  return tickets.filter(isMeant).flatMap((given): Wanted[] => {
    const edit = edits.get(given.id);
    const ticket: TicketRow = { ...given, ...edit };
    const about = given.id;
    if (!isMeant(ticket)) return [{ table: "tickets", id: about, fields: { ...edit }, about, aspect: "labels" }];
    const labels = ticket.labels.includes(to)
      ? ticket.labels.filter((label) => label !== from)
      : ticket.labels.map((label) => (label === from ? to : label));
    const plan = desk.requesters.find(({ id }) => id === ticket.requester_id)?.plan;
    const isRaised =
      raisedTo !== null && plan === "enterprise" && PRIORITIES.indexOf(ticket.priority) < PRIORITIES.indexOf(raisedTo);
    const team = desk.agents.find(({ id }) => id === ticket.assignee_id)?.team;
    const isGivenBack = givenBackBy !== null && team === givenBackBy;
    return [
      { table: "tickets", id: about, fields: { labels }, about, aspect: "labels" },
      ...(isRaised
        ? [{ table: "tickets", id: about, fields: { priority: raisedTo }, about, aspect: "priorities" }]
        : []),
      ...(isGivenBack
        ? [{ table: "tickets", id: about, fields: { assignee_id: null }, about, aspect: "assignees" }]
        : []),
      {
        table: "notes",
        id: null,
        fields: { subject: `tickets/${about}`, kind: "change", code: "relabelled" },
        about,
        aspect: "notes",
      },
    ];
  });
}

function policyOf({ from, to, heldBy, raisedTo, givenBackBy }: Rules): readonly string[] {
  return [
    "Only tickets whose status is `open` or `pending` are relabelled; solved and merged ones stay as they are.",
    `A label is the whole word: \`${from}-old\` is another label than \`${from}\`.`,
    "The new label stands where the old one stood, and all other labels stay as and where they are. On a ticket that has the new label already the old one is only taken away.",
    ...(heldBy === null ? [] : [`A ticket with the label \`${heldBy}\` is not changed in any way.`]),
    ...(raisedTo === null
      ? []
      : [
          `A ticket that is relabelled and whose requester has the plan \`enterprise\` is also raised to priority \`${raisedTo}\`, if its priority is lower.`,
        ]),
    ...(givenBackBy === null
      ? []
      : [
          `Team \`${givenBackBy}\` does not work on \`${to}\`: a ticket that is relabelled and assigned to an agent of that team is given back, so that its \`assignee_id\` is null.`,
        ]),
    "For each ticket that was relabelled one note is made about it, of kind `change` with code `relabelled`. All that changes on a ticket may be written at once, and comes before the note.",
  ];
}

function solveOf({ from, to, heldBy, raisedTo, givenBackBy }: Rules): string {
  return `
RANK = ["low", "normal", "high", "urgent"]
plans = {row["id"]: row["plan"] for row in every("/v1/requesters")}
teams = {row["id"]: row["team"] for row in every("/v1/agents")}


def is_meant(row):
    if row["status"] not in ("open", "pending")${heldBy === null ? "" : ` or "${heldBy}" in row["labels"]`}:
        return False
    return "${from}" in row["labels"]


def relabelled(row):
    if not is_meant(row):
        return None
    labels = [label for label in row["labels"] if label != "${from}"]
    if "${to}" not in labels:
        labels.insert(row["labels"].index("${from}"), "${to}")
    fields = {"labels": labels}
    if ${raisedTo === null ? "False" : `plans[row["requester_id"]] == "enterprise" and RANK.index(row["priority"]) < RANK.index("${raisedTo}")`}:
        fields["priority"] = "${raisedTo ?? "high"}"
    if ${givenBackBy === null ? "False" : `teams.get(row["assignee_id"]) == "${givenBackBy}"`}:
        fields["assignee_id"] = None
    return "PATCH", "", fields


for ticket in every("/v1/tickets"):
    if is_meant(ticket) and write("tickets/" + ticket["id"], relabelled) is not None:
        note("tickets/" + ticket["id"], "change", "relabelled", "Renamed ${from} to ${to}.")
`;
}

function flawsOf({ from, to, heldBy, raisedTo }: Rules): readonly RuleFlaw[] {
  return [
    {
      name: "new-label-twice",
      failsTier: "boundary",
      from: `    if "${to}" not in labels:\n        labels.insert(`,
      to: "    if True:\n        labels.insert(",
    },
    { name: "solved-too", failsTier: "integration", from: '("open", "pending")', to: '("open", "pending", "solved")' },
    {
      name: "new-label-last",
      failsTier: "unit",
      from: `labels.insert(row["labels"].index("${from}"), "${to}")`,
      to: `labels.append("${to}")`,
    },
    ...(heldBy === null
      ? []
      : [
          {
            name: "relabels-the-held",
            failsTier: "integration",
            from: ` or "${heldBy}" in row["labels"]`,
            to: "",
          } as const,
        ]),
    ...(raisedTo === null
      ? []
      : [
          {
            name: "lowers-urgent",
            failsTier: "integration",
            from: ' and RANK.index(row["priority"]) < RANK.index("high")',
            to: "",
          } as const,
        ]),
  ];
}
