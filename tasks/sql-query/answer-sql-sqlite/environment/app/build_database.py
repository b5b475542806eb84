"""Makes the visible database: the same rows each time."""

import sqlite3
import sys

CUSTOMERS = [
    (1, "Ada", "Chile"),
    (2, "Bo", "Norway"),
    (3, "Cleo", "Chile"),
    (4, "Dag", "Norway"),
    (5, "Eve", "Kenya"),
    (6, "Finn", "Norway"),
]
PRODUCTS = [(1, "lamp", 4500), (2, "desk", 19900), (3, "chair", 8900), (4, "rug", 12000)]
ORDERS = [
    (1, 1, "2024-02-03", "paid"),
    (2, 1, "2024-05-21", "paid"),
    (3, 2, "2024-03-11", "paid"),
    (4, 3, "2023-12-30", "paid"),
    (5, 3, "2024-07-01", "cancelled"),
    (6, 3, "2024-07-02", "paid"),
    (7, 4, "2024-09-09", "paid"),
    (8, 5, "2024-10-10", "open"),
    (9, 6, "2025-01-02", "paid"),
    (10, 2, "2024-11-30", "paid"),
]
ITEMS = [
    (1, 1, 2, 0),
    (1, 3, 1, 500),
    (2, 2, 1, 0),
    (3, 2, 1, 900),
    (3, 1, 4, 0),
    (4, 4, 9, 0),
    (5, 2, 3, 0),
    (6, 4, 1, 1000),
    (7, 3, 2, 0),
    (8, 2, 5, 0),
    (9, 4, 5, 0),
    (10, 1, 1, 250),
]

schema, database = sys.argv[1:]
with sqlite3.connect(database) as connection, open(schema) as text:
    connection.executescript(text.read())
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", CUSTOMERS)
    connection.executemany("INSERT INTO products VALUES (?, ?, ?)", PRODUCTS)
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ORDERS)
    connection.executemany("INSERT INTO order_items VALUES (?, ?, ?, ?)", ITEMS)
