/** Move the bookings of a room that closes to the rooms that the policy names, one after another. */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnRequest, RequestDials, RequestKind, RuleFlaw, Wanted } from "../request.ts";
import { spotsOf } from "../spots.ts";
import { BOOKINGS, type BookingRow, drawHouse, drawMeeting, HOUSES, type RoomRow } from "../worlds/bookings.ts";
import { dayAfter, drawToday } from "../worlds/words.ts";

interface Rules {
  /** The days on which the room is closed, both included. */
  readonly first: string;
  readonly last: string;
  /** Rooms of the same floor are asked first. */
  readonly isFloorFirst: boolean;
  /** Bookings of the board stay; their move is refused. */
  readonly isBoardLeft: boolean;
  /** What has no room is cancelled besides the note. */
  readonly isCancelled: boolean;
}

type House = ReturnType<typeof drawHouse>;
type Edits = ReadonlyMap<string, { readonly attendees?: number; readonly status?: string }>;

export const RESCHEDULE: RequestKind = {
  name: "reschedule",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const structure = random.fork("structure");
    const chosen = structure.shuffle(["floor", "board", "cancel"]).slice(0, dials.clauses);
    const today = drawToday(surface);
    const first = dayAfter(today, structure.integer(2, 9));
    const rules: Rules = {
      first,
      last: dayAfter(first, structure.integer(1, 2)),
      isFloorFirst: chosen.includes("floor"),
      isBoardLeft: chosen.includes("board"),
      isCancelled: chosen.includes("cancel"),
    };
    const house = drawHouse(surface.fork("house"));
    const closed = surface.pick(house.rooms.filter(({ seats }) => seats >= 10 && seats <= 16));
    const { bookings, marks } = drawBookings(surface, dials, rules, house, closed);
    const edits: Edits = new Map([
      ...(dials.faults >= 2 ? [[marks.edited, { attendees: 11 }] as const] : []),
      ...(dials.faults >= 3 ? [[marks.dropped, { status: "cancelled" }] as const] : []),
    ]);
    return {
      world: BOOKINGS,
      slug: `move-out-of-${closed.name.toLowerCase()}`,
      description: "Move the bookings of a room that is closed to other rooms under a policy.",
      service: surface.pick(HOUSES),
      today,
      tables: { rooms: house.rooms, people: house.people, bookings, notes: [] },
      ask: `The room ${closed.name} is being painted and closed from ${rules.first} to ${rules.last}, both days included. Please see to the bookings that we have there on those days: each should go on at its day and hours in another room.`,
      policy: policyOf(rules),
      wanted: wantedOf(bookings, house, closed, rules, edits),
      faults: {
        edits: [...edits].map(([id, set]) => ({ record: `bookings/${id}`, set: { ...set } })),
        losses: marks.lost.map((id) => ({ path: "/v1/notes", where: { subject: `bookings/${id}` } })),
      },
      main: "bookings",
      edges: marks.edges,
      edited: [...edits.keys()],
      isStaleWrong: dials.faults >= 3 || (dials.faults === 2 && !rules.isFloorFirst),
      solve: solveOf(closed.name, rules),
      flaws: flawsOf(rules),
    };
  },
};

