#!/usr/bin/env python3
"""metrics.py: holds a daemon's /metrics against Prometheus's text format 0.0.4 and its conventions.

  metrics.py check FILE              the format, the conventions, and that histograms add up
  metrics.py value FILE SAMPLE       prints one sample's value: name, or name{label="value",…}
  metrics.py names FILE PATH…        every metric that rules or dashboards in PATH use is in FILE
  metrics.py canary FILE             each kind of fault, planted in FILE, is found
"""

import json
import math
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ({VALUE})")
UNITS = ("milliseconds", "microseconds", "minutes", "hours", "days", "kilobytes", "megabytes", "percent", "bits")
TYPES = ("counter", "gauge", "histogram")


def parse_labels(text, where):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        if not found or (found[3] == "," and found.end() == len(text)):
            raise ValueError(f"{where}: labels: {text[at:]}")
        if found[1] in labels:
            raise ValueError(f"{where}: label {found[1]} twice")
        labels[found[1]] = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), found[2])
        at = found.end()
    return labels


def family_of(name, families):
    """The family that a sample belongs to: itself, or a histogram's three."""
    for part in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(part)
        if base != name and families.get(base, {}).get("type") == "histogram":
            return base
    return name


def parse(text):
    """name -> {type, help, samples: {(sample name, labels): value}}; ValueError where it is no such text."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families, current = {}, None
    for number, line in enumerate(text[:-1].split("\n"), 1):
        if found := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            current = found[1]
            if current in families:
                raise ValueError(f"line {number}: {current} comes twice")
            families[current] = {"help": found[2], "type": None, "samples": {}}
        elif found := re.fullmatch(rf"# TYPE ({NAME}) (\w+)", line):
            if found[1] != current or families[current]["samples"] or families[current]["type"]:
                raise ValueError(f"line {number}: a type out of place")
            families[current]["type"] = found[2]
        elif found := SAMPLE.fullmatch(line):
            name = family_of(found[1], families)
            if name != current or families[name]["type"] is None:
                raise ValueError(f"line {number}: {found[1]} is not among its family's")
            key = (found[1], tuple(sorted(parse_labels(found[2] or "", f"line {number}").items())))
            if key in families[name]["samples"]:
                raise ValueError(f"line {number}: the same sample twice")
            families[name]["samples"][key] = float(found[3].replace("Inf", "inf"))
        else:
            raise ValueError(f"line {number} is neither head nor sample: {line}")
    return families


def check_histogram(name, samples):
    series = {}
    for (sample, labels), value in samples.items():
        rest = tuple(label for label in labels if label[0] != "le")
        entry = series.setdefault(rest, {"buckets": []})
        if sample == name + "_bucket":
            entry["buckets"].append((float(dict(labels)["le"].replace("Inf", "inf")), value))
        else:
            entry[sample.removeprefix(name)] = value
    for labels, entry in series.items():
        bounds = [bound for bound, _ in entry["buckets"]]
        counts = [count for _, count in entry["buckets"]]
        if bounds != sorted(set(bounds)) or not bounds or bounds[-1] != math.inf:
            raise ValueError(f"{name}{labels}: bounds {bounds}")
        if counts != sorted(counts) or counts[-1] != entry["_count"]:
            raise ValueError(f"{name}{labels}: buckets {counts}, count {entry['_count']}")
        if entry["_sum"] < 0 or (entry["_count"] == 0) != (entry["_sum"] == 0) and entry["_count"] == 0:
            raise ValueError(f"{name}{labels}: sum {entry['_sum']} of {entry['_count']}")


def check(text):
    families = parse(text)
    for name, family in families.items():
        kind, samples = family["type"], family["samples"]
        if kind not in TYPES:
            raise ValueError(f"{name} is of type {kind}")
        if not re.match(r"(epochd|process)_", name):
            raise ValueError(f"{name} has no prefix")
        if (kind == "counter") != name.endswith("_total"):
            raise ValueError(f"{name} is a {kind}")
        if name.endswith(("_count", "_sum", "_bucket")) or any(unit in name.split("_") for unit in UNITS):
            raise ValueError(f"{name}: a part or a unit that is none of the base ones")
        for (sample, labels), value in samples.items():
            if math.isnan(value) or (kind != "gauge" and value < 0):
                raise ValueError(f"{sample}{labels} is {value}")
            for label, text_value in labels:
                if re.search(r"job_[0-9a-z]{26}|^(job|id|job_id|job_name)$", f"{label}\n{text_value}", re.M):
                    raise ValueError(f"{sample}{labels}: a job is no label")
        if kind == "histogram":
            check_histogram(name, samples)
    return families


def expressions(path):
    with open(path, encoding="utf-8") as text:
        if path.endswith(".json"):
            def walk(node):
                if isinstance(node, dict):
                    for key, value in node.items():
                        if key in ("expr", "query", "definition") and isinstance(value, str):
                            yield value
                        yield from walk(value)
                elif isinstance(node, list):
                    for value in node:
                        yield from walk(value)
            yield from walk(json.load(text))
        else:
            yield text.read()


def names(families, paths):
    """Metrics named in rules and dashboards that the daemon has not; and how many it was asked for."""
    have = set()
    for name, family in families.items():
        have |= {name + part for part in ("_bucket", "_sum", "_count")} if family["type"] == "histogram" else {name}
    used, rules = set(), set()
    for path in paths:
        for expression in expressions(path):
            used |= set(re.findall(r"\b(?:epochd|process)_[a-z0-9_]+\b", expression))
            rules |= set(re.findall(r"record: (\S+)", expression))
    return sorted(used - have - rules), len(used)


def canary(text):
    first = text.split("\n")[2]
    plants = {
        "a sample without a head": text + "epochd_more 1\n",
        "no end of line": text.rstrip("\n"),
        "a sample twice": text.replace(first, first + "\n" + first, 1),
        "a counter without _total": text.replace("epochd_epochs_trained_total", "epochd_epochs_trained"),
        "a gauge with _total": text.replace("epochd_watchers", "epochd_watchers_total"),
        "another unit": text.replace("epochd_job_train_seconds", "epochd_job_train_milliseconds"),
        "no number": re.sub(r"(?m)^(epochd_watchers) .*$", r"\1 many", text),
        "NaN": re.sub(r"(?m)^(epochd_watchers) .*$", r"\1 NaN", text),
        "a negative counter": re.sub(r"(?m)^(epochd_event_lines_total) .*$", r"\1 -1", text),
        "a job as a label": text.replace("epochd_watchers ", 'epochd_watchers{job="x"} '),
        "an open label": text.replace('{version="', '{version="\\x'),
        "a bucket that falls": re.sub(r'(?m)^(epochd_job_queue_seconds_bucket\{le="\+Inf"\}) .*$', r"\1 0", text),
        "a count of its own": re.sub(r"(?m)^(epochd_job_queue_seconds_count) .*$", r"\1 77", text),
    }
    for what, planted in plants.items():
        if planted == text:
            raise ValueError(f"{what}: could not be planted")
        try:
            check(planted)
        except ValueError:
            continue
        raise ValueError(f"{what}: was not found")
    return len(plants)


def main():
    command, path, *rest = sys.argv[1:]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    try:
        families = check(text)
        if command == "check":
            print(f"{len(families)} metrics, {sum(len(f['samples']) for f in families.values())} samples")
        elif command == "value":
            name, _, labels = rest[0].partition("{")
            key = (name, tuple(sorted(parse_labels(labels.removesuffix("}"), rest[0]).items())))
            print(f"{families[family_of(name, families)]['samples'].get(key, 0):.17g}")
        elif command == "names":
            missing, count = names(families, rest)
            if missing or count < 10:
                raise ValueError(f"{count} metrics are used; not there: {missing}")
            print(f"{count} metrics are used, and there")
        elif command == "canary":
            print(f"{canary(text)} planted faults were found")
        else:
            sys.exit(__doc__)
    except (ValueError, KeyError) as fault:
        sys.exit(f"/metrics is not as it should be: {fault!r}")


if __name__ == "__main__":
    main()
