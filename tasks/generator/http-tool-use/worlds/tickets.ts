/** A support desk: requesters, agents, tickets and comments. */
import type { Random } from "../../../../src/core/random.ts";
import type { World } from "../request.ts";
import { dayAfter, PEOPLE } from "./words.ts";

const SERVER = `
STATES = ("open", "pending", "solved")
PRIORITIES = ("low", "normal", "high", "urgent")


def one_of(field, values):
    def check(body):
        need(body.get(field) in values, f"{field} must be one of {', '.join(values)}")
        return body[field]

    return check


def assignee_of(body):
    value = body.get("assignee_id")
    need(value is None or (isinstance(value, str) and store.find("agents", value)), "assignee_id must be an agent or null")
    return value


def not_merged(store, row, fields):
    need(row["status"] != "merged", "a ticket that was merged cannot be changed", "wrong_state")


def merge_ticket(store, row, body):
    only(body, "into")
    into = store.find("tickets", text_of(body, "into", 40))
    need(into["id"] != row["id"], "a ticket cannot be merged into itself")
    for ticket in (row, into):
        need(ticket["status"] in ("open", "pending"), f"{ticket['id']} is {ticket['status']} and takes no part in a merge", "wrong_state")
    return store.change("tickets", row["id"], status="merged", merged_into=into["id"])


def create_comment(store, body):
    only(body, "ticket_id", "author_id", "body")
    ticket = store.find("tickets", text_of(body, "ticket_id", 40))
    author = store.find("agents", text_of(body, "author_id", 40))
    return store.insert("comments", ticket_id=ticket["id"], author_id=author["id"], body=text_of(body, "body"))


COLLECTIONS = {
    "requesters": {"prefix": "Q", "fields": ["name", "email", "plan"], "filters": ["name", "email", "plan"]},
    "agents": {"prefix": "A", "fields": ["name", "team"], "filters": ["name", "team"]},
    "tickets": {
        "prefix": "T",
        "json": ["labels"],
        "fields": ["requester_id", "subject", "reference", "status", "priority", "labels", "assignee_id", "merged_into", "opened_on"],
        "filters": ["status", "priority", "assignee_id"],
        "patch": {
            "labels": labels_of,
            "status": one_of("status", STATES),
            "priority": one_of("priority", PRIORITIES),
            "assignee_id": assignee_of,
        },
        "guard": not_merged,
        "actions": {"merge": merge_ticket},
    },
    "comments": {"prefix": "K", "fields": ["ticket_id", "author_id", "body"], "filters": ["ticket_id"], "create": create_comment},
    "notes": NOTES,
}
NOTE_EXAMPLE = "tickets/T-1001"
`;

const API = `| request | what it does |
|---|---|
| \`GET /v1/requesters\`, \`/v1/requesters/ID\` | fields \`name\`, \`email\`, \`plan\` (\`free\`, \`team\` or \`enterprise\`); filters \`name\`, \`email\`, \`plan\` |
| \`GET /v1/agents\`, \`/v1/agents/ID\` | fields \`name\`, \`team\`; filters \`name\`, \`team\` |
| \`GET /v1/tickets\`, \`/v1/tickets/ID\` | fields \`requester_id\`, \`subject\`, \`reference\`, \`status\` (\`open\`, \`pending\`, \`solved\`, \`merged\`), \`priority\` (from the lowest: \`low\`, \`normal\`, \`high\`, \`urgent\`), \`labels\`, \`assignee_id\`, \`merged_into\`, \`opened_on\`; filters \`status\`, \`priority\`, \`assignee_id\` |
| \`PATCH /v1/tickets/ID\` | versioned; sets any of \`labels\` (the whole list), \`status\` (\`open\`, \`pending\` or \`solved\`), \`priority\`, \`assignee_id\` (an agent's id or null); not of a merged ticket |
| \`POST /v1/tickets/ID/merge\` | versioned; body \`into\`, the id of the ticket that goes on; both must be open or pending; this one becomes \`merged\` |
| \`GET /v1/comments\`, \`/v1/comments/ID\` | fields \`ticket_id\`, \`author_id\`, \`body\`; filter \`ticket_id\` |
| \`POST /v1/comments\` | creates; body \`ticket_id\`, \`author_id\` (an agent), \`body\` |`;

export const TICKETS: World = { name: "tickets", noteExample: "tickets/T-1001", server: SERVER, api: API };

export const DESKS = ["Halyard Hosting", "Pinewood Payroll", "Lumen Maps", "Teal Telecom", "Cobalt Cameras"];

const TROUBLES = [
  "Cannot sign in",
  "Wrong invoice",
  "Export is empty",
  "App closes at start",
  "Slow since Monday",
  "Lost a file",
];
const LABELS = ["web", "mobile", "beta", "phone", "vip", "follow-up"];
export const PRIORITIES = ["low", "normal", "high", "urgent"];

export interface TicketRow {
  readonly id: string;
  readonly requester_id: string;
  readonly subject: string;
  readonly reference: string;
  readonly status: string;
  readonly priority: string;
  readonly labels: readonly string[];
  readonly assignee_id: string | null;
  readonly merged_into: string | null;
  readonly opened_on: string;
  readonly [field: string]: string | null | readonly string[];
}

/** What a colleague changes of a ticket meanwhile. */
export interface TicketEdit {
  readonly labels?: readonly string[];
  readonly priority?: string;
  readonly status?: string;
}

/** Requesters, in an order of no meaning, and agents of a desk. */
export function drawDesk(random: Random) {
  const names = random.fork("people").shuffle(PEOPLE);
  const requesters = names.slice(0, 22).map((name, index) => ({
    id: `Q-${1001 + index}`,
    name,
    email: `${name.toLowerCase().replaceAll(/[^a-z]+/g, ".")}@example.org`,
    plan: ["free", "team", "enterprise"][index % 3] ?? "free",
  }));
  const agents = names
    .slice(22, 28)
    .map((name, index) => ({ id: `A-${1001 + index}`, name, team: index % 2 === 0 ? "blue" : "green" }));
  return { requesters, agents, shuffled: random.fork("requesters").shuffle(requesters) };
}

/** One ticket as it may stand on `today`; what the caller gives goes first. */
export function drawTicket(
  random: Random,
  index: number,
  today: string,
  desk: ReturnType<typeof drawDesk>,
  given: Partial<TicketRow>,
): TicketRow {
  return {
    requester_id: random.pick(desk.requesters).id,
    subject: random.pick(TROUBLES),
    reference: `REF-${20_000 + index * 7 + random.integer(0, 6)}`,
    status: random.pick(["open", "open", "pending", "solved"]),
    priority: random.pick(["low", "normal", "normal", "high"]),
    labels: random.shuffle(LABELS).slice(0, random.integer(0, 2)),
    assignee_id: random.float() < 0.6 ? random.pick(desk.agents).id : null,
    merged_into: null,
    opened_on: dayAfter(today, -random.integer(1, 40)),
    ...given,
    id: `T-${1001 + index}`,
  };
}

/** Comments on some of the tickets. */
export function drawComments(random: Random, tickets: readonly TicketRow[], desk: ReturnType<typeof drawDesk>) {
  return tickets
    .filter((_, index) => index % 4 === 1)
    .map(({ id }, index) => ({
      id: `K-${1001 + index}`,
      ticket_id: id,
      author_id: random.fork(`comment-${index}`).pick(desk.agents).id,
      body: random
        .fork(`comment-${index}`)
        .pick(["Asked for a screenshot.", "Called back.", "Sent to the second line."]),
    }));
}
