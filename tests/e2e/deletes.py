#!/usr/bin/env python3
"""deletes.py URL FOLDER [--jobs N]: jobs are deleted while others read them. A reader gets the job or 404, never an error of
the server and never a path in FOLDER, the data folder; of several deletions at once one gets 204 and the others 404."""

import argparse
import http.client
import json
import sys
import threading
import urllib.parse

SPEC = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 30, "checkpoint": {"every_seconds": 0},
        "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]}}
READS = ["", "/checkpoints", "/checkpoints/latest/weights", "/events", "/curve", "/weights", "/weights?format=json",
         "/predictions", "/plots", "/plots/loss?format=svg", "/webhooks"]


def call(address, method, path, body=None):
    connection = http.client.HTTPConnection(address, timeout=120)
    try:
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("folder")
    arguments.add_argument("--jobs", type=int, default=12)
    options = arguments.parse_args()
    address = urllib.parse.urlparse(options.url).netloc
    faults = []
    for number in range(options.jobs):
        id_ = json.loads(call(address, "POST", "/v1/jobs", SPEC)[1])["id"]
        call(address, "GET", f"/v1/jobs/{id_}/events")  # until its end
        deleted = threading.Event()
        answers = []

        def read(path, id_=id_, deleted=deleted):
            while True:
                last = deleted.is_set()
                status, text = call(address, "GET", path.replace("ID", id_))
                if status not in (200, 404) or options.folder.encode() in text:
                    faults.append(f"GET {path}: {status} {text[:300]!r}")
                if last:
                    return

        def delete(id_=id_, answers=answers):
            answers.append(call(address, "DELETE", f"/v1/jobs/{id_}")[0])

        paths = [READS[(number * 3 + i) % len(READS)] for i in range(4)]
        threads = [threading.Thread(target=read, args=("/v1/jobs/ID" + path,)) for path in paths]
        threads.append(threading.Thread(target=read, args=("/v1/compare?jobs=ID",)))
        deletes = [threading.Thread(target=delete) for _ in range(3)]
        for thread in threads + deletes:
            thread.start()
        for thread in deletes:
            thread.join()
        deleted.set()
        for thread in threads:
            thread.join()
        if sorted(answers) != [204, 404, 404]:
            faults.append(f"three DELETEs at once: {answers}")
    for fault in sorted(set(faults))[:20]:
        print(fault)
    print(f"{options.jobs} jobs deleted while they were read: {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
