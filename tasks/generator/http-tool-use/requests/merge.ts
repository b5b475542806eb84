/** Merge duplicate tickets: which are duplicates, which one goes on, and what it takes over from the others. */
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
import { dayAfter, drawToday } from "../worlds/words.ts";

interface Rules {
  /** The ticket that goes on takes over the highest priority. */
  readonly takesPriority: boolean;
  /** It takes over labels. */
  readonly takesLabels: boolean;
  /** A label that keeps a ticket out of merges; null: no such clause. */
  readonly heldBy: string | null;
  readonly code: string;
}

/** What a colleague changes meanwhile, by ticket. */
type Edits = ReadonlyMap<string, TicketEdit>;

export const MERGE: RequestKind = {
  name: "merge",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const chosen = random.fork("structure").shuffle(["priority", "labels", "held"]).slice(0, dials.clauses);
    const rules: Rules = {
      takesPriority: chosen.includes("priority"),
      takesLabels: chosen.includes("labels"),
      heldBy: chosen.includes("held") ? surface.pick(["do-not-merge", "legal-hold", "kept-apart"]) : null,
      code: surface.pick(["merged", "duplicates-merged", "joined"]),
    };
    const today = drawToday(surface);
    const desk = drawDesk(surface.fork("desk"));
    const { tickets, marks } = drawTickets(surface, dials, rules, today, desk);
    // The ticket that goes on is written only where it takes something over; else the edit is of the other one.
    const edit = rules.takesLabels
      ? ([marks.edited, { labels: [...marks.editedLabels, "callback"] }] as const)
      : ([marks.editedOther, { priority: "urgent" }] as const);
    const edits: Edits = new Map<string, TicketEdit>([
      ...(dials.faults >= 2 ? [edit] : []),
      ...(dials.faults >= 3 ? [[marks.solved, { status: "solved" }] as const] : []),
    ]);
    return {
      world: TICKETS,
      slug: "merge-duplicate-tickets",
      description: "Merge duplicate tickets under a policy that says which they are and what becomes of them.",
      service: surface.pick(DESKS),
      today,
      tables: {
        requesters: desk.requesters,
        agents: desk.agents,
        tickets,
        comments: drawComments(surface, tickets, desk),
        notes: [],
      },
      ask: "People write to us twice or three times about one and the same thing. Please go through all tickets and merge the duplicates, so that each matter has one ticket that is alive.",
      policy: policyOf(rules),
      wanted: wantedOf(tickets, rules, edits),
      faults: {
        edits: [...edits].map(([id, set]) => ({
          record: `tickets/${id}`,
          set: { ...set },
        })),
        losses: marks.lost.map((id) => ({ path: "/v1/notes", where: { subject: `tickets/${id}` } })),
      },
      main: "tickets",
      edges: marks.edges,
      edited: [...edits.keys()],
      isStaleWrong: rules.takesLabels && edits.size > 0,
      solve: solveOf(rules),
      flaws: flawsOf(rules),
    };
  },
};

