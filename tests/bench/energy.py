"""energy.py: the joules of a GPU, by NVML's counter of its energy since the driver was loaded; where
Python has no NVML, by the power that nvidia-smi tells, which is sampled."""

import shutil
import subprocess
import threading
import time


class Counter:
    """joules() may be read before and after; None where there is no GPU to ask. close() ends it."""

    def __init__(self):
        self.read, self.sampler, self.sum, self.source = None, None, 0.0, None
        try:
            import pynvml
            pynvml.nvmlInit()
            device = pynvml.nvmlDeviceGetHandleByIndex(0)
            pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
            self.read = lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1e3
            self.source = "NVML's energy counter"
        except Exception:  # no such module, no such counter
            if shutil.which("nvidia-smi"):
                self._sample()

    def _sample(self):
        command = ["nvidia-smi", "-i", "0", "--query-gpu=power.draw", "--format=csv,noheader,nounits",
                   "--loop-ms=50"]
        self.sampler = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.source = "nvidia-smi's power, sampled every 50 ms"

        def integrate():
            last = time.monotonic()
            for line in self.sampler.stdout:
                now = time.monotonic()
                try:
                    self.sum += float(line) * (now - last)
                except ValueError:  # "[N/A]"
                    pass
                last = now
        threading.Thread(target=integrate, daemon=True).start()
        self.read = lambda: self.sum

    def joules(self):
        try:
            return self.read() if self.read else None
        except Exception:  # the counter went away: no figure
            return None

    def close(self):
        if self.sampler:
            self.sampler.kill()
            self.sampler.wait()
