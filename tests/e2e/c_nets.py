#!/usr/bin/env python3
"""c_nets.py COUNT FOLDER: writes people.csv and weather.csv into the folder, and prints COUNT jobs, a line each, whose networks
differ: dense, convolutional, with norms and residuals, and on tables with words, dates and gaps. The first ones have the most
kinds of layers and columns. Each is named net_N.
"""
import json
import math
import random
import sys

random.seed(41)


def values(rows, columns, least=-2, most=2):
    return [[random.randint(least * 64, most * 64) / 64 for _ in range(columns)] for _ in range(rows)]


def linear(out, **more):
    return {"type": "linear", "out_features": out, **more}


def layer(kind, **more):
    return {"type": kind, **more}


def conv(out, kernel, **more):
    return layer("conv2d", out_channels=out, kernel_size=kernel, **more)


def residual(*layers):
    return layer("residual", layers=list(layers))


def job(data, loss, layers, **more):
    return {"data": data, "loss": loss, "model": {"layers": layers}, "epochs": 4, "batch_size": 16,
            "optimizer": {"type": "adam", "lr": 0.01}, **more}


def dense(columns, loss, *layers, targets=1, classes=0, **data):
    x = values(64, columns)
    if classes:
        y = [int(sum(row) * 8) % classes for row in x]
    else:
        y = [[sum(row) * 30 + 400 + 5 * k for k in range(targets)] for row in x]
    if loss.startswith("bce"):
        y = [[float(sum(row) > k) for k in range(targets)] for row in x]
    return job({"inline": {"x": x, "y": y}, **data}, loss, list(layers))


def image(shape, *layers, classes=3, loss="cross_entropy", **data):
    x = values(40, math.prod(shape), 0, 2)
    return job({"inline": {"x": x, "y": [i % classes for i in range(40)]}, "shape": shape, **data}, loss, list(layers))


def people(target, loss, outputs, layers=(), **data):
    data = {"dataset": "people", "target": target, **data}
    return job(data, loss, [*layers, linear(12), layer("tanh"), linear(outputs)], epochs=6)


def people_write(path):
    def gap(text):
        return "" if random.random() < 0.1 else str(text)
    with open(path, "w", encoding="utf-8") as out:
        print("class,y,town hall,stars,grade,fare,weight,born,seen,clock,member,kind,price,int", file=out)
        for i in range(300):
            town = random.choice(["Oslo", "Århus", 'New "York"', "Oslo", f"rare??/ {i % 40}"])
            town = '"' + town.replace('"', '""') + '"'
            fare, stars, born = random.randrange(1000) / 8, random.randrange(1, 6), random.randrange(1890, 2024)
            score = fare / 25 + stars - (3 if "Oslo" in town else 0) + (born - 1950) / 40
            print(",".join([
                gap(random.choice(["First", "Second", "Third"])), gap(random.randrange(-500, 500) / 4), gap(town), gap(stars),
                gap(random.choice(["low", "middle", "high"])), gap(fare), gap(random.randrange(1, 10**6) / 16),
                gap(f"{born}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"),
                gap(f"2023-0{random.randrange(1, 7)}-17T{random.randrange(24):02}:{random.randrange(60):02}:07"),
                gap(f"{random.randrange(24):02}:{random.randrange(60):02}:00"), gap(random.choice(["true", "false"])),
                "cat" if score < 3 else "dog" if score < 6 else "émeu", str(1000 + 37 * score), gap(i % 7)]), file=out)


def weather_write(path):
    with open(path, "w", encoding="utf-8") as out:
        print("hour,temp,sky", file=out)
        for i in range(400):
            print(f"{i},{10 + 8 * math.sin(i / 4):.4f},{['clear', 'cloud', 'rain'][i // 5 % 3]}", file=out)


every_column = {
    "class": {"missing": "most_frequent"}, "stars": {"type": "category"}, "grade": {"encode": "ordinal"},
    "fare": {"scale": "minmax", "missing": "mean", "indicator": False}, "weight": {"scale": "log1p", "missing": {"value": -3}},
    "y": {"scale": "none", "missing": "zero"}, "town hall": {"min_count": 20, "indicator": True}, "born": {"indicator": True},
    "member": {"encode": "ordinal", "scale": "none"}}
