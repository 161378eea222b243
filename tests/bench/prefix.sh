# prefix.sh: where the programs under measurement are, and which Python measures. Sourced by run and
# study, in the repository's root; `caller` is where they were called. Sets `programs` (the arguments
# for the Python programs) and `python`.
absolute() { (cd "$caller" && realpath -m "$1"); }
[[ -z ${EPOCHD_TEST_DATA:-} ]] || EPOCHD_TEST_DATA=$(absolute "$EPOCHD_TEST_DATA")
export EPOCHD_TEST_DATA

if [[ -n ${EPOCHD_BENCH_PREFIX:-} ]]; then
  prefix=$(absolute "$EPOCHD_BENCH_PREFIX")
  [[ -x $prefix/bin/epochd ]] || { echo "EPOCHD_BENCH_PREFIX: there is no $prefix/bin/epochd" && exit 1; }
  programs=(--prefix "$prefix")
else
  source docker/steps.sh
  mkdir -p build/test
  LOG=build/test/bench.log
  : >"$LOG"
  say "Installing"
  docker/install build bench test
  say "Building (the log is $LOG)"
  # One generation of GPU takes a fraction of the time: the one that is there.
  generation=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
  step "configuring" cmake --preset test "-DCMAKE_CUDA_ARCHITECTURES=${generation:-90}"
  step "compiling" cmake --build --preset test --parallel "$(nproc)"
  prefix=$(mktemp -d "${TMPDIR:-/tmp}/epochd-bench.XXXXXX")
  trap 'rm -rf "$prefix"' EXIT
  step "installing into a prefix of its own" cmake --install build/test --prefix "$prefix/plain"
  step "the same, stripped" cmake --install build/test --strip --prefix "$prefix/stripped"
  export EPOCHD_BENCH_PROGRAMS=$PWD/build/test/tests/bench
  programs=(--prefix "$prefix/plain" --stripped "$prefix/stripped")
fi

# The first python3 is not always the one that the libraries belong to.
for python in "${PYTHON:-python3}" python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && break
done
# A prefix of tests/bench/pack has its libraries. cuDNN's may be the Python's.
if [[ -n ${EPOCHD_BENCH_PREFIX:-} && -d $prefix/lib/needed && -z ${EPOCHD_BENCH_LIBRARIES:-} ]]; then
  cudnn=$("$python" -c 'import nvidia.cudnn; print(list(nvidia.cudnn.__path__)[0] + "/lib")' 2>/dev/null) || true
  export EPOCHD_BENCH_LIBRARIES=$prefix/lib/needed${cudnn:+:$cudnn}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
export PYTHONDONTWRITEBYTECODE=1
