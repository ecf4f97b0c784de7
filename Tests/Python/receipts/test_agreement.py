"""Kassa and Apple's own server library on the same signed data, valid and with one fault each.

Every faulty text is signed anew, so that only the one rule is broken. docs/receipts.md lists where the two differ on
purpose; the last tests here hold that list.
"""

from __future__ import annotations

import hmac
import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import kassa
import pytest
import signed_data
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ObjectIdentifier
from signed_data import APP, APP_ID, DAY, NOW, Chain, Part, compact, key_usage, marker, milliseconds, unurl, url

ENVIRONMENTS = {"Sandbox": Environment.SANDBOX, "Production": Environment.PRODUCTION}
METHODS = {
    "transaction": "verify_and_decode_signed_transaction",
    "renewal_info": "verify_and_decode_renewal_info",
    "app_transaction": "verify_and_decode_app_transaction",
    "notification": "verify_and_decode_notification",
}
VERIFIED = "verified"


def kassa_says(text: str, roots: list[bytes], kind: str = "transaction", environment: str = "Sandbox") -> str:
    found = kassa.verify(
        text,
        kind,
        bundle_id=APP,
        app_apple_id=APP_ID,
        environments=[environment.lower()],
        roots=roots,
        now=NOW,
    )
    return found.reason or VERIFIED


def apple_says(text: str, roots: list[bytes], kind: str = "transaction", environment: str = "Sandbox") -> str:
    verifier = SignedDataVerifier(roots, False, ENVIRONMENTS[environment], APP, APP_ID)
    try:
        getattr(verifier, METHODS[kind])(text)
    except VerificationException as problem:
        return problem.status.name
    return VERIFIED


def setting(key: str, value: x509.ExtensionType, critical: bool) -> Callable[[dict[str, Any]], None]:
    return lambda extensions: extensions.update({key: (value, critical)})


def without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(extensions: dict[str, Any]) -> None:
        for key in keys:
            del extensions[key]

    return change


# What is valid


def curves() -> list[tuple[ec.EllipticCurve, ec.EllipticCurve, hashes.SHA256 | hashes.SHA384]]:
    p256, p384 = ec.SECP256R1(), ec.SECP384R1()
    return [
        (p256, p256, hashes.SHA256()),
        (p384, p384, hashes.SHA384()),
        (p384, p256, hashes.SHA384()),
        (p256, p384, hashes.SHA256()),
        (p384, p384, hashes.SHA256()),
    ]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("kind", METHODS)
def test_both_verify_what_is_valid(kind: str, environment: str) -> None:
    chance = random.Random(f"{kind} {environment}")
    for root, intermediate, algorithm in curves():
        first, last = NOW - chance.randint(30, 3000) * DAY, NOW + chance.randint(1, 3000) * DAY
        chain = Chain(
            Part("Root", root, first, last),
            Part("Intermediate", intermediate, first, last),
            Part("Signer", first=first, last=last),
            hash=algorithm,
        )
        for _ in range(6):
            text = chain.sign(getattr(signed_data, kind)(chance, environment))
            assert apple_says(text, [chain.root_der], kind, environment) == VERIFIED
            assert kassa_says(text, [chain.root_der], kind, environment) == VERIFIED


@pytest.mark.parametrize("bits", [2048, 4096])
def test_both_verify_what_stands_under_an_rsa_root(bits: int) -> None:
    chance = random.Random(bits)
    root, intermediate = (rsa.generate_private_key(65537, bits) for _ in range(2))
    for middle in (Part("Intermediate", ec.SECP384R1()), Part("Intermediate", key=intermediate)):
        chain = Chain(Part("Root", key=root), middle, hash=hashes.SHA384())
        text = chain.sign(signed_data.transaction(chance))
        assert apple_says(text, [chain.root_der]) == VERIFIED
        assert kassa_says(text, [chain.root_der]) == VERIFIED