embedded_columns = {
    "town hall": {"min_count": 2}, "class": {"encode": "embedding", "indicator": False}, "grade": {"encode": "hash", "buckets": 5},
    "member": {"encode": "embedding", "missing": "most_frequent"},
    "stars": {"type": "category", "encode": "embedding", "min_count": 55}}


def nets():
    yield people("kind", "cross_entropy", 3, exclude=["price"], columns=every_column)
    yield people("kind", "cross_entropy", 3, exclude=["price"], columns=embedded_columns)
    yield dense(5, "mse", linear(16), layer("gelu"), linear(16), layer("silu"), layer("layer_norm"), linear(8),
                layer("softplus", beta=3, threshold=1), linear(8), layer("mish"), linear(8), layer("hardswish"), layer("selu"),
                linear(8), layer("hardsigmoid"), linear(8), layer("softsign"),
                residual(linear(8), layer("elu", alpha=0.7)), linear(6, bias=False), layer("sin"), layer("dropout", p=0.2),
                linear(2), targets=2, standardize=["x", "y"])
    yield image([2, 6, 10], residual(conv(2, 3, padding=1, bias=False), layer("batch_norm"), residual(layer("layer_norm")),
                                     layer("relu")),
                layer("adaptive_avg_pool2d", output_size=[4, 3]), layer("layer_norm", affine=False), conv(4, 1),
                layer("adaptive_avg_pool2d", output_size=1), layer("flatten"), linear(3), layer("softmax"),
                normalize={"mean": [1, 0.5], "std": [0.5, 0.25]})
    yield image([1, 12, 10], conv(6, 3, padding=[1, 2], dilation=[1, 2]), layer("max_pool2d", kernel_size=2), layer("relu"),
                conv(8, [3, 2], stride=[1, 2], groups=2, padding=1), layer("dropout2d"),
                layer("avg_pool2d", kernel_size=2, stride=1, padding=1), layer("sigmoid"), layer("flatten"), linear(3),
                layer("log_softmax"), loss="nll", normalize={"mean": 0.9, "std": 0.4}, augment={"shift": 1, "crop": [10, 9]})
    yield dense(14, "mse", layer("slice", start=0, length=9, name="pixels"), layer("reshape", shape=[1, 3, 3]), conv(3, 2, padding=1),
                layer("relu"), layer("max_pool2d", kernel_size=2), layer("flatten", name="left"),
                layer("slice", input="x", start=9), linear(6), layer("tanh", name="right"), layer("mul", input=["right", "right"]),
                layer("concat", input=["left", "right", "9"]), linear(8, name="hidden"), layer("silu"), linear(2), targets=2,
                standardize=["y"])
    yield dense(24, "cross_entropy", layer("reshape", shape=[3, 8]), layer("conv1d", out_channels=4, kernel_size=3, causal=True, name="a"),
                layer("tanh", name="b"), layer("conv1d", out_channels=4, kernel_size=2, dilation=2, causal=True, groups=2),
                layer("add", input=["3", "b", "3"], name="c"), layer("permute", dims=[2, 1]), layer("conv1d", out_channels=4, kernel_size=2),
                layer("permute", dims=[2, 1], name="d"), layer("slice", input="c", dim=2, start=5, name="e"),
                layer("slice", input="d", dim=1, length=3), layer("flatten"),
                layer("flatten", input="e", name="f"), layer("concat", input=["10", "f"]), linear(3), classes=3)
    yield job({"dataset": "weather", "target": "temp", "time": "hour", "window": {"length": 6}, "test": 0.2, "standardize": ["y"]},
              "mse", [layer("flatten"), linear(8), layer("tanh"), linear(1)])
    yield dense(24, "mse", layer("reshape", shape=[4, 6]), layer("instance_norm", affine=True), layer("gru", hidden_size=5, name="g"),
                layer("gru", hidden_size=5, bias=False), layer("add", input=["g", "3"]), layer("reshape", shape=[2, 3, 5]),
                layer("unfold", kernel_size=[2, 3], padding=[1, 0], stride=[1, 2]), layer("instance_norm"), layer("flatten"), linear(1))
    yield dense(2, "bce_with_logits", linear(8), layer("tanh"), linear(1))
    yield dense(13, "cross_entropy", linear(32), layer("relu"), linear(16), layer("relu"), linear(3), classes=3, standardize=["x"])
    # the rest
    yield dense(1, "mae", linear(1))
    yield dense(3, "huber", linear(9, bias=False), layer("leaky_relu", negative_slope=0.2), linear(1), standardize=["y"])
    yield dense(4, "bce", linear(7), layer("sigmoid"), linear(1), layer("sigmoid"))
    yield dense(4, "bce_with_logits", linear(7), layer("elu"), linear(3), targets=3)
    yield dense(9, "cross_entropy", linear(17), layer("batch_norm"), layer("tanh"), linear(9),
                layer("batch_norm", affine=False), layer("relu"), linear(5), classes=5)
    yield dense(200, "mse", linear(100), layer("relu"), linear(100), layer("relu"), linear(1), standardize=["x", "y"])
    yield dense(30, "focal", linear(24), layer("mish"), residual(linear(24), layer("relu"), residual(linear(24), layer("tanh"))),
                linear(4), classes=4)
    yield dense(6, "quantile", layer("layer_norm"), residual(linear(6), layer("gelu"), linear(6)), linear(1), standardize=["y"])
    yield dense(8, "cross_entropy", layer("residual", layers=[layer("dropout", p=0.3)]), linear(8), layer("softplus"), linear(2),
                classes=2)
    yield image([1, 8, 8], conv(10, 3), layer("relu"), layer("max_pool2d", kernel_size=2), layer("flatten"), linear(3))
    yield image([3, 9, 7], conv(9, 3, padding=1, groups=3), layer("batch_norm"), layer("silu"),
                layer("avg_pool2d", kernel_size=[3, 2], stride=2), layer("flatten"), linear(3))
    yield image([4, 6, 6], conv(4, 3, padding=1, groups=4), conv(16, 1), layer("hardswish"),
                layer("adaptive_avg_pool2d", output_size=1), layer("flatten"), linear(3))
    yield image([1, 11, 11], conv(4, 5, stride=2), layer("leaky_relu"),
                layer("max_pool2d", kernel_size=3, stride=2, padding=1, dilation=1), layer("flatten"), linear(20),
                layer("layer_norm"), linear(3))
    yield image([2, 8, 8], conv(8, 3, padding=1), layer("batch_norm"), layer("relu"),
                residual(conv(8, 3, padding=1), layer("batch_norm"), layer("relu"), conv(8, 3, padding=1), layer("batch_norm")),
                layer("relu"), layer("max_pool2d", kernel_size=2),
                residual(conv(8, 3, padding=1), layer("gelu")), layer("adaptive_avg_pool2d", output_size=[3, 2]),
                layer("flatten"), linear(3))
    yield image([1, 5, 5], layer("flatten"), linear(30), layer("relu"), linear(3), scale=0.5)
    yield people("kind", "nll", 3, [layer("batch_norm")], exclude=["price", "clock"])
    yield people("kind", "cross_entropy", 3, features=["town hall", "grade"], columns={"grade": {"encode": "embedding"}})
    yield people("kind", "cross_entropy", 3, features=["stars", "fare"],
                 columns={"stars": {"type": "category", "encode": "hash", "indicator": True}})
    yield people("kind", "cross_entropy", 3, features=["stars", "grade"],
                 columns={"stars": {"type": "category", "encode": "ordinal", "min_count": 55}})
    yield people("member", "bce_with_logits", 1, exclude=["price", "kind"])
    yield people("price", "mse", 1, exclude=["kind"], standardize=["y"])
    yield people("price", "mse", 1, features=["born", "seen", "clock", "int", "y"], standardize=["y"],
                 columns={"int": {"type": "category"}})
    yield job({"inline": {"x": [[(i * 3 + k * 5) % 7 for k in range(4)] for i in range(30)], "y": [i % 5 for i in range(30)]},
               "standardize": ["y"]},
              "mae", [layer("embedding", num_embeddings=7, embedding_dim=3), layer("relu"), linear(1)])


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    people_write(f"{folder}/people.csv")
    weather_write(f"{folder}/weather.csv")
    for number, net in zip(range(count), nets()):
        net["name"] = f"net {number}"
        print(json.dumps(net))


main()
