"""Apple's own server library verifies what a simulated store signs, given that store's root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from signed_data import APP
from support import ROOT

TESTS = ROOT / ".build" / "debug" / "KassaPackageTests.xctest"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the Swift test `SigningAuthorityTests.export` wrote."""
    if not TESTS.exists() or shutil.which("swift") is None:
        pytest.skip(f"the Swift tests are not built ({TESTS}): swift build --build-tests")
    folder = tmp_path_factory.mktemp("exported")
    command = ["swift", "test", "--skip-build", "--filter", "SigningAuthorityTests.export"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "KASSA_EXPORT": str(folder)}, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("number", range(3))
def test_apples_library_verifies_it(exported: Path, number: int) -> None:
    verifier = SignedDataVerifier([(exported / f"{number}.der").read_bytes()], False, Environment.SANDBOX, APP)
    texts = [path.read_text() for path in sorted(exported.glob(f"{number}-*.jws"))]
    assert len(texts) == 2
    for text in texts:
        assert verifier.verify_and_decode_signed_transaction(text).productId == "com.example.app.monthly"


def test_apples_library_refuses_it_under_another_root(exported: Path) -> None:
    verifier = SignedDataVerifier([(exported / "1.der").read_bytes()], False, Environment.SANDBOX, APP)
    with pytest.raises(VerificationException):
        verifier.verify_and_decode_signed_transaction((exported / "0-0.jws").read_text())
