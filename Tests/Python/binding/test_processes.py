"""Start, end, fork, and several processes on one directory."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import kassa
import pytest
from support import PLAN, PRODUCT, Run, Sandbox, configuration

OPEN = f"import kassa; client = kassa.Client(storage=':memory:', thread=THREAD); config = {configuration()!r}\n"


def test_the_first_answer_loads_neither_dataclasses_nor_asyncio(run_python: Run, tmp_path: Path) -> None:
    """They would double the start; `make bench` measures it."""
    with kassa.Client(storage=tmp_path / "state") as client:
        client.configure(configuration())
        client.purchase(PLAN)
    program = f"""
import sys, kassa
client = kassa.Client(storage={str(tmp_path / "state")!r})
client.configure({configuration()!r})
assert client.has_access({PRODUCT!r})
print({{"asyncio", "dataclasses", "decimal", "inspect", "typing"}} & set(sys.modules))
"""
    done = run_python(
        "-I", "-c", f"import sys; sys.path.insert(0, {str(Path(kassa.__file__).parents[1])!r})\n{program}"
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.parametrize(
    "program",
    [
        "client.configure(config)",
        "client.configure(config); operation = client.start.refresh_plans()",
        "client.configure(config); client.cycle = client; events = client.events()",
        "import threading; client.configure(config); "
        "threading.Thread(target=lambda: list(client.events()), daemon=True).start()",
        "import asyncio; client.close(); client = kassa.AsyncClient(storage=':memory:', thread=THREAD); "
        "asyncio.run(client.configure(config))",
    ],
)
def test_a_live_client_does_not_disturb_the_end_of_the_interpreter(run_python: Run, thread: str, program: str) -> None:
    began = time.monotonic()
    done = run_python("-c", f"THREAD = {thread!r}\n{OPEN}{program}\nprint('end')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    assert time.monotonic() - began < 5


class SilentServer:
    """A TLS server that accepts, reads the request and never answers."""

    def __init__(self, directory: Path) -> None:
        self.certificate = directory / "certificate.pem"
        key = directory / "key.pem"
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
        options = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*command.split(), *options], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.asked = threading.Event()
        self._listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self.base_url = f"https://localhost:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.recv(1)
            self.asked.set()
            while connection.recv(4096):
                pass


def test_an_open_tls_connection_does_not_disturb_the_end_either(tmp_path: Path, run_python: Run, thread: str) -> None:
    server = SilentServer(tmp_path)
    program = f"""
import kassa
client = kassa.Client(storage=":memory:", thread={thread!r})
operation = client.start.configure({configuration(server.base_url, presenter="host")!r})
try:
    operation.wait(1)
except TimeoutError:
    print("waiting")
"""
    began = time.monotonic()
    done = run_python("-c", program, env={"SSL_CERT_FILE": str(server.certificate)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "waiting\n", "")
    assert server.asked.is_set()
    assert time.monotonic() - began < 5


def in_child(work: Callable[[], object]) -> str:
    """What `work` gives or raises in a child made by fork."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = repr(work())
        except BaseException as error:
            answer = type(error).__name__
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answers:
        answer = answers.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_an_inherited_client_is_refused_and_the_child_opens_its_own(shop: kassa.Client, thread: str) -> None:
    assert in_child(lambda: shop.has_access(PRODUCT)) == "ForkedError"
    assert in_child(shop.plans) == "ForkedError"
    assert in_child(shop.refresh_plans) == "ForkedError"
    assert in_child(shop.close) == "None"

    def open_another() -> str:
        with kassa.Client(storage=":memory:", thread=thread) as own:
            return own.configure(configuration())

    assert in_child(open_another) == "'network'"
    assert shop.refresh_plans() == shop.plans()


def test_s069_another_process_sees_a_purchase_within_a_second(run_python: Run, tmp_path: Path) -> None:
    with kassa.Client(storage=tmp_path / "state") as client:
        client.configure(configuration())
        events = client.events()
        run_python(
            "-c",
            f"import kassa\nwith kassa.Client(storage={str(tmp_path / 'state')!r}) as client:\n"
            f"    client.configure({configuration()!r})\n    client.purchase({PLAN!r}).raise_for_outcome()",
            check=True,
        )
        began = time.monotonic()
        causes = set()
        while not client.has_access(PRODUCT) and time.monotonic() - began < 5:
            event = events.take(0.05)
            causes.add(event.cause if isinstance(event, kassa.Changed) else None)
        assert time.monotonic() - began < 1.5
        assert client.device_id is not None


def test_access_outlives_the_network(sandbox: Sandbox, tmp_path: Path, thread: str) -> None:
    config = configuration(sandbox.base_url, presenter="host")
    with kassa.Client(storage=tmp_path / "state", thread=thread) as client:
        assert client.configure(config) == "network"
        client.on_request("checkout/present")(sandbox.pay)
        assert client.purchase(PLAN).purchased
        device = client.device_id
        client.log_in("user-1")
    sandbox.stop()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as client:
        configured = client.start.configure(config)
        assert client.has_access(PRODUCT)
        assert configured.wait(60) == "cache"
        assert (client.device_id, client.app_user_id) == (device, "user-1")
        explanation = client.explain(PRODUCT)
        assert (explanation.access, explanation.considered[0].from_) == (True, "cache")
        login = client.log_in("user-1")
        assert (login.claimed, login.deferred) == ((), True)


def test_s109_the_first_start_without_a_network_is_unknown(tmp_path: Path, thread: str) -> None:
    with kassa.Client(storage=tmp_path, thread=thread) as client:
        with pytest.raises(kassa.NetworkError) as caught:
            client.configure(configuration("http://127.0.0.1:9", presenter="host"))
        assert (caught.value.code, caught.value.retryable) == ("offline", True)
        assert client.explain(PRODUCT).answer == "unknown"