def test_s122_both_take_any_of_several_roots() -> None:
    chance = random.Random(1)
    chains = [Chain(Part(f"Root {number}")) for number in range(3)]
    roots = [chain.root_der for chain in chains]
    for chain in chains:
        text = chain.sign(signed_data.transaction(chance))
        assert apple_says(text, roots) == kassa_says(text, roots) == VERIFIED


@pytest.mark.parametrize("date", ["whole", "decimal", "fraction"])
def test_both_read_each_way_of_writing_a_date(date: str) -> None:
    chance = random.Random(date)
    chain = Chain()
    for _ in range(5):
        payload = signed_data.transaction(chance)
        at = payload["signedDate"]
        payload["signedDate"] = {"whole": at, "decimal": float(at), "fraction": at + 0.485}[date]
        text = chain.sign(payload)
        assert apple_says(text, [chain.root_der]) == kassa_says(text, [chain.root_der]) == VERIFIED


def test_both_verify_what_is_unusual_and_allowed() -> None:
    chance = random.Random(2)
    oddities = [
        Chain(leaf=Part("Signer", last=NOW)),
        Chain(root=Part("Root", first=NOW), intermediate=Part("Intermediate", first=NOW)),
        Chain(intermediate=Part("I", change=setting("basic", x509.BasicConstraints(True, 0), False))),
        Chain(root=Part("R", change=setting("basic", x509.BasicConstraints(True, 1), True))),
        Chain(leaf=Part("Signer", change=without("usage"))),
        Chain(leaf=Part("Same name"), intermediate=Part("Same name")),
    ]
    for chain in oddities:
        text = chain.sign(
            signed_data.transaction(chance, signedDate=milliseconds(NOW)), chain.header(kid="k", typ="JWT")
        )
        assert apple_says(text, [chain.root_der]) == kassa_says(text, [chain.root_der]) == VERIFIED


# What has one fault


class Faulty:
    """A text with a fault, and how it is to be judged."""

    def __init__(
        self,
        text: str,
        chain: Chain,
        kind: str = "transaction",
        environment: str = "Sandbox",
        roots: list[bytes] | None = None,
    ) -> None:
        self.text, self.kind, self.environment = text, kind, environment
        self.roots = roots or [chain.root_der]


Fault = Callable[[random.Random], Faulty]
FAULTS: dict[str, tuple[Fault, str]] = {}


def fault(reason: str) -> Callable[[Fault], Fault]:
    """Registers a fault, with Kassa's word for it."""

    def register(make: Fault) -> Fault:
        FAULTS[make.__name__] = (make, reason)
        return make

    return register


def payload(chance: random.Random, **changes: Any) -> dict[str, Any]:
    return signed_data.transaction(chance, **changes)


def signed(chance: random.Random, chain: Chain, **changes: Any) -> Faulty:
    """Signed by a chain in which something is wrong."""
    return Faulty(chain.sign(payload(chance, **changes)), chain)


def with_header(chance: random.Random, **changes: Any) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(payload(chance), chain.header(**changes)), chain)


@fault("wrong_algorithm")
def algorithm_none(chance: random.Random) -> Faulty:
    return with_header(chance, alg="none")


@fault("wrong_algorithm")
def algorithm_none_and_no_signature(chance: random.Random) -> Faulty:
    chain = Chain()
    text = url(compact(chain.header(alg=chance.choice(["none", "None", "NONE"])))) + "." + url(compact(payload(chance)))
    return Faulty(text + ".", chain)


@fault("wrong_algorithm")
def algorithm_hs256_with_the_public_key(chance: random.Random) -> Faulty:
    chain = Chain()
    key = chain.signer.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = url(compact(chain.header(alg="HS256"))) + "." + url(compact(payload(chance)))
    digest = hmac.digest(key, text.encode(), "sha256")
    return Faulty(f"{text}.{url(digest + digest)}", chain)


@fault("wrong_algorithm")
def algorithm_in_lower_case(chance: random.Random) -> Faulty:
    return with_header(chance, alg=chance.choice(["es256", "Es256", "ES256 "]))


@fault("wrong_algorithm")
def algorithm_of_another_curve(chance: random.Random) -> Faulty:
    return with_header(chance, alg=chance.choice(["ES384", "ES512", "RS256", "PS256", "ES256K"]))


