#!/usr/bin/env bash
# The Debian package: made, installed, trained with, removed, purged. In a view of this machine's own
# system whose changes go to memory, so that its libraries are there already. With EPOCHD_TEST_DISTRIBUTION (bookworm, trixie,
# noble) docker/deb makes it for that distribution, and apt installs it into a bare root: a network, minutes.
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
source "$tree/docker/root.sh"
if ((EUID == 0)) && unshare -m true 2>/dev/null; then root_unshare "${BASH_SOURCE[0]}"; fi
source "$tree/tests/e2e/daemon.sh"
distribution=${EPOCHD_TEST_DISTRIBUTION:-}

[[ -z ${EPOCHD_SANITIZE:-} ]] || skip "a package is not for instrumented programs"
for tool in cpack dpkg-deb dpkg-shlibdeps file; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
if [[ -n $distribution ]]; then
  "$tree/docker/deb" "$distribution" "$scratch/packages" || fail "docker/deb $distribution failed"
else
  cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch/packages" >"$scratch/cpack.log" 2>&1 ||
    fail "cpack: $(tail -n 20 "$scratch/cpack.log")"
fi
package=$(echo "$scratch"/packages/epochd_*_*.deb)
dpkg-deb -I "$package" >"$scratch/about"
dpkg-deb -c "$package" >"$scratch/contents"
echo "$(basename "$package"): $(($(stat -c %s "$package") / 1000)) kB, depends on $(dpkg-deb -f "$package" Depends)"
for path in usr/bin/epochd usr/lib/epochd/epochd usr/lib/epochd/epoch-worker usr/lib/epochd/epoch-courier etc/epochd/config.json \
  usr/lib/systemd/system/epochd.service usr/share/man/man8/epochd.8.gz usr/share/doc/epochd/copyright; do
  grep -q " \./$path\( ->.*\)\?$" "$scratch/contents" || fail "there is no $path in the package"
done
if [[ -x $build/bin/epochctl ]]; then
  grep -q ' \./usr/bin/epochctl$' "$scratch/contents" && grep -q ' \./usr/share/man/man1/epochctl.1.gz$' "$scratch/contents" ||
    fail "epochctl was built, and is not in the package"
fi
grep -v ' root/root ' "$scratch/contents" && fail "not all of it is root's"
grep -q 'ep_backend_cuda' "$scratch/contents" && fail "the plug-in is in the package of the CPU"
for library in libmicrohttpd12 libjansson4 libseccomp2 libsqlite3-0 libopenblas0 libzip libpng16-16 libjpeg libutf8proc; do
  dpkg-deb -f "$package" Depends | grep -q "\b$library" || fail "it does not depend on $library"
done
[[ $(dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles) == /etc/epochd/config.json ]] || fail "config.json is no conffile"
echo "ok: the package has what it should, and depends on what it loads"

((EUID == 0)) || skip "installed by root alone"
[[ -n ${EPOCHD_UNSHARED:-} ]] || skip "no mounts of one's own here"
place=$(mktemp -d "${TMPDIR:-/tmp}/epochd-root.XXXXXX") # apart from $scratch, and never deleted file by file
take_down() {
  umount -R "$place" 2>/dev/null || umount -R -l "$place" 2>/dev/null || true
  rmdir "$place" || true
}
trap 'status=$?; set +e; stop_daemon; take_down; (exit "$status"); leave' EXIT
stop_daemon() { [[ -z $daemon ]] || { kill "$daemon"; wait "$daemon"; daemon=; } 2>/dev/null; }
root=$place/root lower=${distribution:+$EPOCHD_ROOTS/$distribution}
root_view "${lower:-/}" "$place" 2>"$scratch/mount" || skip "no view of ${lower:-this system}: $(<"$scratch/mount")"
mkdir -p "$root/var/tmp/epochd"
cp "$package" "$root/var/tmp/epochd/"
inside() { root_run "$root" "$@"; }
name=/var/tmp/epochd/$(basename "$package")

if [[ -n $distribution ]]; then
  inside apt-get update -q >"$scratch/apt.log" 2>&1 || skip "apt reaches no archive: $(tail -n 1 "$scratch/apt.log")"
  started=$SECONDS
  inside apt install -y -q "$name" >"$scratch/apt.log" 2>&1 || fail "$(tail -n 20 "$scratch/apt.log")"
  echo "apt install took $((SECONDS - started)) s"
else
  inside dpkg -i "$name" >"$scratch/apt.log" 2>&1 || fail "$(tail -n 20 "$scratch/apt.log")"
fi
version=$(dpkg-deb -f "$package" Version)
[[ $(inside epochd --version) == "epochd ${version%-*}" ]] || fail "epochd --version: $(inside epochd --version)"
[[ $(stat -c '%a %u %s' "$root/etc/epochd/token") == "600 0 65" ]] || fail "the token: $(stat -c '%a %u %s' "$root/etc/epochd/token")"
first=$(<"$root/etc/epochd/token")
echo "ok: installed into a view of ${lower:-this system}, with a token that root alone reads"

# daemon_start runs $build/bin/epochd
build=$scratch/inside
mkdir -p "$build/bin"
printf '#!/bin/sh\nexec chroot %s /usr/bin/epochd --config /etc/epochd/config.json "$@"\n' "$root" >"$build/bin/epochd"
chmod +x "$build/bin/epochd"
daemon_start
submit "$(xor_job 1000)"
finish "$id"
check "the installed epochd trains" '.metrics.test.accuracy == 1'
inside env EPOCHD="$url" sh -c 'epochctl example xor | epochctl run -' >"$scratch/run" 2>&1 || fail "epochctl run: $(<"$scratch/run")"
daemon_stop

echo '{"listen": "127.0.0.1:8081"}' >"$root/etc/epochd/config.json"
inside dpkg -i "$name" >"$scratch/apt.log" 2>&1 || fail "installing once more: $(tail -n 5 "$scratch/apt.log")"
grep -q 8081 "$root/etc/epochd/config.json" || fail "a setting of this machine was overwritten"
[[ $(<"$root/etc/epochd/token") == "$first" ]] || fail "the token was replaced"
echo "ok: installed once more, settings and token stay"
mkdir -p "$root/var/lib/private/epochd"
ln -sfn private/epochd "$root/var/lib/epochd"
inside dpkg -r epochd >"$scratch/apt.log" 2>&1 || fail "removing: $(tail -n 5 "$scratch/apt.log")"
[[ ! -e $root/usr/lib/epochd && -s $root/etc/epochd/token && -d $root/var/lib/private/epochd ]] || fail "removing took the wrong things"
inside dpkg --purge epochd >"$scratch/apt.log" 2>&1 || fail "purging: $(tail -n 5 "$scratch/apt.log")"
left=$(find "$root/etc/epochd" "$root/var/lib/epochd" "$root/var/lib/private/epochd" "$root/usr/share/doc/epochd" 2>/dev/null || true)
[[ -z $left ]] || fail "purging left: $left"
inside dpkg -s epochd >/dev/null 2>&1 && fail "dpkg still knows it"
mkdir "$root/var/lib/epochd"
touch "$root/var/lib/epochd/kept"
dpkg-deb --ctrl-tarfile "$package" | tar -xO ./postrm >"$root/var/tmp/epochd/postrm"
inside sh /var/tmp/epochd/postrm purge || fail "a folder at /var/lib/epochd keeps the package from being purged"
[[ -e $root/var/lib/epochd/kept ]] || fail "purging took a folder that the package did not make"
echo "ok: removed, settings and data stay; purged, nothing does"
