#!/usr/bin/env python3
"""draws_canary.py: a seed draws the same networks everywhere, in the shares that draws.py says, and none that a layer
shrinks to nothing or that is larger than it says. A change of the distribution changes DIGEST: measurements from
before it are of other networks."""

import collections
import hashlib
import sys

sys.dont_write_bytecode = True
import draws  # noqa: E402
import networks  # noqa: E402

DIGEST = "64d9498178b82789"
COUNT = 1000


def main():
    drawn = [draws.draw(1, index) for index in range(COUNT)]
    digest = hashlib.sha256("\n".join(f"{each.title()} {each.optimizer}" for each in drawn).encode()).hexdigest()[:16]
    wrong = [f"digest {digest}, not {DIGEST}"] if digest != DIGEST else []
    kinds = collections.Counter(each.kind for each in drawn)
    for kind, share in zip(draws.KINDS, draws.SHARES):
        if abs(kinds[kind] / COUNT - share / sum(draws.SHARES)) > 0.05:
            wrong.append(f"{kinds[kind]} of {COUNT} are {kind}")
    for index, each in enumerate(drawn):
        if each.rows < 1 or each.batch_rows() > each.rows or each.step_operations() > draws.STEP_OPERATIONS_MAX:
            wrong.append(f"{index}: {each.rows} rows, batch {each.batch_size}, {each.step_operations()} operations")
        if any(side < 1 for place in each.places for side in place.out):
            wrong.append(f"{index}: {each.title()} shrinks to nothing")
    # Worked out by hand: 3x8x8, 16 channels with kernel 3, stride 2, padding 1, 1 group; then 10 outputs.
    layers = [{"type": "conv2d", "out_channels": 16, "kernel_size": 3, "stride": 2, "padding": 1}, {"type": "flatten"},
              {"type": "linear", "out_features": 10}]
    places = list(networks.walk(layers, [3, 8, 8]))
    found = (places[0].out, sum(map(networks.parameters, places)), sum(map(networks.products, places)))
    if found != ([16, 4, 4], 16 * 27 + 16 + 2560 + 10, 16 * 27 * 16 + 2560):
        wrong.append(f"a network of two layers comes to {found}")
    print("\n".join(wrong) or f"{COUNT} draws are as they should be")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
