"""The documents of docs/documents.md as frozen dataclasses.

Names are those of the documents. Times are `datetime` in UTC, exact to the millisecond; money is `Decimal`. Words such
as `status` and `outcome` are plain `str`, because later versions of the service add to them. Each value keeps the whole
document in `raw`, so a field that this version does not name is still there.

People and products are in `_people`, what all are made of is in `_values`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ._people import Person
from ._values import READERS, Document, Money, read_all
from .errors import OUTCOMES, PurchaseNotCompleted, VerificationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Self


@dataclass(frozen=True)
class RenewalPeriod(Document):
    """How often a plan renews."""

    kind: str
    """`weekly`, `monthly`, `quarterly`, `semi_annual`, `yearly` or `custom`."""
    days: int
    description: str
    """For display, `"Monthly"`."""


@dataclass(frozen=True)
class Plan(Document):
    """What can be bought. (WhopCheckout, `CheckoutPlan`.)"""

    id: str
    product_id: str | None
    """The product that it sells."""
    title: str | None
    description: str | None
    plan_type: str
    """`one_time`, `renewal` or `unknown`."""
    billing_period_days: int | None
    renewal_period: RenewalPeriod | None
    trial_period_days: int | None
    base_currency: str
    """As the service sends it, `"usd"`."""
    initial_price: float
    renewal_price: float
    initial_price_money: Money
    renewal_price_money: Money
    whop_display_price: str
    """The renewal price of a renewing plan, else the initial price, formatted."""
    apple_display_price: str | None
    visibility: str
    """`visible`, `hidden`, `archived` or `quick_link`."""
    available: bool
    """It can be bought now."""


@dataclass(frozen=True)
class Membership(Document):
    """What was bought, and grants a product. (WhopCheckout, `CheckoutMembership`.)"""

    id: str
    product_id: str
    plan_id: str
    status: str
    """`active`, `trialing`, `canceling`, `past_due`, `completed`, `canceled`, `expired`, `drafted`, ..., `unknown`."""
    raw_status: str
    """The service's own word."""
    is_active: bool
    """Grants access now."""
    is_claimed: bool
    """Belongs to an app user."""
    created_at: datetime
    expires_at: datetime | None
    """A fixed end."""
    renewal_period_end: datetime | None
    """The next renewal."""
    cancel_at_period_end: bool
    receipt_id: str | None
    """Known for purchases made on this device."""
    manage_url: str | None
    """Where the buyer manages it."""


@dataclass(frozen=True)
class Entitlement(Document):
    """One source of access, also one that ended: until when it grants, and why."""

    source: str
    """`membership`, `store` or `grant` (of a perk, to a person)."""
    id: str
    """Of the source: the membership's, the store's transaction id, the perk's slug."""
    status: str
    active: bool
    """Grants access now."""
    ends_at: datetime | None
    """When it stops (or stopped) granting if nothing else is learnt; None for no end."""
    rule: str
    """What decided: `fixed_end`, `renewal_grace`, `lifetime` and others; docs/documents.md, "Entitlement"."""
    stale: bool
    """Not confirmed for longer than the configuration's `offline.days`."""
    confirmed_at: datetime
    """When the service last said so."""
    from_: str
    """The document's `from`: who said so in this run (`network`, `store`), or `cache`: it is from an earlier one."""
    product_id: str | None = None
    """None of a grant. The store's own id for a product that no plan is mapped to."""
    plan_id: str | None = None
    transaction: Transaction | None = None
    """Of the source `store`."""
    perk: str | None = None
    """Of a grant: what it is a right to."""
    granted_by: str | None = None
    """Of a grant: `subscription`, `purchase` or `manual`."""
    granted_by_id: str | None = None
    """Of a grant: the id of that subscription or purchase."""
    expires_at: datetime | None = None
    """Of a grant: its end as the service gives it. `ends_at` may be later."""


@dataclass(frozen=True)
class Clock(Document):
    """What the time in an explanation was trusted on."""

    now: datetime
    source: str
    """`server`, `saved` or `wall`."""
    server_time: datetime | None
    server_seen_ms_ago: int | None


@dataclass(frozen=True)
class Offline(Document):
    """The configuration's rule for grants without an end."""

    days: int
    mode: str
    """`lenient` or `strict`."""
    confirmed_at: datetime | None


@dataclass(frozen=True)
class KnownStorefront(Document):
    """Where the user buys, and who says so."""

    country_code: str
    """Two letters."""
    source: str
    """`store`, `region` or `locale`."""


@dataclass(frozen=True)
class Explanation(Document):
    """Why `has_access` answers what it does."""

    product_id: str
    access: bool
    answer: str
    """`yes`, `no`, or `unknown`: nothing was ever learnt from the service, so "no" is not known."""
    reason: str
    """`granted`, `no_source`, `ended`, `not_configured`, `never_loaded` or `product_not_configured`."""
    decided_by: str | None
    """The id of the source that grants longest."""
    app_user_id: str | None
    considered: tuple[Entitlement, ...]
    clock: Clock
    offline: Offline
    storefront: KnownStorefront | None = None
    """By which `supports_external_purchases` answers; None without a store, and where nobody says."""


