"""A small HTTP service that lists the stock of a warehouse. RUNBOOK.md says how it is configured."""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

KEYS = {"listen", "data_file", "base_path", "page_size", "sort_by", "read_only", "allowed_hosts", "log_level"}
BODY_BYTES_MAX = 65_536


class Mistake(Exception):
    """Something in the configuration that the service cannot run with."""


def demand(condition, message):
    if not condition:
        raise Mistake(message)


def read_config(path):
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Mistake(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise Mistake(f"{path} is not JSON: {error}") from None
    demand(isinstance(config, dict), "the configuration must be one JSON object")
    for key in sorted(KEYS - set(config)):
        raise Mistake(f"{key} is missing")
    for key in sorted(set(config) - KEYS):
        raise Mistake(f"{key} is not a known key")
    listen = config["listen"]
    demand(isinstance(listen, dict) and set(listen) == {"host", "port"}, "listen must hold host and port, no other")
    demand(listen["host"] in ("127.0.0.1", "::1"), f"listen.host {listen['host']!r} is not a loopback address")
    demand(is_whole(listen["port"], 1024, 65_535), f"listen.port {listen['port']!r} is not a number from 1024 to 65535")
    demand(isinstance(config["data_file"], str) and config["data_file"] != "", "data_file must be a path")
    demand(not config["data_file"].startswith("/"), "data_file must be relative to the folder of the configuration")
    prefix = config["base_path"]
    demand(isinstance(prefix, str) and prefix.startswith("/"), f"base_path {prefix!r} must start with /")
    demand(not prefix.endswith("/"), f"base_path {prefix!r} must not end with /")
    demand(is_whole(config["page_size"], 1, 1000), "page_size must be a number from 1 to 1000")
    demand(config["sort_by"] in ("id", "name", "quantity"), f"sort_by {config['sort_by']!r} is not id, name or quantity")
    demand(isinstance(config["read_only"], bool), "read_only must be true or false")
    hosts = config["allowed_hosts"]
    demand(isinstance(hosts, list) and all(isinstance(host, str) for host in hosts), "allowed_hosts must be a list of names")
    demand(config["log_level"] in ("quiet", "normal", "verbose"), f"log_level {config['log_level']!r} is not known")
    return config


def is_whole(value, least, most):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read_stock(config, root):
    path = (Path(root) / config["data_file"]).resolve()
    demand(Path(root).resolve() in path.parents, "data_file must lie below the folder of the configuration")
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Mistake(f"data_file {config['data_file']!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Mistake(f"data_file {config['data_file']!r} is not JSON: {error}") from None
    return sorted(items, key=lambda item: item[config["sort_by"]])


class Handler(BaseHTTPRequestHandler):
    config = {}
    stock = []

    def do_GET(self):
        if not self.is_host_allowed():
            return self.answer(403, {"error": "host not allowed"})
        url = urlsplit(self.path)
        if url.path == "/health":
            return self.answer(200, {"status": "ok", "items": len(self.stock)})
        items_path = f"{self.config['base_path']}/items"
        if url.path == items_path:
            return self.answer_page(parse_qs(url.query).get("page", ["1"])[-1])
        if url.path.startswith(f"{items_path}/"):
            wanted = url.path[len(items_path) + 1 :]
            found = [item for item in self.stock if str(item["id"]) == wanted]
            return self.answer(200, found[0]) if found else self.answer(404, {"error": "no such item"})
        return self.answer(404, {"error": "no such path"})

    def do_POST(self):
        if not self.is_host_allowed():
            return self.answer(403, {"error": "host not allowed"})
        if self.path != f"{self.config['base_path']}/items":
            return self.answer(404, {"error": "no such path"})
        if self.config["read_only"]:
            return self.answer(405, {"error": "read only"})
        length = min(int(self.headers.get("Content-Length") or 0), BODY_BYTES_MAX)
        item = json.loads(self.rfile.read(length))
        self.stock.append(item)
        return self.answer(201, item)

    def is_host_allowed(self):
        name = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        return "*" in self.config["allowed_hosts"] or name in self.config["allowed_hosts"]

    def answer_page(self, text):
        size = self.config["page_size"]
        pages = max(1, -(-len(self.stock) // size))
        page = int(text) if text.isascii() and text.isdigit() else 0
        if not 1 <= page <= pages:
            return self.answer(404, {"error": "no such page"})
        items = self.stock[(page - 1) * size : page * size]
        return self.answer(200, {"page": page, "pages": pages, "items": items})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, pattern, *parts):
        if self.config["log_level"] == "verbose":
            super().log_message(pattern, *parts)


def main():
    parser = argparse.ArgumentParser(description="Lists the stock of a warehouse over HTTP.")
    parser.add_argument("--config", required=True)
    parser.add_argument("--root", help="folder that data_file is relative to; default: the folder of the configuration")
    parser.add_argument("--check", action="store_true", help="check the configuration and end")
    options = parser.parse_args()
    try:
        config = read_config(options.config)
        Handler.stock = read_stock(config, options.root or Path(options.config).resolve().parent)
    except Mistake as mistake:
        print(f"configuration: {mistake}", file=sys.stderr)
        return 2
    Handler.config = config
    if options.check:
        print("configuration: the service can start with it")
        return 0
    address = (config["listen"]["host"], config["listen"]["port"])
    with ThreadingHTTPServer(address, Handler) as server:
        if config["log_level"] != "quiet":
            print(f"listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
