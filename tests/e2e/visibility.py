#!/usr/bin/env python3
"""visibility.py URL OPENAPI OWNER STRANGER ADMIN: private things, as the owner's token, a stranger's and an admin's
see them, at each route of the contract. What a stranger gets of one differs in nothing from what is not there.

visibility.py URL --again OWNER STRANGER ID…: after a restart with --visibility private."""

import json
import re
import sys
import time
import urllib.error
import urllib.request

XOR = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 10,
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                            {"type": "linear", "out_features": 1}]}}
SWEEP = {"job": XOR, "space": {"/optimizer/lr": {"values": [0.1, 0.2]}}, "metric": "train.loss"}
CSV = b"a,b\n" + b"".join(b"%d,%d\n" % (i, 2 * i) for i in range(20))
ROWS = {"inputs": [[0, 1]]}
TENSOR = {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0, 1]}]}
ENDLESS = 900000000


def fail(what):
    sys.exit(f"FAILED: {what}")


def require(what, so, about=""):
    if not so:
        fail(f"{what}: {str(about)[:600]}")


class Client:
    def __init__(self, url, token):
        self.url, self.token = url, token

    def ask(self, method, path, body=None):
        """The status and the text."""
        kind = "text/csv" if isinstance(body, bytes) else "application/json"
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Content-Type": kind} if data is not None else {})
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode("utf-8", "replace")

    def want(self, code, method, path, body=None):
        status, text = self.ask(method, path, body)
        require(f"{method} {path} -> {status}, expected {code}", status == code, text)
        return json.loads(text) if text.startswith("{") else text

    def end(self, path):
        while (thing := self.want(200, "GET", f"{path}?wait=10"))["status"] not in ("succeeded", "failed", "cancelled"):
            pass
        require("it succeeded", thing["status"] == "succeeded", thing)
        return thing["id"]


def another(name):
    """A name as long that nothing has."""
    return name[:-1] + ("0" if name[-1] != "0" else "1")


def things_make(owner):
    """Private things by the beginning of their paths."""
    job = owner.want(201, "POST", "/v1/jobs", XOR | {"name": "secret-job", "tags": ["secret-tag"],
                                                     "visibility": "private"})
    require("a job says who sees it", job["visibility"] == "private" and job["spec"]["visibility"] == "private", job)
    sweep = owner.want(201, "POST", "/v1/sweeps", SWEEP | {"name": "secret-sweep", "visibility": "private"})["id"]
    owner.end(f"/v1/jobs/{job['id']}")
    owner.end(f"/v1/sweeps/{sweep}")
    data = owner.want(201, "PUT", "/v1/datasets/secret-data?visibility=private", CSV)
    require("a dataset says who sees it", data["visibility"] == "private", data)
    model = owner.want(201, "PUT", "/v1/models/secret-model", {"job": job["id"]})
    require("the model of a private job is private", model["visibility"] == "private", model)
    return {"/v1/jobs/": job["id"], "/v1/sweeps/": sweep, "/v1/datasets/": "secret-data",
            "/v1/models/": "secret-model", "/v2/models/": "secret-model"}


def body_for(method, path, job):
    """A body that the route takes."""
    if path.startswith("/v1/datasets/") and method == "PUT":
        return CSV
    if path.startswith("/v1/models/") and method == "PUT":
        return {"job": job}
    if path.endswith("/predict"):
        return ROWS
    if path.endswith("/infer"):
        return TENSOR
    if method == "PATCH":
        return {"tags": ["changed"]} if path.startswith(("/v1/jobs/", "/v1/sweeps/")) else {"visibility": "public"}
    return None


def routes_of(document, things):
    """(method, path with the thing's name, name) of each route that names one; and the paths that name nothing."""
    named, others = [], []
    for path, item in document["paths"].items():
        start = re.match(r"/v\d/\w+/(?=\{)", path)
        methods = [method.upper() for method in item if method in ("get", "put", "post", "patch", "delete")]
        if not start:
            others += [path] if "GET" in methods and "{" not in path else []
            continue
        require(f"{path} names a thing that this test makes", start[0] in things)
        name = things[start[0]]
        filled = re.sub(r"\{\w+\}", name, path, count=1)
        for old, new in (("{split}/{part}", "train/x"), ("{n}", "0"), ("{step}", "latest"), ("{name}", "boundary")):
            filled = filled.replace(old, new)
        require(f"{path} is filled in", "{" not in filled)
        named += [(method, filled, name) for method in methods]
    return named, others


