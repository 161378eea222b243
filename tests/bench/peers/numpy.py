"""NumPy: arrays on the CPU, and what one core can do at most."""

import glob
import time

try:
    import numpy
except Exception as error:
    from peers import protocol
    protocol.absent(error)

from peers import dense, protocol


def prepare(work, table):
    network = dense.Network(numpy, work, table)
    return {"arrays": protocol.Variant(lambda epochs: network.run(epochs, lambda: None, lambda out: out))}


def cache_bytes():
    """The largest cache of the first core, as Linux says it; 0 when it does not."""
    sizes = [0]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        text = open(path).read().strip()
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1))
    return max(sizes)


def ceilings():
    """Of this process's cores: sgemm's operations a second, and bytes moved by a copy."""
    a = numpy.random.default_rng(1).normal(size=(1024, 1024)).astype(numpy.float32)
    source = numpy.ones(1 << 26, numpy.float32)
    target = source.copy()
    flops, rates = [], []
    for _ in range(5):
        begin = time.perf_counter()
        a @ a
        flops.append(2 * 1024**3 / (time.perf_counter() - begin))
        begin = time.perf_counter()
        numpy.copyto(target, source)
        rates.append(2 * 4 * len(source) / (time.perf_counter() - begin))
    return {"fp32": max(flops), "bytes_per_second": max(rates), "cache_bytes": cache_bytes()}


protocol.serve(f"NumPy {numpy.__version__}", prepare, ceilings)
