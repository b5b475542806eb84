/** Cancel orders of a product that is no longer made and create them anew with its successor, as far as one may. */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnRequest, RequestDials, RequestKind, RuleFlaw, Wanted } from "../request.ts";
import { spotsOf } from "../spots.ts";
import { drawOrder, drawShop, ORDERS, type OrderRow, SHOPS } from "../worlds/orders.ts";
import { drawToday } from "../worlds/words.ts";

interface Product {
  readonly id: string;
  readonly title: string;
  readonly price_cents: number;
  readonly stock: number;
}

interface Rules {
  /** Orders with this label are not replaced; null: no such clause. */
  readonly keptBy: string | null;
  /** Orders of more pieces than this go to a person; 0: no such clause. */
  readonly piecesMax: number;
  /** Packed orders are not replaced either. */
  readonly isPackedLeft: boolean;
}

interface Scene {
  readonly rules: Rules;
  readonly old: Product;
  readonly next: Product;
  readonly other: Product;
  readonly today: string;
}

type Edits = ReadonlyMap<string, { readonly status?: string; readonly city?: string }>;

export const REPLACE: RequestKind = {
  name: "replace",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const structure = random.fork("structure");
    const chosen = structure.shuffle(["kept", "pieces", "packed"]).slice(0, dials.clauses);
    const rules: Rules = {
      keptBy: chosen.includes("kept") ? surface.pick(["do-not-touch", "engraved", "personal"]) : null,
      piecesMax: chosen.includes("pieces") ? structure.pick([5, 6, 7]) : 0,
      isPackedLeft: chosen.includes("packed"),
    };
    const shop = drawShop(surface.fork("shop"));
    const [old, drawnNext, drawnOther] = surface.fork("products").shuffle(shop.products);
    if (old === undefined || drawnNext === undefined || drawnOther === undefined) throw new RangeError("no products");
    const next = { ...drawnNext, stock: structure.integer(3, 4) };
    const other = { ...drawnOther, stock: 30 };
    const today = drawToday(surface);
    const scene: Scene = { rules, old, next, other, today };
    const customers = surface
      .fork("customers")
      .shuffle(shop.customers)
      .map(({ id }) => id);
    const { orders, marks } = drawOrders(surface, dials, scene, customers);
    const edits: Edits = new Map([
      ...(dials.faults >= 2 ? [[marks.edited, { city: "Turku" }] as const] : []),
      ...(dials.faults >= 3 ? [[marks.shipped, { status: "shipped" }] as const] : []),
    ]);
    const changed = new Map([next, other].map((product) => [product.id, product]));
    return {
      world: ORDERS,
      slug: "cancel-and-create-anew",
      description: "Replace a product in orders that are not under way: cancel and create anew under a policy.",
      service: surface.pick(SHOPS),
      today,
      tables: {
        customers: shop.customers,
        products: shop.products.map((row) => ({ ...(changed.get(row.id) ?? row), tags: [] })),
        orders,
        refunds: [],
        notes: [],
      },
      ask: `"${old.title}" is no longer made, and "${next.title}" takes its place. All customers who have the old one on order have agreed. Please replace it in every order that asks for it and is neither delivered nor cancelled.`,
      policy: policyOf(rules),
      wanted: wantedOf(orders, scene, edits),
      faults: {
        edits: [...edits].map(([id, set]) => ({ record: `orders/${id}`, set: { ...set } })),
        losses: marks.lost.map((id) => ({ path: "/v1/orders", where: { labels: newLabels(orders, id) } })),
      },
      main: "orders",
      edges: marks.edges,
      edited: [...edits.keys()],
      isStaleWrong: edits.size > 0 && dials.faults >= 3,
      solve: solveOf(scene),
      flaws: flawsOf(rules),
    };
  },
};

function labelOf(id: string): string {
  return `instead-of-${id.toLowerCase()}`;
}

function newLabels(orders: readonly OrderRow[], id: string): readonly string[] {
  return [...(orders.find((order) => order.id === id)?.labels ?? []), labelOf(id)];
}

