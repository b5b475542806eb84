/** The back office of a shop: customers, products, orders and refunds. */
import type { Random } from "../../../../src/core/random.ts";
import type { Row, World } from "../request.ts";
import { dayAfter, PEOPLE } from "./words.ts";

const SERVER = `
def check_city(body):
    return text_of(body, "city", 60)


def lines_of(store, body):
    lines = body.get("lines")
    need(isinstance(lines, list) and 1 <= len(lines) <= 20, "lines must be a list of 1 to 20 lines")
    checked = []
    for line in lines:
        need(isinstance(line, dict), "a line must be an object")
        only(line, "product_id", "quantity", "unit_cents")
        product = store.find("products", text_of(line, "product_id", 40))
        quantity = count_of(line, "quantity", 1, 999)
        need(line.get("unit_cents") == product["price_cents"], f"unit_cents must be the present price, {product['price_cents']}")
        need(product["stock"] >= quantity, f"only {product['stock']} of {product['id']} are in stock", "no_stock")
        checked.append({"product_id": product["id"], "quantity": quantity, "unit_cents": product["price_cents"]})
    return checked


def create_order(store, body):
    only(body, "customer_id", "city", "lines", "labels")
    customer = store.find("customers", text_of(body, "customer_id", 40))
    return store.insert(
        "orders",
        customer_id=customer["id"],
        status="placed",
        placed_on=SETTINGS["today"],
        delivered_on=None,
        city=check_city(body),
        lines=lines_of(store, body),
        labels=labels_of(body),
    )


def cancel_order(store, row, body):
    only(body)
    need(row["status"] in ("placed", "packed"), f"an order that is {row['status']} cannot be cancelled", "wrong_state")
    return store.change("orders", row["id"], status="cancelled")


def create_refund(store, body):
    only(body, "order_id", "amount_cents", "reason")
    order = store.find("orders", text_of(body, "order_id", 40))
    need(order["status"] == "delivered", f"an order that is {order['status']} cannot be refunded", "wrong_state")
    reason = body.get("reason")
    need(re.fullmatch("[a-z0-9-]{1,40}", str(reason)), "reason must be a word of a-z, 0-9 and -")
    return store.insert("refunds", order_id=order["id"], amount_cents=count_of(body, "amount_cents"), reason=reason)


COLLECTIONS = {
    "customers": {"prefix": "C", "fields": ["name", "email", "tier"], "filters": ["name", "email", "tier"]},
    "products": {"prefix": "P", "json": ["tags"], "fields": ["title", "price_cents", "stock", "tags"], "filters": ["title"]},
    "orders": {
        "prefix": "O",
        "json": ["lines", "labels"],
        "fields": ["customer_id", "status", "placed_on", "delivered_on", "city", "lines", "labels"],
        "filters": ["customer_id", "status"],
        "create": create_order,
        "patch": {"labels": labels_of, "city": check_city},
        "actions": {"cancel": cancel_order},
    },
    "refunds": {
        "prefix": "R",
        "fields": ["order_id", "amount_cents", "reason"],
        "filters": ["order_id"],
        "create": create_refund,
    },
    "notes": NOTES,
}
NOTE_EXAMPLE = "orders/O-1001"
`;

const API = `| request | what it does |
|---|---|
| \`GET /v1/customers\`, \`/v1/customers/ID\` | fields \`name\`, \`email\`, \`tier\` (\`standard\` or \`gold\`); filters \`name\`, \`email\`, \`tier\` |
| \`GET /v1/products\`, \`/v1/products/ID\` | fields \`title\`, \`price_cents\`, \`stock\`, \`tags\`; filter \`title\` |
| \`GET /v1/orders\`, \`/v1/orders/ID\` | fields \`customer_id\`, \`status\` (\`placed\`, \`packed\`, \`shipped\`, \`delivered\`, \`cancelled\`), \`placed_on\`, \`delivered_on\`, \`city\`, \`lines\` (each \`product_id\`, \`quantity\`, \`unit_cents\` as sold), \`labels\`; filters \`customer_id\`, \`status\` |
| \`POST /v1/orders\` | creates; body \`customer_id\`, \`city\`, \`lines\` (\`unit_cents\` is the product's present price), \`labels\` |
| \`PATCH /v1/orders/ID\` | versioned; sets \`labels\` (the whole list) or \`city\` |
| \`POST /v1/orders/ID/cancel\` | versioned; body \`{}\`; of an order that is placed or packed |
| \`GET /v1/refunds\`, \`/v1/refunds/ID\` | fields \`order_id\`, \`amount_cents\`, \`reason\`; filter \`order_id\` |
| \`POST /v1/refunds\` | creates; body \`order_id\` of a delivered order, \`amount_cents\`, \`reason\` (a word) |`;

