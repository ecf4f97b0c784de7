"""People, what they may use, and the products that are sold to them (docs/documents.md, "Person" and "Product")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._values import READERS, Document, Money, Period, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@dataclass(frozen=True)
class Grant(Document):
    """The right to use one perk."""

    perk: str
    """The perk's slug."""
    status: str
    """The service's word: `active`, `expired`. Only `active` grants."""
    active: bool
    """Grants now: as `has_perk` answers."""
    source: str | None
    """`subscription`, `purchase` or `manual`."""
    source_id: str | None
    source_person_id: str | None
    """Who bought it."""
    expires_at: datetime | None
    """Its end as the service gives it; None for none."""


@dataclass(frozen=True)
class CurrentSubscription(Document):
    """The subscription that says most about a person."""

    status: str
    """`active`, `trialing`, `past_due` or `canceled`."""
    product_id: str | None
    subscription_id: str | None
    expires_at: datetime | None


@dataclass(frozen=True)
class Subscription(Document):
    """A subscription that a person has or had."""

    subscription_id: str
    product_id: str | None
    """The service's id of the product: `Product.product_id`."""
    status: str
    """`active`, `trialing`, `past_due`, `canceled` or `expired`."""
    starts_at: datetime
    expires_at: datetime | None
    canceled_at: datetime | None
    is_trial: bool
    source_person_id: str | None
    """Who bought it."""


@dataclass(frozen=True)
class Subscriptions(Document):
    """A person's subscriptions, for display: unlock by perks, never by these."""

    current: CurrentSubscription | None
    history: tuple[Subscription, ...]
    """The newest first."""


@dataclass(frozen=True)
class PersonPurchase(Document):
    """Something that a person bought."""

    purchase_id: str
    product_id: str | None
    """The service's id of the product: `Product.product_id`."""
    provider: str
    """Who charged, such as `apple-app-store`."""
    type: str
    """`one_time` or `subscription`."""
    created_at: datetime
    source_person_id: str | None
    """Who bought it."""


@dataclass(frozen=True)
class Person(Document):
    """What the service knows of one person. (Voidhash, `VoidhashPerson`.)

    Unlock by perks: `client.has_perk("premium")`.
    """

    distinct_id: str
    """The id that the person is asked for by."""
    person_id: str | None
    """The service's own id; None before it knows the person."""
    email: str | None
    name: str | None
    grants: tuple[Grant, ...]
    subscriptions: Subscriptions
    purchases: tuple[PersonPurchase, ...]
    """The newest first."""
    fetched_at: datetime
    """When the service last said so."""
    from_: str
    """The document's `from`: `network` in this run, or `cache`."""
    stale: bool
    """Older than 5 minutes. It still counts."""
    expired: bool
    """Older than 2 days. Grants past their own end count no longer."""


@dataclass(frozen=True)
class OfferPhase(Document):
    """One step of an offer's price."""

    payment_mode: str
    """`free_trial`, `pay_as_you_go` or `pay_up_front`."""
    price: Money
    period: Period
    cycles: int
    """How many periods it lasts."""


@dataclass(frozen=True)
class Offer(Document):
    """A price that this user may have now: `client.purchase(slug, offer=offer)`."""

    id: str | None
    """The seller's, of a win-back offer the store's; None of an introductory offer that has none."""
    kind: str
    """`introductory`, `promotional` or `win_back`."""
    phases: tuple[OfferPhase, ...]
    store_offer_id: str | None


@dataclass(frozen=True)
class ProductSubscription(Document):
    """What a subscription has beyond other products."""

    period: Period
    group_id: str
    """Of the products of a group a user has one at a time."""
    intro_offer: Offer | None
    """None unless the store says that the user may have it now."""
    price_per_day: Money | None
    price_per_week: Money | None
    price_per_month: Money | None
    price_per_year: Money | None
    """A year has 365 days, 52 weeks or 12 months. Rounded once, to the currency's digits."""


@dataclass(frozen=True)
class Product(Document):
    """What the store sells to people. (Voidhash, `VoidhashProduct`.)"""

    id: str
    """The slug."""
    slug: str
    """What `purchase` and `has_access` call it."""
    product_id: str
    """The service's id, which a person's subscriptions and purchases name."""
    name: str
    """What the seller calls it."""
    store_product_id: str
    type: str
    """`subscription`, `consumable`, `non_consumable` or `non_renewing_subscription`."""
    display_name: str
    """The store's, in the user's language."""
    description: str
    price: Money
    """The regular price; `formatted` is the store's own text."""
    subscription: ProductSubscription | None
    """None unless it is one."""
    offers: tuple[Offer, ...]
    """Promotional and win-back offers that the user may have now."""
    store: Mapping[str, Any]
    """Everything that the store says, also the offers that this user may not have."""


READERS.update(
    {
        "Person": Person.of,
        "Subscriptions": Subscriptions.of,
        "CurrentSubscription": CurrentSubscription.of,
        "ProductSubscription": ProductSubscription.of,
        "Offer": Offer.of,
        "tuple[Grant, ...]": read_all(Grant),
        "tuple[Subscription, ...]": read_all(Subscription),
        "tuple[PersonPurchase, ...]": read_all(PersonPurchase),
        "tuple[OfferPhase, ...]": read_all(OfferPhase),
        "tuple[Offer, ...]": read_all(Offer),
    }
)
