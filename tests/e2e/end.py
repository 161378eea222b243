"""end.py URL DATA: when `end` has been read, the job has ended, with its metrics and weights, and its
dataset, uploaded from the file DATA, can be deleted. Over one connection, so that the next request
follows the line at once."""
import http.client
import json
import sys
import urllib.parse

TURNS = 40
JOB = {"data": {"dataset": "rows"}, "loss": "mse", "epochs": 50,
       "model": {"layers": [{"type": "linear", "out_features": 1}]}}


def main():
    connection = http.client.HTTPConnection(urllib.parse.urlparse(sys.argv[1]).netloc, timeout=60)

    def ask(method, path, body=None, headers=None):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()

    for turn in range(TURNS):
        status, text = ask("PUT", "/v1/datasets/rows", open(sys.argv[2], "rb").read())
        assert status == 201, (turn, status, text)
        connection.request("POST", "/v1/jobs", json.dumps(JOB), {
            "Content-Type": "application/json", "Accept": "application/x-ndjson"})
        answer = connection.getresponse()
        line = b""
        while b'"type":"end"' not in line:
            line = answer.readline()
            assert line, "the stream ended without end"
        answer.read()
        job = "/v1/jobs/" + json.loads(line)["job"]
        status, text = ask("GET", job)
        assert json.loads(text)["status"] == "succeeded", (turn, text)
        assert json.loads(text)["metrics"]["train"]["rows"] == 3, (turn, text)
        for method, path, expected in (("GET", job + "/weights", 200), ("DELETE", "/v1/datasets/rows", 204),
                                       ("DELETE", job, 204)):
            status, text = ask(method, path)
            assert status == expected, (turn, method, path, status, text)
    print(f"ok: {TURNS} times, what end said was true at once")


if __name__ == "__main__":
    main()
