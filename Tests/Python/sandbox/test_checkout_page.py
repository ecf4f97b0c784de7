"""People on the sandbox's pages: buying, declined, confirming, leaving; by keyboard, on small screens, in the dark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from support import COMPANY, PLAN, Sandbox
from whop_sdk import Whop

AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
GOOD, DECLINED, CHALLENGED = "4242 4242 4242 4242", "4000 0000 0000 0002", "5385 3083 6013 5181"
PASSWORD = "Checkout1!"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chrome]:
    if not Path("/usr/bin/chromedriver").exists():
        pytest.skip("chromedriver is not installed")
    options = ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    driver = Chrome(options=options, service=ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


class Buyer:
    """Somebody at a checkout page."""

    def __init__(self, driver: Chrome, sandbox: Sandbox) -> None:
        self.driver = driver
        self.sandbox = sandbox

    def see(self, width: int = 800, scheme: str = "light") -> None:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, page: str) -> None:
        self.driver.get(page if "://" in page else self.sandbox.base_url + page)

    def fill(self, **fields: str) -> None:
        for name, text in fields.items():
            field = self.driver.find_element(By.NAME, name)
            field.clear()
            field.send_keys(text)

    def fill_card(self, card: str) -> None:
        self.fill(email="buyer@example.com", card=card, expiry="12/34", cvc="123")

    def press(self, action: str) -> None:
        """Presses a button, and waits for the next page."""
        page = self.driver.find_element(By.TAG_NAME, "html")
        self.driver.find_element(By.CSS_SELECTOR, f"button[value={action}]").click()
        WebDriverWait(self.driver, 10).until(lambda _: self.is_gone(page))

    @staticmethod
    def is_gone(page: Any) -> bool:
        try:
            page.is_enabled()
        except Exception:  # whatever the driver says of an element of a page that was left
            return True
        return False

    @property
    def heading(self) -> str:
        return str(self.driver.find_element(By.TAG_NAME, "h1").text)

    @property
    def alert(self) -> str:
        return str(self.driver.find_element(By.CSS_SELECTOR, "[role=alert]").text)

    @property
    def focus(self) -> str:
        """The id or the value of what the keyboard is on."""
        return str(self.driver.execute_script("let a = document.activeElement; return a.id || a.value || a.tagName"))

    def complaints(self) -> list[str]:
        """What axe-core finds wrong with the page."""
        self.driver.execute_script(AXE)
        found: dict[str, Any] = self.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        assert found["passes"], "axe-core has looked at nothing"
        return [f"{problem['id']}: {node['html']}" for problem in found["violations"] for node in problem["nodes"]]


@pytest.fixture
def buyer(chromium: Chrome, sandbox: Sandbox) -> Buyer:
    buyer = Buyer(chromium, sandbox)
    buyer.see()
    return buyer


class Returns:
    """The seller's program, to which buyers are sent back."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        addresses = self.addresses

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/back"):
                    addresses.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<!doctype html><h1>Back</h1>")

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/back?state=7"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def returns() -> Iterator[Returns]:
    returns = Returns()
    yield returns
    returns.server.shutdown()
    returns.server.server_close()


def checkout(whop: Whop, returns: Returns) -> str:
    created = whop.checkout_configurations.create(
        account_id=COMPANY, plan_id=PLAN, redirect_url=returns.url, metadata={"nonce": "n"}
    )
    return str(created.purchase_url)


def test_buying_returns_to_the_program(buyer: Buyer, whop: Whop, returns: Returns) -> None:
    buyer.open(checkout(whop, returns))
    assert "$9.99 / month" in buyer.driver.page_source
    buyer.fill_card(GOOD)
    buyer.press("pay")
    assert buyer.heading == "Back"
    (address,) = returns.addresses
    items = parse_qs(urlsplit(address).query)
    assert (items["state"], items["checkout_status"], items["status"]) == (["7"], ["success"], ["success"])
    (payment,) = list(whop.payments.list(account_id=COMPANY))
    assert items["receipt_id"] == items["payment_id"] == [payment.id]
    (membership,) = list(whop.memberships.list(account_id=COMPANY))
    assert (membership.status, membership.metadata) == ("active", {"nonce": "n"})


def test_without_a_return_address_the_page_says_how_it_went(buyer: Buyer, whop: Whop) -> None:
    buyer.open(f"/checkout/{PLAN}")
    buyer.fill_card(GOOD)
    buyer.press("pay")
    assert buyer.heading == "Payment successful"
    (payment,) = list(whop.payments.list(account_id=COMPANY))
    assert payment.id in buyer.driver.page_source
    assert payment.customer_email == "buyer@example.com"


def test_a_declined_card_can_be_replaced(buyer: Buyer, whop: Whop, returns: Returns) -> None:
    buyer.open(checkout(whop, returns))
    buyer.fill_card(DECLINED)
    buyer.press("pay")
    assert buyer.alert == "Your card was declined. Try another card or contact your bank."
    assert buyer.focus == "alert"
    assert buyer.driver.find_element(By.NAME, "email").get_attribute("value") == "buyer@example.com"
    assert buyer.driver.find_element(By.NAME, "cvc").get_attribute("value") == ""
    assert returns.addresses == []
    buyer.fill_card(GOOD)
    buyer.press("pay")
    assert len(returns.addresses) == 1
    assert len(list(whop.memberships.list(account_id=COMPANY))) == 1


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("email", "nobody", "e-mail"),
        ("card", "4111 1111 1111 1111", "test cards"),
        ("expiry", "12/20", "expiry"),
        ("expiry", "13/34", "expiry"),
        ("cvc", "12", "security code"),
        ("email", "\"><script>document.title='x'</script>", "e-mail"),
    ],
)
def test_mistakes_are_named_at_their_field(buyer: Buyer, whop: Whop, field: str, text: str, word: str) -> None:
    buyer.open(f"/checkout/{PLAN}")
    buyer.fill_card(GOOD)
    buyer.fill(**{field: text})
    buyer.press("pay")
    assert word in buyer.alert
    wrong = buyer.driver.find_element(By.CSS_SELECTOR, "[aria-invalid=true]")
    assert (wrong.get_attribute("name"), wrong.get_attribute("aria-describedby")) == (field, "alert")
    assert buyer.driver.title.startswith("Buy Pro")
    if field != "cvc":
        assert wrong.get_attribute("value") == text
    assert list(whop.payments.list(account_id=COMPANY)) == []