def hidden_check(stranger, named, job):
    for method, path, name in named:
        gone = another(name)
        got = stranger.ask(method, path, body_for(method, path, job))
        if method == "PUT":
            require(f"{method} {path} says that the name is taken", got[0] == 409 and "is taken" in got[1], got)
            continue
        want = stranger.ask(method, path.replace(name, gone), body_for(method, path, job))
        require(f"{method} {path} is {got[0]} for a stranger", got[0] == want[0] == 404, got)
        require(f"{method} {path} reads as what is not there", got[1] == want[1].replace(gone, name), (got, want))
        for body in (b"no JSON", {"unknown": 1}):
            if method == "POST" and body_for(method, path, job):
                require("so with a bad body", stranger.ask(method, path, body)[0]
                        == stranger.ask(method, path.replace(name, gone), body)[0])
    print(f"ok: {len(named)} routes hide a private thing from a stranger")


def shown_check(who, named, job):
    for method, path, name in named:
        if method == "DELETE":
            continue
        status, text = who.ask(method, path, body_for(method, path, job))
        none = status == 404 and re.search(r"(job|dataset|model) [^ ]+ not found", text)
        require(f"{method} {path} is there for its owner and for an admin", not none and status != 403, text)


def lists_check(stranger, admin, others, secrets):
    queries = {"/v1/jobs": ["?view=summary", "?owner=ann", "?tag=secret-tag", "?search=secret", "?state=succeeded",
                            "?state=running", "?search={job}", "?tag=secret-tag&state=succeeded"],
               "/v1/sweeps": ["?owner=ann", "?search=secret", "?state=succeeded"], "/v1/datasets": ["?limit=1"]}
    for path in others:
        for query in [""] + queries.get(path, []):
            _, text = stranger.ask("GET", path + query.format(job=secrets[0]))
            for secret in secrets:
                require(f"GET {path}{query} hides {secret}", secret not in text, text)
    for path in ("/v1/jobs", "/v1/sweeps", "/v1/datasets", "/v1/models", "/v1/queue", "/v1/devices"):
        _, text = admin.ask("GET", path)
        require(f"GET {path} shows an admin all", any(secret in text for secret in secrets), text)
    print("ok: lists, searches, queue and devices hide them")


def pages_check(owner, stranger):
    """Private and public jobs in turn: pages of one have public ones, each once."""
    public = []
    for i in range(6):
        body = XOR | {"tags": ["page"], "visibility": "private" if i % 2 else "public"}
        job = owner.want(201, "POST", "/v1/jobs", body)["id"]
        public += [] if i % 2 else [job]
    for query in ("?limit=1", "?limit=1&tag=page", "?limit=2&search=page", "?limit=1&owner=ann&view=summary"):
        seen, after = [], ""
        while True:
            page = stranger.want(200, "GET", f"/v1/jobs{query}{after}")
            seen += [job["id"] for job in page["data"]]
            require("a page is full unless it is the last", len(page["data"]) > 0 or not page["has_more"], page)
            if not page["has_more"]:
                break
            after = f"&after={page['data'][-1]['id']}"
        require(f"pages of {query} have each public job once", sorted(seen) == sorted(public), (seen, public))
    print("ok: pages are full of what is public")


