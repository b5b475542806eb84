"""Pages, order and single items, on stock the agent has not seen."""

from support import stock


class TestItems(stock.ServiceTestCase):
    def test_pages_hold_twenty_items(self):
        sizes = [len(self.service.get(f"/api/v1/items?page={page}")[1]["items"]) for page in (1, 2, 3)]
        self.assertEqual(sizes, [20, 20, 7])
        self.assertEqual(self.service.get("/api/v1/items")[1]["pages"], 3)

    def test_items_stand_in_order_of_name(self):
        pages = self.service.get("/api/v1/items")[1]["pages"]
        names = []
        for page in range(1, pages + 1):
            names += [item["name"] for item in self.service.get(f"/api/v1/items?page={page}")[1]["items"]]
        self.assertEqual(names, sorted(item["name"] for item in self.service.items))

    def test_a_single_item_is_found(self):
        wanted = self.service.items[5]
        self.assertEqual(self.service.get(f"/api/v1/items/{wanted['id']}"), (200, wanted))
