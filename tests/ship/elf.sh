#!/usr/bin/env bash
# The walls that a compiler and a linker build: each program lies at an address of chance, has nothing writable
# where code or addresses of code lie, and checks its stack and the C library's copies.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

for tool in readelf gcc; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
build_type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")

# walls_missing FILE: the names of those that the file has not.
walls_missing() {
  local about
  about=$(readelf -W --file-header --program-headers --dynamic --dyn-syms "$1")
  grep -Eq '^ *Type: +DYN' <<<"$about" || echo pie
  grep -q GNU_RELRO <<<"$about" || echo relro
  grep -Eq 'BIND_NOW|Flags:.*\bNOW\b' <<<"$about" || echo bind-now
  grep -Eq 'GNU_STACK.* RW +0x' <<<"$about" || echo noexecstack
  grep -q '__stack_chk_fail' <<<"$about" || echo stack-protector
  if [[ -z ${EPOCHD_SANITIZE:-} && $build_type != Debug ]]; then
    grep -Eq '__(mem|str|s?n?printf|vs?n?printf|fprintf|read|v?asprintf)[a-z]*_chk' <<<"$about" || echo fortify
  fi
}

# A program without them, so that this test can fail.
echo 'int main(int count, char **words) { (void)words; return count; }' >"$scratch/bare.c"
gcc -no-pie -fno-stack-protector -U_FORTIFY_SOURCE -z norelro -z lazy -z execstack -o "$scratch/bare" "$scratch/bare.c" 2>/dev/null
wanted="pie relro bind-now noexecstack stack-protector"
[[ -z ${EPOCHD_SANITIZE:-} && $build_type != Debug ]] && wanted+=" fortify"
found=$(walls_missing "$scratch/bare" | paste -sd' ')
[[ $found == "$wanted" ]] || fail "a bare program lacks \"$found\", and not \"$wanted\""

files=("$build/bin/epochd" "$build/bin/epoch-worker" "$build/bin/epoch-courier")
for file in "$build/bin/epochctl" "$build/bin/ep_backend_cuda.so"; do
  [[ ! -e $file ]] || files+=("$file")
done
for file in "${files[@]}"; do
  missing=$(walls_missing "$file" | paste -sd' ')
  [[ $file != *.so ]] || missing=$(sed -E 's/ ?fortify//' <<<"$missing") # its host code may copy nothing
  [[ -z $missing ]] || fail "$(basename "$file") lacks: $missing"
  echo "ok: $(basename "$file")"
done
if [[ -e $build/compile_commands.json ]] && command -v jq >/dev/null; then
  open=$(jq -r '.[] | select((.file | endswith(".c")) and (.file | test("/(api|engine|kernels|server|clients)/")))
    | select((.command | contains("-fstack-protector-strong -fstack-clash-protection")) | not) | .file' \
    "$build/compile_commands.json" | head -n 3)
  [[ -z $open ]] || fail "compiled without walls: $open"
fi
