#!/usr/bin/env python3
"""handshakes.py URL PID KEYS [--owns] [--count N] [--seed N] [--half-open N]: TLS handshakes that go wrong, against a daemon.

Genuine flights of Python's TLS are mutated, cut, split, repeated or left unfinished at a random point, beside random
bytes, plain HTTP, renegotiation, key updates and wrong certificates. Whole handshakes between them must be answered,
as must /livez all the time; every connection must be closed by the daemon's deadline, and every descriptor given back.
The half-open connections stay while the others come, and may be more than the daemon takes."""

import argparse
import collections
import os
import random
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

PATIENCE = 240  # seconds for whatever should happen; also in daemon.sh
STEP_SECONDS = 0.2  # after which a spoiled handshake is given up: the daemon may wait for more of it
LEAK_FROM = 5000  # connections, from which on their memory is more than the allocator's noise
LEAK_BYTES = 4 << 20
TCP_REPAIR = 19  # of linux/tcp.h: such a socket is closed without a word to its peer
GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Ended(Exception):
    """The daemon closed the connection, or a flight was the last one."""


class Daemon:
    def __init__(self, url, pid, keys, owns):
        where = urllib.parse.urlsplit(url)
        self.address, self.pid, self.keys, self.owns = (where.hostname, where.port), pid, keys, owns
        self.contexts = {(version, name): self.context(version, name) for version in VERSIONS
                         for name in (None, "client", "stranger", "second", "expired")}

    def context(self, version, name):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE  # whom the daemon shows is no subject here
        made.minimum_version = made.maximum_version = version
        if name:
            made.load_cert_chain(f"{self.keys}/{name}.pem", f"{self.keys}/{name}.key")
        return made

    def dial(self, seconds=PATIENCE):
        return socket.create_connection(self.address, timeout=seconds)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def heap_bytes(self):
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("Anonymous:"))


class Shake:
    """One connection, whose flights pass through `spoil(bytes, flight)` before they are sent."""

    def __init__(self, daemon, context, spoil, seconds=PATIENCE):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.spoil, self.flight = spoil, 0
        self.client = daemon.dial(seconds)

    def step(self, call):
        """What `call` of the session returns, after as many flights as it takes."""
        while True:
            result, wants = None, False
            try:
                result = call()
            except ssl.SSLWantReadError:
                wants = True
            if sent := self.outgoing.read():
                for piece in self.spoil(sent, self.flight):
                    self.client.sendall(piece)
                self.flight += 1
            if not wants:
                return result
            received = self.client.recv(65536)
            if not received:
                raise Ended
            self.incoming.write(received)

    def get(self):
        self.step(self.tls.do_handshake)
        self.step(lambda: self.tls.write(GET))
        answer = b""
        try:
            while piece := self.step(lambda: self.tls.read(65536)):
                answer += piece
        except (Ended, OSError):
            pass
        return answer


def whole(data, _flight):
    return [data]


def split(rng):
    def spoil(data, _flight):
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 9)))
        return [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)]) if a < b]
    return spoil


