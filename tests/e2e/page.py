#!/usr/bin/env python3
"""page.py URL [MOST_BYTES]: fetches the dashboard as a browser does: the page, and everything that it and its
scripts name. Both forms of each file must be the same, and all of them together, as they travel, must stay
below MOST_BYTES."""

import gzip
import http.client
import posixpath
import re
import sys
import urllib.parse

NAMED = {
    "text/html": re.compile(r"""<(?:link|script)\b[^>]*?\b(?:href|src)="((?!data:)[^"]+)\""""),
    "text/javascript": re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*|href:\s*)["']([^"'\s]*\.(?:js|css))["']"""),
    "text/css": re.compile(r"""(?:url\(|@import\s+)["']?(?!data:)([^"')\s]+)"""),
}
TYPES = {"js": "text/javascript", "css": "text/css", "txt": "text/plain"}


def fault(what):
    sys.exit(f"FAILED: {what}")


def fetch(where, path, encoding):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=240)
    connection.request("GET", path, headers={"Accept": "text/html,*/*;q=0.8", "Accept-Encoding": encoding,
                                             "Sec-Fetch-Site": "same-origin"})
    answer = connection.getresponse()
    raw = answer.read()
    connection.close()
    if answer.status != 200:
        fault(f"{path}: {answer.status} {raw[:200]}")
    if (answer.getheader("Content-Encoding") or "identity") != encoding:
        fault(f"{path} came as {answer.getheader('Content-Encoding')}, {encoding} was asked for")
    return answer, raw


def main():
    where = urllib.parse.urlsplit(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else None
    wanted, seen, total, whole = ["/"], set(), 0, 0
    while wanted:
        path = wanted.pop()
        if path in seen:
            continue
        seen.add(path)
        answer, packed = fetch(where, path, "gzip")
        _, plain = fetch(where, path, "identity")
        if gzip.decompress(packed) != plain:
            fault(f"{path} is another file when it is compressed")
        kind = answer.getheader("Content-Type").split(";")[0]
        if path != "/" and TYPES.get(path.rsplit(".", 1)[-1]) != kind:
            fault(f"{path} is served as {kind}")
        total, whole = total + len(packed), whole + len(plain)
        for name in NAMED[kind].findall(plain.decode()) if kind in NAMED else ():
            if name.startswith("/"):
                fault(f"{path} names {name}: behind a proxy the page may lie below a path")
            # what a script calls href, it gives to the page
            folder = "/" if name.startswith("assets/") else posixpath.dirname(path) + "/"
            wanted.append(posixpath.normpath(urllib.parse.urljoin(folder, name)))
    print(f"{len(seen)} files, {whole} bytes, {total} as they travel: {' '.join(sorted(seen))}")
    if len(seen) < 10:
        fault("a page of so few files is not the dashboard")
    if most is not None and total >= most:
        fault(f"the page weighs {total} bytes, and may not reach {most}")


if __name__ == "__main__":
    main()