export const ORDERS: World = { name: "orders", noteExample: "orders/O-1001", server: SERVER, api: API };

const GOODS = [
  "Kettle",
  "Lamp",
  "Rucksack",
  "Teapot",
  "Blanket",
  "Notebook",
  "Umbrella",
  "Clock",
  "Vase",
  "Stool",
  "Mirror",
];
const MAKES = ["Alder", "Brook", "Cedar", "Dune", "Ember", "Fjord", "Grove", "Heath", "Islet", "Juniper"];
const CITIES = ["Aarhus", "Bergen", "Cork", "Delft", "Evora", "Ghent", "Lyon", "Parma", "Tartu", "Vigo"];

export const SHOPS = ["Marrow & Pine", "Northgate Goods", "The Tin Lantern", "Quayside Supply", "Hollow Oak Trading"];

/** Customers and products of a shop. */
export function drawShop(random: Random) {
  const names = random.fork("people").shuffle(PEOPLE);
  const customers = names.slice(0, 24).map((name, index): Row & { tier: string; name: string } => ({
    id: `C-${1001 + index}`,
    name,
    email: `${name.toLowerCase().replaceAll(/[^a-z]+/g, ".")}@example.org`,
    tier: index % 5 < 2 ? "gold" : "standard",
  }));
  const titles = random.fork("titles").shuffle(MAKES.flatMap((make) => GOODS.map((good) => `${make} ${good}`)));
  const products = titles.slice(0, 16).map((title, index) => {
    const one = random.fork(`product-${index}`);
    return {
      id: `P-${1001 + index}`,
      title,
      price_cents: one.integer(5, 180) * 100 + one.pick([0, 25, 50, 99]),
      stock: one.integer(0, 40),
    };
  });
  return { customers, products };
}

/** One order as it may stand on `today`; what the caller gives goes first. */
export function drawOrder(random: Random, index: number, today: string, given: Partial<OrderRow>): OrderRow {
  const status = given.status ?? random.pick(["placed", "packed", "shipped", "delivered", "delivered", "cancelled"]);
  const placed =
    given.placed_on ??
    dayAfter(today, -random.integer(status === "delivered" ? 30 : 0, status === "delivered" ? 70 : 20));
  const delivered = status === "delivered" ? dayAfter(today, -random.integer(0, 28)) : null;
  return {
    customer_id: "C-1001",
    city: random.pick(CITIES),
    lines: [],
    labels:
      random.float() < 0.5
        ? []
        : random.shuffle(["gift", "web", "phone", "priority", "repeat"]).slice(0, random.integer(1, 2)),
    ...given,
    id: `O-${1001 + index}`,
    status,
    placed_on: placed,
    delivered_on: given.delivered_on ?? delivered,
  };
}

interface Line {
  readonly product_id: string;
  readonly quantity: number;
  readonly unit_cents: number;
  readonly [field: string]: string | number;
}

export interface OrderRow {
  readonly id: string;
  readonly customer_id: string;
  readonly status: string;
  readonly placed_on: string;
  readonly delivered_on: string | null;
  readonly city: string;
  readonly lines: readonly Line[];
  readonly labels: readonly string[];
  readonly [field: string]: string | null | readonly string[] | readonly Line[];
}
