"""The app half: a client that holds no key and fetches access tokens from token_backend.py when it needs them.

python token_client.py biz_... [--backend http://127.0.0.1:8400/token] [--base-url URL]
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any
from urllib.request import Request, urlopen

import kassa


def fetch_token(url: str) -> dict[str, Any]:
    with urlopen(Request(url, method="POST"), timeout=10) as answer:
        reply: dict[str, Any] = json.load(answer)
        return reply


async def main() -> None:
    parser = argparse.ArgumentParser(description="Lists plans and memberships with an access token.")
    parser.add_argument("company_id")
    parser.add_argument("--backend", default="http://127.0.0.1:8400/token")
    parser.add_argument("--base-url", default="https://api.whop.com")
    options = parser.parse_args()

    async with kassa.AsyncClient(storage=":memory:") as client:

        @client.on_request("auth/access_token")
        async def token(request: kassa.Request) -> dict[str, Any]:
            print(f"fetching a token ({request.params['reason']})")
            return await asyncio.to_thread(fetch_token, options.backend)

        backend = {"kind": "whop", "company_id": options.company_id, "access_token": "host"}
        await client.configure(backend={**backend, "base_url": options.base_url})
        for plan in client.plans():
            print(f"{plan.title or plan.id}: {plan.whop_display_price}")
        print(f"{len(client.memberships())} active memberships")


if __name__ == "__main__":
    asyncio.run(main())
