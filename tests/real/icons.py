"""icons.py: a theme's icons of one size as pictures in class folders: what they stand for (actions, devices, places …).
A name that several folders have stands in one split."""

import io
import os
import random
import zipfile

import numpy
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from tables import TEST_SHARE

SIDE = "32x32"
CLASS_PICTURES = 30  # fewer are no class


class Icons:
    def __init__(self, theme, root):
        self.theme, found = theme, {}
        for folder, _, names in sorted(os.walk(root)):
            if f"/{SIDE}/" in folder + "/":
                paths = [os.path.join(folder, name) for name in sorted(names) if name.endswith(".png")]
                found.setdefault(os.path.basename(folder), []).extend(
                    path for path in paths if not os.path.islink(path))
        self.files = [(name, path) for name, paths in found.items() if len(paths) >= CLASS_PICTURES for path in paths]

    def split(self, seed):
        """[(split, class, path)]."""
        files = sorted(self.files)
        random.Random(seed).shuffle(files)
        count = round(TEST_SHARE * len(files))
        return [("test" if index < count else "train", *file) for index, file in enumerate(files)]

    def archive(self, seed):
        """A ZIP of train/CLASS/NAME.png and test/CLASS/NAME.png, the files unchanged."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for split, name, path in self.split(seed):
                archive.write(path, f"{split}/{name}/{os.path.basename(path)}")
        return out.getvalue()


def pixels(path):
    """Over white, from 0 to 1."""
    picture = Image.open(path).convert("RGBA")
    side = tuple(map(int, SIDE.split("x")))
    white = Image.new("RGBA", picture.size, "white")
    return numpy.asarray(Image.alpha_composite(white, picture).convert("RGB").resize(side)).reshape(-1) / 255


def scores(pictures, seed):
    x, y = {"train": [], "test": []}, {"train": [], "test": []}
    for split, name, path in pictures.split(seed):
        x[split].append(pixels(path))
        y[split].append(name)
    models = {"linear": LogisticRegression(max_iter=200), "network": MLPClassifier(random_state=seed)}
    return {name: model.fit(x["train"], y["train"]).score(x["test"], y["test"]) for name, model in models.items()}
