/** Refund what a customer request allows, of one faulty product: by age, tags, tier, labels and amount. */
import type { Random } from "../../../../src/core/random.ts";
import type { DrawnRequest, RequestDials, RequestKind, RuleFlaw, Wanted } from "../request.ts";
import { spotsOf } from "../spots.ts";
import { drawOrder, drawShop, ORDERS, type OrderRow, SHOPS } from "../worlds/orders.ts";
import { dayAfter, drawToday } from "../worlds/words.ts";

interface Rules {
  readonly days: number;
  /** Days more for gold customers; 0: no such clause. */
  readonly goldDays: number;
  /** Percent kept back from standard customers; 0: no such clause. */
  readonly feePercent: number;
  /** Above this amount no refund but an escalation; 0: no such clause. */
  readonly limitCents: number;
  readonly reason: string;
}

export const REFUND: RequestKind = {
  name: "refund",
  draw(random, dials): DrawnRequest {
    const surface = random.fork("surface");
    const shop = drawShop(surface.fork("shop"));
    const [product, other] = surface.fork("products").shuffle(shop.products);
    if (product === undefined || other === undefined) throw new RangeError("a shop has two products");
    const rules = drawRules(random, dials.clauses, product.price_cents);
    const today = drawToday(surface);
    const { orders, marks } = drawOrders(surface, { dials, rules, today, shop, product, other });
    const edits = [
      ...(dials.faults >= 2 ? [{ record: `orders/${marks.edited}`, set: { labels: ["web", "fragile"] } }] : []),
      ...(dials.faults >= 3 ? [{ record: `orders/${marks.barred}`, set: { labels: ["disputed", "web"] } }] : []),
    ];
    const edited = new Map(edits.map(({ record, set }) => [record.slice(7), set.labels]));
    return {
      world: ORDERS,
      slug: `refund-${rules.reason}`,
      description: "Refund what the policy lets one refund of a faulty product.",
      service: surface.pick(SHOPS),
      today,
      tables: {
        customers: shop.customers,
        products: shop.products.map((row) => ({ ...row, tags: [] })),
        orders,
        refunds: [{ id: "R-1001", order_id: marks.refunded, amount_cents: product.price_cents, reason: rules.reason }],
        notes: [],
      },
      ask: `A batch of our product "${product.title}" was faulty. Please refund everybody who got one and whom the policy lets us refund, for that product only and not for what else was in the order. Use the reason \`${rules.reason}\`.`,
      policy: policyOf(rules),
      wanted: wantedOf(orders, shop.customers, product.id, rules, today, edited),
      faults: { edits, losses: marks.lost.map((id) => ({ path: "/v1/refunds", where: { order_id: id } })) },
      main: "orders",
      edges: [
        marks.edge,
        ...(rules.goldDays > 0 ? [marks.goldEdge] : []),
        ...(rules.limitCents > 0 ? [marks.atLimit] : []),
      ],
      edited: [...edited.keys()],
      isStaleWrong: edits.length > 0,
      solve: solveOf(product.title, rules),
      flaws: flawsOf(rules),
    };
  },
};

function drawRules(random: Random, clauses: number, price: number): Rules {
  const structure = random.fork("structure");
  const chosen = structure.shuffle(["gold", "fee", "limit"]).slice(0, clauses);
  return {
    days: structure.pick([10, 12, 14]),
    goldDays: chosen.includes("gold") ? structure.pick([4, 6, 7]) : 0,
    feePercent: chosen.includes("fee") ? structure.pick([7, 12, 15]) : 0,
    limitCents: chosen.includes("limit") ? price * 3 : 0,
    reason: random.fork("reason").pick(["faulty-batch", "recall", "damaged-goods"]),
  };
}

interface Scene {
  readonly dials: RequestDials;
  readonly rules: Rules;
  readonly today: string;
  readonly shop: ReturnType<typeof drawShop>;
  readonly product: { readonly id: string; readonly price_cents: number };
  readonly other: { readonly id: string; readonly price_cents: number };
}

