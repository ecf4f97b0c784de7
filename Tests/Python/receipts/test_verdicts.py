"""Published signed data, real and made for tests, judged as its sources say.

KASSA_JWS_DATA names the folder; by default it lies beside the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import kassa
import pytest
import verdicts
from support import ROOT

FOLDER = Path(os.environ.get("KASSA_JWS_DATA", ROOT.parent / "shared" / "data" / "jws"))
CASES = verdicts.cases(FOLDER) if FOLDER.is_dir() else []
CERTIFICATES, CHAINS = verdicts.chain_cases(FOLDER) if FOLDER.is_dir() else ({}, [])
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the signed data is not at {FOLDER}")


@needs_data
@pytest.mark.parametrize("case", CASES, ids=verdicts.title)
def test_a_text_is_judged_as_published(case: verdicts.Case) -> None:
    assert verdicts.complaint(FOLDER, case) is None


@needs_data
@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case["name"])
def test_a_chain_is_judged_as_published(case: verdicts.Case) -> None:
    assert verdicts.chain_complaint(CERTIFICATES, case) is None


@needs_data
def test_claims_of_the_wrong_kind_are_named_and_make_no_transaction() -> None:
    for name, place in [
        ("quantity-string", "quantity"),
        ("price-fractional", "price"),
        ("product-id-number", "productId"),
    ]:
        case = next(case for case in CASES if case["file"] == f"hostile/claim-{name}.jws")
        found = verdicts.verify(FOLDER, case)
        assert found.verified
        assert found.transaction is None
        assert found.transaction_problem is not None
        assert f"payload: {place} must be" in found.transaction_problem


@needs_data
def test_text_outside_ascii_arrives_as_it_was_signed() -> None:
    case = next(case for case in CASES if case["file"] == "hostile/non-ascii-claims.jws")
    found = verdicts.verify(FOLDER, case)
    assert found.payload is not None
    assert found.payload["productId"] == "com.example.app.é€中"
    assert found.payload["offerIdentifier"] == "über-€-中文-😀"


@needs_data
def test_real_data_of_the_app_store_is_verified_under_the_root_that_is_compiled_in() -> None:
    text = (FOLDER / "real" / "sandbox-renewal-info-2023.jws").read_text().strip()
    found = kassa.verify(text, "renewal_info", environments=["sandbox"])
    assert found.verified
    assert found.root is not None
    assert "Apple Root CA - G3" in found.root
    assert kassa.verify(text, "renewal_info").reason == "wrong_environment"
