"""Pages, order and single items, on stock the agent has not seen."""

import unittest

from support import stock


class TestItems(unittest.TestCase):
    def test_pages_hold_twenty_items(self):
        with stock.Service() as service:
            sizes = [len(service.get(f"/api/v1/items?page={page}")[1]["items"]) for page in (1, 2, 3)]
            self.assertEqual(sizes, [20, 20, 7])
            self.assertEqual(service.get("/api/v1/items")[1]["pages"], 3)

    def test_items_stand_in_order_of_name(self):
        with stock.Service() as service:
            pages = service.get("/api/v1/items")[1]["pages"]
            names = []
            for page in range(1, pages + 1):
                names += [item["name"] for item in service.get(f"/api/v1/items?page={page}")[1]["items"]]
            self.assertEqual(names, sorted(item["name"] for item in service.items))

    def test_a_single_item_is_found(self):
        with stock.Service() as service:
            wanted = service.items[5]
            self.assertEqual(service.get(f"/api/v1/items/{wanted['id']}"), (200, wanted))
