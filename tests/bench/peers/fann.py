"""FANN, a C library for small networks, through ctypes. It has no ReLU: its fast sigmoid stands for it,
so its answer is not that of the others, and only its time counts."""

import ctypes
import ctypes.util
import tempfile
import time

from peers import data, dense, protocol

LINEAR, SIGMOID_SYMMETRIC_STEPWISE = 0, 6
TRAIN_BATCH = 1

path = ctypes.util.find_library("floatfann") or "libfloatfann.so.2"
try:
    fann = ctypes.CDLL(path)
except OSError as error:
    protocol.absent(error)
fann.fann_create_standard_array.restype = ctypes.c_void_p
fann.fann_read_train_from_file.restype = ctypes.c_void_p
fann.fann_train_epoch.restype = ctypes.c_float
fann.fann_run.restype = ctypes.POINTER(ctypes.c_float)


def rows_file(table):
    """FANN's own text form: counts, then inputs and outputs in turn."""
    file = tempfile.NamedTemporaryFile("w", suffix=".fann")
    file.write(f"{len(table.x)} {table.x.shape[1]} {table.y.shape[1]}\n")
    for x, y in zip(table.x, table.y):
        file.write(" ".join(map(repr, x.tolist())) + "\n" + " ".join(map(repr, y.tolist())) + "\n")
    file.flush()
    return file


def prepare(work, table):
    widths, activation = dense.layers_of(work)
    if activation != "relu" or work["momentum"] or work["shuffle"] or work.get("optimizer"):
        raise protocol.Refused("has no such training")
    if work["loss"] != "mse" or data.batch_rows(work, table) != len(table.x):
        raise protocol.Refused("trains whole batches on squared errors here")
    sizes = (ctypes.c_uint * len(widths))(*widths)
    with rows_file(table) as file:
        rows = ctypes.c_void_p(fann.fann_read_train_from_file(file.name.encode()))

    def outputs(net, x):
        return [[fann.fann_run(net, (ctypes.c_float * len(row))(*row))[0]] for row in x.tolist()]

    def run(epochs):
        net = ctypes.c_void_p(fann.fann_create_standard_array(len(widths), sizes))
        fann.fann_set_activation_function_hidden(net, SIGMOID_SYMMETRIC_STEPWISE)
        fann.fann_set_activation_function_output(net, LINEAR)
        fann.fann_set_training_algorithm(net, TRAIN_BATCH)
        fann.fann_set_learning_rate(net, ctypes.c_float(work["lr"]))
        begin = time.perf_counter()
        for _ in range(epochs):
            fann.fann_train_epoch(net, rows)
        seconds = time.perf_counter() - begin
        out = outputs(net, table.x), outputs(net, table.x_test)
        fann.fann_destroy(net)
        return (seconds,) + out
    return {"batch": protocol.Variant(run)}


protocol.serve("FANN 2", prepare)