@fault("wrong_algorithm")
def algorithm_missing(chance: random.Random) -> Faulty:
    return with_header(chance, alg=None)


@fault("wrong_signature")
def signed_by_another_key(chance: random.Random) -> Faulty:
    chain = Chain()
    other = chain.with_certificates(*chain.certificates)
    other.signer = ec.generate_private_key(ec.SECP256R1())
    return Faulty(other.sign(payload(chance)), chain)


@fault("wrong_signature")
def payload_changed_after_signing(chance: random.Random) -> Faulty:
    chain = Chain()
    header, _, signature = chain.sign(payload(chance)).split(".")
    return Faulty(f"{header}.{url(compact(payload(chance)))}.{signature}", chain)


@fault("wrong_signature")
def signature_of_zeros(chance: random.Random) -> Faulty:
    chain = Chain()
    header, body, _ = chain.sign(payload(chance)).split(".")
    return Faulty(f"{header}.{body}.{url(bytes(64))}", chain)


@fault("wrong_signature")
def signature_in_der(chance: random.Random) -> Faulty:
    chain = Chain()
    text = chain.sign(payload(chance)).rpartition(".")[0]
    return Faulty(f"{text}.{url(chain.signer.sign(text.encode(), ec.ECDSA(hashes.SHA256())))}", chain)


@fault("wrong_signature")
def signature_missing(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(payload(chance)).rpartition(".")[0] + ".", chain)


@fault("malformed_text")
def four_parts(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(payload(chance)) + "." + url(bytes(chance.randrange(1, 9))), chain)


def spelt(chance: random.Random, change: Callable[[str], str]) -> Faulty:
    """The same text, with its signature written otherwise."""
    chain = Chain()
    text, _, signature = chain.sign(payload(chance)).rpartition(".")
    return Faulty(f"{text}.{change(signature)}", chain)


