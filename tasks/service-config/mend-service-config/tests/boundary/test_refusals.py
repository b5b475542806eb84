"""What must be refused: writing, other hosts, paths and pages that are not there."""

from support import stock


class TestRefusals(stock.ServiceTestCase):
    def test_nothing_can_be_added(self):
        item = b'{"id": 1, "name": "intruder", "quantity": 1}'
        self.assertEqual(self.service.get("/api/v1/items", method="POST", body=item)[0], 405)
        self.assertEqual(self.service.get("/health")[1]["items"], len(self.service.items))

    def test_other_hosts_are_refused(self):
        for host in ("stock.example.org", "evil.example.com:8085", "*", ""):
            self.assertEqual(self.service.get("/health", host=host)[0], 403, host)
        for host in ("localhost", "127.0.0.1", "localhost:8085"):
            self.assertEqual(self.service.get("/health", host=host)[0], 200, host)

    def test_other_paths_and_pages_are_not_found(self):
        for path in ("/items", "/api/items", "/api/v1/items?page=4", "/api/v1/items?page=0", "/api/v1/items/0"):
            self.assertEqual(self.service.get(path)[0], 404, path)