def record(rng):
    """A record of any type and length, whose bytes need not be there."""
    body = rng.randbytes(rng.choice((0, 1, 5, 64, 2000)))
    length = rng.choice((len(body), len(body), 0, 0xffff, 16384 + 257, rng.randrange(1 << 16)))
    return struct.pack("!BHH", rng.choice((20, 21, 22, 23, 24, rng.randrange(256))), rng.choice((0x301, 0x303, 0x304, 2)),
                       length) + body


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        elif kind == 2:
            del data[at:at + rng.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        elif kind == 4:
            data[at:at] = record(rng)
        else:
            data[at:at] = data[at:at + rng.randrange(1, 400)]
        if not data:
            break
    return bytes(data)


def spoiler(rng, kind):
    at = rng.choice((0, 0, 1, 1, 2))

    def spoil(data, flight):
        if flight != at:
            return [data]
        if kind == "mutated":
            return [mutate(rng, data)]
        if kind == "repeated":
            return [data, data]
        if kind == "beside":
            return [record(rng), data]
        return [data[:rng.randrange(len(data))]]  # "cut": and the end follows
    return spoil


def leave(rng, client):
    kind = rng.randrange(3)
    try:
        if kind == 0:  # a reset
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif kind == 1:
            client.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    client.close()


def hands(rng, daemon):
    """A session's own messages that a client rarely sends: renegotiation, and updates of keys."""
    letters, version = rng.choice((("R", "-tls1_2"), ("k", "-tls1_3"), ("K", "-tls1_3"), ("KkKkKk", "-tls1_3")))
    command = ["openssl", "s_client", "-connect", "%s:%d" % daemon.address, version]
    if daemon.owns:
        command += ["-cert", f"{daemon.keys}/client.pem", "-key", f"{daemon.keys}/client.key"]
    subprocess.run(command, input="".join(letter + "\n" for letter in letters).encode(), timeout=PATIENCE, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one(rng, daemon):
    """A connection; returns its kind, and what is wrong with how it went, or None."""
    kind = rng.choices(("whole", "split", "wrong", "random", "plain", "mutated", "repeated", "beside", "cut", "after",
                        "hands"), (6, 6, 8, 8, 4, 40, 6, 6, 24, 8, 0.2))[0]
    context = daemon.contexts[rng.choice(VERSIONS), "client" if daemon.owns else None]
    if kind == "hands":
        hands(rng, daemon)
        return kind, None
    if kind in ("whole", "split"):
        shake = Shake(daemon, context, whole if kind == "whole" else split(rng))
        answer = shake.get()
        leave(rng, shake.client)
        return kind, None if answer.startswith(b"HTTP/1.1 200 ") else f"was answered {answer[:80]!r}"
    if kind == "wrong":
        name = rng.choice((None, "stranger", "second", "expired"))
        shake, answer = Shake(daemon, daemon.contexts[rng.choice(VERSIONS), name], whole), b""
        try:
            answer = shake.get()
        except (Ended, OSError):
            pass
        leave(rng, shake.client)
        return kind, f"{name} was answered {answer[:80]!r}" if answer and daemon.owns else None
    if kind in ("random", "plain"):
        client = daemon.dial(STEP_SECONDS)
        try:
            client.sendall(GET if kind == "plain" else
                           rng.choice((lambda: rng.randbytes(rng.randrange(1, 5000)), lambda: record(rng)))())
            client.recv(4096)
        except OSError:
            pass
        leave(rng, client)
        return kind, None
    shake = Shake(daemon, context, whole if kind == "after" else spoiler(rng, kind), STEP_SECONDS)
    try:
        if kind == "cut":  # the end comes with the half flight
            inner = shake.spoil

            def last(data, flight):
                pieces = inner(data, flight)
                if len(pieces[0]) < len(data):
                    shake.client.sendall(pieces[0])
                    raise Ended
                return pieces
            shake.spoil = last
        if kind == "after":
            shake.step(shake.tls.do_handshake)
            shake.spoil = spoiler(rng, "mutated")
            shake.flight = 0
            shake.client.sendall(rng.choice((b"", record(rng))))
        shake.get()
    except (Ended, OSError):
        pass
    leave(rng, shake.client)
    return kind, None


class Livez(threading.Thread):
    """Asks on connections of their own, all the time; `longest` is in seconds."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.of, self.count, self.longest, self.fault, self.stopping = daemon, 0, 0.0, None, threading.Event()

    def run(self):
        context = self.of.contexts[VERSIONS[1], "client" if self.of.owns else None]
        while not self.stopping.wait(0.05):
            begin = time.monotonic()
            try:
                shake = Shake(self.of, context, whole)
                answer = shake.get()
                shake.client.close()
            except (Ended, OSError) as error:
                answer = repr(error).encode()
            if not answer.startswith(b"HTTP/1.1 200 "):
                self.fault = f"/livez was answered {answer[:80]!r}"
            self.count += 1
            self.longest = max(self.longest, time.monotonic() - begin)

    def end(self):
        self.stopping.set()
        self.join()
        return [self.fault] if self.fault else []


def campaign(daemon, count, seed):
    faults, kinds, lock, numbers = [], collections.Counter(), threading.Lock(), iter(range(count))
    heaps = []

    def work(until):
        while True:
            with lock:
                number = next(numbers, None) if sum(kinds.values()) < until else None
                if number is None:
                    return
                kinds["begun"] += 1
            try:
                kind, fault = one(random.Random(f"{seed} {number}"), daemon)
            except (Ended, OSError, ValueError) as error:
                kind, fault = "failed", repr(error)
            with lock:
                kinds["begun"] -= 1
                kinds[kind] += 1
                if fault:
                    faults.append(f"seed {seed}, connection {number}, {kind}: {fault}")

    for tenth in range(1, 11):
        workers = [threading.Thread(target=work, args=(count * tenth // 10,)) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        heaps.append(daemon.heap_bytes())
    # Arenas of the daemon's threads fill during the first half.
    growth = heaps[-1] - heaps[4]
    if count >= LEAK_FROM and growth > LEAK_BYTES:
        faults.append(f"memory grew by {growth} bytes")
    print(f"{count} connections of seed {seed}:", ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()) if n))
    print("memory by tenths, KiB:", *(heap >> 10 for heap in heaps))
    return faults


class Ends(threading.Thread):
    """Waits until the daemon has closed the connections that were added; `longest` is in seconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.epoll, self.open, self.longest, self.whole = select.epoll(), {}, 0.0, threading.Event()

    def add(self, client, begin):
        client.setblocking(False)
        self.open[client.fileno()] = client, begin
        self.epoll.register(client, select.EPOLLIN)

    def run(self):
        while self.open or not self.whole.is_set():
            for descriptor, _ in self.epoll.poll(0.1):
                client, begin = self.open[descriptor]
                try:
                    if client.recv(65536):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                self.longest = max(self.longest, time.monotonic() - begin)
                self.epoll.unregister(descriptor)
                client.close()
                del self.open[descriptor]

    def end(self):
        self.whole.set()
        self.join(PATIENCE)
        print(f"half-open connections were closed after {self.longest:.1f} s at most")
        return [f"{len(self.open)} half-open connections are open"] if self.open else []


def half_open(daemon, count, seed, ends):
    """Clients that stop at some point, or vanish without a word."""
    rng, kinds = random.Random(seed), collections.Counter()
    for _ in range(count):
        context = daemon.contexts[rng.choice(VERSIONS), "client" if daemon.owns else None]
        kind = rng.choice(("silent", "hello", "flight", "shaken", "shaken", "head", "vanished"))
        kinds[kind] += 1
        begin = time.monotonic()
        if kind == "silent":
            ends.add(daemon.dial(), begin)
            continue
        shake = Shake(daemon, context, (lambda data, _: [data[:len(data) // 2]]) if kind == "hello" else whole)
        try:
            if kind in ("hello", "flight"):
                try:
                    shake.tls.do_handshake()
                except ssl.SSLWantReadError:
                    shake.client.sendall(shake.spoil(shake.outgoing.read(), 0)[0])
            else:
                shake.step(shake.tls.do_handshake)
            if kind == "head":
                shake.step(lambda: shake.tls.write(GET[:-4]))
            if kind == "vanished":
                shake.client.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
                shake.client.close()
                continue
        except (Ended, OSError):
            pass  # the daemon made room, or the kernel allows no repair
        ends.add(shake.client, begin)
    print(f"{count} half-open connections:", ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())),
          f"; {daemon.descriptors()} descriptors are open")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("keys")
    parser.add_argument("--owns", action="store_true", help="the daemon demands certificates of clients")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half-open", type=int, default=0)
    args = parser.parse_args()
    daemon = Daemon(args.url, args.pid, args.keys, args.owns)
    base = daemon.descriptors()
    livez = Livez(daemon)
    livez.start()
    ends = Ends()
    ends.start()
    half_open(daemon, args.half_open, args.seed, ends)
    faults = campaign(daemon, args.count, args.seed)
    faults += ends.end() + livez.end()
    until = time.monotonic() + PATIENCE
    while (left := daemon.descriptors()) > base and time.monotonic() < until:
        time.sleep(0.1)
    if left > base:
        faults.append(f"{left} descriptors are open, {base} were before")
    print(f"descriptors {base} before, {left} after; /livez answered {livez.count} times, {livez.longest:.3f} s at most")
    for fault in faults[:20]:
        print("FAILED:", fault)
    sys.exit(bool(faults))


main()