function drawBookings(random: Random, dials: RequestDials, rules: Rules, house: House, closed: RoomRow) {
  const spots = spotsOf<Partial<BookingRow>>(random.fork("spots"), dials.records);
  const { first, last } = rules;
  const there = (
    day: string,
    start: number,
    attendees: number,
    more: Partial<BookingRow> = {},
  ): Partial<BookingRow> => ({
    room_id: closed.id,
    day,
    start_hour: start,
    end_hour: start + 1,
    attendees,
    needs: [],
    ...more,
  });
  const lostFirst = spots.first(there(first, 8, 3));
  spots.first(there(first, 9, 7, { end_hour: 11 }));
  spots.first(there(first, 15, 9, { status: "cancelled" }));
  const outside = spots.first(there(dayAfter(first, -1), 10, 5));
  spots.first(there(first, 16, 4, { needs: ["phone"] }));
  // The last day counts, the day after it does not; a room with just as many seats is large enough.
  const edges = [
    spots.later(there(last, 8, 8)),
    spots.later(there(last, 17, 4, { end_hour: 19 })),
    spots.later(there(first, 12, 6, { needs: ["screen"] })),
  ];
  spots.later(there(dayAfter(last, 1), 9, 6));
  const lostLater = spots.later(there(last, 10, 8, { needs: ["screen"] }));
  spots.later(there(last, 12, 40));
  const edited = spots.later(there(first, 13, 5));
  const dropped = spots.later(there(last, 14, 6));
  if (rules.isBoardLeft) {
    const board = house.people.find(({ team }) => team === "board")?.id ?? "";
    spots.first(there(first, 18, 6, { organiser_id: board }));
    spots.later(there(last, 15, 5, { organiser_id: board }));
  }
  const bookings: BookingRow[] = [];
  const others = house.rooms.filter(({ id }) => id !== closed.id);
  for (let index = 0; index < dials.records; index += 1) {
    const one = random.fork(`booking-${index}`);
    const row: BookingRow = {
      ...drawMeeting(one, house.people),
      room_id: one.pick(others).id,
      day: dayAfter(first, one.integer(-1, 3)),
      ...slotOf(one),
      ...spots.at(index),
      id: `B-${1001 + index}`,
    };
    // What would overlap was cancelled, as far as others are concerned.
    bookings.push(bookings.some((other) => overlaps(other, row)) ? { ...row, status: "cancelled" } : row);
  }
  const idAt = (index: number): string => bookings[index]?.id ?? "";
  return {
    bookings,
    marks: {
      lost: [idAt(lostFirst), idAt(lostLater)],
      edges: edges.map(idAt),
      outside: idAt(outside),
      edited: idAt(edited),
      dropped: idAt(dropped),
    },
  };
}

function slotOf(random: Random) {
  const start = random.integer(8, 17);
  return { start_hour: start, end_hour: start + random.integer(1, 2) };
}

function overlaps(a: BookingRow, b: BookingRow): boolean {
  const isSamePlace =
    a.room_id === b.room_id && a.day === b.day && a.status === "confirmed" && b.status === "confirmed";
  return isSamePlace && a.start_hour < b.end_hour && b.start_hour < a.end_hour;
}

function wantedOf(
  bookings: readonly BookingRow[],
  house: House,
  closed: RoomRow,
  rules: Rules,
  edits: Edits,
): Wanted[] {
  const board = new Set(house.people.filter(({ team }) => team === "board").map(({ id }) => id));
  const isMeant = ({ room_id, day, status }: BookingRow): boolean =>
    room_id === closed.id && status === "confirmed" && day >= rules.first && day <= rules.last;
  const order = ({ day, start_hour, id }: BookingRow): string => `${day} ${String(start_hour).padStart(2, "0")} ${id}`;
  const now = new Map(bookings.map((row) => [row.id, row]));
  const meant = bookings.filter(isMeant).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return meant.flatMap((given): Wanted[] => {
    const about = given.id;
    const change = (fields: Wanted["fields"]): Wanted => ({
      table: "bookings",
      id: about,
      fields,
      about,
      aspect: "moves",
    });
    const noted = (kind: string, code: string): Wanted => ({
      table: "notes",
      id: null,
      fields: { subject: `bookings/${about}`, kind, code },
      about,
      aspect: kind === "change" ? "notes" : "refusals",
    });
    if (rules.isBoardLeft && board.has(given.organiser_id)) return [noted("refusal", "board-stays")];
    const edit = edits.get(about) ?? {};
    const row: BookingRow = { ...given, ...edit };
    if (!isMeant(row)) return [change({ ...edit })];
    const fits = house.rooms.filter(
      ({ id, seats, features }) =>
        id !== closed.id &&
        seats >= row.attendees &&
        row.needs.every((need) => features.includes(need)) &&
        ![...now.values()].some((other) => other.id !== about && overlaps(other, { ...row, room_id: id })),
    );
    const near = ({ floor }: RoomRow): number => (rules.isFloorFirst && floor !== closed.floor ? 1 : 0);
    const [room] = fits.sort((a, b) => near(a) - near(b) || a.seats - b.seats || (a.id < b.id ? -1 : 1));
    if (room === undefined) {
      const cancelled = rules.isCancelled ? [change({ ...edit, status: "cancelled" })] : [];
      return [...cancelled, noted("escalation", "no-room")];
    }
    now.set(about, { ...row, room_id: room.id });
    return [change({ ...edit, room_id: room.id }), noted("change", "moved")];
  });
}

