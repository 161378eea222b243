"""faulty.py CALLS [--kind NAME,… [--part PATH] [--number ERRNO] [--delay-ms N] [--first N] [--count N]] [--fired]: what
call_faults.c does from now on in an epochd that runs with EPOCHD_TEST_CALLS=CALLS: nothing, without --kind. --fired: ends
with 0 if it did something. As a module: an epochd in which a call fails, and what a client of it sees."""
import argparse
import ctypes
import errno
import http.client
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60  # seconds for whatever should happen
# The names of call_faults.c's kinds, in its order.
KINDS = ("malloc", "open", "create", "read", "write", "fsync", "rename", "ftruncate", "mkdir", "link", "unlink", "mmap",
         "stat", "list", "statvfs", "allocate")
CHANGES = ("create", "write", "fsync", "rename", "ftruncate", "mkdir", "link", "unlink", "allocate")
TAKES_ROOM = ("create", "write", "mkdir", "link", "allocate")


class Fault:
    """What happens to a call. kinds: those that count; number: errno, 0: nothing fails."""

    def __init__(self, kinds, number=0, delay_ms=0, halves=False):
        self.kinds, self.number, self.delay_ms, self.halves = kinds, number, delay_ms, halves


# Each kind of call by itself, and disks: each is chosen by its name.
FAULTS = {kind: Fault((kind,), errno.EIO) for kind in KINDS}
FAULTS |= {"malloc": Fault(("malloc",), errno.ENOMEM), "half": Fault(("write",), halves=True),
           "full": Fault(TAKES_ROOM, errno.ENOSPC), "quota": Fault(TAKES_ROOM, errno.EDQUOT),
           "read-only": Fault(CHANGES, errno.EROFS), "broken": Fault(KINDS[1:], errno.EIO),
           "slow": Fault(KINDS[1:], delay_ms=20)}


class Rules(ctypes.Structure):
    """The file that call_faults.c maps."""
    _fields_ = [("kinds", ctypes.c_uint32), ("serial", ctypes.c_uint32), ("program", ctypes.c_char * 28),
                ("part", ctypes.c_char * 84), ("number", ctypes.c_uint32), ("halves", ctypes.c_uint32),
                ("delay_ms", ctypes.c_uint32), ("first", ctypes.c_uint32), ("count", ctypes.c_uint32),
                ("calls", ctypes.c_uint32), ("failures", ctypes.c_uint32), ("stack", ctypes.c_char * 4096)]


class Calls:
    """Which calls fail."""

    def __init__(self, path):
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(bytes(ctypes.sizeof(Rules)))
        self.file = open(path, "r+b")
        self.rules = Rules.from_buffer(mmap.mmap(self.file.fileno(), ctypes.sizeof(Rules)))

    last = Fault((), errno.EIO)

    def arm(self, program, fault, first=0, count=1, part=""):
        """first: the call that fails, from 1 on; 0: they are only counted. program, part: "" is each."""
        rules = self.rules
        Calls.last = fault
        self.disarm()
        rules.program, rules.part, rules.first, rules.count = program.encode(), part.encode(), first, count
        rules.number, rules.delay_ms, rules.halves = fault.number, fault.delay_ms, fault.halves
        rules.calls = rules.failures = 0
        rules.stack = b""
        rules.kinds = sum(1 << KINDS.index(kind) for kind in fault.kinds)

    def disarm(self):
        self.rules.kinds = 0
        self.rules.serial += 1

    @property
    def calls(self):
        return self.rules.calls

    @property
    def failures(self):
        return self.rules.failures

    @property
    def starts_openssl(self):
        """The call was OpenSSL's, which makes itself ready at the start of a process, and does not survive it."""
        return "OPENSSL_init_crypto" in self.stack or "EVP_MD_fetch" in self.stack

    @property
    def stack(self):
        return self.rules.stack.decode(errors="replace")


