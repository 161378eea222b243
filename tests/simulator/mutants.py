"""mutants.py: faults to plant in the daemon's core, which the simulator must find.

    mutants.py FAULT FILE OUT     writes the file of the repository with the fault to OUT
    mutants.py --list             FAULT FILE, a line each
"""
import pathlib
import sys

LOG, SCAN = "server/events/event_log.c", "server/events/log_scan.c"
SQL, RUN = "server/store/sql.c", "server/jobs/lifecycle/run.c"

# Name: what is wrong with it; changes (file, text, text in its place).
FAULTS = {
    "unsynced_commit": ("201 comes before the row is on the disk", [
        (SQL, "ep_status status = ep_store_sync(store, true, error);",
         "ep_status status = ep_store_sync(store, false, error);")]),
    "fence": ("a late report counts, of whatever attempt", [
        ("server/workers/worker.c", "strcmp(worker->status.job, job) == 0 &&\n              worker->attempt == attempt;",
         "strcmp(worker->status.job, job) == 0 && attempt > 0;"),
        (RUN, "job->row.state == EP_STATE_RUNNING && job->row.attempt == attempt;",
         "job->row.state == EP_STATE_RUNNING && attempt > 0;")]),
    "end_twice": ("an `end` follows the `end`", [
        (LOG, 'if (tail->ended) return ep_fail(error, EP_CONFLICT, "this job\'s events have ended");', ""),
        ("server/jobs/files/events.c", "if (tail.ended || row->damaged) return EP_OK;",
         "if (row->damaged) return EP_OK;"),
        (SCAN, "head->seq != scan->lines + 1 || scan->ended", "head->seq != scan->lines + 1")]),
    "torn_tail": ("a torn last line stays, and the next is written behind it", [
        (SCAN, "if (!newline) break;", "if (!newline) {\n      scan->bytes += end - line;\n      break;\n    }")]),
    "seq_gap": ("a log that is opened anew skips a number", [
        (LOG, ".last_seq = scan.lines,", ".last_seq = scan.lines + (scan.lines > 4),")]),
    "quota": ("an owner has one job more than the quota", [
        ("server/jobs/lifecycle/submit.c", "has < jobs->quota_jobs", "has <= jobs->quota_jobs")]),
    "starvation": ("a job that ran twice is not queued again after a crash", [
        ("server/jobs/lifecycle/recover.c", "  if (waits)\n    job->row.state =",
         "  if (waits || row->attempt > 1)\n    job->row.state =")]),
    "forgotten_pages": ("after a failed sync the store goes on as if nothing were lost", [
        (SQL, "if (kind == SQLITE_IOERR) store->suspect = true;", "")]),
    "busy_end": ("the supervisor polls without a pause at the end", [
        ("server/workers/supervisor.c", "    inbox_take(s); /* else a kick wakes it again and again */\n", "")]),
}


def main(arguments):
    if arguments == ["--list"]:
        for name, (_, changes) in FAULTS.items():
            for file in dict.fromkeys(change[0] for change in changes):
                print(name, file)
        return 0
    name, file, out = arguments
    text = (pathlib.Path(__file__).parents[2] / file).read_text()
    for changed, old, new in FAULTS[name][1]:
        if changed != file:
            continue
        if text.count(old) != 1:
            print(f"mutants.py: {name}: {file} has {text.count(old)} times: {old}", file=sys.stderr)
            return 1
        text = text.replace(old, new)
    pathlib.Path(out).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
