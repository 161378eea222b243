#!/usr/bin/env bash
# The tarball: unpacked into a folder with a space in its name it trains; on systems that cannot run it it says why.
#
# By itself this packs the programs of this build, which find their libraries here, in the way of docker/tarball. With
# EPOCHD_TEST_DISTRIBUTION (bullseye, bookworm, trixie, noble) docker/tarball builds it, and it runs in a bare root of that
# distribution: a network, minutes.
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
source "$tree/docker/root.sh"
distribution=${EPOCHD_TEST_DISTRIBUTION:-}
[[ -z $distribution ]] || root_unshare "${BASH_SOURCE[0]}"
source "$tree/tests/e2e/daemon.sh"

[[ -z ${EPOCHD_SANITIZE:-} ]] || skip "a package is not for instrumented programs"
[[ -x $build/bin/epochctl ]] || skip "there is no epochctl"
command -v readelf >/dev/null || skip "there is no readelf"
version=$("$build/bin/epochd" --version)
name=epochd-${version#epochd }-linux-$(uname -m)
packed=$scratch/packages/$name.tar.gz root=
if [[ -n $distribution ]]; then
  "$tree/docker/tarball" "$scratch/packages" || fail "docker/tarball failed"
  root_bare "$distribution" >"$scratch/base.log" 2>&1 || skip "no bare $distribution: $(tail -n 1 "$scratch/base.log")"
  place=$(mktemp -d "${TMPDIR:-/tmp}/epochd-root.XXXXXX") root=$place/root
  root_view "$EPOCHD_ROOTS/$distribution" "$place" 2>"$scratch/mount" || skip "no view of it: $(<"$scratch/mount")"
  stop_daemon() { [[ -z $daemon ]] || { kill "$daemon"; wait "$daemon"; daemon=; } 2>/dev/null; }
  trap 'status=$?; set +e; stop_daemon; umount -R "$place" && rmdir "$place"; (exit "$status"); leave' EXIT
  inside() { root_run "$root" "$@"; }
else
  DESTDIR='' cmake --install "$build" --prefix "$scratch/$name" >"$scratch/install.log" || fail "$(<"$scratch/install.log")"
  "$tree/docker/relocatable" "$scratch/$name" "this machine" || fail "docker/relocatable failed"
  mkdir "$scratch/packages"
  tar -C "$scratch" -czf "$packed" "$name"
  rm -r "${scratch:?}/$name"
  inside() { env -i PATH=/usr/bin:/bin "$@"; }
fi

folder="$scratch/a folder" # as it is called inside
[[ -z $root ]] || folder="/var/tmp/a folder"
mkdir -p "$root$folder"
tar -C "$root$folder" -xzf "$packed"
folder+=/$name
echo "$name: $(($(stat -c %s "$packed") / 1000000)) MB; $(grep -o 'glibc 2\.[0-9]* or later' "$root$folder/README" | head -n 1)"
for path in README bin/epochd bin/epochctl lib/epochd/epoch-worker lib/systemd/system/epochd.service share/man/man8/epochd.8 \
  share/man/man1/epochctl.1 share/doc/epochd/LICENSE; do
  [[ -s $root$folder/$path ]] || fail "there is no $path in the tarball"
done
grep -r '@[a-z]*@' "$root$folder"/{README,bin} && fail "a placeholder was left"
if [[ -n $distribution ]]; then
  left=$(inside ldd "$folder"/lib/epochd/epoch{d,-worker,-courier,ctl} | sed -n 's/.* => \(.*\) (0x.*/\1/p; /not found/p' |
    grep -v "^$folder" | sed 's|.*/||' | grep -Ev '^lib(c|m|dl|pthread|rt|resolv|anl|util|mvec)\.so\.[0-9]$' || true)
  [[ -z $left ]] || fail "libraries of the system are loaded: $left"
  echo "ok: of $distribution it loads glibc alone"
fi

# daemon_start runs $build/bin/epochd
build=$scratch/inside
mkdir -p "$build/bin"
printf '#!/bin/sh\nexec %s"%s" "$@"\n' "${root:+chroot $root }" "$folder/bin/epochd" >"$build/bin/epochd"
chmod +x "$build/bin/epochd"
daemon_start
submit "$(xor_job 1000)"
finish "$id"
check "in a folder with a space in its name it trains" '.metrics.test.accuracy == 1'
inside env EPOCHD="$url" sh -c '"$0" example xor | "$0" run -' "$folder/bin/epochctl" >"$scratch/run" 2>&1 ||
  fail "epochctl run: $(<"$scratch/run")"
daemon_stop
ln -s "$name/bin/epochctl" "$root$(dirname "$folder")/epochctl"
[[ $(inside "$(dirname "$folder")/epochctl" --version) == "epochctl ${version#epochd }" ]] || fail "a link to a program does not run"
echo "ok: epochctl runs from there, and by a link"

# refused WHAT PATTERN WORD…: the launcher ends with 2 and says so
refused() {
  local what=$1 pattern=$2 status=0
  shift 2
  "$@" >"$scratch/said" 2>&1 || status=$?
  ((status == 2)) && grep -q "$pattern" "$scratch/said" || fail "$what: status $status, $(<"$scratch/said")"
  echo "ok: $what: $(<"$scratch/said")"
}
mkdir "$scratch/old"
launcher=$root$folder/bin/epochd
old() { # old PROGRAM ANSWER: a system whose PROGRAM answers so
  printf '#!/bin/sh\necho "%s"\n' "$2" >"$scratch/old/$1"
  chmod +x "$scratch/old/$1"
  PATH=$scratch/old:$PATH "$launcher" --version
}
refused "an old glibc" '^epochd: this system has glibc 2\.17\. epochd needs glibc 2\.[0-9]* or later' old getconf "glibc 2.17"
refused "another machine" 'is for Linux on .*; this machine is Linux riscv64$' old uname "Linux riscv64"
sed 's|/lib[^ ]*/ld-|/nowhere/ld-|g' "$launcher" >"$scratch/old/epochd"
refused "no glibc" 'has no glibc (/nowhere/ld-.* is missing)' sh "$scratch/old/epochd"
