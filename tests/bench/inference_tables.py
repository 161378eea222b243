"""inference_tables.py: the figures of tests/bench/inference as tables, (head, rows), for the terminal and for the
page."""

import report
from report import figure

BATCH = 1024
WAYS = {"predict": "predict", "v2": "V2, JSON", "v2 bytes": "V2, bytes"}


def said_us(figures):
    """"61, 90": p50 and p99."""
    return f"{figure(figures['p50_ms'] * 1e3)}, {figure(figures['p99_ms'] * 1e3)}"


def best(entry, what, key, least=False):
    """(name, figures) of the best library, or None."""
    found = [(library["name"], library[what]) for library in entry["libraries"] if what in library]
    return (min if least else max)(found, key=lambda each: each[1][key]) if found else None


def measured(out):
    return [entry for entry in out["networks"] if not entry["wrong"] and "not_run" not in entry]


def row(out):
    head = ["network", *(f"{title}: p50, p99, us" for title in WAYS.values()), "CPU, us a request",
            "in process: p50, p99, us", "behind HTTP: p50, p99, us", "times behind HTTP"]
    rows = []
    for entry in measured(out):
        name, inside = best(entry, "row", "p50_ms", least=True)
        served = best(entry, "served row", "p50_ms", least=True)
        ours = {way["name"]: way["row"] for way in entry["ways"]}
        rows.append([entry["name"], *(said_us(ours[way]) for way in WAYS),
                     ", ".join(figure(ours[way]["cpu_us"]) for way in WAYS), f"{said_us(inside)} ({name})",
                     f"{said_us(served[1])} ({served[0]})" if served else "-",
                     f"**{served[1]['p50_ms'] / ours['predict']['p50_ms']:.2f}**" if served else "-"])
    return head, rows


def batch(out):
    head = ["network", *(f"{title}: thousand rows/s" for title in WAYS.values()), "CPU, us a row",
            "in process: thousand rows/s", "times, by bytes"]
    rows = []
    for entry in measured(out):
        name, inside = best(entry, "batch", "calls_per_second")
        ours = {way["name"]: way["batch"] for way in entry["ways"]}
        rows.append([entry["name"], *(figure(ours[way]["requests_per_second"] * BATCH / 1e3) for way in WAYS),
                     ", ".join(figure(ours[way]["cpu_us"] / BATCH) for way in WAYS),
                     f"{figure(inside['calls_per_second'] * BATCH / 1e3)} ({name})",
                     f"**{ours['v2 bytes']['requests_per_second'] / inside['calls_per_second']:.2f}**"])
    return head, rows


def clients(out):
    head = ["network", *(f"{title}: requests/s; p50, p99, us" for title in WAYS.values()), "CPU, us a request",
            "in process, one caller: calls/s", "times", "behind HTTP: requests/s; p50, p99, us", "times"]
    rows = []
    for entry in measured(out):
        name, inside = best(entry, "row", "calls_per_second")
        served = best(entry, "served clients", "requests_per_second")
        ours = {way["name"]: way["clients"] for way in entry["ways"]}
        rate = ours["predict"]["requests_per_second"]
        rows.append([entry["name"],
                     *(f"{figure(ours[way]['requests_per_second'])}; {said_us(ours[way])}" for way in WAYS),
                     ", ".join(figure(ours[way]["cpu_us"]) for way in WAYS),
                     f"{figure(inside['calls_per_second'])} ({name})", f"{rate / inside['calls_per_second']:.2f}",
                     f"{figure(served[1]['requests_per_second'])}; {said_us(served[1])} ({served[0]})" if served else "-",
                     f"**{rate / served[1]['requests_per_second']:.2f}**" if served else "-"])
    return head, rows


TABLES = {"one_row": row, "batch": batch, "clients": clients}


def show(out):
    """Prints all; 1 where an answer is wrong."""
    gpu = out["gpu"]
    print(f"\n{out['cpu']} ({out['cores']} cores, {out['vector']})" + (f", {gpu['name']}" if gpu else "") +
          f", {out['date']}, commit {out['commit']}: " + ", ".join(out["versions"].values()))
    for name, table in TABLES.items():
        print(f"\n{name}")
        report.table(*table(out))
    for entry in out["networks"]:
        if "not_run" in entry:
            print(f"  {entry['name']}: not run: {entry['not_run']}")
        elif entry["wrong"]:
            print(f"  {entry['name']}: WRONG: {entry['wrong']}")
    for absent in {each["name"]: each for entry in measured(out) for each in entry["not_there"]}.values():
        print(f"  {absent['name']}: {absent['reason'][:150]}")
    return int(any(entry["wrong"] or "not_run" in entry for entry in out["networks"]))
