"""The asyncio client on the sandbox in this process."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Coroutine
from typing import Any

import kassa
import pytest
from support import PLAN, PRODUCT, configuration


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def open_client(thread: str) -> kassa.AsyncClient:
    return kassa.AsyncClient(storage=":memory:", thread=thread)


def test_the_whole_story(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            assert await client.configure(configuration()) == "network"
            assert PLAN in {plan.id for plan in await client.refresh_plans()}
            (await client.purchase(PLAN)).raise_for_outcome()
            assert client.has_access(PRODUCT)
            assert len((await client.log_in("user-1")).claimed) == 1
            client.log_out()
            assert not client.has_access(PRODUCT)
            await client.log_in("user-1")
            assert (await client.restore_purchases()).restored
            assert client.has_access(PRODUCT)
        assert client.closed

    run(story())


def test_it_uses_no_thread_of_python_and_in_host_mode_none_at_all(thread: str) -> None:
    async def story() -> None:
        before = len(os.listdir("/proc/self/task"))
        async with open_client(thread) as client:
            await client.configure(configuration())
            assert len(os.listdir("/proc/self/task")) == before + (thread == "library")

    run(story())


def test_many_operations_at_once(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            await client.configure(configuration())
            plans = client.plans()
            found = await asyncio.gather(*(client.refresh_plans() for _ in range(50)))
            gc.collect()
            assert all(each == plans for each in found)

    run(story())


def test_cancelling_a_task_cancels_its_operation(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            await client.configure(configuration(presenter="host"))
            events = client.events()
            task = asyncio.create_task(client.purchase(PLAN))
            request = await first(events, kassa.Request)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await first(events, kassa.RequestCancelled)).raw["id"] == request.raw["id"]

    run(story())


def test_handlers_are_functions_or_coroutine_functions(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            await client.configure(configuration(presenter="host"))

            @client.on_request("checkout/present")
            async def present(request: kassa.Request) -> dict[str, Any]:
                await client.simulate({"action": "complete_checkout", "url": request.params["url"]})
                return {"outcome": "returned"}

            assert (await client.purchase(PLAN)).purchased
            client.on_request("checkout/present")(lambda _: {"outcome": "cancelled"})
            with pytest.raises(kassa.PurchaseCancelled):
                (await client.purchase(PLAN)).raise_for_outcome()

    run(story())


def test_a_handler_that_raises_fails_the_operation_with_its_message(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            await client.configure(configuration(presenter="host"))

            @client.on_request("checkout/present")
            async def present(_: kassa.Request) -> dict[str, Any]:
                raise RuntimeError("the window has no screen")

            with pytest.raises(kassa.PurchaseError, match="no screen"):
                await client.purchase(PLAN)

    run(story())


def test_a_handler_is_cancelled_when_its_request_is_withdrawn(thread: str) -> None:
    async def story() -> None:
        withdrawn = asyncio.Event()
        asked = asyncio.Event()
        async with open_client(thread) as client:

            @client.on_request("checkout/present")
            async def present(_: kassa.Request) -> dict[str, Any]:
                asked.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    withdrawn.set()
                return {}

            await client.configure(configuration(presenter="host"))
            task = asyncio.create_task(client.purchase(PLAN))
            await asked.wait()
            task.cancel()
            await asyncio.wait_for(withdrawn.wait(), 10)

    run(story())


def test_s133_every_iterator_sees_every_change(thread: str) -> None:
    async def story() -> None:
        async with open_client(thread) as client:
            await client.configure(configuration())
            found: list[list[kassa.Document]] = [[], []]

            async def listen(place: list[kassa.Document], events: kassa.AsyncEvents) -> None:
                place.extend([event async for event in events])

            tasks = [asyncio.create_task(listen(place, client.events())) for place in found]
            await client.purchase(PLAN)
            await client.restore_purchases()
        await asyncio.gather(*tasks)
        causes = [[each.cause for each in place if isinstance(each, kassa.Changed)] for place in found]
        assert causes[0] == causes[1]
        assert "purchase" in causes[0]

    run(story())


def test_closing_ends_what_waits(thread: str) -> None:
    async def story() -> None:
        client = open_client(thread)
        await client.configure(configuration(presenter="host"))
        events = client.events()
        task = asyncio.create_task(client.purchase(PLAN))
        await first(events, kassa.Request)
        client.close()
        with pytest.raises(kassa.ClosedError):
            await task
        assert [event async for event in events] == []

    run(story())


def test_a_client_belongs_to_one_loop(thread: str) -> None:
    client = open_client(thread)

    async def story() -> None:
        await client.configure(configuration())

    run(story())
    with pytest.raises(RuntimeError, match="another event loop"):
        run(story())
    client.close()


async def first(events: kassa.AsyncEvents, kind: type[kassa.Document]) -> kassa.Document:
    async for event in events:
        if isinstance(event, kind):
            return event
    raise AssertionError(f"no {kind.__name__}")