@pytest.mark.parametrize(("password", "status"), [(PASSWORD, "paid"), ("wrong", "open")])
def test_the_challenge(buyer: Buyer, whop: Whop, returns: Returns, password: str, status: str) -> None:
    buyer.open(checkout(whop, returns))
    buyer.fill_card(CHALLENGED)
    buyer.press("pay")
    assert buyer.heading.startswith("Your bank asks")
    assert buyer.focus == "password"
    buyer.fill(password=password)
    buyer.press("confirm")
    if status == "paid":
        assert len(returns.addresses) == 1
    else:
        assert "could not confirm" in buyer.alert
    (payment,) = list(whop.payments.list(account_id=COMPANY))
    assert payment.status == status


def test_leaving(buyer: Buyer, whop: Whop, returns: Returns) -> None:
    buyer.open(checkout(whop, returns))
    buyer.press("cancel")
    buyer.open(checkout(whop, returns))
    buyer.fill_card(CHALLENGED)
    buyer.press("pay")
    buyer.press("cancel")
    assert [parse_qs(urlsplit(address).query)["status"] for address in returns.addresses] == [["canceled"]] * 2
    buyer.open(f"/checkout/{PLAN}")
    buyer.press("cancel")
    assert buyer.heading == "Checkout canceled"
    assert list(whop.memberships.list(account_id=COMPANY)) == []


def test_a_bank_account_needs_no_card(buyer: Buyer, whop: Whop) -> None:
    buyer.open(f"/checkout/{PLAN}")
    buyer.fill(email="buyer@example.com")
    buyer.driver.find_element(By.ID, "bank").click()
    assert not buyer.driver.find_element(By.ID, "card").is_displayed()
    buyer.press("pay")
    assert buyer.heading == "Payment pending"
    (payment,) = list(whop.payments.list(account_id=COMPANY))
    assert payment.status == "pending"


def test_a_free_plan_asks_for_no_card(buyer: Buyer) -> None:
    buyer.open("/checkout/plan_free")
    assert buyer.driver.find_elements(By.ID, "card") == []
    buyer.fill(email="buyer@example.com")
    buyer.press("pay")
    assert buyer.heading == "Payment successful"


def test_managing_a_membership(buyer: Buyer, whop: Whop, sandbox: Sandbox) -> None:
    bought = sandbox.control({"action": "complete_checkout", "plan_id": PLAN})["membership_id"]
    manage_url = whop.memberships.retrieve(bought).manage_url
    assert manage_url is not None
    for cancels in (True, False):
        buyer.open(manage_url)
        buyer.press("cancel" if cancels else "keep")
        assert whop.memberships.retrieve(bought).cancel_at_period_end == cancels


@pytest.mark.parametrize("page", ["/checkout/plan_nobody", "/checkout/plan_monthly/?session=ch_none", "/nothing"])
def test_what_is_not_there(buyer: Buyer, page: str) -> None:
    buyer.open(page)
    assert buyer.heading == "Not available"


def test_the_keyboard_is_enough(buyer: Buyer) -> None:
    buyer.open(f"/checkout/{PLAN}")
    keys = ActionChains(buyer.driver)
    order = []
    for text in ["k@example.com", "", GOOD, "12/34", "123", ""]:
        keys.send_keys(Keys.TAB).perform()
        order.append(buyer.focus)
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert buyer.driver.execute_script(outline) == "solid"
        keys.send_keys(text).perform()
    assert order == ["email", "card", "card", "expiry", "cvc", "pay"]
    page = buyer.driver.find_element(By.TAG_NAME, "html")
    keys.send_keys(Keys.ENTER).perform()
    WebDriverWait(buyer.driver, 10).until(lambda _: buyer.is_gone(page))
    assert buyer.heading == "Payment successful"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_is_for_everybody(buyer: Buyer, sandbox: Sandbox, width: int, scheme: str) -> None:
    buyer.see(width, scheme)

    def look() -> None:
        assert buyer.complaints() == []
        assert buyer.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        lightness = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 127"
        assert buyer.driver.execute_script(lightness) == (scheme == "light")

    bought = sandbox.control({"action": "complete_checkout", "plan_id": PLAN})["membership_id"]
    for page in ["/checkout/plan_weekly", "/checkout/plan_free", "/checkout/none", f"/billing/manage/{bought}"]:
        buyer.open(page)
        look()
    buyer.open(f"/checkout/{PLAN}")
    buyer.press("pay")
    look()
    buyer.fill_card(DECLINED)
    buyer.press("pay")
    look()
    buyer.fill_card(CHALLENGED)
    buyer.press("pay")
    look()
    buyer.fill(password=PASSWORD)
    buyer.press("confirm")
    look()


def test_nothing_comes_from_elsewhere(buyer: Buyer) -> None:
    buyer.open(f"/checkout/{PLAN}")
    assert buyer.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert buyer.driver.execute_script("return document.scripts.length") == 0