def references_check(stranger, job):
    """A spec that names another's private thing is refused as one that names nothing."""
    line = {"data": {"dataset": "secret-data"}, "loss": "mse", "epochs": 1,
            "model": {"layers": [{"type": "linear", "out_features": 1}]}}

    def first(init):
        return XOR | {"model": XOR["model"] | {"init": init}}

    for path, body, name in (
            ("/v1/jobs", line, "secret-data"), ("/v1/jobs?validate=only", line, "secret-data"),
            ("/v1/jobs", line | {"model": "auto"}, "secret-data"),
            ("/v1/sweeps", {"job": line, "space": SWEEP["space"]}, "secret-data"),
            ("/v1/sweeps?validate=only", {"job": line, "space": SWEEP["space"]}, "secret-data"),
            ("/v1/jobs", first({"weights": "secret-data"}), "secret-data"),
            ("/v1/jobs", first({"job": job}), job),
            ("/v1/jobs", first({"job": job, "checkpoint": "latest"}), job),
            ("/v1/jobs", first({"job": job, "optimizer": True}) | {"epochs": 20}, job)):
        missing = json.loads(json.dumps(body).replace(name, another(name)))
        got, want = stranger.ask("POST", path, body), stranger.ask("POST", path, missing)
        require(f"{path} refuses {json.dumps(body)[:200]}", got[0] == want[0] == 422, got)
        require("as what is not there", got[1] == want[1].replace(another(name), name), (got, want))
    require("a model of it", stranger.ask("PUT", "/v1/models/mine", {"job": job})[0] == 404)
    got, want = (stranger.ask("GET", f"/v1/compare?jobs={one}") for one in (job, another(job)))
    require("a comparison with it", got[0] == want[0] == 404 and got[1] == want[1].replace(another(job), job), got)
    print("ok: specs, models and comparisons do not find them")


def queue_check(owner, stranger):
    running = owner.want(201, "POST", "/v1/jobs", XOR | {"epochs": ENDLESS, "visibility": "private"})["id"]
    while owner.want(200, "GET", f"/v1/jobs/{running}")["status"] != "running":
        time.sleep(0.02)
    waiting = owner.want(201, "POST", "/v1/jobs", XOR | {"epochs": ENDLESS, "visibility": "private"})["id"]
    own = stranger.want(201, "POST", "/v1/jobs", XOR | {"epochs": ENDLESS})["id"]
    queue = stranger.want(200, "GET", "/v1/queue")
    require("the queue counts all and shows their own", (queue["running"], queue["queued"]) == (1, 2)
            and [row["id"] for row in queue["jobs"]] == [own], queue)
    position = queue["jobs"][0]["position"]
    require("with its true position", position == stranger.want(200, "GET", f"/v1/jobs/{own}")["queue_position"]
            and [waiting, own][position - 1] == own, queue)
    return [running, waiting], own


def change_check(owner, stranger, admin, job):
    stranger.want(404, "GET", f"/v1/jobs/{job}")
    require("PATCH makes it public", owner.want(200, "PATCH", f"/v1/jobs/{job}", {"visibility": "public"})["visibility"]
            == "public")
    stranger.want(200, "GET", f"/v1/jobs/{job}")
    stranger.want(403, "PATCH", f"/v1/jobs/{job}", {"visibility": "private"})
    owner.want(200, "PATCH", f"/v1/jobs/{job}", {"visibility": "private"})
    stranger.want(404, "GET", f"/v1/jobs/{job}")
    owner.want(422, "PATCH", f"/v1/jobs/{job}", {"visibility": "hidden"})
    owner.want(200, "PUT", "/v1/datasets/secret-data", CSV)
    stranger.want(404, "GET", "/v1/datasets/secret-data")
    owner.want(200, "PUT", "/v1/datasets/secret-data?visibility=public", CSV)
    stranger.want(200, "GET", "/v1/datasets/secret-data")
    owner.want(200, "PUT", "/v1/models/secret-model", {"job": job, "visibility": "public"})
    stranger.want(200, "POST", "/v2/models/secret-model/infer", TENSOR)
    owner.want(200, "PUT", "/v1/models/secret-model", {"job": job})
    stranger.want(200, "GET", "/v1/models/secret-model")
    for path in ("/v1/datasets/secret-data", "/v1/models/secret-model"):
        for wrong in ({"visibility": "hidden"}, {"visibility": None}, {"name": "other"}, []):
            owner.want(422, "PATCH", path, wrong)
        stranger.want(403, "PATCH", path, {"visibility": "private"})
        require("an empty patch changes nothing", owner.want(200, "PATCH", path, {})["visibility"] == "public")
        require("PATCH hides it", owner.want(200, "PATCH", path, {"visibility": "private"})["visibility"] == "private")
        stranger.want(404, "GET", path)
        admin.want(200, "PATCH", path, {"visibility": "public"})
        stranger.want(200, "GET", path)
        require("its owner stays", owner.want(200, "PATCH", path, {"visibility": "private"})["owner"] == "ann")
    print("ok: who sees a thing can be changed, and stays")


