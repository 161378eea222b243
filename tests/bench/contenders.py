"""contenders.py: those who train: the daemon over HTTP, and the peers as processes of their own. Each
gives a Result a run; what cannot be measured raises NotRun with the reason."""

import atexit
import json
import os
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ANSWER_SECONDS_MAX = 300
# A peer that would need longer than WHOLE for all epochs is run for fewer, of PART seconds, and scaled.
WHOLE_RUN_SECONDS_MAX, PART_RUN_SECONDS = 4, 0.7


class NotRun(Exception):
    """The reason why something was not measured."""


class Result:
    """seconds: of the training alone, of all the epochs; scaled: extrapolated from fewer epochs; wall:
    from the request to the last event, ours alone."""

    def __init__(self, seconds, answer, scaled=False, wall=None):
        self.seconds, self.answer, self.scaled, self.wall = seconds, answer, scaled, wall


class Ours:
    """A job on a daemon. `overrides` are tried in their order, and the first that the daemon takes is
    the job that is run."""

    def __init__(self, daemon, row, dataset, first):
        self.daemon, self.row, self.refusals = daemon, row, []
        self.name = "epochd"
        for over in row.ours:
            job = dict(row.job(dataset, first), **over)
            reason = daemon.refusal(job)
            if reason is None:
                self.job = job
                break
            self.refusals.append(f"{job['precision']} on {job['device']}: {reason}")
        else:
            raise NotRun("; ".join(self.refusals))
        self.device = self.executor = self.tried = None
        self.part = False  # a job is never cut

    def run(self):
        end, wall = self.daemon.stream(self.job)
        done = self.daemon.job(end["job"])
        self.device, self.executor = done["device"], done["executor"]
        self.tried = self.tried or done.get("tried")
        metrics = done["metrics"]
        answer = {"train_loss": metrics["train"]["loss"]}
        for name, split, field in (("test_mse", "test", "mse"), ("test_accuracy", "test", "accuracy"),
                                   ("test_roc_auc", "test", "roc_auc"), ("train_error", "train", "error")):
            value = (metrics[split] or {}).get(field)
            if value is not None:
                answer[name] = value
        return Result(done["timing"]["train_seconds"], answer, wall=wall)

    def warm(self):
        self.run()


class PeerProcess:
    """A peer that was started and is kept warm. cores: those that it is pinned to, a thread each; None: all."""

    def __init__(self, module, device, cores=None):
        environment = dict(os.environ)
        command = [sys.executable, "-m", f"peers.{module}", device]
        if cores:
            command = ["taskset", "-c", ",".join(map(str, cores))] + command + [str(len(cores))]
            environment.update({name: str(len(cores)) for name in THREADS})
        self.log = open(os.path.join(os.environ.get("TMPDIR", "/tmp"), f"epochd-bench-peer.{os.getpid()}"), "a")
        self.process = subprocess.Popen(command, cwd=HERE, env=environment, text=True, stderr=self.log,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        atexit.register(self.end)
        self.dead = None

    def hello(self):
        """Its version; NotRun when the library is not there."""
        said = self.listen(120)
        if "absent" in said:
            self.dead = said["absent"]
            raise NotRun(self.dead)
        return said["version"]

    def listen(self, seconds):
        ready, _, _ = select.select([self.process.stdout], [], [], max(seconds, 0.1))
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.dead = f"gave no answer in {seconds:.0f} s" if not ready else "ended"
            self.end()
            raise NotRun(self.dead)
        return json.loads(line)

    def ask(self, request, seconds=ANSWER_SECONDS_MAX):
        if self.dead:
            raise NotRun(self.dead)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            self.dead = "ended"
            raise NotRun(self.dead) from None
        said = self.listen(seconds)
        if "refused" in said:
            raise NotRun(said["refused"])
        return said

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        if os.path.exists(self.log.name):
            os.unlink(self.log.name)


class Peer:
    """One variant of a peer on a row that it has prepared."""

    def __init__(self, process, name, row, variant, epoch_seconds):
        self.process, self.name, self.row, self.variant = process, name, row, variant
        self.part = epoch_seconds * row.epochs > WHOLE_RUN_SECONDS_MAX

    def run(self):
        seconds_max = PART_RUN_SECONDS if self.part else 2 * WHOLE_RUN_SECONDS_MAX
        said = self.process.ask({"do": "run", "name": self.row.name, "variant": self.variant,
                                 "seconds_max": seconds_max})
        part = said["epochs"] / self.row.epochs
        return Result(said["seconds"] / part, said["answer"], scaled=part != 1)
