"""sample_tables.py: what a sample says: a line a network, the ratios together, and the worst."""

import math
import statistics

import report

LARGE_STEP = 2e9  # operations: where the split of the summary is
WORST = 10
NEARLY = 1.05  # another executor counts as faster from here on


def fastest_executor(entry):
    """(name, how many times faster than the one taken) or None."""
    found = {name: each["seconds"] for name, each in entry.get("executors", {}).items() if "seconds" in each}
    if not found or "seconds_an_epoch" not in entry:
        return None
    name = min(found, key=found.get)
    times = entry["seconds_an_epoch"] / found[name]
    return (name, times) if name != entry["executor"] and times >= NEARLY else None


def line(entry):
    head = f"{entry['index']:>5} "
    if "not_run" in entry:
        return head + f"not run: {entry['not_run'][:160]}  | {entry['title']}"
    wrong = (entry["check"] or {}).get("wrong")
    notes = [f"WRONG: {wrong}"] if wrong else []
    notes += [f"unchecked: {entry['unchecked'][:80]}"] if entry.get("unchecked") else []
    notes += [f"loss apart: {entry['apart']}"] if entry.get("apart") else []
    better = fastest_executor(entry)
    notes += [f"{better[0]} is {better[1]:.2f} times faster"] if better else []
    notes += [f"{absent['name']}: {absent['reason'][:60]}" for absent in entry["not_there"]
              if "written for" not in absent["reason"] and "No module" not in absent["reason"]]
    ratio = f"{entry['ratio']:7.2f} of {entry['best_peer']:<24}" if "ratio" in entry else f"{'-':>7}    {'':<24}"
    return head + f"{ratio} {entry['executor']:<14} {report.duration(entry['seconds_an_epoch'] / entry['steps']):>8} " \
        f"a step | {entry['title']}" + "".join(f"\n        {note}" for note in notes)


def summary(name, entries):
    ratios = [entry["ratio"] for entry in entries]
    if not ratios:
        return [name, 0, "-", "-", "-", "-"]
    below = sum(ratio < 1 for ratio in ratios)
    return [name, len(ratios), f"{math.exp(statistics.mean(map(math.log, ratios))):.2f}",
            f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}", f"{below} ({100 * below / len(ratios):.0f} %)"]


def groups(entries, field):
    for value in sorted({entry[field] for entry in entries}):
        yield value, [entry for entry in entries if entry[field] == value]


def show(out):
    entries = out["networks"]
    compared = [entry for entry in entries if "ratio" in entry]
    gpu = out["gpu"]
    print(f"\n{out['cpu']} ({out['cores']} cores, {out['vector']})" + (f", {gpu['name']}" if gpu else "") +
          f", {out['date']}, commit {out['commit']}, seed {out['seed']}, {out['kind']}")
    print("  " + ", ".join(f"{name}: {version}" for name, version in out["versions"].items()) + "\n")
    small = [entry for entry in compared if entry["operations_a_step"] < LARGE_STEP]
    large = [entry for entry in compared if entry["operations_a_step"] >= LARGE_STEP]
    rows = [summary("all", compared), summary("steps under 2 GFLOP", small),
            summary("steps of 2 GFLOP and more", large)]
    for field in ("kind", "precision", "executor"):
        rows += [summary(value, some) for value, some in groups(compared, field)]
    report.table(["times faster than the best peer", "networks", "geometric mean", "median", "worst", "below 1"], rows)
    print(f"\nthe worst {WORST}:")
    for entry in sorted(compared, key=lambda entry: entry["ratio"])[:WORST]:
        better = fastest_executor(entry)
        print(f"  {entry['index']:>5} {entry['ratio']:.2f} of {entry['best_peer']}, {entry['executor']}" +
              (f"; {better[0]} {better[1]:.2f} times faster" if better else "") + f"\n        {entry['title']}")
    missed = [fastest_executor(entry) for entry in entries if entry.get("executors")]
    if missed:
        lost = [found for found in missed if found]
        print(f"\nanother executor would have been faster: {len(lost)} of {len(missed)}" +
              (f", {statistics.median(times for _, times in lost):.2f} times in the middle" if lost else ""))
    wrong = [entry for entry in entries if (entry.get("check") or {}).get("wrong")]
    counts = {"wrong": len(wrong), "not run": sum("not_run" in entry for entry in entries),
              "unchecked": sum(bool(entry.get("unchecked")) for entry in entries),
              "without a peer": sum("not_run" not in entry and not entry["peers"] for entry in entries)}
    print("\n" + ", ".join(f"{name}: {count}" for name, count in counts.items()) + f", of {len(entries)}")
    for entry in wrong:
        print(f"  {entry['index']:>5} WRONG: {entry['check']['wrong']}  ({entry['check']['of']}, "
              f"{entry['check']['executor']})\n        {entry['title']}")
    return 1 if wrong else 0
