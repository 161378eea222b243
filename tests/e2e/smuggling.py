#!/usr/bin/env python3
"""smuggling.py EPOCHD_URL [NGINX_URL] --count N --seed S: heads drawn by chance, each with a second request where
its body lies. Where epochd answers the second one, this file's own strict reading of RFC 9112 must say that the first
one ends before it, and nginx, where there is one, must have answered it too."""

import argparse
import multiprocessing
import os
import random
import re
import select
import socket
import sys
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
from summary import summary  # noqa: E402

INNER = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ANSWERED = b'"extensions":'
PATIENCE = 20
LAST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"  # ends what is between requests
TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
START = re.compile(rb"(?:\r\n)*(" + TOKEN + rb") [^\x00-\x20\x7f]+ HTTP/1\.([01])\r\n")
LINE = re.compile(rb"(" + TOKEN + rb"):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)\r\n")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
BITS = [b" ", b"\t", b"\r", b"\n", b"\r\n", b"\0", b":", b",", b";", b"0", b"1", b"9", b"+", b"-", b"\x0b", b"\x0c", b"\x7f",
        b"\x80", b"\xff", b"\r\n ", b"\r\n\t", b"\r\n\r\n", b"\n\n", b"chunked", b", chunked", b" chunked", b"identity",
        b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length:\r\n 0\r\n", b"a" * 70,
        b"Content-Leng:               0\r\n th\r\n", b"X: y\r\n", b"Host: a\r\n", b"Connection: Transfer-Encoding\r\n"]


def base(draw):
    """A request whose body is INNER, as one reader or another may see it."""
    post = [b"POST /v1/jobs/none/cancel HTTP/1.1", b"Host: localhost"]
    if draw.random() < 0.5:
        return b"\r\n".join(post + [b"Content-Length: %d" % len(INNER)]) + b"\r\n\r\n" + INNER
    if draw.random() < 0.5:
        return b"\r\n".join(post + [b"Transfer-Encoding: chunked"]) + b"\r\n\r\n%x\r\n" % len(INNER) + INNER + b"\r\n0\r\n\r\n"
    return b"\r\n".join(post + [b"Transfer-Encoding: chunked"]) + b"\r\n\r\n0\r\n\r\n" + INNER


def mutate(draw, data):
    end = data.index(INNER)
    head, rest = bytearray(data[:end]), data[end:]
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(head) + 1)
        if draw.random() < 0.5:  # where framing is decided
            lines = [match.end() for match in re.finditer(rb"\r\n|:|chunked|[0-9]+", bytes(head))]
            at = min(len(head), draw.choice(lines) + draw.choice((-1, 0, 0, 1))) if lines else at
        kind = draw.randrange(5)
        if kind == 0:
            head[at:at] = draw.choice(BITS)
        elif kind == 1:
            del head[at:at + draw.randint(1, 3)]
        elif kind == 2:
            head[at:at + 1] = draw.choice(BITS)
        elif kind == 3:
            lines = bytes(head).split(b"\r\n")
            lines.insert(draw.randrange(len(lines)), draw.choice(lines))
            head = bytearray(b"\r\n".join(lines))
        else:
            head[at:at + 1] = bytes(head[at:at + 1]).swapcase()
    return bytes(head) + rest


def ends(data):
    """Where the first request ends, strictly read; None: it is refused, or is not whole."""
    start = START.match(data)
    if not start:
        return None
    at, headers = start.end(), []
    while not data.startswith(b"\r\n", at):
        line = LINE.match(data, at)
        if not line:
            return None
        headers.append((line[1].lower(), line[2]))
        at = line.end()
    at += 2
    lengths = [value for name, value in headers if name == b"content-length"]
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if len(lengths) > 1 or len(codings) > 1 or (lengths and codings) or (codings and start[2] == b"0"):
        return None
    if codings:
        return chunks_end(data, at) if codings == [b"chunked"] else None
    if not lengths:
        return at
    return at + int(lengths[0]) if re.fullmatch(rb"[0-9]{1,18}", lengths[0]) else None


def chunks_end(data, at):
    while True:
        chunk = CHUNK.match(data, at)
        if not chunk:
            return None
        size, at = int(chunk[1], 16), chunk.end()
        if not data.startswith(b"\r\n", at + size):
            return None
        at += size + 2
        if size == 0:
            return at


def pipelined(data):
    """Whether the second request follows whole ones, all strictly read."""
    at = 0
    while at < len(data):
        while data.startswith(b"\r\n", at):
            at += 2
        if data.startswith(INNER, at):
            return True
        end = ends(data[at:])
        if not end:
            return False
        at += end
    return False


def ask(address, data):
    """Whether the second request was answered."""
    with socket.create_connection(address, timeout=PATIENCE) as client:
        answer = b""
        try:
            client.sendall(data + LAST)
            client.shutdown(socket.SHUT_WR)
            while select.select([client], [], [], PATIENCE)[0]:
                piece = client.recv(65536)
                if not piece:
                    break
                answer += piece
        except OSError:
            pass
        return ANSWERED in answer


def address_of(url):
    where = urllib.parse.urlsplit(url)
    return where.hostname, where.port


def run(task):
    epochd, nginx, seed, count = task
    draw, answered, faults = random.Random(seed), 0, []
    for _ in range(count):
        data = mutate(draw, base(draw))
        if not ask(epochd, data):
            continue
        answered += 1
        if not pipelined(data):
            faults.append((b"not by RFC 9112", data))
        elif nginx and not ask(nginx, data):
            faults.append((b"not by nginx", data))
    return answered, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    epochd = address_of(args.urls[0])
    nginx = address_of(args.urls[1]) if len(args.urls) > 1 else None
    plain = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + INNER
    for address in filter(None, (epochd, nginx)):
        if not ask(address, plain):
            sys.exit("canary: a second request that is honest was not answered")
    piece = 500
    tasks = [(epochd, nginx, args.seed * 1000003 + i, min(piece, args.count - i * piece))
             for i in range((args.count + piece - 1) // piece)]
    answered, faults = 0, []
    with multiprocessing.Pool(4) as pool:
        for count, wrong in pool.imap_unordered(run, tasks):
            answered += count
            faults += wrong
    for why, data in faults[:20]:
        print(why.decode(), data)
    print(f"{args.count} heads: the second request was answered behind {answered}, wrongly behind {len(faults)}"
          f"{'' if nginx else ' (without nginx)'}")
    summary(args.count, len(faults), answered=answered)
    sys.exit(bool(faults) or answered == 0)


if __name__ == "__main__":
    main()
