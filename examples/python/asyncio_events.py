"""Events beside other work: a program on asyncio that reacts to a purchase and to its end.

    python asyncio_events.py

The sandbox in this process sells a month, and takes it back at once.
"""

from __future__ import annotations

import asyncio

import kassa

BACKEND = {"kind": "whop", "company_id": "biz_sandbox", "api_key": "sandbox_key", "base_url": "embedded:"}


async def tell(client: kassa.AsyncClient) -> None:
    """Prints what happens. Any number of tasks may listen, and each hears everything."""
    async for event in client.events():
        if isinstance(event, kassa.Changed):
            print(f"{event.what} changed ({event.cause}); access: {client.has_access('prod_pro')}")
        elif isinstance(event, kassa.Diagnostic):
            print(f"note: {event.message}")


async def main() -> None:
    async with kassa.AsyncClient(storage=":memory:") as client:
        telling = asyncio.create_task(tell(client))
        await client.configure(backend=BACKEND, checkout={"presenter": "simulated"})

        result = (await client.purchase("plan_monthly")).raise_for_outcome()
        print(f"bought {result.plan_id}")

        assert result.membership is not None
        await client.simulate({"action": "cancel_membership", "membership_id": result.membership.id})
        await client.restore_purchases()
    await telling
    print("done")


if __name__ == "__main__":
    asyncio.run(main())
