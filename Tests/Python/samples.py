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
STORE_MESSAGE: Json = {"type": "store_message", "message": {"id": "m1", "reason": "billing_issue"}}
EVENTS = [CHANGED, DIAGNOSTIC, REQUEST, REQUEST_CANCELLED, TRANSACTION_UPDATED, PURCHASE_INTENT, STORE_MESSAGE]

ERROR: Json = {
    "code": "rate_limited",
    "message": "The service asked to wait.",
    "retryable": True,
    "status": 429,
    "retry_after_ms": 1500,
}