/** Groups of duplicates and what looks like one, each spread over the pages. */
function drawTickets(
  random: Random,
  dials: RequestDials,
  rules: Rules,
  today: string,
  desk: ReturnType<typeof drawDesk>,
) {
  const spots = spotsOf<Partial<TicketRow>>(random.fork("spots"), dials.records);
  const numbers = random.fork("references").shuffle(Array.from({ length: 40 }, (_, index) => 7_100 + index * 13));
  const ticket = (group: number, days: number, more: Partial<TicketRow> = {}): Partial<TicketRow> => ({
    requester_id: desk.shuffled[group]?.id ?? "",
    reference: `ORD-${numbers[group]}`,
    subject: "About my order",
    status: "open",
    priority: "normal",
    labels: ["web"],
    opened_on: dayAfter(today, -days),
    ...more,
  });
  const day = (group: number): number => random.fork(`days-${group}`).integer(4, 9);
  // Two on the first page; the older one is not always the first in the list.
  const survivor0 = spots.first(ticket(0, day(0) + 5));
  spots.first(ticket(0, day(0), { priority: "high", labels: ["phone", "web"], status: "pending" }));
  const survivor1 = spots.first(ticket(1, day(1) + 9, { labels: [] }));
  spots.first(ticket(1, day(1), { labels: ["mobile"], priority: "urgent" }));
  spots.later(ticket(1, day(1) - 2, { labels: ["beta"] }));
  const survivor2 = spots.later(ticket(2, day(2) + 3, { priority: "low" }));
  spots.first(ticket(2, day(2), { labels: ["vip", "web"] }));
  // Opened on one day: the lower id goes on. Written otherwise: the same reference.
  const edges = [spots.later(ticket(3, 6)), spots.later(ticket(3, 6))];
  const spelled = [spots.later(ticket(4, 9)), spots.later(ticket(4, 3, { reference: ` ord-${numbers[4]} ` }))];
  const edited = spots.later(ticket(5, 12, { labels: ["beta"] }));
  const editedOther = spots.later(ticket(5, 4, { labels: ["vip"], priority: "high" }));
  // A third one that a colleague may solve meanwhile; it has nothing to hand over.
  spots.later(ticket(6, 11));
  spots.later(ticket(6, 8));
  const solved = spots.later(ticket(6, 2, { priority: "low", labels: [] }));
  // None of these is a duplicate.
  spots.first(ticket(0, 2, { requester_id: desk.shuffled[9]?.id ?? "" }));
  spots.later(ticket(2, 30, { status: "solved" }));
  spots.later(ticket(7, 8));
  spots.later(ticket(7, 3, { status: "solved" }));
  if (rules.heldBy !== null) {
    spots.first(ticket(0, day(0) + 12, { labels: [rules.heldBy, "web"] }));
    spots.later(ticket(8, 9));
    spots.later(ticket(8, 4, { labels: [rules.heldBy] }));
  }
  const tickets = Array.from({ length: dials.records }, (_, index) =>
    drawTicket(random.fork(`ticket-${index}`), index, today, desk, spots.at(index) ?? {}),
  );
  const idAt = (index: number): string => tickets[index]?.id ?? "";
  const lost = [idAt(survivor0), idAt(survivor2)];
  return {
    tickets,
    marks: {
      lost: random.fork("lost").float() < 0.5 ? lost : [idAt(survivor1), idAt(survivor2)],
      edges: [...edges, ...spelled].map(idAt),
      edited: idAt(edited),
      editedOther: idAt(editedOther),
      editedLabels: tickets[edited]?.labels ?? [],
      solved: idAt(solved),
    },
  };
}

function wantedOf(tickets: readonly TicketRow[], rules: Rules, edits: Edits): Wanted[] {
  const isLive = ({ status, labels }: TicketRow): boolean =>
    (status === "open" || status === "pending") && !(rules.heldBy !== null && labels.includes(rules.heldBy));
  const groups = new Map<string, TicketRow[]>();
  for (const ticket of tickets.filter(isLive)) {
    const key = `${ticket.requester_id} ${ticket.reference.trim().toUpperCase()}`;
    groups.set(key, [...(groups.get(key) ?? []), ticket]);
  }
  return [...groups.values()].flatMap((group): Wanted[] => {
    const [first, ...rest] = group.sort((a, b) => (`${a.opened_on} ${a.id}` < `${b.opened_on} ${b.id}` ? -1 : 1));
    if (first === undefined || rest.length === 0) return [];
    const now = (row: TicketRow): TicketRow => ({ ...row, ...edits.get(row.id) });
    const merged = rest.map(now).filter(isLive).sort(byId);
    const solved = rest.filter((row) => !isLive(now(row)));
    const survivor = now(first);
    const labels = [...survivor.labels];
    for (const label of merged.flatMap((row) => row.labels)) if (!labels.includes(label)) labels.push(label);
    const rank = Math.max(...[survivor, ...merged].map(({ priority }) => PRIORITIES.indexOf(priority)));
    const priority = PRIORITIES[rank] ?? "normal";
    const fields = {
      ...(rules.takesLabels && labels.length > first.labels.length ? { labels } : {}),
      ...(rules.takesPriority && priority !== first.priority ? { priority } : {}),
    };
    const about = first.id;
    return [
      ...merged.map((row) => ({
        table: "tickets",
        id: row.id,
        fields: { status: "merged", merged_into: first.id, ...edits.get(row.id) },
        about: row.id,
        aspect: "merges",
      })),
      ...solved.map((row) => ({
        table: "tickets",
        id: row.id,
        fields: { status: "solved" },
        about: row.id,
        aspect: "merges",
      })),
      ...(Object.keys(fields).length > 0
        ? [{ table: "tickets", id: first.id, fields, about, aspect: "survivors" }]
        : []),
      {
        table: "notes",
        id: null,
        fields: { subject: `tickets/${first.id}`, kind: "change", code: rules.code },
        about,
        aspect: "notes",
      },
    ];
  });
}

