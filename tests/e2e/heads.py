#!/usr/bin/env python3
"""heads.py URL: each request gets an answer, however many headers, query parameters and cookies it has."""

import random
import socket
import sys
import urllib.parse

ADDRESS = urllib.parse.urlparse(sys.argv[1])
PARAMETERS = [b"&", b"&a", b"&a=1", b"&=", b"&a==b"]
COOKIES = [b"a", b"a=", b"a=1", b'a="b c"', b"aaaaaaaaaaaa=bbbbbbb", b"", b"="]
BETWEEN = [b";", b"; ", b",", b", ", b" ; ", b"\t;"]


def status(request):
    with socket.create_connection((ADDRESS.hostname, ADDRESS.port), timeout=240) as connection:
        connection.sendall(request)
        try:
            return connection.recv(400)[9:12].decode() or "none"
        except ConnectionError:
            return "none"


def draw(chance, most):
    query = b"".join([chance.choice(PARAMETERS)] * chance.randint(0, most))
    cookies = chance.choice(BETWEEN).join([chance.choice(COOKIES)] * chance.randint(0, most))
    headers = b"".join(b"X-%d: a\r\n" % i for i in range(chance.randint(0, 60)))
    padding = b"X-Padding: " + b"x" * chance.choice([0, 500, 2000, 5000, 8000, 9500]) + b"\r\n"
    return b"GET /livez?%b HTTP/1.1\r\nHost: %b\r\n%bCookie: %b\r\n%b\r\n" % (
        query, ADDRESS.netloc.encode(), headers, cookies, padding if chance.random() < 0.5 else b"")


def main():
    chance, counts, faults = random.Random(7), {}, 0
    for _ in range(600):
        request = draw(chance, chance.choice([5, 40, 120, 300]))
        answer = status(request)
        counts[answer] = counts.get(answer, 0) + 1
        if answer not in ("200", "400", "431"):
            faults += 1
            print(f"answered {answer}: {request[:200]!r}… of {len(request)} bytes")
    print(f"600 heads: {counts}")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
