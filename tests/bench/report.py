"""report.py: the machine, the table and the JSON of a run."""

import json
import os
import platform
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def _lines(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=HERE).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []


def _gpu():
    if not shutil.which("nvidia-smi"):
        return None
    found = _lines("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    if not found or found[0].count(",") < 2:
        return None
    name, driver, memory = (part.strip() for part in found[0].split(",")[:3])
    return {"name": name, "driver": driver, "memory": memory, "count": len(found)}


def kinds_here(prefix):
    """cuda where there is a GPU and the plug-in for it, and cpu."""
    worker = os.path.join(os.path.dirname(os.path.realpath(os.path.join(prefix, "bin", "epochd"))), "ep_backend_cuda.so")
    return (["cuda"] if _gpu() and os.path.exists(worker) else []) + ["cpu"]


def machine():
    text = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    model = re.search(r"model name\s*:\s*(.*)", text)
    flags = re.search(r"^flags\s*:\s*(.*)", text, re.M)
    has = flags.group(1).split() if flags else []
    known = {"amx_bf16": "AMX", "avx512f": "AVX-512", "avx2": "AVX2"}
    vector = next((name for flag, name in known.items() if flag in has), "baseline")
    commit = os.environ.get("EPOCHD_BENCH_COMMIT") or "".join(_lines("git", "rev-parse", "--short", "HEAD")) or None
    return {"cpu": model.group(1) if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "vector": vector, "gpu": _gpu(), "kernel": platform.release(), "commit": commit,
            "date": time.strftime("%Y-%m-%d", time.gmtime())}


def judge_wanted(wanted, row, others):
    """{"what", "of", "wanted", "reached", "met"}; reached is null where there is nothing to compare with."""
    what, of, much = wanted
    reached = None
    if not row["epochd"]["wrong"]:
        if what == "times":
            peer = next((entry for entry in others if entry["name"] == of and not entry["wrong"]), None)
            reached = peer and peer["seconds"] / row["epochd"]["seconds"]
        elif what == "flops":
            reached = row["flops"]
        elif what == "wall":
            reached = row["epochd"]["wall_seconds"]
    met = None if reached is None else bool(reached <= much if what == "wall" else reached >= much)
    return {"what": what, "of": of, "wanted": much, "reached": reached, "met": met}


def write(out, path):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


def duration(seconds):
    if seconds is None:
        return "-"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def figure(value):
    """Four digits, without an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def said_wanted(entry):
    """"8 x jax cuda: 12.1" and whether that is enough."""
    if entry["what"] == "times":
        text, reached = f"{entry['wanted']:g} x {entry['of']}", entry["reached"] and f"{entry['reached']:.2f}"
    elif entry["what"] == "flops":
        text, reached = f"{entry['wanted'] / 1e12:g} TFLOP/s", entry["reached"] and f"{entry['reached'] / 1e12:.0f}"
    else:
        text, reached = f"wall {duration(entry['wanted'])}", entry["reached"] and duration(entry["reached"])
    return f"{text}: {reached or 'not known'}" + {True: "", False: " (short)", None: ""}[entry["met"]]


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        print("  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def row_cells(row):
    if "not_run" in row:
        return [row["name"], "not run: " + row["not_run"][:120]] + [""] * 6
    ours = row["epochd"]
    if ours["wrong"]:
        return [row["name"], "WRONG: " + ours["wrong"][:120]] + [""] * 6
    best = next((peer for peer in row["peers"] if peer["name"] == row.get("best_peer")), None)
    return [row["name"], f"{ours['executor']} {ours['precision']}", duration(ours["seconds"]),
            figure(ours["microseconds_a_step"]), duration(ours["wall_seconds"]),
            f"{best['name']} {duration(best['seconds'])}" if best else "-",
            f"{row['ratio']:.2f}" if best else "-",
            "; ".join(said_wanted(entry) for entry in row["wanted"])]


def show(out):
    gpu = out["gpu"]
    print(f"\n{out['cpu']} ({out['cores']} cores, {out['vector']})" +
          (f", {gpu['name']} (driver {gpu['driver']})" if gpu else "") + f", {out['date']}, commit {out['commit']}\n")
    for row in out["rows"]:
        for peer in row.get("peers", []):
            print(f"  {row['name']:<14} {peer['name']:<26} {duration(peer['seconds']):>9}" +
                  (" (scaled)" if peer["scaled"] else "") + (f" WRONG: {peer['wrong']}" if peer["wrong"] else ""))
        for absent in row.get("not_there", []):
            print(f"  {row['name']:<14} {absent['name']}: not run: {absent['reason'][:150]}")
    print()
    for other in out["others"]:
        if "not_run" in other:
            print(f"  {other['name']}: not run: {other['not_run']}")
        for what, value in other.get("lines", []):
            print(f"  {what}  {value}")
    print()
    table(["row", "epochd", "training", "us/step", "POST to end", "best peer", "times", "wanted: reached"],
          [row_cells(row) for row in out["rows"]])