function drawOrders(random: Random, dials: RequestDials, scene: Scene, customers: readonly string[]) {
  const { rules, old, next, other, today } = scene;
  const spots = spotsOf<Partial<OrderRow>>(random.fork("spots"), dials.records);
  const line = (product: Product, quantity: number) => ({
    product_id: product.id,
    quantity,
    unit_cents: product.price_cents - 50,
  });
  let count = 0;
  const order = (quantity: number, more: Partial<OrderRow> = {}): Partial<OrderRow> => {
    count += 1;
    return {
      customer_id: customers[count % 9] ?? "",
      status: "placed",
      labels: ["web"],
      lines: [line(old, quantity)],
      ...more,
    };
  };
  spots.first(order(1));
  const lostFirst = spots.first(order(2, { lines: [line(other, 2), line(old, 2)], labels: ["gift", "phone"] }));
  spots.first(order(1, { status: "shipped" }));
  spots.first(order(1, { status: "delivered" }));
  spots.first(order(3, { status: "packed", labels: [] }));
  spots.later(order(2, { status: "shipped" }));
  spots.later(order(1, { status: "cancelled" }));
  const lostLater = spots.later(order(3));
  const edges = [spots.later(order(next.stock)), spots.later(order(next.stock + 1))];
  if (rules.piecesMax > 0) {
    const pieces = (count: number) => order(2, { lines: [line(old, 2), line(other, count - 2)] });
    edges.push(spots.later(pieces(rules.piecesMax)), spots.later(pieces(rules.piecesMax + 1)));
  }
  spots.later(order(1, { lines: [line(other, 1), line(old, 1), line(other, 2)] }));
  const edited = spots.later(order(2));
  const shipped = spots.later(order(1));
  if (rules.keptBy !== null) {
    spots.first(order(1, { labels: [rules.keptBy] }));
    spots.later(order(2, { labels: ["web", rules.keptBy], status: "packed" }));
  }
  const orders = Array.from({ length: dials.records }, (_, index) => {
    const one = random.fork(`order-${index}`);
    const given = spots.at(index) ?? { lines: [line(other, one.integer(1, 3))], customer_id: one.pick(customers) };
    return drawOrder(one, index, today, given);
  });
  const idAt = (index: number): string => orders[index]?.id ?? "";
  return {
    orders,
    marks: {
      lost: [idAt(lostFirst), idAt(lostLater)],
      edges: edges.map(idAt),
      edited: idAt(edited),
      shipped: idAt(shipped),
    },
  };
}

/** Why an order is not replaced; null where it is. In the order of the policy. */
function refusalOf({ status, labels, lines }: OrderRow, { rules, old, next }: Scene): readonly [string, string] | null {
  const pieces = lines.reduce((sum, { quantity }) => sum + quantity, 0);
  const wanted = lines
    .filter(({ product_id }) => product_id === old.id)
    .reduce((sum, { quantity }) => sum + quantity, 0);
  if (status === "shipped") return ["refusal", "under-way"];
  if (rules.isPackedLeft && status === "packed") return ["refusal", "packed"];
  if (rules.keptBy !== null && labels.includes(rules.keptBy)) return ["refusal", "kept"];
  if (rules.piecesMax > 0 && pieces > rules.piecesMax) return ["escalation", "too-large"];
  return wanted > next.stock ? ["refusal", "no-stock"] : null;
}

function wantedOf(orders: readonly OrderRow[], scene: Scene, edits: Edits): Wanted[] {
  const { old, next, other, today } = scene;
  const asked = orders.filter(
    ({ status, lines }) =>
      ["placed", "packed", "shipped"].includes(status) && lines.some(({ product_id }) => product_id === old.id),
  );
  return asked.flatMap((given): Wanted[] => {
    const about = given.id;
    const noted = ([kind, code]: readonly [string, string]): Wanted => ({
      table: "notes",
      id: null,
      fields: { subject: `orders/${about}`, kind, code },
      about,
      aspect: "refusals",
    });
    const before = refusalOf(given, scene);
    if (before !== null) return [noted(before)];
    const edit = edits.get(about) ?? {};
    const row: OrderRow = { ...given, ...edit };
    const change = (fields: Wanted["fields"]): Wanted => ({
      table: "orders",
      id: about,
      fields,
      about,
      aspect: "cancellations",
    });
    const after = refusalOf(row, scene);
    if (after !== null) return [change({ ...edit }), noted(after)];
    const lines = row.lines.map(({ product_id, quantity }) => {
      const product = product_id === old.id ? next : other;
      return { product_id: product.id, quantity, unit_cents: product.price_cents };
    });
    const fields = {
      customer_id: row.customer_id,
      status: "placed",
      placed_on: today,
      delivered_on: null,
      city: row.city,
      lines,
      labels: [...row.labels, labelOf(about)],
    };
    return [
      change({ ...edit, status: "cancelled" }),
      { table: "orders", id: null, fields, about, aspect: "new-orders" },
    ];
  });
}