function policyOf({ isFloorFirst, isBoardLeft, isCancelled }: Rules): readonly string[] {
  return [
    "Only confirmed bookings are moved, and only their room changes: day, hours and all else stay.",
    "A room will do when it has at least as many seats as the booking has attendees, has every feature that the booking needs, is not the one that is closed, and is free for all hours of the booking. A booking that ends at the hour at which another begins does not stand in its way, and cancelled bookings take no room.",
    `Of the rooms that will do ${isFloorFirst ? "those on the floor of the closed room come first; among these, and where there is none among the others, " : ""}the one with the fewest seats is taken; of several with as many seats, the one with the lowest id.`,
    "For each booking that was moved one note is made about it, of kind `change` with code `moved`, after the move.",
    `Where no room will do, the booking ${isCancelled ? "is cancelled" : "stays as it is"} and one note is made about it, of kind \`escalation\` with code \`no-room\`.`,
    ...(isBoardLeft
      ? [
          "A booking whose organiser is of the team `board` is never moved or cancelled, room or no room: one note is made about it, of kind `refusal` with code `board-stays`, and none of any other kind.",
        ]
      : []),
  ];
}

function solveOf(name: string, { first, last, isFloorFirst, isBoardLeft, isCancelled }: Rules): string {
  return `
rooms = every("/v1/rooms")
closed = next(row for row in rooms if row["name"] == "${name}")
board = {row["id"] for row in every("/v1/people?team=board")}
bookings = {row["id"]: row for row in every("/v1/bookings")}


def is_meant(row):
    return row["room_id"] == closed["id"] and row["status"] == "confirmed" and "${first}" <= row["day"] <= "${last}"


def is_free(room, row):
    return not any(
        other["room_id"] == room["id"]
        and other["status"] == "confirmed"
        and other["day"] == row["day"]
        and other["start_hour"] < row["end_hour"]
        and row["start_hour"] < other["end_hour"]
        for other in bookings.values()
    )


def best_for(row):
    found = [
        room
        for room in rooms
        if room["id"] != closed["id"]
        and room["seats"] >= row["attendees"]
        and set(row["needs"]) <= set(room["features"])
        and is_free(room, row)
    ]
    found.sort(key=lambda room: (${isFloorFirst ? 'room["floor"] != closed["floor"]' : "0"}, room["seats"], room["id"]))
    return found[0] if found else None


def moved(row):
    room = best_for(row) if is_meant(row) else None
    return None if room is None else ("PATCH", "", {"room_id": room["id"]})


def without_room(row):
    return ("POST", "/cancel", {}) if is_meant(row) and best_for(row) is None else None


for booking in sorted(filter(is_meant, bookings.values()), key=lambda row: (row["day"], row["start_hour"], row["id"])):
    subject = "bookings/" + booking["id"]
    if ${isBoardLeft ? 'booking["organiser_id"] in board' : "False"}:
        note(subject, "refusal", "board-stays", "The board is not moved.")
        continue
    after = write(subject, moved)
    if after is not None:
        bookings[after["id"]] = after
        note(subject, "change", "moved", "Moved to " + after["room_id"])
        continue
    _, now = call("GET", "/v1/" + subject)
    if is_meant(now):
        ${isCancelled ? "write(subject, without_room)" : "pass"}
        note(subject, "escalation", "no-room", "No room will do.")
`;
}

function flawsOf({ first, last, isBoardLeft }: Rules): readonly RuleFlaw[] {
  return [
    {
      name: "last-day-left-out",
      failsTier: "boundary",
      from: `<= row["day"] <= "${last}"`,
      to: `<= row["day"] < "${last}"`,
    },
    { name: "largest-room", failsTier: "unit", from: `room["seats"], room["id"])`, to: `-room["seats"], room["id"])` },
    { name: "earlier-days-too", failsTier: "integration", from: `"${first}" <= row["day"]`, to: '"0" <= row["day"]' },
    ...(isBoardLeft
      ? [
          {
            name: "moves-the-board",
            failsTier: "integration",
            from: 'booking["organiser_id"] in board',
            to: "False",
          } as const,
        ]
      : []),
  ];
}