@dataclass(frozen=True)
class PurchaseResult(Document):
    """How a purchase ended. (WhopCheckout, `CheckoutPurchaseResult`.)"""

    outcome: str
    """`purchased`, `pending`, `cancelled` or `disabled`."""
    method: str
    """`whop` or `store`."""
    receipt_id: str | None
    plan_id: str | None = None
    """What was asked for, where plans are sold."""
    membership: Membership | None = None
    """None if the service has not made it yet, and for the store. Do not grant by it: ask `has_access`."""
    transaction: OwnedTransaction | None = None
    """Of purchases in a store."""
    product_slug: str | None = None
    """What was asked for, where products are sold."""
    synced: bool | None = None
    """Of a purchased product: the service has accepted the receipt; False while the receipt waits."""

    @property
    def purchased(self) -> bool:
        """It was bought."""
        return self.outcome == "purchased"

    def raise_for_outcome(self) -> Self:
        """Returns the result of a purchase, and raises `PurchaseNotCompleted` (one class an outcome) otherwise."""
        if self.purchased:
            return self
        raise OUTCOMES.get(self.outcome, PurchaseNotCompleted)(self)


@dataclass(frozen=True)
class TransactionOffer(Document):
    """The offer that a purchase was made with."""

    id: str | None
    """None for an introductory offer."""
    kind: str | None
    """`introductory`, `promotional`, `win_back` or `code`."""
    payment_mode: str | None
    """`free_trial`, `pay_as_you_go` or `pay_up_front`."""


@dataclass(frozen=True)
class Transaction(Document):
    """What a store sold: one charge, or a free start."""

    id: str
    original_id: str
    """The first of its series: the same for all renewals."""
    store: str
    """`apple` or `google`."""
    store_product_id: str
    type: str
    """`consumable`, `non_consumable`, `non_renewing_subscription` or `subscription`."""
    group_id: str | None
    purchased_at: datetime
    originally_purchased_at: datetime
    expires_at: datetime | None
    quantity: int
    ownership: str
    """`purchased` or `family_shared`."""
    environment: str
    """`production`, `sandbox`, `xcode` or `local_testing`."""
    is_renewal: bool | None
    is_upgraded: bool
    """A higher level of the same group took its place."""
    revoked_at: datetime | None
    revocation_reason: str | None
    revocation_percentage: int | None
    """Of the price, in thousandths of a percent; None for all of it."""
    offer: TransactionOffer | None
    storefront: str | None
    """Two letters."""


@dataclass(frozen=True)
class OwnedTransaction(Transaction):
    """A transaction that this client keeps, with what it grants."""

    plan_id: str | None
    """The plan that is mapped to its product."""
    product_id: str | None
    """The service's product; of the `voidhash` back end its id for it."""
    product_slug: str | None = None
    """The product's slug, where products are sold."""


@dataclass(frozen=True)
class Verification:
    """What `kassa.verify` found. Everything but `reason` and `message` is None unless it is verified."""

    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """The document as the library sent it."""
    verified: bool
    """It is what it should be, and signed by whom it should be."""
    payload: Mapping[str, Any] | None
    """What was signed, as Apple documents it."""
    transaction: Transaction | None
    """The payload of a transaction, read; None for other kinds and where `transaction_problem` says why."""
    transaction_problem: str | None
    root: str | None
    """The name of the trusted root; None for data of the developer's own machine, which stands under none."""
    reason: str | None
    """The word for the rule that is broken; None if it is verified. docs/receipts.md lists them."""
    message: str | None

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """The value for a document."""
        transaction = raw.get("transaction")
        return cls(
            raw,
            raw["verified"] is True,
            raw.get("payload"),
            None if transaction is None else Transaction.of(transaction),
            raw.get("transaction_problem"),
            raw.get("root"),
            raw.get("reason"),
            raw.get("message"),
        )

    def raise_for_refusal(self) -> Self:
        """Returns what is verified, and raises `VerificationError` otherwise."""
        if self.verified:
            return self
        raise VerificationError(self.message or "", reason=self.reason)


@dataclass(frozen=True)
class LoginResult(Document):
    """What a login did."""

    app_user_id: str
    deferred: bool
    """The service has yet to hear of it: the network is away."""
    claimed: tuple[str, ...] = ()
    """The memberships that were claimed by this call."""
    person: Person | None = None
    """Who is logged in, where the service has people and has said so."""


@dataclass(frozen=True)
class RestoreResult(Document):
    """What a restore found."""

    outcome: str
    """`completed`, or `cancelled` when the user dismissed the store's sign-in."""
    restored: bool
    """Anything active was found."""
    person: Person | None = None
    """The refreshed person, where the service has people."""


