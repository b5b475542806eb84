"""The service starts with the configuration, where the runbook says, and finds its stock."""

from support import stock


class TestStart(stock.ServiceTestCase):
    def test_it_answers_on_its_port(self):
        self.assertIn(self.service.get("/health", host="127.0.0.1:8085")[0], (200, 403))

    def test_it_is_healthy_and_found_its_stock(self):
        status, body = self.service.get("/health", host="localhost:8085")
        self.assertEqual((status, body), (200, {"status": "ok", "items": len(self.service.items)}))

    def test_the_first_page_is_there(self):
        status, body = self.service.get("/api/v1/items")
        self.assertEqual(status, 200)
        self.assertEqual(body["page"], 1)
        self.assertTrue(body["items"])
