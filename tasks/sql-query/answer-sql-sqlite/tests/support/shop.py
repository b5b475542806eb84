"""Trusted data sets, the true answer computed in Python, and a reader that runs the agent's query and nothing else."""

import sqlite3

from sandlot_subject import artifacts

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price_cents INTEGER NOT NULL);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  placed_on TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'paid', 'cancelled'))
);
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity INTEGER NOT NULL,
  discount_cents INTEGER
);
"""
COLUMNS = ["country", "revenue_cents", "order_count", "best_customer"]
QUERY_BYTES_MAX = 65_536
ROWS_MAX = 10_000
# Virtual-machine instructions a query may take: far above what a plain query over the largest data set needs.
INSTRUCTIONS_MAX = 400_000_000
# Functions of SQLite that reach beyond the data.
REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


class QueryRefused(AssertionError):
    """The query did something other than read the data."""


def query_text():
    path = artifacts / "app" / "query.sql"
    if not path.is_file():
        raise AssertionError("/app/query.sql was not made")
    data = path.read_bytes()
    if len(data) > QUERY_BYTES_MAX:
        raise AssertionError(f"/app/query.sql is over {QUERY_BYTES_MAX} bytes")
    return data.decode("utf-8")


def run_query(data):
    """Column names and rows of the agent's query on a fresh database that it can only read."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        for table, rows in data.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.commit()
        connection.set_authorizer(authorise)
        connection.set_progress_handler(Countdown(INSTRUCTIONS_MAX // 10_000), 10_000)
        cursor = connection.execute(query_text())
        if cursor.description is None:
            raise QueryRefused("/app/query.sql is not a query")
        rows = cursor.fetchmany(ROWS_MAX + 1)
        if len(rows) > ROWS_MAX:
            raise QueryRefused(f"/app/query.sql returned over {ROWS_MAX} rows")
        return [column[0] for column in cursor.description], rows
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise AssertionError(f"/app/query.sql failed: {error}") from None
    finally:
        connection.close()


class Countdown:
    def __init__(self, left):
        self.left = left

    def __call__(self):
        self.left -= 1
        return 1 if self.left < 0 else 0


def authorise(action, first, second, _database, _trigger):
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second not in REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def true_answer(data):
    customers = {row[0]: row for row in data["customers"]}
    prices = {row[0]: row[2] for row in data["products"]}
    orders = {row[0]: row for row in data["orders"]}
    revenue, seen, by_customer = {}, {}, {}
    for order_id, product_id, quantity, discount in data["order_items"]:
        _, customer_id, placed_on, status = orders[order_id]
        if status != "paid" or not "2024-01-01" <= placed_on <= "2024-12-31":
            continue
        country = customers[customer_id][2]
        country = "unknown" if country is None else country
        amount = quantity * prices[product_id] - (discount or 0)
        revenue[country] = revenue.get(country, 0) + amount
        seen.setdefault(country, set()).add(order_id)
        spent = by_customer.setdefault(country, {})
        spent[customer_id] = spent.get(customer_id, 0) + amount
    rows = []
    for country, total in revenue.items():
        best = min(by_customer[country].items(), key=lambda pair: (-pair[1], pair[0]))[0]
        rows.append((country, total, len(seen[country]), customers[best][1]))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def generated(draw, customers=12, orders=60, items=150, nulls=False):
    """A data set from a `random.Random`; names and countries are drawn anew each time."""
    countries = draw.sample(["Chile", "Norway", "Kenya", "Japan", "Fiji", "Peru", "Malta", "Oman"], 5)
    names = ["Ada", "Bo", "Cleo", "Dag", "Eve", "Finn", "Gus", "Hana"]
    people = [
        (number, draw.choice(names), None if nulls and draw.random() < 0.25 else draw.choice(countries))
        for number in draw.sample(range(1, 10 * customers), customers)
    ]
    products = [(number, f"thing {number}", draw.randint(100, 9_000)) for number in range(1, 9)]
    placed = [
        (
            number,
            draw.choice(people)[0],
            f"{draw.choice([2023, 2024, 2024, 2024, 2025])}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
            draw.choice(["paid", "paid", "paid", "open", "cancelled"]),
        )
        for number in range(1, orders + 1)
    ]
    lines = [
        (
            draw.randint(1, orders),
            draw.randint(1, 8),
            draw.randint(1, 5),
            None if nulls and draw.random() < 0.3 else draw.randint(0, 90),
        )
        for _ in range(items)
    ]
    return {"customers": people, "products": products, "orders": placed, "order_items": lines}