function policyOf({ keptBy, piecesMax, isPackedLeft }: Rules): readonly string[] {
  const reasons = [
    "its status is `shipped`: a note of kind `refusal` with code `under-way`",
    ...(isPackedLeft ? ["its status is `packed`: a note of kind `refusal` with code `packed`"] : []),
    ...(keptBy === null ? [] : [`it has the label \`${keptBy}\`: a note of kind \`refusal\` with code \`kept\``]),
    ...(piecesMax > 0
      ? [
          `it has more than ${piecesMax} pieces, which is the sum of the quantities of all its lines: a note of kind \`escalation\` with code \`too-large\``,
        ]
      : []),
    "the stock of the successor is less than the quantity that the order has of the old product: a note of kind `refusal` with code `no-stock`. Stock is what the product's record says; orders that are made do not lower it",
  ];
  return [
    "An order is never edited to hold other goods. It is cancelled first, and then created anew for the same customer.",
    "The new order goes to the city of the old one as it is when it is cancelled. It has the same lines in the same order with the same quantities, with the successor in place of the old product, and all of them at the present prices.",
    "It has the labels of the old order, in their order, and as its last one `instead-of-` and the id of the old order in lower case, such as `instead-of-o-1001`.",
    `An order that asks for the old product and is neither delivered nor cancelled is not replaced, and stays as it is, when one of these holds; then one note is made about it, as the first that holds says:\n${reasons.map((reason) => `   - ${reason}`).join(";\n")}.`,
    "No note is made about an order that is replaced, and none about the new one.",
  ];
}

function solveOf({ old, next, rules }: Scene): string {
  const { keptBy, piecesMax, isPackedLeft } = rules;
  return `
products = {row["id"]: row for row in every("/v1/products")}
old = next(row for row in products.values() if row["title"] == "${old.title}")
new = next(row for row in products.values() if row["title"] == "${next.title}")


def asks(row):
    return row["status"] in ("placed", "packed", "shipped") and any(line["product_id"] == old["id"] for line in row["lines"])


def refusal(row):
    if row["status"] == "shipped":
        return "refusal", "under-way"
    if ${isPackedLeft ? 'row["status"] == "packed"' : "False"}:
        return "refusal", "packed"
    if ${keptBy === null ? "False" : `"${keptBy}" in row["labels"]`}:
        return "refusal", "kept"
    if ${piecesMax > 0 ? `sum(line["quantity"] for line in row["lines"]) > ${piecesMax}` : "False"}:
        return "escalation", "too-large"
    wanted = sum(line["quantity"] for line in row["lines"] if line["product_id"] == old["id"])
    return ("refusal", "no-stock") if wanted > new["stock"] else None


def cancelled(row):
    return None if not asks(row) or refusal(row) else ("POST", "/cancel", {})


for order in every("/v1/orders"):
    if not asks(order):
        continue
    gone = write("orders/" + order["id"], cancelled)
    if gone is None:
        _, now = call("GET", "/v1/orders/" + order["id"])
        if asks(now):
            note("orders/" + order["id"], *refusal(now), "It could not be replaced.")
        continue
    lines = []
    for line in gone["lines"]:
        product = new if line["product_id"] == old["id"] else products[line["product_id"]]
        lines.append({"product_id": product["id"], "quantity": line["quantity"], "unit_cents": product["price_cents"]})
    labels = gone["labels"] + ["instead-of-" + gone["id"].lower()]
    make("/v1/orders", {"customer_id": gone["customer_id"], "city": gone["city"], "lines": lines, "labels": labels})
`;
}

function flawsOf({ keptBy, piecesMax }: Rules): readonly RuleFlaw[] {
  return [
    {
      name: "last-piece-kept-back",
      failsTier: "integration",
      from: 'wanted > new["stock"]',
      to: 'wanted >= new["stock"]',
    },
    {
      name: "shipped-in-silence",
      failsTier: "unit",
      from: '("placed", "packed", "shipped")',
      to: '("placed", "packed")',
    },
    { name: "labels-forgotten", failsTier: "integration", from: 'labels = gone["labels"] + [', to: "labels = [" },
    ...(keptBy === null
      ? []
      : [
          {
            name: "replaces-the-kept",
            failsTier: "integration",
            from: `"${keptBy}" in row["labels"]`,
            to: "False",
          } as const,
        ]),
    ...(piecesMax > 0
      ? [
          {
            name: "largest-allowed-escalated",
            failsTier: "integration",
            from: `> ${piecesMax}:`,
            to: `>= ${piecesMax}:`,
          } as const,
        ]
      : []),
  ];
}
