"""Makes signed data as the App Store does, and chains of certificates for it, any part of which may be wrong."""

from __future__ import annotations

import dataclasses
import json
import random
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, ObjectIdentifier

LEAF_MARKER, INTERMEDIATE_MARKER = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"
APP, APP_ID = "com.example.app", 123_456_789
NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)

Json = dict[str, Any]
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
Extension = tuple[x509.ExtensionType, bool]


def url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def unurl(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def compact(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def key_usage(*usages: str) -> x509.KeyUsage:
    names = [
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ]
    return x509.KeyUsage(**{name: name in usages for name in names})


def marker(identifier: str, critical: bool = False) -> Extension:
    return x509.UnrecognizedExtension(ObjectIdentifier(identifier), b"\x05\x00"), critical


@dataclass
class Part:
    """One certificate to be made. `change` may alter the extensions before it is signed."""

    name: str
    curve: ec.EllipticCurve = field(default_factory=ec.SECP256R1)
    first: datetime = NOW - 365 * DAY
    last: datetime = NOW + 365 * DAY
    key: PrivateKey | None = None
    change: Callable[[dict[str, Extension]], None] = lambda _: None


def authority(extensions: dict[str, Extension], path_length: int | None) -> None:
    extensions["basic"] = (x509.BasicConstraints(True, path_length), True)
    extensions["usage"] = (key_usage("key_cert_sign", "crl_sign"), True)


@dataclass
class Chain:
    """A root, an intermediate and a signer, and what they sign."""

    root: Part = field(default_factory=lambda: Part("Test Root"))
    intermediate: Part = field(default_factory=lambda: Part("Test Intermediate"))
    leaf: Part = field(default_factory=lambda: Part("Test Signer"))
    hash: hashes.SHA256 | hashes.SHA384 | hashes.SHA512 = field(default_factory=hashes.SHA256)
    identifiers: bool = True
    """With subject and authority key identifiers, as recent versions of OpenSSL want them when they are strict."""
    root_der: bytes = b""
    certificates: list[bytes] = field(default_factory=list)
    """The signer first, in DER."""

    def __post_init__(self) -> None:
        root, intermediate = (
            part.key or ec.generate_private_key(part.curve) for part in (self.root, self.intermediate)
        )
        self.signer = leaf = ec.generate_private_key(self.leaf.curve)
        made = self.make(self.root, root, self.root, root, {}, lambda all_: authority(all_, None))

        def middle(extensions: dict[str, Extension]) -> None:
            authority(extensions, 0)
            extensions["marker"] = marker(INTERMEDIATE_MARKER)

        def last(extensions: dict[str, Extension]) -> None:
            extensions["basic"] = (x509.BasicConstraints(False, None), True)
            extensions["usage"] = (key_usage("digital_signature"), True)
            extensions["marker"] = marker(LEAF_MARKER)

        self.root_der = made
        self.certificates = [
            self.make(self.leaf, leaf, self.intermediate, intermediate, {}, last),
            self.make(self.intermediate, intermediate, self.root, root, {}, middle),
            made,
        ]

    def make(
        self,
        part: Part,
        key: PrivateKey,
        issuer: Part,
        issuer_key: PrivateKey,
        extensions: dict[str, Extension],
        usual: Callable[[dict[str, Extension]], None],
    ) -> bytes:
        usual(extensions)
        if self.identifiers:
            extensions["subject_key"] = (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            if part is not issuer:
                of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
                extensions["authority_key"] = (of_issuer, False)
        part.change(extensions)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name(part.name))
            .issuer_name(name(issuer.name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(part.first)
            .not_valid_after(part.last)
        )
        for value, critical in extensions.values():
            builder = builder.add_extension(value, critical)
        return builder.sign(issuer_key, self.hash).public_bytes(Encoding.DER)

    def header(self, **changes: Any) -> Json:
        certificates = [b64encode(der).decode() for der in self.certificates]
        header = {"alg": "ES256", "x5c": certificates, **changes}
        return {key: value for key, value in header.items() if value is not None}

    def sign(self, payload: Json | bytes, header: Json | None = None) -> str:
        data = payload if isinstance(payload, bytes) else compact(payload)
        text = url(compact(header or self.header())) + "." + url(data)
        return text + "." + url(raw(self.signer.sign(text.encode(), ec.ECDSA(hashes.SHA256()))))

    def with_certificates(self, *certificates: bytes) -> Chain:
        """The same signer under other certificates."""
        changed = dataclasses.replace(self)
        changed.signer, changed.root_der = self.signer, self.root_der
        changed.certificates = list(certificates)
        return changed


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def raw(der: bytes, size: int = 32) -> bytes:
    """r and s as JWS writes them."""
    return b"".join(number.to_bytes(size, "big") for number in decode_dss_signature(der))


def transaction(chance: random.Random, environment: str = "Sandbox", **changes: Any) -> Json:
    """A payload as the App Store writes it, different each time."""
    at = milliseconds(NOW) - chance.randrange(86_400_000) * 10
    payload: Json = {
        "transactionId": str(chance.randrange(10**15, 10**16)),
        "originalTransactionId": str(chance.randrange(10**15, 10**16)),
        "bundleId": APP,
        "productId": chance.choice(["com.example.app.pro", "com.example.app.münchen", "日本.pro", "a" * 100]),
        "purchaseDate": at,
        "originalPurchaseDate": at - chance.randrange(10**9),
        "quantity": 1,
        "type": "Non-Consumable",
        "inAppOwnershipType": chance.choice(["PURCHASED", "FAMILY_SHARED"]),
        "environment": environment,
        "signedDate": at,
    }
    if chance.random() < 0.6:
        payload |= {
            "type": "Auto-Renewable Subscription",
            "subscriptionGroupIdentifier": str(chance.randrange(10**8)),
            "expiresDate": at + 30 * 86_400_000,
            "transactionReason": chance.choice(["PURCHASE", "RENEWAL"]),
            "isUpgraded": chance.random() < 0.2,
        }
    if chance.random() < 0.4:
        payload |= {"offerType": chance.randint(1, 4), "offerIdentifier": "off.1", "offerDiscountType": "FREE_TRIAL"}
    if chance.random() < 0.4:
        payload |= {"price": chance.randrange(10**6), "currency": "EUR", "storefront": "DEU", "storefrontId": "143443"}
    if chance.random() < 0.2:
        payload |= {"revocationDate": at + 1000, "revocationReason": chance.randint(0, 1)}
    return payload | changes


def renewal_info(chance: random.Random, environment: str = "Sandbox", **changes: Any) -> Json:
    payload = transaction(chance, environment)
    return {
        "originalTransactionId": payload["originalTransactionId"],
        "autoRenewProductId": "com.example.app.pro",
        "productId": "com.example.app.pro",
        "autoRenewStatus": chance.randint(0, 1),
        "environment": environment,
        "signedDate": payload["signedDate"],
    } | changes


def app_transaction(chance: random.Random, environment: str = "Sandbox", **changes: Any) -> Json:
    at = transaction(chance)["signedDate"]
    return {
        "receiptType": environment,
        "appAppleId": APP_ID,
        "bundleId": APP,
        "applicationVersion": "1.2.3",
        "receiptCreationDate": at,
        "originalPurchaseDate": at - 1000,
        "originalApplicationVersion": "1.0",
    } | changes


def notification(chance: random.Random, environment: str = "Sandbox", **changes: Any) -> Json:
    about = {"bundleId": APP, "appAppleId": APP_ID, "environment": environment} | changes
    kind = chance.choice(["data", "summary"])
    return {
        "notificationType": "TEST" if kind == "data" else "RENEWAL_EXTENSION",
        "notificationUUID": str(chance.randrange(10**12)),
        "version": "2.0",
        "signedDate": transaction(chance)["signedDate"],
        kind: about,
    }
