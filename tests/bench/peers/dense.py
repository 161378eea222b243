"""dense.py: a dense network trained by hand with arrays, as people write it who have no framework; the library
(NumPy, CuPy) is an argument."""

import time

from peers import data, protocol


def layers_of(work):
    """(the widths of the linear layers, the activation between them); refuses what is no such network."""
    widths = [layer["out_features"] for layer in work["layers"] if layer["type"] == "linear"]
    kinds = [layer["type"] for layer in work["layers"]]
    activation = kinds[1] if len(kinds) > 1 else "relu"
    if kinds != (["linear", activation] * len(widths))[:-1] or activation not in ("relu", "tanh", "sigmoid"):
        raise protocol.Refused("written for dense networks with relu, tanh or sigmoid alone")
    return work["shape"] + widths, activation


class Optimizer:
    """work's optimizer; each parameter's state is made at its first step."""

    def __init__(self, arrays, work):
        given = work.get("optimizer") or {"type": "sgd", "lr": work["lr"], "momentum": work["momentum"]}
        self.arrays, self.kind, self.lr = arrays, given["type"], arrays.float32(given["lr"])
        self.momentum = arrays.float32(given.get("momentum", 0))
        self.decay = arrays.float32(0.01 * given["lr"])  # of adamw
        if set(given) - {"type", "lr", "momentum"}:
            raise protocol.Refused("written for the optimizers' defaults")
        self.state, self.steps = {}, 0

    def update(self, place, parameter, grad):
        """In place; place: which parameter this is."""
        if self.kind != "sgd":
            return self.adam(place, parameter, grad)
        if self.momentum:
            if place in self.state:
                self.state[place] *= self.momentum
                self.state[place] += grad
            else:
                self.state[place] = grad
            grad = self.state[place]
        parameter -= self.lr * grad
        return None

    def adam(self, place, parameter, grad):
        if place not in self.state:
            self.state[place] = (self.arrays.zeros_like(grad), self.arrays.zeros_like(grad))
        mean, square = self.state[place]
        mean *= self.arrays.float32(0.9)
        mean += self.arrays.float32(0.1) * grad
        square *= self.arrays.float32(0.999)
        square += self.arrays.float32(0.001) * grad * grad
        if self.kind == "adamw":
            parameter *= 1 - self.decay
        scale = self.arrays.float32(float(self.lr) / (1 - 0.9**self.steps))
        root = self.arrays.sqrt(square * self.arrays.float32(1 / (1 - 0.999**self.steps)))
        root += self.arrays.float32(1e-8)
        parameter -= scale * mean / root


class Network:
    """float32; gradients and the update in place."""

    def __init__(self, arrays, work, table):
        self.arrays, self.work = arrays, work
        self.widths, self.activation = layers_of(work)
        self.first = [arrays.asarray(value) for value in data.first_weights(work).values()]
        if len(self.first) != 2 * (len(self.widths) - 1):
            raise protocol.Refused("has no first weights")
        self.x, self.x_test = arrays.asarray(table.x), arrays.asarray(table.x_test)
        y = table.y
        if work["loss"] == "cross_entropy":
            y = (y[:, None] == arrays.arange(self.widths[-1]).tolist()).astype("float32")
        self.y, self.lr = arrays.asarray(y), arrays.float32(work["lr"])
        # relu and plain descent stand where they are used: a call each is a share of a small network's step
        self.plain = self.activation == "relu" and not (work["momentum"] or work.get("optimizer"))
        self.batch = data.batch_rows(work, table)

    def reset(self):
        weights = [value.copy() for value in self.first]
        self.layers = [(weights[i].T.copy(), weights[i + 1]) for i in range(0, len(weights), 2)]
        self.optimizer = Optimizer(self.arrays, self.work)

    def activate(self, out):
        """In place."""
        arrays = self.arrays
        if self.activation == "relu":
            arrays.maximum(out, 0, out=out)
        elif self.activation == "tanh":
            arrays.tanh(out, out=out)
        else:
            arrays.negative(out, out=out)
            arrays.exp(out, out=out)
            out += 1
            arrays.reciprocal(out, out=out)

    def slope(self, held):
        """Of the activation, from what it gave."""
        if self.activation == "relu":
            return held > 0
        return 1 - held * held if self.activation == "tanh" else held * (1 - held)

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
        out *= arrays.float32(1 / (y.size if self.work["loss"] == "bce_with_logits" else len(y)))
        return out

    def step(self, x, y):
        arrays, kept = self.arrays, [x]
        for index, (weight, bias) in enumerate(self.layers):
            out = arrays.dot(kept[-1], weight)
            out += bias
            if index + 1 < len(self.layers):
                if self.plain:
                    arrays.maximum(out, 0, out=out)
                else:
                    self.activate(out)
            kept.append(out)
        grad = self.grad_out(kept.pop(), y)
        self.optimizer.steps += 1
        for weight, bias in reversed(self.layers):
            held = kept.pop()
            back = arrays.dot(grad, weight.T) if kept else None
            if self.plain:
                weight -= self.lr * arrays.dot(held.T, grad)
                bias -= self.lr * grad.sum(0)
            else:
                self.optimizer.update(2 * len(kept), weight, arrays.dot(held.T, grad))
                self.optimizer.update(2 * len(kept) + 1, bias, grad.sum(0))
            if kept:
                back *= held > 0 if self.plain else self.slope(held)
                grad = back

    def outputs(self, x):
        for index, (weight, bias) in enumerate(self.layers):
            x = self.arrays.dot(x, weight) + bias
            if index + 1 < len(self.layers):
                self.activate(x)
        return x

    def run(self, epochs, synchronize, download):
        self.reset()
        synchronize()
        begin = time.perf_counter()
        for _ in range(epochs):
            order = self.arrays.random.permutation(len(self.x)) if self.work["shuffle"] else None
            for first in range(0, len(self.x), self.batch):
                rows = slice(first, first + self.batch) if order is None else order[first:first + self.batch]
                self.step(self.x[rows], self.y[rows])
        synchronize()
        seconds = time.perf_counter() - begin
        return seconds, download(self.outputs(self.x)), download(self.outputs(self.x_test))
