"""The command line: `python -m kassa`, or `kassa` where it is installed."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import webbrowser
from contextlib import suppress

from . import __version__
from ._documents import Request
from .client import Client
from .errors import KassaError, NetworkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Any, TypeVar

    from ._documents import Plan
    from ._operations import Operation
    from ._values import Document

    Result = TypeVar("Result")

DONE, FAILED, NO_ACCESS, NOT_BOUGHT, PENDING, NO_NETWORK, INTERRUPTED = 0, 1, 3, 4, 5, 6, 130
EXIT_CODES = """\
exit codes:
  0    done; with status and explain: there is access
  1    failed; the message says why
  2    wrong usage
  3    status, explain: no access
  4    buy: cancelled, or purchases are disabled
  5    buy: the payment settles later
  6    no usable answer from the service
  130  interrupted

environment:
  KASSA_COMPANY_ID, KASSA_API_KEY, KASSA_APP_ID   in place of the options; prefer it for the key
  KASSA_LIBRARY                                   the path of libkassa.so
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        with Client(options.app_id, storage=options.storage) as client:
            wait(client.start.configure(configuration(options)), "Asking the service")
            code: int = options.command(client, options)
            return code
    except KassaError as error:
        report(error, as_json=options.json)
        return NO_NETWORK if isinstance(error, NetworkError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("the service")
    company, key = os.environ.get("KASSA_COMPANY_ID"), os.environ.get("KASSA_API_KEY")
    group.add_argument("--company-id", metavar="ID", default=company, required=company is None, help="biz_...")
    group.add_argument("--api-key", metavar="KEY", default=key, required=key is None, help="scoped to iap:read")
    group.add_argument("--base-url", metavar="URL", help="a sandbox or broker; embedded: for the one in this process")
    group.add_argument("--product-id", metavar="ID", action="append", help="look at this product only; repeatable")
    group = common.add_argument_group("this installation")
    group.add_argument(
        "--app-id", metavar="ID", default=os.environ.get("KASSA_APP_ID", "kassa"), help="names its state"
    )
    group.add_argument("--storage", metavar="DIR", help="the directory of its state")
    common.add_argument("--json", action="store_true", help="print documents (docs/documents.md), one a line")

    whole = argparse.ArgumentParser(
        prog="kassa",
        description="Plans, purchases and access from the command line.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[Client, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], help=text, description=text)
        sub.set_defaults(command=command)
        return sub

    add("plans", plans, "list what can be bought")
    buy_parser = add("buy", buy, "buy a plan in the browser")
    buy_parser.add_argument("plan", metavar="PLAN", help="plan_...")
    buy_parser.add_argument("--no-browser", action="store_true", help="only print the address of the checkout")
    add("status", status, "who is logged in, and the active memberships")
    add("login", login, "log a user in").add_argument("user", metavar="USER", help="the id of your own account system")
    add("logout", logout, "log the user out")
    add("restore", restore, "ask the service for everything again")
    add("explain", explain, "why a product is accessible or not").add_argument(
        "product", metavar="PRODUCT", help="prod_..."
    )
    return whole


def configuration(options: argparse.Namespace) -> dict[str, Any]:
    """The configuration document for the options."""
    backend = {
        "kind": "whop",
        "company_id": options.company_id,
        "api_key": options.api_key,
        "base_url": options.base_url,
        "product_ids": options.product_id,
    }
    # The embedded sandbox has no page to show, and this program shows the page of any other service itself.
    presenter = "simulated" if options.base_url == "embedded:" else "host"
    return {
        "backend": {key: value for key, value in backend.items() if value is not None},
        "checkout": {"presenter": presenter},
    }


# The commands


def plans(client: Client, options: argparse.Namespace) -> int:
    found = client.plans()
    if options.json:
        show_documents(found)
    else:
        show_table(
            ("PLAN", "PRODUCT", "PRICE", "TITLE"),
            [(plan.id, plan.product_id or "", price(plan), plan.title or "") for plan in found if plan.available],
        )
    return DONE


def buy(client: Client, options: argparse.Namespace) -> int:
    client.on_request("checkout/present")(lambda request: present(request, browse=not options.no_browser))
    result = wait(client.start.purchase(options.plan), "Waiting for the payment")
    if options.json:
        show_documents([result])
    else:
        print(f"{result.plan_id}: {result.outcome}" + (f", receipt {result.receipt_id}" if result.receipt_id else ""))
    return {"purchased": DONE, "pending": PENDING}.get(result.outcome, NOT_BOUGHT)


def status(client: Client, options: argparse.Namespace) -> int:
    memberships = client.memberships()
    if options.json:
        show_documents(memberships)
    else:
        print(f"User: {client.app_user_id or 'a guest'}")
        print(f"Subscribed: {yes_no(client.is_subscribed)}")
        show_table(
            ("MEMBERSHIP", "PRODUCT", "STATUS", "UNTIL"),
            [
                (each.id, each.product_id, each.status, day(each.expires_at or each.renewal_period_end))
                for each in memberships
            ],
        )
    return DONE if client.is_subscribed else NO_ACCESS


def login(client: Client, options: argparse.Namespace) -> int:
    result = wait(client.start.log_in(options.user), "Logging in")
    if options.json:
        show_documents([result])
    else:
        print(f"Logged in as {result.app_user_id}")
        for membership in result.claimed:
            print(f"Claimed {membership}")
        if result.deferred:
            print("Purchases of this device are claimed when there is a network")
    return DONE


def logout(client: Client, _options: argparse.Namespace) -> int:
    client.log_out()
    return DONE


def restore(client: Client, options: argparse.Namespace) -> int:
    result = wait(client.start.restore_purchases(), "Restoring")
    if options.json:
        show_documents([result])
    else:
        print("Restored" if result.restored else "Nothing to restore")
    return DONE


def explain(client: Client, options: argparse.Namespace) -> int:
    explanation = client.explain(options.product)
    if options.json:
        show_documents([explanation])
    else:
        print(f"{explanation.product_id}: {explanation.answer} ({explanation.reason})")
        show_table(
            ("SOURCE", "STATUS", "ACTIVE", "RULE", "ENDS", "FROM"),
            [
                (each.id, each.status, yes_no(each.active), each.rule, day(each.ends_at), each.from_)
                for each in explanation.considered
            ],
        )
    return DONE if explanation.access else NO_ACCESS


# What a person sees


def present(request: Request, *, browse: bool) -> dict[str, Any]:
    """Shows the checkout and waits until the user says that it is done."""
    url = request.params["url"]
    clear_progress()
    print(f"Pay here: {url}", file=sys.stderr)
    if browse:
        webbrowser.open(url)
    if sys.stdin.isatty():
        print("Press Enter when you have paid, Ctrl-D to cancel. ", end="", file=sys.stderr, flush=True)
    return {"outcome": "returned"} if sys.stdin.readline() else {"outcome": "cancelled"}


def wait(operation: Operation[Result], doing: str) -> Result:
    """The operation's result; a terminal shows meanwhile that something is going on."""
    if not sys.stderr.isatty():
        return operation.wait()
    try:
        signs = itertools.cycle("|/-\\")
        while True:
            print(f"\r{next(signs)} {doing} ", end="", file=sys.stderr, flush=True)
            with suppress(TimeoutError):
                return operation.wait(0.2)
    finally:
        clear_progress()


def clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def report(error: KassaError, *, as_json: bool) -> None:
    """The error, on standard error."""
    if as_json:
        fields = {"code": error.code, "message": error.message, "retryable": error.retryable, "reason": error.reason}
        print(json.dumps({"error": fields}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"kassa: {error.message} ({error.code})", file=sys.stderr)


def show_documents(documents: Iterable[Document]) -> None:
    for document in documents:
        print(json.dumps(document.raw, ensure_ascii=False))


def show_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as they must be; nothing for no rows."""
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    for row in (titles, *rows) if rows else ():
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def price(plan: Plan) -> str:
    """The price as a person would say it: `$9.99 monthly`."""
    if plan.renewal_period is None:
        return plan.whop_display_price
    return f"{plan.whop_display_price} {plan.renewal_period.description.lower()}"


def day(moment: datetime | None) -> str:
    return "no end" if moment is None else f"{moment:%Y-%m-%d}"


def yes_no(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    sys.exit(main())
