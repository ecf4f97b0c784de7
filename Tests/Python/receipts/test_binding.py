"""`kassa.verify`: Python's values in and out."""

from __future__ import annotations

import random
from base64 import b64encode
from datetime import datetime, timedelta, timezone
from typing import Any

import kassa
import pytest
import signed_data
from kassa import _library
from signed_data import APP, NOW, Chain


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain()


def payload(**changes: Any) -> dict[str, Any]:
    return signed_data.transaction(random.Random(1), "Production") | changes


def test_a_transaction_is_read_on_request_only(chain: Chain) -> None:
    library = _library.load()
    roots = [b64encode(chain.root_der).decode()]
    request = {"text": chain.sign(payload()), "kind": "transaction", "roots": roots}
    for asked in (None, False, True):
        with library.lend({**request, "read_transaction": asked}) as lent:
            found = library.take(library.functions.kassa_verify(lent))
        assert sorted(found) == ["payload", "root"] + ["transaction"] * (asked is True) + ["verified"]


def test_what_is_verified_is_read(chain: Chain) -> None:
    document = payload(
        type="Auto-Renewable Subscription", expiresDate=1_797_000_000_123, offerType=1, offerDiscountType="FREE_TRIAL"
    )
    found = kassa.verify(chain.sign(document), bundle_id=APP, roots=[chain.root_der])
    assert found.raise_for_refusal() is found
    assert found.verified
    assert found.payload == document
    assert found.root == "/CN=Test Root"
    assert (found.reason, found.message, found.transaction_problem) == (None, None, None)
    assert found.transaction is not None
    assert found.transaction.store_product_id == document["productId"]
    assert found.transaction.expires_at == datetime.fromtimestamp(1_797_000_000, timezone.utc) + timedelta(
        milliseconds=123
    )
    assert found.transaction.offer is not None
    assert found.transaction.offer.payment_mode == "free_trial"


def test_what_is_refused_carries_its_reason_and_no_payload(chain: Chain) -> None:
    found = kassa.verify(chain.sign(payload()), bundle_id="com.example.other", roots=[chain.root_der])
    assert not found.verified
    assert (found.payload, found.transaction, found.root) == (None, None, None)
    assert found.reason == "wrong_bundle_id"
    with pytest.raises(kassa.VerificationError, match=r"com\.example\.other") as caught:
        found.raise_for_refusal()
    assert (caught.value.code, caught.value.reason) == ("unverified", "wrong_bundle_id")


def test_production_and_apples_root_are_the_default(chain: Chain) -> None:
    assert kassa.verify(chain.sign(payload())).reason == "untrusted_root"
    sandbox = chain.sign(payload(environment="Sandbox"))
    assert kassa.verify(sandbox, roots=[chain.root_der]).reason == "wrong_environment"
    both = kassa.verify(sandbox, roots=[chain.root_der], environments=["production", "sandbox"])
    assert both.verified


@pytest.mark.parametrize("age", [60, 60.9, timedelta(seconds=60)])
def test_age_and_present_time(chain: Chain, age: float | timedelta) -> None:
    text = chain.sign(payload(signedDate=signed_data.milliseconds(NOW)))
    for seconds, reason in [(60, None), (61, "stale")]:
        now = NOW + timedelta(seconds=seconds)
        assert kassa.verify(text, roots=[chain.root_der], max_age=age, now=now).reason == reason


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"kind": "receipt"}, "kind must be one of transaction"),
        ({"environments": []}, "environments must name at least one"),
        ({"environments": ["Production"]}, r"environments\[0\] must be one of production"),
        ({"roots": [b"abc"]}, r"roots\[0\] is not an X.509 certificate"),
        ({"roots": [b""] * 17}, "at most 16"),
        ({"max_age": -1}, "max_age_s must be 0 or more"),
        ({"app_apple_id": "7"}, "app_apple_id must be a whole number"),
        ({"bundle_id": 7}, "bundle_id must be a string"),
        ({"text": None}, "text is missing"),
        ({"text": 7}, "text must be a string"),
        ({"now": datetime(2026, 1, 1)}, "time zone"),
        ({"text": "half of a pair \ud83d"}, "cannot be written"),
    ],
)
def test_wrong_calls_are_refused_with_their_place(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(kassa.InvalidArgumentError, match=problem):
        kassa.verify(**{"text": "a.b.c", **arguments})


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    library = _library.load()
    with library.lend({"text": "a.b.c", "kind": "transaction", "bundleid": "x"}) as lent:
        reply = library.take(library.functions.kassa_verify(lent))
    assert reply["reason"] == "invalid_request"
    assert 'did you mean "bundle_id"' in reply["message"]


def test_terms_that_are_known_count_for_nothing_else(chain: Chain) -> None:
    """What is expected is read once for many texts; whatever changes in it counts at once."""
    text = chain.sign(payload())
    library = _library.load()
    request = {
        "text": text,
        "kind": "transaction",
        "bundle_id": APP,
        "roots": [b64encode(chain.root_der).decode()],
    }

    def reason(**changes: Any) -> str | None:
        with library.lend({key: value for key, value in (request | changes).items() if value is not ...}) as lent:
            reply = library.take(library.functions.kassa_verify(lent))
        return None if reply["verified"] else reply["reason"]

    for _ in range(2):
        assert reason() is None
        assert reason(text=chain.sign(payload(productId="another"))) is None
        assert reason(text=text[:-4] + "AAAA") == "wrong_signature"
        assert reason(bundle_id="com.example.other") == "wrong_bundle_id"
        assert reason(environments=["sandbox"]) == "wrong_environment"
        assert reason(kind="app_transaction") is not None
        assert reason(roots=[]) == "untrusted_root"
        assert reason(text=...) == "invalid_request"
        assert reason(text=..., txet=text) == "invalid_request"
        assert reason(now=True) == "invalid_request"


def test_what_is_no_object_has_no_reply() -> None:
    library = _library.load()
    assert library.functions.kassa_verify(None) is None
    for text in (b"[]", b'"text"', b"1", b"null"):
        document = library.parse(text)
        assert library.functions.kassa_verify(document) is None
        library.functions.kassa_json_release(document)
