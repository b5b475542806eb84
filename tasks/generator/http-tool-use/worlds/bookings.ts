/** A house of meeting rooms: rooms, people and bookings. */
import type { Random } from "../../../../src/core/random.ts";
import type { World } from "../request.ts";
import { PEOPLE } from "./words.ts";

const SERVER = `
def room_of(body):
    return store.find("rooms", text_of(body, "room_id", 40))["id"]


def hour_of(field):
    return lambda body: count_of(body, field, 0, 24)


def day_of(body):
    value = body.get("day")
    need(re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", str(value)), "day must be YYYY-MM-DD")
    return value


def is_free(store, row, fields):
    after = {**row, **fields}
    need(row["status"] == "confirmed", "a cancelled booking cannot be changed", "wrong_state")
    need(after["start_hour"] < after["end_hour"], "end_hour must be after start_hour")
    for other in store.rows("bookings", "WHERE room_id = ? AND day = ? AND status = 'confirmed'", (after["room_id"], after["day"])):
        is_apart = other["end_hour"] <= after["start_hour"] or other["start_hour"] >= after["end_hour"]
        need(other["id"] == row["id"] or is_apart, f"the room is taken by {other['id']}", "taken")


def cancel_booking(store, row, body):
    only(body)
    need(row["status"] == "confirmed", "the booking is cancelled already", "wrong_state")
    return store.change("bookings", row["id"], status="cancelled")


COLLECTIONS = {
    "rooms": {"prefix": "M", "json": ["features"], "fields": ["name", "floor", "seats", "features"], "filters": ["name"]},
    "people": {"prefix": "U", "fields": ["name", "team"], "filters": ["name", "team"]},
    "bookings": {
        "prefix": "B",
        "json": ["needs"],
        "fields": ["room_id", "day", "start_hour", "end_hour", "attendees", "needs", "organiser_id", "title", "status"],
        "filters": ["organiser_id", "status"],
        "patch": {
            "room_id": room_of,
            "day": day_of,
            "start_hour": hour_of("start_hour"),
            "end_hour": hour_of("end_hour"),
            "attendees": lambda body: count_of(body, "attendees", 1, 1000),
        },
        "guard": is_free,
        "actions": {"cancel": cancel_booking},
    },
    "notes": NOTES,
}
NOTE_EXAMPLE = "bookings/B-1001"
`;

const API = `| request | what it does |
|---|---|
| \`GET /v1/rooms\`, \`/v1/rooms/ID\` | fields \`name\`, \`floor\`, \`seats\`, \`features\`; filter \`name\` |
| \`GET /v1/people\`, \`/v1/people/ID\` | fields \`name\`, \`team\`; filters \`name\`, \`team\` |
| \`GET /v1/bookings\`, \`/v1/bookings/ID\` | fields \`room_id\`, \`day\`, \`start_hour\` and \`end_hour\` (whole hours; the room is taken from the one up to the other, which is free again), \`attendees\`, \`needs\` (features), \`organiser_id\`, \`title\`, \`status\` (\`confirmed\` or \`cancelled\`); filters \`organiser_id\`, \`status\` |
| \`PATCH /v1/bookings/ID\` | versioned; sets any of \`room_id\`, \`day\`, \`start_hour\`, \`end_hour\`, \`attendees\` of a confirmed booking; 422 with error \`taken\` where another confirmed booking of that room overlaps |
| \`POST /v1/bookings/ID/cancel\` | versioned; body \`{}\`; of a confirmed booking |`;

export const BOOKINGS: World = { name: "bookings", noteExample: "bookings/B-1001", server: SERVER, api: API };

export const HOUSES = ["Harbour House", "The Old Mill", "Station Nine", "Larch Court", "Granary Works"];

const ROOMS = [
  "Basalt",
  "Chalk",
  "Dolomite",
  "Flint",
  "Gneiss",
  "Jasper",
  "Marble",
  "Opal",
  "Quartz",
  "Shale",
  "Slate",
  "Topaz",
];
const TITLES = ["Planning", "Review", "Interview", "Workshop", "Retrospective", "Budget", "Training", "Design talk"];

export interface RoomRow {
  readonly id: string;
  readonly name: string;
  readonly floor: number;
  readonly seats: number;
  readonly features: readonly string[];
  readonly [field: string]: string | number | readonly string[];
}

export interface BookingRow {
  readonly id: string;
  readonly room_id: string;
  readonly day: string;
  readonly start_hour: number;
  readonly end_hour: number;
  readonly attendees: number;
  readonly needs: readonly string[];
  readonly organiser_id: string;
  readonly title: string;
  readonly status: string;
  readonly [field: string]: string | number | readonly string[];
}

/** Rooms of all sizes, every feature with the larger ones, and people. */
export function drawHouse(random: Random) {
  const names = random.fork("rooms").shuffle(ROOMS);
  const seats = random.fork("seats").shuffle([4, 6, 8, 8, 10, 12, 12, 16, 20, 30]);
  const rooms = seats.map((count, index): RoomRow => {
    const one = random.fork(`room-${index}`);
    const features = ["screen", "phone", "board"].filter(() => count >= 12 || one.float() < 0.5);
    return { id: `M-${1001 + index}`, name: names[index] ?? "", floor: one.integer(1, 3), seats: count, features };
  });
  const people = random
    .fork("people")
    .shuffle(PEOPLE)
    .slice(0, 20)
    .map((name, index) => ({
      id: `U-${1001 + index}`,
      name,
      team: index % 5 === 0 ? "board" : (["sales", "lab"][index % 2] ?? ""),
    }));
  return { rooms, people };
}

/** What a booking is besides its place and time. */
export function drawMeeting(random: Random, people: readonly { readonly id: string; readonly team: string }[]) {
  const attendees = random.integer(2, 9);
  return {
    attendees,
    needs: random.float() < 0.4 ? [random.pick(["screen", "phone"])] : [],
    organiser_id: random.pick(people.filter(({ team }) => team !== "board")).id,
    title: random.pick(TITLES),
    status: "confirmed",
  };
}