def unused_bits(signature: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    changed = signature[:-1] + alphabet[alphabet.index(signature[-1]) + 1]
    assert unurl(changed) == unurl(signature)
    return changed


@fault("malformed_text")
def signature_with_unused_bits(chance: random.Random) -> Faulty:
    return spelt(chance, unused_bits)


@fault("missing_chain")
def certificates_missing(chance: random.Random) -> Faulty:
    return with_header(chance, x5c=None)


@fault("chain_too_short")
def two_certificates(chance: random.Random) -> Faulty:
    chain = Chain()
    fewer = chain.with_certificates(*chain.certificates[:2])
    return Faulty(fewer.sign(payload(chance)), chain)


@fault("chain_too_long")
def four_certificates(chance: random.Random) -> Faulty:
    chain = Chain()
    more = chain.with_certificates(*chain.certificates, chain.root_der)
    return Faulty(more.sign(payload(chance)), chain)


@fault("malformed_certificate")
def signer_is_no_certificate(chance: random.Random) -> Faulty:
    chain = Chain()
    wrong = chain.with_certificates(chance.randbytes(200), *chain.certificates[1:])
    return Faulty(wrong.sign(payload(chance)), chain)


@fault("malformed_certificate")
def certificate_is_no_base64(chance: random.Random) -> Faulty:
    chain = Chain()
    entries = [b64encode(der).decode() for der in chain.certificates]
    at = chance.randrange(2)
    entries[at] = entries[at][:40] + chance.choice("*~.\u00e9") + entries[at][41:]
    return Faulty(chain.sign(payload(chance), chain.header(x5c=entries)), chain)


@fault("broken_chain")
def signer_and_intermediate_swapped(chance: random.Random) -> Faulty:
    # The signer is on P-256 in both places, so only the order is wrong.
    chain = Chain()
    leaf, intermediate, root = chain.certificates
    return Faulty(chain.with_certificates(intermediate, leaf, root).sign(payload(chance)), chain)


@fault("broken_chain")
def signer_of_another_intermediate(chance: random.Random) -> Faulty:
    chain, other = Chain(), Chain(identifiers=False)
    mixed = other.with_certificates(other.certificates[0], *chain.certificates[1:])
    return Faulty(mixed.sign(payload(chance)), chain)


@fault("broken_chain")
def intermediate_of_another_root(chance: random.Random) -> Faulty:
    chain, other = Chain(), Chain()
    mixed = other.with_certificates(*other.certificates[:2], chain.root_der)
    return Faulty(mixed.sign(payload(chance)), chain)


@fault("broken_chain")
def names_do_not_meet(chance: random.Random) -> Faulty:
    key = ec.generate_private_key(ec.SECP256R1())
    chain = Chain(intermediate=Part("One", key=key))
    other = Chain(intermediate=Part("Another", key=key))
    mixed = other.with_certificates(other.certificates[0], *chain.certificates[1:])
    return Faulty(mixed.sign(payload(chance)), chain)


@fault("untrusted_root")
def self_made_chain(chance: random.Random) -> Faulty:
    chain, trusted = Chain(), Chain()
    return Faulty(chain.sign(payload(chance)), chain, roots=[trusted.root_der])


@fault("missing_marker")
def signer_without_its_mark(chance: random.Random) -> Faulty:
    return signed(chance, Chain(leaf=Part("Signer", change=without("marker"))))


@fault("missing_marker")
def intermediate_without_its_mark(chance: random.Random) -> Faulty:
    def change(extensions: dict[str, Any]) -> None:
        extensions["marker"] = marker(chance.choice(["1.2.840.113635.100.6.2.2", signed_data.LEAF_MARKER]))

    return signed(chance, Chain(intermediate=Part("Intermediate", change=change)))


@fault("not_an_authority")
def intermediate_is_no_authority(chance: random.Random) -> Faulty:
    def change(extensions: dict[str, Any]) -> None:
        extensions["basic"] = (x509.BasicConstraints(False, None), True)
        extensions["usage"] = (key_usage("digital_signature"), True)

    return signed(chance, Chain(intermediate=Part("Intermediate", change=change)))


@fault("not_an_authority")
def root_allows_no_intermediate(chance: random.Random) -> Faulty:
    def change(extensions: dict[str, Any]) -> None:
        extensions["basic"] = (x509.BasicConstraints(True, 0), True)

    return signed(chance, Chain(root=Part("Root", change=change)))


@fault("wrong_key_usage")
def intermediate_may_not_sign_certificates(chance: random.Random) -> Faulty:
    def change(extensions: dict[str, Any]) -> None:
        extensions["usage"] = (key_usage("digital_signature", "crl_sign"), True)

    return signed(chance, Chain(intermediate=Part("Intermediate", change=change)))


@fault("critical_extension")
def critical_extension_that_nobody_knows(chance: random.Random) -> Faulty:
    def change(extensions: dict[str, Any]) -> None:
        identifier = ObjectIdentifier(f"1.3.6.1.4.1.99999.{chance.randrange(1000)}")
        extensions["unknown"] = (x509.UnrecognizedExtension(identifier, b"\x05\x00"), True)

    part = Part("Part", change=change)
    return signed(chance, Chain(leaf=part) if chance.random() < 0.5 else Chain(intermediate=part))


@fault("expired_certificate")
def expired_signer(chance: random.Random) -> Faulty:
    return signed(chance, Chain(leaf=Part("Signer", last=NOW - chance.randint(11, 300) * DAY)))


@fault("expired_certificate")
def expired_intermediate(chance: random.Random) -> Faulty:
    return signed(chance, Chain(intermediate=Part("Intermediate", last=NOW - chance.randint(11, 300) * DAY)))


@fault("expired_certificate")
def expired_root(chance: random.Random) -> Faulty:
    return signed(chance, Chain(root=Part("Root", last=NOW - chance.randint(11, 300) * DAY)))


@fault("not_yet_valid_certificate")
def signer_of_later(chance: random.Random) -> Faulty:
    return signed(chance, Chain(leaf=Part("Signer", first=NOW + chance.randint(1, 300) * DAY)))


@fault("not_yet_valid_certificate")
def date_in_seconds(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(payload(chance) | {"signedDate": milliseconds(NOW) // 1000}), chain)


@fault("malformed_payload")
def payload_is_no_json(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(chance.choice([b"{", b"nil", b'{"a":"\xc3"}', b"", b"{'a':1}"])), chain)


@fault("malformed_payload")
def payload_is_no_object(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(chance.choice([b"[]", b"1", b"null", b'"text"', b"true"])), chain)


@fault("wrong_bundle_id")
def another_app(chance: random.Random) -> Faulty:
    return signed(
        chance, Chain(), bundleId=chance.choice(["com.example.other", "com.example.App", APP + " ", "", None])
    )


@fault("wrong_environment")
def another_environment(chance: random.Random) -> Faulty:
    chain = Chain()
    word = chance.choice(["Sandbox", "Xcode", "LocalTesting", "production", None])
    return Faulty(chain.sign(payload(chance) | {"environment": word}), chain, environment="Production")


@fault("wrong_app_apple_id")
def another_app_number(chance: random.Random) -> Faulty:
    chain = Chain()
    kind = chance.choice(["notification", "app_transaction"])
    document = getattr(signed_data, kind)(chance, "Production", appAppleId=chance.choice([1, APP_ID + 1, None]))
    return Faulty(chain.sign(document), chain, kind, "Production")


@pytest.mark.parametrize("name", FAULTS)
def test_both_refuse_what_has_one_fault(name: str) -> None:
    make, reason = FAULTS[name]
    chance = random.Random(name)
    for _ in range(20):
        faulty = make(chance)
        assert apple_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) != VERIFIED
        assert kassa_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) == reason


def test_the_faults_are_as_many_as_promised() -> None:
    assert len(FAULTS) >= 25


# Where the two differ on purpose: docs/receipts.md says why. Apple's library says "verified" to the first list, and
# Kassa to the second.


def changed(chance: random.Random, **changes: Callable[[dict[str, Any]], None]) -> Faulty:
    """Signed by a chain in which the extensions of some parts are changed."""
    parts: dict[str, Any] = {part: Part(part, change=change) for part, change in changes.items()}
    return signed(chance, Chain(**parts))


def third_certificate(chance: random.Random, entry: str) -> Faulty:
    chain = Chain()
    entries = [b64encode(der).decode() for der in chain.certificates[:2]] + [entry]
    return Faulty(chain.sign(payload(chance), chain.header(x5c=entries)), chain)


def app_number_in_the_sandbox(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(signed_data.notification(chance, appAppleId=1)), chain, "notification")


def repeated_member(chance: random.Random) -> Faulty:
    chain = Chain()
    return Faulty(chain.sign(b'{"bundleId":"com.example.other",' + compact(payload(chance))[1:]), chain)


def member(chance: random.Random, text: bytes) -> Faulty:
    """A payload with one more member, which is written as it is given."""
    chain = Chain()
    return Faulty(chain.sign(compact(payload(chance))[:-1] + b"," + text + b"}"), chain)


def as_another_kind(chance: random.Random, kind: str, asked: str) -> Faulty:
    chain = Chain()
    document = getattr(signed_data, kind)(chance) | {"bundleId": APP, "environment": "Sandbox"}
    return Faulty(chain.sign(document), chain, asked)


STRICTER: dict[str, tuple[Fault, str]] = {
    "padded signature": (lambda c: spelt(c, lambda text: text + "=="), "malformed_text"),
    "third certificate is no certificate": (lambda c: third_certificate(c, "AAAA"), "malformed_certificate"),
    "third certificate is another": (
        lambda c: third_certificate(c, b64encode(Chain().root_der).decode()),
        "untrusted_root",
    ),
    "signer may not sign": (
        lambda c: changed(c, leaf=setting("usage", key_usage("key_agreement"), True)),
        "wrong_key_usage",
    ),
    "signer is an authority": (
        lambda c: changed(
            c,
            intermediate=setting("basic", x509.BasicConstraints(True, 1), True),
            leaf=lambda extensions: extensions.update(
                basic=(x509.BasicConstraints(True, 0), True),
                usage=(key_usage("digital_signature", "key_cert_sign"), True),
            ),
        ),
        "wrong_key_usage",
    ),
    "critical extension of another purpose": (
        lambda c: changed(c, leaf=setting("eku", x509.ExtendedKeyUsage([ObjectIdentifier("1.3.6.1.5.5.7.3.3")]), True)),
        "critical_extension",
    ),
    "issuer on P-521": (
        lambda c: signed(c, Chain(intermediate=Part("Intermediate", ec.SECP521R1()))),
        "unsupported_key",
    ),
    "certificates signed with SHA-512": (
        lambda c: signed(c, Chain(hash=hashes.SHA512())),
        "unsupported_certificate_signature",
    ),
    "date as text": (lambda c: signed(c, Chain(), signedDate=str(milliseconds(NOW))), "malformed_payload"),
    "date null": (lambda c: signed(c, Chain(), signedDate=None), "malformed_payload"),
    "app number in the sandbox": (app_number_in_the_sandbox, "wrong_app_apple_id"),
    "repeated member": (repeated_member, "malformed_payload"),
    "NaN": (lambda c: member(c, b'"note":NaN'), "malformed_payload"),
    "half of a surrogate pair": (lambda c: member(c, b'"note":"\\ud800"'), "malformed_payload"),
    "NUL in a member's name": (lambda c: member(c, b'"a\\u0000b":1'), "malformed_payload"),
    "whole number beyond 64 bits": (lambda c: member(c, b'"note":12345678901234567890'), "malformed_payload"),
    "number beyond a double": (lambda c: member(c, b'"note":1e400'), "malformed_payload"),
    "renewal info as a transaction": (
        lambda c: as_another_kind(c, "renewal_info", "transaction"),
        "malformed_payload",
    ),
    "transaction as renewal info": (
        lambda c: as_another_kind(c, "transaction", "renewal_info"),
        "malformed_payload",
    ),
    "app transaction as a transaction": (
        lambda c: as_another_kind(c, "app_transaction", "transaction"),
        "malformed_payload",
    ),
    "header b64": (lambda c: with_header(c, b64=1), "critical_header"),
    "deep payload": (lambda c: signed(c, Chain(), deep=nested(40)), "malformed_payload"),
}


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize("name", STRICTER)
def test_kassa_is_stricter(name: str) -> None:
    make, reason = STRICTER[name]
    faulty = make(random.Random(name))
    assert kassa_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) == reason
    assert apple_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) == VERIFIED


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"expiresDate": None}, "payload: expiresDate must not be null"),
        ({"revocationDate": None}, "payload: revocationDate must not be null"),
        ({"expiresDate": int(NOW.timestamp())}, "payload: expiresDate is before the App Store opened"),
        ({"revocationDate": NOW.timestamp()}, "payload: revocationDate is before the App Store opened"),
        ({"type": "Auto-Renewable Subscription", "expiresDate": ...}, "payload: expiresDate is missing"),
    ],
)
def test_kassa_reads_no_transaction_without_its_dates(changes: dict[str, Any], problem: str) -> None:
    chain = Chain()
    document = payload(random.Random(1)) | changes
    text = chain.sign({key: value for key, value in document.items() if value is not ...})
    assert apple_says(text, [chain.root_der]) == VERIFIED
    found = kassa.verify(text, environments=["sandbox"], roots=[chain.root_der], now=NOW)
    assert found.verified
    assert found.transaction is None
    assert (found.transaction_problem or "").startswith(problem)


MILDER: dict[str, Fault] = {
    "no key identifiers": lambda c: signed(c, Chain(identifiers=False)),
    "no key usage": lambda c: changed(c, intermediate=without("usage")),
}


@pytest.mark.parametrize("name", MILDER)
def test_kassa_is_milder(name: str) -> None:
    faulty = MILDER[name](random.Random(name))
    assert kassa_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) == VERIFIED
    assert apple_says(faulty.text, faulty.roots, faulty.kind, faulty.environment) != VERIFIED
