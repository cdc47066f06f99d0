"""A shop to ask, for the example only: `GET /orders/N` tells whether order N was shipped."""

import http.server
import json
import threading


class _Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        number = self.path.rpartition("/")[2]
        body = json.dumps({"order": number, "shipped": number.isdigit() and int(number) % 2 == 0}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def open_shop(port: int = 0) -> http.server.ThreadingHTTPServer:
    """A shop on the loopback, served by a thread of its own until its `shutdown`."""
    shop = http.server.ThreadingHTTPServer(("127.0.0.1", port), _Shop)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    return shop
