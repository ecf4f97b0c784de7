"""What a slow reader of events finds."""

from __future__ import annotations

import kassa
import samples
from hypothesis import given
from hypothesis import strategies as st
from kassa._core import Mailbox

EVENTS = st.lists(
    st.one_of(
        st.builds(
            lambda what, revision: {**samples.CHANGED, "what": what, "revision": revision},
            st.sampled_from(["plans", "entitlements", "identity"]),
            st.integers(1, 100),
        ),
        st.builds(lambda number: {**samples.REQUEST, "id": number}, st.integers(1, 100)),
        st.just(samples.DIAGNOSTIC),
    )
)


@given(EVENTS)
def test_of_changes_the_newest_of_each_kind_is_kept_and_of_all_else_everything(events: list[samples.Json]) -> None:
    mailbox = Mailbox()
    for event in events:
        mailbox.put(event)
    found = list(iter(mailbox.take, None))
    newest = {event["what"]: event for event in events if event["type"] == "changed"}
    changes = [event.raw for event in found if isinstance(event, kassa.Changed)]
    assert {event["what"]: event for event in changes} == newest
    assert len(changes) == len(newest)
    others = [event.raw for event in found if not isinstance(event, kassa.Changed)]
    assert others == [event for event in events if event["type"] != "changed"]


def test_each_event_has_its_class() -> None:
    mailbox = Mailbox()
    for event in samples.EVENTS:
        mailbox.put(event)
    kinds = [type(event) for event in iter(mailbox.take, None)]
    assert kinds == [
        kassa.Changed,
        kassa.Diagnostic,
        kassa.Request,
        kassa.RequestCancelled,
        kassa.TransactionUpdated,
        kassa.PurchaseIntent,
        kassa.StoreMessage,
    ]
