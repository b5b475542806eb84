/** The databases that questions are asked of: one structure of four tables in the words of several trades. */
import type { Random } from "../../../src/core/random.ts";

/** Words by placeholder; `Qparents` and the like in SQL and prose are replaced by them. */
export type Words = Readonly<Record<string, string>>;

export interface World {
  readonly id: string;
  readonly words: Words;
  readonly regions: readonly string[];
  readonly kinds: readonly string[];
  readonly parentNames: readonly string[];
  readonly itemNames: readonly string[];
}

const people = ["Ada", "Bilal", "Chen", "Dora", "Émile", "Farah", "Goran", "Hilda", "Ivo", "Jun", "Kofi", "Lena"];

export const WORLDS: readonly World[] = [
  {
    id: "shop",
    words: words(
      "customers",
      "customer",
      "region",
      "products",
      "product",
      "category",
      "orders",
      "order",
      "placed_on",
      "order_lines",
      "new",
      "shipped",
      "cancelled",
    ),
    regions: ["north", "south", "coast"],
    kinds: ["tools", "paint", "garden"],
    parentNames: people,
    itemNames: ["hammer", "brush", "rake", "saw", "primer", "hose", "ladder", "roller"],
  },
  {
    id: "clinic",
    words: words(
      "patients",
      "patient",
      "district",
      "drugs",
      "drug",
      "class",
      "visits",
      "visit",
      "seen_on",
      "prescriptions",
      "planned",
      "held",
      "missed",
    ),
    regions: ["hill", "river", "old town"],
    kinds: ["antibiotic", "analgesic", "vaccine"],
    parentNames: people,
    itemNames: ["amoxil", "calmol", "fluvax", "dolor", "penvax", "tetrin", "relief", "boost"],
  },
  {
    id: "garage",
    words: words(
      "owners",
      "owner",
      "town",
      "parts",
      "part",
      "maker",
      "repairs",
      "repair",
      "done_on",
      "fittings",
      "booked",
      "finished",
      "refused",
    ),
    regions: ["Aston", "Brill", "Cove"],
    kinds: ["Bolt & Co", "Mekta", "Orvo"],
    parentNames: people,
    itemNames: ["belt", "filter", "pad", "plug", "valve", "hose", "wiper", "bulb"],
  },
  {
    id: "kitchen",
    words: words(
      "guests",
      "guest",
      "club",
      "dishes",
      "dish",
      "course",
      "bills",
      "bill",
      "served_on",
      "servings",
      "open",
      "paid",
      "dropped",
    ),
    regions: ["chess", "rowing", "choir"],
    kinds: ["starter", "main", "sweet"],
    parentNames: people,
    itemNames: ["soup", "salad", "stew", "pie", "curry", "tart", "sorbet", "bread"],
  },
];

function words(...given: readonly string[]): Words {
  const names = [
    "Qparents",
    "Qparent",
    "Qregion",
    "Qitems",
    "Qitem",
    "Qkind",
    "Qevents",
    "Qevent",
    "Qdate",
    "Qlines",
    "Qopen",
    "Qdone",
    "Qvoid",
  ];
  return Object.fromEntries(names.map((name, index) => [name, given[index] ?? ""]));
}

/** A text in the words of a world. */
export function said(text: string, { words: own, kinds }: World): string {
  return text.replaceAll(/Q[a-z]+/g, (word) => (word === "Qfirst" ? (kinds[0] ?? "") : (own[word] ?? word)));
}

export const SCHEMA = `CREATE TABLE Qparents (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  Qregion TEXT
);
CREATE TABLE Qitems (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  Qkind TEXT NOT NULL
);
CREATE TABLE Qevents (
  id INTEGER PRIMARY KEY,
  Qparent_id INTEGER NOT NULL REFERENCES Qparents (id),
  Qdate TEXT,
  status TEXT NOT NULL
);
CREATE TABLE Qlines (
  id INTEGER PRIMARY KEY,
  Qevent_id INTEGER NOT NULL REFERENCES Qevents (id),
  Qitem_id INTEGER REFERENCES Qitems (id),
  quantity INTEGER NOT NULL,
  price INTEGER NOT NULL
);
`;

export type Rows = readonly (readonly (string | number | null)[])[];

/** Rows by the tables of the structure. */
export interface Data {
  readonly parents: Rows;
  readonly items: Rows;
  readonly events: Rows;
  readonly lines: Rows;
}

/** The database that is given; larger with `size`, from 1. */
export function drawData(random: Random, world: World, size: number): Data {
  const first = Date.UTC(2024, random.integer(0, 11), random.integer(1, 20));
  const dayOf = (offset: number): string => new Date(first + offset * 86_400_000).toISOString().slice(0, 10);
  const statuses = ["Qopen", "Qdone", "Qdone", "Qvoid"].map((word) => said(word, world));
  const parents = random.shuffle(world.parentNames).slice(0, 5 + size);
  const items = random.shuffle(world.itemNames).slice(0, 4 + size);
  const events = 8 + 6 * size;
  return {
    parents: parents.map((name, index) => [index + 1, name, random.float() < 0.15 ? null : random.pick(world.regions)]),
    items: items.map((name, index) => [index + 1, name, random.pick(world.kinds)]),
    events: Array.from({ length: events }, (_, index) => [
      index + 1,
      random.integer(1, parents.length - 1),
      random.float() < 0.08 ? null : dayOf(random.integer(0, 6 + 3 * size)),
      random.pick(statuses),
    ]),
    lines: Array.from({ length: events * 2 }, (_, index) => [
      index + 1,
      random.integer(1, events),
      random.float() < 0.06 ? null : random.integer(1, items.length - 1),
      random.integer(1, 5),
      random.integer(1, 40) * 25,
    ]),
  };
}
