"""One of each document, as docs/documents.md describes it."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MONEY: Json = {"amount": "9.99", "amount_micros": 9_990_000, "currency": "USD", "formatted": "$9.99"}

PLAN: Json = {
    "id": "plan_monthly",
    "product_id": "prod_pro",
    "title": "Pro",
    "description": None,
    "plan_type": "renewal",
    "billing_period_days": 30,
    "renewal_period": {"kind": "monthly", "days": 30, "description": "Monthly"},
    "trial_period_days": None,
    "base_currency": "usd",
    "initial_price": 9.99,
    "renewal_price": 9.99,
    "initial_price_money": MONEY,
    "renewal_price_money": MONEY,
    "whop_display_price": "$9.99",
    "apple_display_price": None,
    "visibility": "visible",
    "available": True,
}

MEMBERSHIP: Json = {
    "id": "mem_1",
    "product_id": "prod_pro",
    "plan_id": "plan_monthly",
    "status": "active",
    "raw_status": "active",
    "is_active": True,
    "is_claimed": False,
    "created_at": 1_793_000_000_123,
    "expires_at": None,
    "renewal_period_end": 1_795_592_000_000,
    "cancel_at_period_end": False,
    "receipt_id": "pay_1",
    "manage_url": None,
}

ENTITLEMENT: Json = {
    "source": "membership",
    "id": "mem_1",
    "product_id": "prod_pro",
    "plan_id": "plan_monthly",
    "status": "active",
    "active": True,
    "ends_at": 1_796_000_000_000,
    "rule": "renewal_grace",
    "stale": False,
    "confirmed_at": 1_793_000_000_000,
    "from": "cache",
}

EXPLANATION: Json = {
    "product_id": "prod_pro",
    "access": True,
    "answer": "yes",
    "reason": "granted",
    "decided_by": "mem_1",
    "app_user_id": None,
    "considered": [ENTITLEMENT],
    "clock": {"now": 1_795_740_800_000, "source": "saved", "server_time": None, "server_seen_ms_ago": None},
    "offline": {"days": 30, "mode": "lenient", "confirmed_at": 1_793_000_000_000},
    "storefront": None,
}

PURCHASE: Json = {
    "outcome": "purchased",
    "plan_id": "plan_monthly",
    "method": "whop",
    "receipt_id": "pay_1",
    "membership": MEMBERSHIP,
}

GRANT_ENTITLEMENT: Json = {
    "source": "grant",
    "id": "premium",
    "perk": "premium",
    "status": "active",
    "granted_by": "subscription",
    "granted_by_id": "sub_1",
    "expires_at": 1_795_592_000_000,
    "active": True,
    "ends_at": 1_795_592_000_000,
    "rule": "fixed_end",
    "stale": False,
    "confirmed_at": 1_793_000_000_000,
    "from": "network",
}

PERSON: Json = {
    "distinct_id": "user-1",
    "person_id": "person_1",
    "email": "user@example.com",
    "name": None,
    "grants": [
        {
            "perk": "premium",
            "status": "active",
            "active": True,
            "source": "subscription",
            "source_id": "sub_1",
            "source_person_id": "person_1",
            "expires_at": 1_795_592_000_000,
        }
    ],
    "subscriptions": {
        "current": {
            "status": "active",
            "product_id": "prod_1",
            "subscription_id": "sub_1",
            "expires_at": 1_795_592_000_000,
        },
        "history": [
            {
                "subscription_id": "sub_1",
                "product_id": "prod_1",
                "status": "active",
                "starts_at": 1_793_000_000_000,
                "expires_at": 1_795_592_000_000,
                "canceled_at": None,
                "is_trial": False,
                "source_person_id": "person_1",
            }
        ],
    },
    "purchases": [
        {
            "purchase_id": "purchase_1",
            "product_id": "prod_1",
            "provider": "apple-app-store",
            "type": "subscription",
            "created_at": 1_793_000_000_000,
            "source_person_id": "person_1",
        }
    ],
    "fetched_at": 1_793_000_000_000,
    "from": "network",
    "stale": False,
    "expired": False,
}

OFFER: Json = {
    "id": "welcome_back",
    "kind": "promotional",
    "phases": [{"payment_mode": "pay_as_you_go", "price": MONEY, "period": {"unit": "month", "count": 1}, "cycles": 3}],
    "store_offer_id": "com.example.app.back",
}

PRODUCT: Json = {
    "id": "pro_monthly",
    "slug": "pro_monthly",
    "product_id": "prod_1",
    "name": "Pro",
    "store_product_id": "com.example.app.pro.monthly",
    "type": "subscription",
    "display_name": "Pro",
    "description": "Everything",
    "price": MONEY,
    "subscription": {
        "period": {"unit": "month", "count": 1},
        "group_id": "21600001",
        "intro_offer": None,
        "price_per_day": MONEY,
        "price_per_week": MONEY,
        "price_per_month": MONEY,
        "price_per_year": None,
    },
    "offers": [OFFER],
    "store": {
        "id": "com.example.app.pro.monthly",
        "type": "subscription",
        "display_name": "Pro",
        "description": "Everything",
        "price": MONEY,
        "family_shareable": False,
        "subscription": {
            "group_id": "21600001",
            "group_name": "Pro",
            "level": 2,
            "period": {"unit": "month", "count": 1},
            "offers": [],
        },
    },
}

PENDING: Json = {
    "pending_transaction_count": 1,
    "transactions": [
        {
            "transaction_id": "2000000123456789",
            "store": "apple",
            "store_product_id": "com.example.app.pro.monthly",
            "product_slug": "pro_monthly",
            "distinct_id": "user-1",
            "attempts": 1,
            "next_try_at": 1_793_000_000_000,
            "refused_at": None,
            "is_restore": False,
            "is_host_owned": False,
        }
    ],
    "writes": [{"kind": "attributes", "distinct_id": "user-1"}, {"kind": "claim", "app_user_id": "user-1"}],
}

CHANGED: Json = {"type": "changed", "what": "entitlements", "revision": 3, "cause": "purchase"}
DIAGNOSTIC: Json = {"type": "diagnostic", "code": "storage_in_memory", "message": "Nothing survives.", "details": {}}
REQUEST: Json = {
    "type": "request",
    "id": 7,
    "service": "auth",
    "method": "access_token",
    "params": {"reason": "first", "company_id": "biz_x"},
}
REQUEST_CANCELLED: Json = {"type": "request_cancelled", "id": 7}
TRANSACTION: Json = {
    "id": "2000000123456789",
    "original_id": "2000000123450000",
    "store": "apple",
    "store_product_id": "com.example.monthly",
    "type": "subscription",
    "group_id": "21512345",
    "purchased_at": 1_793_000_000_000,
    "originally_purchased_at": 1_790_000_000_000,
    "expires_at": 1_795_592_000_000,
    "quantity": 1,
    "ownership": "purchased",
    "environment": "production",
    "is_renewal": True,
    "is_upgraded": False,
    "revoked_at": None,
    "revocation_reason": None,
    "revocation_percentage": None,
    "offer": None,
    "storefront": "US",
}
TRANSACTION_UPDATED: Json = {
    "type": "transaction_updated",
    "transaction": {**TRANSACTION, "plan_id": "plan_monthly", "product_id": "prod_pro"},
    "synced": False,
}
PURCHASE_INTENT: Json = {
    "type": "purchase_intent",
    "plan_id": "plan_monthly",
    "options": {"method": "store", "quantity": 1, "offer": {"id": "welcome_back"}},
}
PRODUCT_INTENT: Json = {
    "type": "purchase_intent",
    "product_slug": "pro_monthly",
    "options": {"method": "store", "quantity": 1, "offer": "automatic"},
}
PRODUCT_PURCHASE: Json = {
    "outcome": "purchased",
    "product_slug": "pro_monthly",
    "method": "store",
    "receipt_id": "2000000123456789",
    "transaction": {**TRANSACTION, "plan_id": None, "product_id": "prod_1", "product_slug": "pro_monthly"},
    "synced": True,
}
STORE_MESSAGE: Json = {"type": "store_message", "message": {"id": "m1", "reason": "billing_issue"}}
EVENTS = [CHANGED, DIAGNOSTIC, REQUEST, REQUEST_CANCELLED, TRANSACTION_UPDATED, PURCHASE_INTENT, STORE_MESSAGE]

ERROR: Json = {
    "code": "rate_limited",
    "message": "The service asked to wait.",
    "retryable": True,
    "status": 429,
    "retry_after_ms": 1500,
}
