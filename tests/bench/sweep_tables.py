"""sweep_tables.py: the figures of tests/bench/sweeps as tables, (head, rows), for the terminal and for the page."""

from report import duration, figure


def mebibytes(kib):
    return f"{kib / 1024:.1f} MiB"


def percent(share):
    """Of a difference; None: there is nothing to compare."""
    return "no trial to the end" if share is None else f"{100 * share:+.1f} %"


def rate(row):
    head = ["trials", "epochs each", "executor", "POST to last row", "M model-epochs/s", "beside, a process a core",
            "its M model-epochs/s", "times"]
    rows = []
    for size in row["sizes"]:
        ours = [f"{size['trials']:,}", f"{row['epochs']:,}", row["executor"], duration(size["seconds"]),
                figure(size["epochs_per_second"] / 1e6)]
        rows += [ours + [f"{peer['version']}, {peer['processes']} processes", figure(peer["epochs_per_second"] / 1e6),
                         f"**{size['epochs_per_second'] / peer['epochs_per_second']:.1f}**"] for peer in row["peers"]]
        rows += [ours + [f"{peer['name']}: {peer['reason']}", "-", "-"] for peer in row["not_there"]]
    return head, rows


def overhead(row):
    head = ["trials", "epochs each", "POST to last row", "the sweep", f"its trainings / {row['at_once']}", "over",
            "epochd: before, after", "epoch-worker: before, after"]
    rows = []
    for entry in row["sweeps"]:
        resident = [", ".join(mebibytes(entry[when][name]["resident_kib"]) for when in ("before", "after"))
                    for name in ("epochd", "epoch-worker")]
        rows.append([f"{entry['trials']:,}", f"{row['epochs']:,}", duration(entry["post_to_last_row_seconds"]),
                     duration(entry["sweep_seconds"]), duration(entry["trainings_seconds"]),
                     percent(entry["over"] - 1)] + resident)
    return head, rows


def alone(row):
    rows = [[cell["kind"], cell["executor"], cell["trials"], cell["same"]] for cell in row["cells"]]
    return ["sweep", "executor", "trials", "the same figures as a job"], rows + [["all", "", row["trials"], row["same"]]]


def asha(row):
    head = ["disc, 2-w-2", "grid", "its best, its second above that", "search", "ASHA: trials, different points, to the end",
            "epochs, of the grid's: mean, most", "above the grid: median", "within 2 %",
            "random search, an eighth: median", "within 2 %",
            "rank of the grid's best after 1/64, 1/16, 1/4"]
    rows = []
    for net in row["nets"]:
        second = percent(net["grid_next"][0] / net["grid_best"] - 1)
        for name, space in net["spaces"].items():
            count = len(space["seeds"])
            rows.append([net["name"], net["grid"], f"{net['grid_best']:.3g}, {second}", name,
                         f"{net['trials']}, {space['points']:.0f}, {space['to_the_end']:.1f}",
                         f"{space['share_of_epochs']:.3f}, {space['most_share_of_epochs']:.3f}",
                         percent(space["median_above_grid"]), f"{space['near']} of {count}",
                         percent(space["random_median_above_grid"]), f"{space['random_near']} of {count}",
                         ", ".join(str(net["ranks"][rung]) for rung in sorted(net["ranks"], key=int))])
    return head, rows


def tpe(row):
    head = ["problem", "axes", "random, median best", "TPE, median best", "TPE / random", "TPE below that median"]
    rows = []
    for problem in row["problems"]:
        if "not_run" in problem:
            rows.append([problem["name"], f"not run: {problem['not_run']}", "", "", "", ""])
            continue
        medians = problem["medians"]
        rows.append([problem["name"], problem["axes"], figure(medians["random"]), figure(medians["tpe"]),
                     f"{medians['tpe'] / medians['random']:.3f}", f"{problem['better']} of {row['repeats']}"])
    return head, rows


TABLES = {"rate": rate, "overhead": overhead, "alone": alone, "asha": asha, "tpe": tpe}
