"""A rondo server as a child process: on free ports, with a data file in a directory of its own.

Ready means that the HTTP port answers /readyz. A server that ends before that is an error that carries its log.
The server and its directory do not outlive the program.
"""
import atexit
import logging
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("RONDO_BIN", os.path.join(ROOT, "build", "rondo"))
READY_S = 60
STOP_S = 60

# Below the range from which the kernel takes the local ports of outgoing connections: a client that
# redials a dead server in that range can be connected to itself.
PORT_FIRST = 20_000
PORT_COUNT = 12_000


def quiet():
    """What the SDK warns of is what the tests do on purpose. SDK_LOG=WARN or DEBUG shows it."""
    level = os.environ.get("SDK_LOG")
    if not level:
        logging.disable()
    filter = TelemetryFilter(core_level=level or "OFF", other_level="ERROR")
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=filter))))


def free_port():
    while True:
        port = PORT_FIRST + random.randrange(PORT_COUNT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Server:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="rondo-python-")
        self.grpc_port = free_port()
        self.http_port = free_port()
        self.child = None
        atexit.register(self.close)
        self.launch()

    @property
    def address(self):
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http_port}"

    def launch(self):
        self.log = open(os.path.join(self.directory, "log"), "ab")
        self.child = subprocess.Popen(
            [BINARY, "server", "--data", os.path.join(self.directory, "rondo.db"), "--grpc", self.address,
             "--http", f"127.0.0.1:{self.http_port}", "--log-level", "info"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + READY_S
        while not self.is_ready():
            if self.child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start:\n{self.log_text()}")
            time.sleep(0.05)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def log_text(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self):
        """As a crash: nothing is said goodbye to."""
        self.child.kill()
        self.child.wait()
        self.log.close()

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(STOP_S)
        self.log.close()
        return code

    def close(self):
        if self.child and self.child.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