def promotion_check(owner, stranger, admin):
    """A trial that was promoted is everybody's, but for a job that is hidden from who promotes next."""
    sweep = owner.want(201, "POST", "/v1/sweeps", SWEEP)["id"]
    owner.end(f"/v1/sweeps/{sweep}")
    trial = f"/v1/sweeps/{sweep}/trials/0/promote"
    first = stranger.want(201, "POST", trial)
    require("a public sweep's trial is public", first["visibility"] == "public", first)
    require("and everybody's", owner.want(200, "POST", trial)["id"] == first["id"])
    stranger.want(200, "PATCH", f"/v1/jobs/{first['id']}", {"visibility": "private"})
    second = owner.want(201, "POST", trial)
    require("unless it is hidden", second["id"] != first["id"] and second["owner"] == "ann", second)
    require("one each", owner.want(200, "POST", trial)["id"] == second["id"])
    owner.want(200, "PATCH", f"/v1/sweeps/{sweep}", {"visibility": "private"})
    third = admin.want(201, "POST", trial.replace("/0/", "/1/"))
    require("a private sweep's trial is its owner's", (third["owner"], third["visibility"]) == ("ann", "private"), third)
    owner.want(200, "GET", f"/v1/jobs/{third['id']}")
    print("ok: trials are promoted for those who see the job")


def main(url, openapi, *tokens):
    owner, stranger, admin = (Client(url, token) for token in tokens)
    with open(openapi, encoding="utf-8") as file:
        document = json.load(file)
    things = things_make(owner)
    job = things["/v1/jobs/"]
    named, others = routes_of(document, things)
    before = owner.want(200, "GET", f"/v1/jobs/{job}")
    hidden_check(stranger, named, job)
    require("a stranger changed nothing", owner.want(200, "GET", f"/v1/jobs/{job}") == before)
    running, own = queue_check(owner, stranger)
    secrets = [*dict.fromkeys(things.values()), "secret-", *running]
    lists_check(stranger, admin, others, secrets)
    for one in running:
        owner.want(200, "POST", f"/v1/jobs/{one}/cancel")
    stranger.want(200, "POST", f"/v1/jobs/{own}/cancel")
    stranger_jobs = [job["id"] for job in stranger.want(200, "GET", "/v1/jobs")["data"]]
    while stranger.ask("DELETE", f"/v1/jobs/{own}")[0] == 409:
        time.sleep(0.02)
    require("of jobs, a stranger had their own", stranger_jobs == [own], stranger_jobs)
    pages_check(owner, stranger)
    references_check(stranger, job)
    change_check(owner, stranger, admin, job)
    promotion_check(owner, stranger, admin)
    for who in (owner, admin):
        shown_check(who, named, job)
    print("ok: its owner and an admin see all")
    print(f"private {job} {things['/v1/sweeps/']}")


def again(url, owner, stranger, *ids):
    owner, stranger = Client(url, owner), Client(url, stranger)
    for one in ids:
        path = f"/v1/{'jobs' if one.startswith('job_') else 'sweeps'}/{one}"
        owner.want(200, "GET", path)
        stranger.want(404, "GET", path)
    job = owner.want(201, "POST", "/v1/jobs", XOR)
    require("the daemon's default", job["visibility"] == "private" and job["spec"]["visibility"] == "private", job)
    stranger.want(404, "GET", f"/v1/jobs/{job['id']}")
    stranger.want(200, "GET", f"/v1/jobs/{owner.want(201, 'POST', '/v1/jobs', XOR | {'visibility': 'public'})['id']}")
    owner.want(201, "PUT", "/v1/datasets/other", CSV)
    stranger.want(404, "GET", "/v1/datasets/other")
    stranger.want(409, "PUT", "/v1/datasets/other", CSV)


if __name__ == "__main__":
    if sys.argv[2] == "--again":
        again(sys.argv[1], *sys.argv[3:])
    else:
        main(*sys.argv[1:])