function byId(a: TicketRow, b: TicketRow): number {
  return a.id < b.id ? -1 : 1;
}

function policyOf({ takesPriority, takesLabels, heldBy, code }: Rules): readonly string[] {
  const takes = takesPriority || takesLabels;
  return [
    "Tickets are duplicates of each other when they have the same requester and the same reference, and each of them is `open` or `pending`. References are compared without regard to case and to spaces around them. Solved and merged tickets take no part.",
    "Of duplicates the one that was opened first goes on; of several opened on that day, the one with the lowest id. All others are merged into it.",
    ...(heldBy === null
      ? []
      : [`A ticket with the label \`${heldBy}\` is no duplicate of any other and is left alone.`]),
    ...(takes
      ? ["After the merges the ticket that goes on is brought up to date where that changes it, as follows."]
      : []),
    ...(takesPriority ? ["Its priority becomes the highest that it and the tickets merged into it have."] : []),
    ...(takesLabels
      ? [
          "Its labels stay, in their order, and those of the merged tickets are appended: ticket by ticket in the order of ids, label by label as they stand, and none twice.",
        ]
      : []),
    `At last one note is made about the ticket that goes on, of kind \`change\` with code \`${code}\`: one for all that was merged into it.`,
  ];
}

function solveOf({ takesPriority, takesLabels, heldBy, code }: Rules): string {
  return `
RANK = ["low", "normal", "high", "urgent"]


def is_live(row):
    return row["status"] in ("open", "pending") and ${heldBy === null ? "True" : `"${heldBy}" not in row["labels"]`}


groups = {}
for ticket in every("/v1/tickets"):
    if is_live(ticket):
        groups.setdefault((ticket["requester_id"], ticket["reference"].strip().upper()), []).append(ticket)
for group in groups.values():
    first, *rest = sorted(group, key=lambda row: (row["opened_on"], row["id"]))
    merged = []
    for other in sorted(rest, key=lambda row: row["id"]):
        gone = write("tickets/" + other["id"], lambda row: ("POST", "/merge", {"into": first["id"]}) if is_live(row) else None)
        if gone is not None:
            merged.append(gone)
    if not merged:
        continue

    def updated(row):
        labels = list(row["labels"])
        for other in merged:
            labels += [label for label in other["labels"] if label not in labels]
        priority = max([row["priority"], *(other["priority"] for other in merged)], key=RANK.index)
        fields = {}
        if ${takesLabels ? "True" : "False"} and labels != row["labels"]:
            fields["labels"] = labels
        if ${takesPriority ? "True" : "False"} and priority != row["priority"]:
            fields["priority"] = priority
        return ("PATCH", "", fields) if fields else None

    write("tickets/" + first["id"], updated)
    note("tickets/" + first["id"], "change", "${code}", "Merged: " + ", ".join(other["id"] for other in merged))
`;
}

function flawsOf({ heldBy }: Rules): readonly RuleFlaw[] {
  return [
    {
      name: "case-of-references",
      failsTier: "boundary",
      from: 'ticket["reference"].strip().upper()',
      to: 'ticket["reference"]',
    },
    { name: "any-requester", failsTier: "integration", from: '(ticket["requester_id"], ', to: '("", ' },
    {
      name: "newest-goes-on",
      failsTier: "unit",
      from: `(row["opened_on"], row["id"]))`,
      to: `(row["opened_on"], row["id"]), reverse=True)`,
    },
    ...(heldBy === null
      ? []
      : [
          {
            name: "merges-the-held",
            failsTier: "integration",
            from: `"${heldBy}" not in row["labels"]`,
            to: "True",
          } as const,
        ]),
  ];
}