class Finding(Exception):
    """What may not be: kind is "crash", "lost", "half" or "wrong"."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Response:
    """status 0: the connection was cut."""

    def __init__(self, status=0, body=b""):
        self.status, self.body = status, body

    @property
    def ok(self):
        return 200 <= self.status < 300

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            raise Finding("half", f"{self.status} with a body that is no JSON: {self.body[:200]}") from None

    def __str__(self):
        return f"{self.status} {self.body[:300].decode(errors='replace')}"


class Daemon:
    """An epochd with a data folder of its own."""

    def __init__(self, build, folder):
        self.build = build
        self.data = os.path.join(folder, "data")
        self.log_path = os.path.join(folder, "epochd.log")
        self.calls = Calls(os.path.join(folder, "calls"))
        self.environment = dict(os.environ, EPOCHD_TEST_CALLS=os.path.join(folder, "calls"),
                                EPOCHD_TEST_CALLS_UNDER=self.data,
                                LD_PRELOAD=os.path.join(build, "tests/fault/libcall_faults.so"))
        os.makedirs(self.data, exist_ok=True)
        self.process = None
        self.port = 0

    def command(self, *words):
        return [os.path.join(self.build, "bin/epochd"), "--data-dir", self.data, *words]

    def start(self):
        """False if it ended before it listened."""
        log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            self.command("--listen", "127.0.0.1:0", "--devices", "cpu", "--checkpoint-after", "0", "--cpu-jobs", "1"),
            stderr=log, env=self.environment)
        log.close()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = re.search(rb"listening on http://[^ \"]*:(\d+)", self.log())
            if found:
                self.port = int(found[1])
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.005)
        raise Finding("lost", "epochd neither listens nor ends")

    def log(self):
        with open(self.log_path, "rb") as file:
            return file.read()

    def stop(self):
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Finding("lost", f"epochd still runs {PATIENCE} s after SIGTERM") from None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def ask(self, method, path, body=None, **headers):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content_Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            return Response(response.status, response.read())
        except TimeoutError:
            raise Finding("lost", f"{method} {path}: no response in {PATIENCE} s") from None
        except (OSError, http.client.HTTPException):
            return Response()
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def must(self, method, path, body=None, **headers):
        """While nothing fails."""
        response = self.ask(method, path, body, **headers)
        if not response.ok:
            raise Finding("lost", f"{method} {path} fails after the fault: {response}")
        return response

    def until(self, what, so, patience=PATIENCE):
        until = time.monotonic() + patience
        while time.monotonic() < until:
            found = so()
            if found:
                return found
            if self.process.poll() is not None:
                raise Finding("crash", f"epochd ended with status {self.process.returncode}")
            time.sleep(0.002)
        raise Finding("lost", f"not in {patience} s: {what}")


def refused(what, response, conflict=False):
    """A request during which a call failed: done, or refused as the server's fault, with the reason. conflict: 409 may be
    true."""
    if not response.ok and response.status != 0 and not response.json.get("detail"):
        raise Finding("wrong", f"{what} is refused without a reason: {response}")
    if not response.ok and not Calls.last.number:
        raise Finding("wrong", f"{what} is refused on a disk that takes everything: {response}")
    if response.ok or response.status == 0 or response.status in (500, 503, 507):
        return not response.ok
    if response.status == 413 and "of memory allowed" in str(response):  # the reader of files has a limit of its own
        return True
    if conflict and response.status == 409:
        return True
    raise Finding("wrong", f"{what} is refused with {response}")


class Disarming:
    """Ends a fault that lasts after so many seconds, while the block waits for what it hinders."""

    def __init__(self, calls, seconds):
        self.timer = threading.Timer(seconds, calls.disarm)

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()


def scratch():
    return tempfile.TemporaryDirectory(prefix="epochd-sweep.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--kind")
    parser.add_argument("--part", default="")
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--fired", action="store_true")
    words = parser.parse_args()
    calls = Calls(words.calls)
    if words.fired:
        return 0 if calls.failures else 1
    calls.disarm()
    if words.kind:
        kinds = [kind for name in words.kind.split(",") for kind in FAULTS[name].kinds]
        fault = Fault(kinds, words.number, words.delay_ms, words.kind == "half")
        calls.arm("", fault, words.first, words.count, words.part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