/** Orders of all sorts, among them what must occur, and which of them those are. */
function drawOrders(random: Random, { dials, rules, today, shop, product, other }: Scene) {
  const customers = random.fork("customers").shuffle(shop.customers);
  const customerOf = (tier: string, index: number): string =>
    customers.filter((customer) => customer.tier === tier)[index]?.id ?? "";
  const line = (quantity: number) => ({ product_id: product.id, quantity, unit_cents: product.price_cents });
  const otherLine = { product_id: other.id, quantity: 1, unit_cents: other.price_cents };
  const spots = spotsOf<Partial<OrderRow>>(random.fork("spots"), dials.records);
  const plain = (lines = [line(1)], tier = "standard", who = 0) => ({
    status: "delivered",
    delivered_on: dayAfter(today, -random.fork(`fresh-${who}`).integer(1, rules.days - 2)),
    labels: ["web"],
    lines,
    customer_id: customerOf(tier, who),
  });
  const edge = dayAfter(today, -rules.days);
  spots.first(plain([otherLine, line(1)]));
  const lostFirst = spots.first(plain([line(2)], "standard", 1));
  spots.first({ ...plain(), status: "shipped", delivered_on: null });
  spots.first(plain([line(9)], "gold", 2));
  spots.first({ ...plain(), delivered_on: dayAfter(edge, -1) });
  spots.first({ ...plain(), labels: ["disputed", "web"] });
  const lostLater = spots.later(plain([line(2), otherLine], "gold", 0));
  const atEdge = spots.later({ ...plain([line(1)], "standard", 2), delivered_on: edge });
  const edited = spots.later(plain([line(1)], "standard", 2));
  const goldEdge = spots.later({ ...plain([line(1)], "gold", 1), delivered_on: dayAfter(edge, -rules.goldDays) });
  spots.later({ ...plain([line(1)], "gold", 2), delivered_on: dayAfter(edge, -rules.goldDays - 1) });
  const atLimit = spots.later(plain([line(2), otherLine, line(1)], "standard", 1));
  const refunded = spots.later({ ...plain(), labels: ["refunded"] });
  const barred = spots.later(plain([line(1)], "standard", 3));
  spots.later(plain([line(2)], "standard", 4));
  const orders = Array.from({ length: dials.records }, (_, index) => {
    const one = random.fork(`order-${index}`);
    const lines = one.float() < 0.25 ? [line(one.integer(1, 4))] : [otherLine];
    return drawOrder(one, index, today, spots.at(index) ?? { lines, customer_id: one.pick(customers).id });
  });
  const idAt = (index: number): string => orders[index]?.id ?? "";
  const marks = {
    lost: [idAt(lostFirst), idAt(lostLater)],
    edge: idAt(atEdge),
    goldEdge: idAt(goldEdge),
    atLimit: idAt(atLimit),
    edited: idAt(edited),
    barred: idAt(barred),
    refunded: idAt(refunded),
  };
  return { orders, marks };
}

function flawsOf({ feePercent, limitCents }: Rules): readonly RuleFlaw[] {
  const fee = { name: "no-fee", failsTier: "integration", from: "amount -= amount * fee // 100", to: "pass" } as const;
  // An escalation that nobody called for is a note too many.
  const limit = {
    name: "escalates-at-the-limit",
    failsTier: "integration",
    from: "amount > limit",
    to: "amount >= limit",
  } as const;
  return [
    { name: "edge-day-left-out", failsTier: "boundary", from: "<= days", to: "< days" },
    { name: "refunds-the-disputed", failsTier: "integration", from: '"disputed" in row["labels"]', to: "False" },
    { name: "refunds-at-any-age", failsTier: "integration", from: "<= days", to: "<= 3650" },
    ...(feePercent > 0 ? [fee] : []),
    ...(limitCents > 0 ? [limit] : []),
  ];
}

