#!/usr/bin/env bash
# Exported C headers: compiled without a warning, and their rows predicted as the daemon predicts them.
#
#   EPOCHD_C_NETS  how many networks: 11 unless given, 34 at most
#
# Each header is compiled with gcc, and where they are there with clang, for a microcontroller, and for 32-bit ARM, whose programs
# run under qemu (docker/install embedded).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
command -v gcc >/dev/null || skip "no gcc"
count=${EPOCHD_C_NETS:-11}
strict=(-std=c99 -Wall -Wextra -pedantic -Werror)
[[ -n ${EPOCHD_SANITIZE:-} ]] && count=3
daemon_start

python3 "$here/c_nets.py" "$count" "$scratch" >"$scratch/jobs"
for name in people weather; do
  http PUT "/v1/datasets/$name" -T "$scratch/$name.csv"
  expect 201
done
http GET /v1/datasets/people
cp "$body" "$scratch/dataset"
ids=()
while read -r job; do
  submit "$job"
  ids+=("$id")
done <"$scratch/jobs"

# tested HEADER NAME: by every compiler that is there
tested() {
  printf '#include "%s"\nint main(void) { return %s_self_test(); }\n' "$1" "$2" >"$scratch/main.c"
  local compiler
  for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    $compiler "${strict[@]}" -O1 -DMODEL_SELF_TEST -o "$scratch/main" "$scratch/main.c" -lm || fail "$compiler refuses $1"
    "$scratch/main" || fail "$1 by $compiler: the self-test returns $?"
  done
  if command -v arm-none-eabi-gcc >/dev/null; then
    arm-none-eabi-gcc "${strict[@]}" -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -DMODEL_SELF_TEST -c -o "$scratch/main.o" \
      "$scratch/main.c" || fail "arm-none-eabi-gcc refuses $1"
  fi
  if command -v arm-linux-gnueabihf-gcc >/dev/null && command -v qemu-arm >/dev/null; then
    arm-linux-gnueabihf-gcc "${strict[@]}" -static -O1 -DMODEL_SELF_TEST -o "$scratch/arm" "$scratch/main.c" -lm || fail "the compiler for ARM refuses $1"
    qemu-arm "$scratch/arm" || fail "$1 on ARM: the self-test returns $?"
  fi
}

cd "$scratch" || exit
for ((net = 0; net < count; net++)); do
  id=${ids[net]}
  finish "$id"
  http GET "/v1/jobs/$id/weights?format=c"
  expect 200
  cp "$body" "$scratch/net_$net.h"
  tested "net_$net.h" "net_$net"
  http GET "/v1/jobs/$id/weights?format=c&quantize=int8"
  expect 200
  [[ $(header Model-Rows) == *" "* ]] || fail "the response does not say on which rows"
  cp "$body" "$scratch/net_${net}_int8.h"
  tested "net_${net}_int8.h" "net_$net"
  echo "ok: net $net, $(stat -c %s "net_$net.h") and $(stat -c %s "net_${net}_int8.h") bytes; $(grep -h '^ \* Model' "net_${net}_int8.h" | cut -c 10- | paste -sd ' ')"
done

# A test that cannot fail shows nothing: one weight is another.
sed -E '0,/^  -?[0-9.]+(e-?[0-9]+)?f,/s//  3.5f,/' net_2.h >wrong.h
! cmp -s wrong.h net_2.h || fail "no weight was changed"
printf '#include "wrong.h"\nint main(void) { return net_2_self_test(); }\n' >main.c
gcc -std=c99 -DMODEL_SELF_TEST -o main main.c -lm
! ./main || fail "a wrong weight goes unnoticed"

# Cells as people have them: the header makes of them what the daemon makes.
python3 - >"$scratch/rows" <<'PYTHON'
import json, random
random.seed(20)
values = {"class": ["First", "Third", "Fourth", None], "y": [-31.25, 0, 77, None],
          "town hall": ["Oslo", "Århus", 'New "York"', "rare??/ 3", "x", None], "stars": [1, 3, 5, 9, None],
          "grade": ["low", "middle", "high", "highest", None], "fare": [0, 12.5, 900, None], "weight": [-2.5, 0, 4096, 62000.125, None],
          "clock": ["00:00:00", "12:34:56", "23:59:59", None], "member": ["true", "false", None], "int": [0, 6, 8, None],
          "seen": ["2023-01-17T00:00:00", "2023-06-17T23:59:59", "1931-05-03T04:05:06", None],
          "born": ["0001-01-01", "1582-10-15", "1899-12-31", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01", "2000-02-29",
                   "2000-12-31", "2023-02-28", "2024-02-29", "2100-02-28", "9999-12-31", None]}
print(json.dumps([{name: random.choice(values[name]) if name != "born" else born for name in values}
                  for born in values["born"] for _ in range(12)]))
PYTHON
for ((net = 0; net < count; net++)); do
  grep -q "net_${net}_row;" "net_$net.h" && ! grep -q _WINDOW "net_$net.h" || continue
  http POST "/v1/jobs/${ids[net]}/predict" "${json[@]}" -d "{\"rows\": $(<rows)}"
  expect 200
  cp "$body" predicted
  python3 "$here/c_rows.py" "net_$net" rows predicted dataset >main.c
  gcc "${strict[@]}" -O1 -o main main.c -lm || fail "the rows of net $net do not compile"
  ./main || fail "net $net predicts something else of raw cells: $?"
  echo "ok: net $net, $(jq length rows) rows of raw cells"
done

# As every other format: made once, known by its hash, and told apart from its quantized form.
http GET "/v1/jobs/${ids[0]}/weights?format=c"
etag=$(header ETag)
http GET "/v1/jobs/${ids[0]}/weights?format=c" -H "If-None-Match: $etag"
expect 304
http GET "/v1/jobs/${ids[0]}/weights?format=c&quantize=int8" -H "If-None-Match: $etag"
expect 200
[[ -n $(header Model-Accuracy) && -n $(header Model-Accuracy-Quantized) ]] || fail "a file that was made before has no figures"
http GET "/v1/jobs/${ids[0]}/weights?format=onnx&quantize=int8"
expect 400
check "quantize is for C" '.detail | test("format=c")'
http GET "/v1/jobs/${ids[0]}/weights?format=c&quantize=int4"
expect 400

# What no compiler should be given is refused with its size.
submit "$(jq -nc '{data: {inline: {x: [[range(1200)], [range(1200) | -.]], y: [0, 1]}}, loss: "mse", epochs: 1,
  model: {layers: [{type: "linear", out_features: 5000}, {type: "linear", out_features: 1}]}}')"
finish "$id"
http GET "/v1/jobs/$id/weights?format=c"
expect 413
check "a header that is too large" '.detail | test("over 180[0-9]{5} bytes of C source, the limit is 16777216")'
