"""operations.py: the operations of a contract, requested; what of their answers is not listed is a fault."""

import http.client
import json
import urllib.parse

import jsonschema

# Answers that need a full queue, a full or damaged disk or a dead device: their own tests have them.
NOT_HERE = {("job_create", "429"), ("job_create", "503"), ("job_events", "503"),
            ("job_patch", "429"), ("job_predict", "429"), ("job_predict", "503"), ("model_put", "429"),
            ("inference_ready", "503"), ("inference_infer", "429"), ("inference_infer", "503"),
            ("inference_infer_version", "429"), ("inference_infer_version", "503"), ("dataset_put", "503"), ("dataset_part_put", "503"), ("ready", "503"),
            ("sweep_create", "429"), ("sweep_create", "503"), ("sweep_patch", "429"), ("sweep_events", "503"),
            *((f"trial_{thing}", code) for thing in ("promote", "curve", "weights", "predictions") for code in ("409", "503")),
            ("job_weights", "500"), ("job_predictions", "500"), ("job_predict", "500"), ("model_put", "500")}


class Contract:
    def __init__(self, url, document):
        self.where = urllib.parse.urlsplit(url)
        self.document = document
        self.seen = set()
        self.faults = 0

    def fault(self, what):
        self.faults += 1
        print("FAILED:", what)

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for key in node["$ref"].removeprefix("#/").split("/"):
                target = target[key]
            node = target
        return node

    def operation(self, method, path):
        parts = path.split("/")
        for template, item in self.document["paths"].items():
            names = template.split("/")
            if len(names) == len(parts) and all(n == p or (n.startswith("{") and p)
                                                for n, p in zip(names, parts)):
                if method.lower() in item:
                    return item[method.lower()]
        return None

    def fits(self, schema, value):
        """The first thing about value that is not as the schema says, or None."""
        root = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                "components": self.document["components"], "allOf": [schema]}
        errors = sorted(jsonschema.Draft202012Validator(root).iter_errors(value), key=lambda e: list(e.path))
        return f"{'/'.join(map(str, errors[0].path))}: {errors[0].message[:300]}" if errors else None

    def body_fault(self, kind, schema, raw):
        if kind.endswith("json") and kind != "application/x-ndjson":
            return self.fits(schema, json.loads(raw))
        if kind == "application/x-ndjson":
            events = [line for line in raw.decode().split("\n") if line]
            return next(filter(None, (self.fits(schema, json.loads(line)) for line in events)), None)
        if kind == "text/event-stream" and not raw.startswith(b"id: "):
            return "no server-sent event"
        return None

    def request_fault(self, method, path, body):
        content = self.resolve(self.operation(method, path)["requestBody"])["content"]
        return self.fits(content["application/json"]["schema"], body)

    def ask(self, method, target, want, body=None, headers=None):
        """Sends a request; the answer must have status `want` and be as the contract says."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            if want < 300 and (fault := self.request_fault(method, target.split("?")[0], body)):
                self.fault(f"{method} {target}, the request: {fault}")
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=60)
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        name = f"{method} {target} -> {answer.status}"
        kind = (answer.getheader("Content-Type") or "").split(";")[0]
        if answer.status != want:
            self.fault(f"{name}, expected {want}: {raw[:300]}")
        operation = self.operation(method, target.split("?")[0])
        if operation is None:
            own = target == "/v2" or target.startswith("/v2/")
            if kind != ("application/json" if own else "application/problem+json"):
                self.fault(f"{name}: a path outside the contract was answered with {kind}")
            elif fault := self.fits({"$ref": f"#/components/schemas/{'InferenceError' if own else 'Problem'}"},
                                    json.loads(raw)):
                self.fault(f"{name}: {fault}")
            return answer, raw
        status = str(answer.status)
        self.seen.add((operation["operationId"], status))
        if status not in operation["responses"]:
            self.fault(f"{name} is not in the contract")
            return answer, raw
        response = self.resolve(operation["responses"][status])
        content = response.get("content", {})
        if not content and raw:
            self.fault(f"{name} has a body: {raw[:100]}")
        elif content and method != "HEAD":
            if kind not in content:
                self.fault(f"{name} is {kind}, and not of {list(content)}")
            elif fault := self.body_fault(kind, content[kind]["schema"], raw):
                self.fault(f"{name}: {fault}")
        return answer, raw

    def status_of(self, target):
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=60)
        connection.request("GET", target)
        status = connection.getresponse().status
        connection.close()
        return status

    def unseen(self):
        for item in self.document["paths"].values():
            for operation in item.values():
                for status in operation["responses"]:
                    key = (operation["operationId"], status)
                    if status != "default" and key not in self.seen | NOT_HERE:
                        yield key
