"""gpus_tables.py: the figures of tests/bench/gpus as tables, (head, rows), for the terminal and for the page."""

import json

from report import duration, figure


def cut_of(entry):
    if entry["gpus"] == 1:
        return "one GPU"
    return f"data {entry['data']} x model {entry['model']}"


def percent(share):
    return f"{100 * share:.1f} %"


def mean_percent(cut, name):
    whole = [rank["compute_microseconds"] + rank["communication_microseconds"] for rank in cut["ranks"]]
    busy = [1 - rank["idle_share"] for rank in cut["ranks"]]
    shares = [rank[name] / max(sum_, 1e-9) * share for rank, sum_, share in zip(cut["ranks"], whole, busy)]
    return percent(sum(shares) / len(shares))


def data(row):
    head = ["network", "cut", "executor", "us a step", "times the rows a second", "at most, without communication",
            "computing", "communication", "waiting"]
    rows = []
    for net in row["nets"]:
        for cut in net["missing"]:
            rows.append([net["title"], cut_of(cut), f"not run: {cut['not_run']}"] + [""] * 6)
        for cut in net["cuts"]:
            rows.append([net["title"], cut_of(cut), cut["executor"], figure(cut["microseconds"])] +
                        (["1"] + [""] * 4 if cut["gpus"] == 1 else
                         [f"**{cut['times']:.2f}**", f"{cut['times_without_waits']:.2f}",
                          mean_percent(cut, "compute_microseconds"), mean_percent(cut, "communication_microseconds"),
                          percent(cut["idle_share"])]))
    return head, rows


def model(row):
    head = ["network", "cut", "executor", "micro-batches", "us a step", "with no waits but the cut's", "waiting",
            "the least by the cut", "times the rows a second"]
    rows = []
    for net in row["nets"]:
        for cut in net["missing"]:
            rows.append([net["title"], cut_of(cut), f"not run: {cut['not_run']}"] + [""] * 6)
        for cut in net["cuts"]:
            rows.append([net["title"], cut_of(cut), cut["executor"]] +
                        (["", figure(cut["microseconds"]), "", "", "", "1"] if cut["gpus"] == 1 else
                         [cut["micro_batches"], figure(cut["microseconds"]), figure(cut["ideal_microseconds"]),
                          percent(cut["idle_share"]), percent(cut["bubble"]), f"{cut['times']:.2f}"]))
    return head, rows


def losses(row):
    head = ["network", "cut", "losses", "of one GPU by at most", "the same ranks on one GPU"]
    return head, [[entry["title"] + (f", without {entry['without']}" if entry["without"] else "") +
                   (", in fp32" if entry.get("precision") == "fp32" else ""),
                   f"data {entry['data']} x model {entry['model']}", f"{entry['first']:.4g} to {entry['last']:.4g}",
                   f"{entry['apart']:.2g}", "the same bits" if entry["same_bits"] else "**others**"]
                  for entry in row["losses"]]


def ddp(row):
    head = ["network", "PyTorch", "GPUs", "us a step", "times the rows a second"]
    alone = {net["net"]: net["microseconds"] for net in row["nets"] if net["count"] == 1 and "microseconds" in net}
    rows = []
    for net in row["nets"]:
        if "failed" in net:
            rows.append([net["title"], net["variant"], net["count"], f"not run: {net['failed'][:80]}", ""])
            continue
        one = alone.get(net["net"])
        times = f"{net['count'] * one / net['microseconds']:.2f}" if one else "-"
        rows.append([net["title"], net["variant"], net["count"], figure(net["microseconds"]), times])
    return head, rows


def sweep(row):
    head = ["network", "trials", "epochs each", "GPUs", "POST to last row", "trainings of helpers", "times one GPU"]
    rows = []
    for net in row["nets"]:
        if "not_run" in net:
            rows.append([net["name"], f"not run: {net['not_run']}"] + [""] * 5)
            continue
        rows += [[net["name"], f"{net['trials']:,}", f"{net['epochs']:,}", each["workers"], duration(each["seconds"]),
                  f"{each['helped']:,.0f}", f"**{each['times']:.2f}**"] for each in net["rows"]]
    return head, rows


def kills(row):
    head = ["ranks", "kills", "attempts", "weights", "epochs"]
    return head, [[json.dumps(each["grid"]), each["kills"], each["attempts"], each["weights"], each["epochs"]]
                  for each in row["rows"]]


def summary(row):
    """How much of what was asked for was reached."""
    short = [entry for entry in row["wanted"] if not entry["met"]]
    if not row["wanted"]:
        return "Nothing was asked for."
    said = [f"{entry['what']}: wanted {entry['wanted']:.4g}, reached {figure(entry['reached'])}" for entry in short]
    return f"Reached {len(row['wanted']) - len(short)} of {len(row['wanted'])}." + \
        (f" Short: {'; '.join(said)}." if short else "")


# {table: (part, (head, rows) of its row)}
TABLES = {"gpu_data": ("data", data), "gpu_data_losses": ("data", losses), "gpu_ddp": ("ddp", ddp),
          "gpu_model": ("model", model), "gpu_model_losses": ("model", losses), "gpu_sweep": ("sweep", sweep),
          "gpu_kills": ("kills", kills)}