function wantedOf(
  orders: readonly OrderRow[],
  customers: readonly { readonly id: string; readonly tier: string }[],
  productId: string,
  rules: Rules,
  today: string,
  edits: ReadonlyMap<string, readonly string[]>,
): Wanted[] {
  return orders.flatMap((order): Wanted[] => {
    const isGold = customers.some(({ id, tier }) => id === order.customer_id && tier === "gold");
    const bought = order.lines.filter(({ product_id }) => product_id === productId);
    const last = dayAfter(today, -(rules.days + (isGold ? rules.goldDays : 0)));
    if (order.status !== "delivered" || order.delivered_on === null || order.delivered_on < last || bought.length === 0)
      return [];
    if (order.labels.includes("disputed") || order.labels.includes("refunded")) return [];
    const full = bought.reduce((sum, { quantity, unit_cents }) => sum + quantity * unit_cents, 0);
    const amount = isGold ? full : full - Math.floor((full * rules.feePercent) / 100);
    const about = order.id;
    if (rules.limitCents > 0 && full > rules.limitCents) {
      return [
        {
          table: "notes",
          id: null,
          fields: { subject: `orders/${order.id}`, kind: "escalation", code: "over-limit" },
          about,
          aspect: "escalations",
        },
      ];
    }
    const labels = edits.get(order.id) ?? order.labels;
    if (labels.includes("disputed"))
      return [{ table: "orders", id: order.id, fields: { labels: [...labels] }, about, aspect: "labels" }];
    return [
      { table: "orders", id: order.id, fields: { labels: [...labels, "refunded"] }, about, aspect: "labels" },
      {
        table: "refunds",
        id: null,
        fields: { order_id: order.id, amount_cents: amount, reason: rules.reason },
        about,
        aspect: "refunds",
      },
    ];
  });
}

function policyOf({ days, goldDays, feePercent, limitCents }: Rules): readonly string[] {
  return [
    `An order can be refunded when its status is \`delivered\` and it was delivered at most ${days} days before the business date; an order delivered exactly ${days} days before it still can.`,
    ...(goldDays > 0
      ? [
          `For customers of tier \`gold\` that time is ${goldDays} days longer: ${days + goldDays} days, the last day included.`,
        ]
      : []),
    "An order with the label `disputed` or the label `refunded` is never refunded.",
    "The amount is what the customer paid for the product in that order: the quantity times the price as sold, of all its lines with that product.",
    ...(feePercent > 0
      ? [
          `From customers of tier \`standard\` a fee of ${feePercent} % of that amount is kept back; the fee is rounded down to whole cents. Customers of tier \`gold\` pay no fee.`,
        ]
      : []),
    ...(limitCents > 0
      ? [
          `An order for which that amount${feePercent > 0 ? ", before any fee," : ""} is more than ${limitCents} cents is not refunded here and not labelled: make one note about the order instead, of kind \`escalation\` with code \`over-limit\`. This goes only for orders that could be refunded otherwise.`,
        ]
      : []),
    "Claim before you pay: first append the label `refunded` to the order's labels, which stay as they are otherwise and in their order, then make one refund. If the order turns out to have changed, read it again and judge it anew.",
  ];
}

function solveOf(title: string, { days, goldDays, feePercent, limitCents, reason }: Rules): string {
  return `
product = next(row["id"] for row in every("/v1/products") if row["title"] == "${title}")
gold = {row["id"] for row in every("/v1/customers") if row["tier"] == "gold"}


def paid(row):
    return sum(line["quantity"] * line["unit_cents"] for line in row["lines"] if line["product_id"] == product)


def can_be_refunded(row):
    days = ${days} + (${goldDays} if row["customer_id"] in gold else 0)
    if row["status"] != "delivered" or paid(row) == 0:
        return False
    if "disputed" in row["labels"] or "refunded" in row["labels"]:
        return False
    return (date.fromisoformat(TODAY) - date.fromisoformat(row["delivered_on"])).days <= days


def claim(row):
    if not can_be_refunded(row):
        return None
    return "PATCH", "", {"labels": row["labels"] + ["refunded"]}


for order in every("/v1/orders"):
    if not can_be_refunded(order):
        continue
    amount, fee, limit = paid(order), 0 if order["customer_id"] in gold else ${feePercent}, ${limitCents > 0 ? limitCents : 10 ** 12}
    if amount > limit:
        note("orders/" + order["id"], "escalation", "over-limit", "More than the desk may refund.")
        continue
    amount -= amount * fee // 100
    if write("orders/" + order["id"], claim) is not None:
        make("/v1/refunds", {"order_id": order["id"], "amount_cents": amount, "reason": "${reason}"})
`;
}
