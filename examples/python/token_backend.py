"""The server half of an app without an API key: hands out short-lived access tokens.

    pip install whop-sdk
    WHOP_API_KEY=... WHOP_COMPANY_ID=biz_... python token_backend.py [--port 8400] [--base-url URL]

The key stays here. The app asks `POST /token`, as token_client.py does, and works with what it gets. A real server asks
first who is calling; this one serves its own machine only.
"""

from __future__ import annotations

import argparse
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from whop_sdk import Whop
from whop_sdk.core import ApiError
from whop_sdk.environment import WhopEnvironment

# What the client needs, and no more: a token without a list carries every permission of the key. `member:manage` is for
# log-in, which claims guest purchases; leave it out where nobody logs in.
SCOPES = [
    "checkout_configuration:create",
    "member:basic:read",
    "member:manage",
    "payment:basic:read",
    "plan:basic:read",
]


def make_handler(whop: Whop, company_id: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path != "/token":
                self.answer(404, {"error": "POST /token is all there is"})
                return
            try:
                token = whop.access_tokens.create(account_id=company_id, scoped_actions=SCOPES)
            except ApiError as error:
                self.answer(502, {"error": f"Whop answered {error.status_code}"})
            else:
                self.answer(200, {"token": token.token, "expires_at": token.expires_at.isoformat()})

        def answer(self, status: int, document: dict[str, str]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description="Hands out access tokens.")
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--base-url", default="https://api.whop.com", help="of the service")
    options = parser.parse_args()
    environment = WhopEnvironment(api=f"{options.base_url}/api/v1", vault=f"{options.base_url}/api/v1")
    whop = Whop(token=os.environ["WHOP_API_KEY"], environment=environment)
    handler = make_handler(whop, os.environ["WHOP_COMPANY_ID"])
    with ThreadingHTTPServer(("127.0.0.1", options.port), handler) as server:
        print(f"token backend on http://127.0.0.1:{server.server_port}/token", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