@dataclass(frozen=True)
class AttributesResult(Document):
    """What became of attributes."""

    deferred: bool
    """They wait on disk for the network."""
    person: Person | None
    """The person with them; None while nothing is known."""


@dataclass(frozen=True)
class ReportResult(Document):
    """A transaction was written down, to be sent."""

    transaction_id: str


@dataclass(frozen=True)
class SyncPurchasesResult(Document):
    """What became of everything that the store lists."""

    synced: bool
    """The service has all of it."""
    person: Person | None
    pending_transaction_count: int
    """How many receipts wait."""


@dataclass(frozen=True)
class SyncPendingWorkResult(Document):
    """How far the work that waited has come."""

    completed: bool
    """Nothing waits any more; False: it goes on in the background, and what was refused for good has its own time."""
    pending_transaction_count: int
    """How many receipts wait."""


@dataclass(frozen=True)
class PendingTransaction(Document):
    """A receipt that the service has yet to accept."""

    transaction_id: str
    store: str
    """`apple` or `google`."""
    store_product_id: str | None
    product_slug: str | None
    distinct_id: str
    """Whose it is."""
    attempts: int
    """How often it was sent without being accepted."""
    next_try_at: datetime
    refused_at: datetime | None
    """When the service refused it for good; it is offered again later all the same."""
    is_restore: bool
    is_host_owned: bool
    """The host has reported it, and finishes it by itself."""


@dataclass(frozen=True)
class PendingWrite(Document):
    """What the service has yet to hear of a person."""

    kind: str
    """`identify`, `attributes` or `claim`."""
    distinct_id: str | None = None
    """Of `identify` and `attributes`: the person."""
    app_user_id: str | None = None
    """Of `claim`: the user."""


@dataclass(frozen=True)
class Pending(Document):
    """What has yet to reach the service, as it is on disk."""

    pending_transaction_count: int
    transactions: tuple[PendingTransaction, ...]
    """In the order in which they are sent."""
    writes: tuple[PendingWrite, ...]


@dataclass(frozen=True)
class Changed(Document):
    """Answers have changed: ask again."""

    what: str
    """`plans`, `entitlements`, `identity`, `person` or `storefront`."""
    revision: int
    cause: str
    """`configure`, `refresh`, `purchase`, `store`, `login`, `logout`, `restore`, `expiry` or `another_process`."""


@dataclass(frozen=True)
class Diagnostic(Document):
    """Something worth knowing that failed nothing."""

    code: str
    message: str
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Request(Document):
    """The library needs the host: answer with `client.respond(request.id, reply)`."""

    id: int
    service: str
    """`auth`, `checkout`, `store` or `offers`."""
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class RequestCancelled(Document):
    """No answer to this request is needed any more."""

    id: int


@dataclass(frozen=True)
class TransactionUpdated(Document):
    """A store's transaction that completed outside a purchase call: a renewal, an approval, a purchase elsewhere."""

    transaction: OwnedTransaction
    synced: bool
    """The service has it."""


@dataclass(frozen=True)
class PurchaseIntent(Document):
    """The user started to buy in the store; with `"purchase_intents": "manual"`.

    Go on with `client.purchase(intent.name, **intent.options)`.
    """

    options: Mapping[str, Any]
    plan_id: str | None = None
    """Where plans are sold."""
    product_slug: str | None = None
    """Where products are sold."""

    @property
    def name(self) -> str:
        """What `purchase` calls it."""
        return self.plan_id or self.product_slug or ""


@dataclass(frozen=True)
class StoreMessage(Document):
    """Something that the store wants to show: `client.store_call("display_message", {"id": ...})`."""

    message: Mapping[str, Any]


READERS.update(
    {
        "RenewalPeriod": RenewalPeriod.of,
        "Membership": Membership.of,
        "Transaction": Transaction.of,
        "TransactionOffer": TransactionOffer.of,
        "OwnedTransaction": OwnedTransaction.of,
        "KnownStorefront": KnownStorefront.of,
        "Clock": Clock.of,
        "Offline": Offline.of,
        "tuple[Entitlement, ...]": read_all(Entitlement),
        "tuple[PendingTransaction, ...]": read_all(PendingTransaction),
        "tuple[PendingWrite, ...]": read_all(PendingWrite),
    }
)

EVENTS: dict[str, type[Document]] = {
    "changed": Changed,
    "diagnostic": Diagnostic,
    "request": Request,
    "request_cancelled": RequestCancelled,
    "transaction_updated": TransactionUpdated,
    "purchase_intent": PurchaseIntent,
    "store_message": StoreMessage,
}


def event_from(raw: Mapping[str, Any]) -> Document:
    """The event for a document of the queue; a plain `Document` for a type that this version does not know."""
    return EVENTS.get(raw["type"], Document).of(raw)
