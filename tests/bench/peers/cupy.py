"""CuPy: the same arrays on a GPU, one launch an operation."""

try:
    import cupy
    cupy.cuda.runtime.getDeviceCount()
except Exception as error:
    from peers import protocol
    protocol.absent(error)

from peers import dense, protocol


def prepare(work, table):
    network = dense.Network(cupy, work, table)
    wait = cupy.cuda.runtime.deviceSynchronize
    return {"arrays": protocol.Variant(lambda epochs: network.run(epochs, wait, cupy.asnumpy))}


protocol.serve(f"CuPy {cupy.__version__}", prepare)
