"""dense.py: a dense network with ReLU trained by hand with arrays, as people write it who have no
framework; the library (NumPy, CuPy) is an argument."""

import time

from peers import data, protocol


def layers_of(work):
    """The widths of the linear layers; refuses what is no dense network with ReLU between."""
    widths = [layer["out_features"] for layer in work["layers"] if layer["type"] == "linear"]
    kinds = [layer["type"] for layer in work["layers"]]
    if kinds != (["linear", "relu"] * len(widths))[:-1] or work["momentum"] or work["shuffle"]:
        raise protocol.Refused("written for dense networks with ReLU alone")
    return work["shape"] + widths


class Network:
    """float32; gradients and the update in place."""

    def __init__(self, arrays, work, table):
        self.arrays, self.work, self.widths = arrays, work, layers_of(work)
        self.first = [arrays.asarray(value) for value in data.first_weights(work).values()]
        if len(self.first) != 2 * (len(self.widths) - 1):
            raise protocol.Refused("has no first weights")
        self.x, self.x_test = arrays.asarray(table.x), arrays.asarray(table.x_test)
        y = table.y
        if work["loss"] == "cross_entropy":
            y = (y[:, None] == arrays.arange(self.widths[-1]).tolist()).astype("float32")
        self.y, self.lr = arrays.asarray(y), arrays.float32(work["lr"])
        self.batch = data.batch_rows(work, table)

    def reset(self):
        weights = [value.copy() for value in self.first]
        self.layers = [(weights[i].T.copy(), weights[i + 1]) for i in range(0, len(weights), 2)]

    def grad_out(self, out, y):
        """Of the mean loss, with respect to the outputs; `out` is used up."""
        arrays = self.arrays
        if self.work["loss"] == "mse":
            out -= y
            out *= arrays.float32(2 / y.size)
            return out
        if self.work["loss"] == "bce_with_logits":
            out = 1 / (1 + arrays.exp(-out))
        else:
            out = arrays.exp(out - out.max(1, keepdims=True))
            out /= out.sum(1, keepdims=True)
        out -= y
        out *= arrays.float32(1 / len(y))
        return out

    def step(self, x, y):
        arrays, kept = self.arrays, [x]
        for index, (weight, bias) in enumerate(self.layers):
            out = arrays.dot(kept[-1], weight)
            out += bias
            if index + 1 < len(self.layers):
                arrays.maximum(out, 0, out=out)
            kept.append(out)
        grad = self.grad_out(kept.pop(), y)
        for weight, bias in reversed(self.layers):
            held = kept.pop()
            back = arrays.dot(grad, weight.T) if kept else None
            weight -= self.lr * arrays.dot(held.T, grad)
            bias -= self.lr * grad.sum(0)
            if kept:
                back *= held > 0
                grad = back

    def outputs(self, x):
        for index, (weight, bias) in enumerate(self.layers):
            x = self.arrays.dot(x, weight) + bias
            if index + 1 < len(self.layers):
                x = self.arrays.maximum(x, 0)
        return x

    def run(self, epochs, synchronize, download):
        self.reset()
        synchronize()
        begin = time.perf_counter()
        for _ in range(epochs):
            for first in range(0, len(self.x), self.batch):
                self.step(self.x[first:first + self.batch], self.y[first:first + self.batch])
        synchronize()
        seconds = time.perf_counter() - begin
        return seconds, download(self.outputs(self.x)), download(self.outputs(self.x_test))
