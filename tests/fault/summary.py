"""summary.py: the last line of a campaign, for people and for tests/nightly: "summary " and a JSON object. `done` counts
what the campaign was asked for, `faults` what must not be; other counts are beside them."""

import json

WORD = "summary "


def summary(done, faults, **counts):
    print(WORD + json.dumps({"done": done, "faults": faults, **counts}), flush=True)


def summary_find(path, from_byte):
    """The last summary of a log from that byte on, or None."""
    with open(path, "rb") as log:
        log.seek(from_byte)
        lines = [line for line in log if line.startswith(WORD.encode())]
    return json.loads(lines[-1][len(WORD):]) if lines else None
