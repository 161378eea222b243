"""sources.py: gets the packages that ship the files, unpacks them into a folder (nothing is installed), and finds the
files there."""

import glob
import os
import shutil
import subprocess

from files import DEBIAN, NPM, R, TABLES

HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = {"sklearn": "python3-sklearn/usr/lib/python3/dist-packages/sklearn/datasets/data",
          "statsmodels": "python3-statsmodels/usr/lib/python3/dist-packages/statsmodels/datasets",
          "vega-datasets": "vega-datasets/package/data"}


def quiet(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def debian(package, root):
    target = os.path.join(root, package)
    if os.path.isdir(target):
        return None
    folder = os.path.join(root, "packages")
    os.makedirs(folder, exist_ok=True)
    if not glob.glob(os.path.join(folder, f"{package}_*.deb")):
        quiet("apt-get", "download", package, cwd=folder)
    found = glob.glob(os.path.join(folder, f"{package}_*.deb"))
    if not found:
        return f"{package}: apt-get download does not find it"
    done = quiet("dpkg-deb", "-x", found[0], target)
    return f"{package}: {done.stderr.strip()}" if done.returncode else None


def npm(name, package, root):
    target = os.path.join(root, name)
    if os.path.isdir(target):
        return None
    if not shutil.which("npm"):
        return f"{package}: npm is not there"
    os.makedirs(target)
    done = quiet("npm", "pack", package, cwd=target)
    packed = glob.glob(os.path.join(target, "*.tgz"))
    if not packed or quiet("tar", "xzf", packed[0], "-C", target).returncode:
        shutil.rmtree(target)
        return f"{package}: {done.stderr.strip()[:200]}"
    return None


def exported(root):
    """R's data as R writes them."""
    if not shutil.which("Rscript"):
        return "R's data: Rscript is not there (r-base-core)"
    folder = os.path.join(root, "R")
    os.makedirs(folder, exist_ok=True)
    wanted = [file for file in TABLES if file.package in R and not os.path.exists(path_of(file, root))]
    done = quiet("Rscript", os.path.join(HERE, "export.R"), root, folder,
                 input="".join(f"{file.package} {file.name}\n" for file in wanted)) if wanted else None
    return done.stderr.strip()[-300:] if done and done.returncode else None


def path_of(file, root):
    if file.package in R:
        return os.path.join(root, "R", f"{file.package}-{file.name}.csv")
    return os.path.join(root, PLACES[file.package], file.name)


def gather(root):
    """Fills the folder; what is missing, and why, as lines."""
    os.makedirs(root, exist_ok=True)
    missing = [debian(package, root) for package in dict.fromkeys(DEBIAN.values())]
    missing += [npm(name, package, root) for name, package in NPM.items()]
    missing.append(exported(root))
    return [line for line in missing if line] + [f"{file.title}: not in its package" for file in TABLES
                                                 if not os.path.exists(path_of(file, root))]
