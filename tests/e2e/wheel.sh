#!/usr/bin/env bash
# The wheel of clients/python: it is built, installed in an environment of its own without a network, and used there.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
export PYTHONDONTWRITEBYTECODE=1 PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -m venv "$scratch/environment" >/dev/null 2>&1; then python=$scratch/environment/bin/python && break; fi
done
[[ -n $python ]] || skip "there is no python3-venv"
cp -r "$here/../../clients/python" "$scratch/source" # pip may write beside what it builds
for round in 1 2; do
  wheel=$("$python" "$scratch/source/build_wheel.py" "$scratch/wheels$round") || fail "the wheel is not built"
done
cmp "$scratch/wheels1/"*.whl "$wheel" || fail "two wheels of the same files differ"
version=$(sed -n 's/^project(epochd VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
[[ $(basename "$wheel") == "epochd-$version-py3-none-any.whl" ]] || fail "$wheel is not of version $version"
daemon_start
for source in "$wheel" "$scratch/source"; do
  "$python" -m pip install --quiet --no-deps --force-reinstall "$source" || fail "pip does not install $source"
  (cd "$scratch" && EPOCHD=$url "$python" -c '
import epochd, importlib.metadata, sys
assert epochd.__file__.startswith(sys.prefix), epochd.__file__
assert importlib.metadata.version("epochd") == epochd.__version__ == sys.argv[1]
job = epochd.Client().train([{"a": at, "b": 3 * at} for at in range(100)], False, target="b", epochs=5)
assert job.status == "succeeded" and job.predict({"a": 50}) is not None' "$version") || fail "the installed client fails"
  echo "ok: installed from $(basename "$source"), and used"
done
daemon_stop
