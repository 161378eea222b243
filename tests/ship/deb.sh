#!/usr/bin/env bash
# The Debian package: made, installed, trained with, removed, purged. In a view of this machine's own
# system whose changes go to memory, so that its libraries are there already; with EPOCHD_TEST_IMAGES=1 in a
# bare Debian that debootstrap makes, where apt brings what the package depends on: a network, a minute.
if [[ -z ${EPOCHD_TEST_UNSHARED:-} && $EUID == 0 ]] && unshare -m true 2>/dev/null; then
  EPOCHD_TEST_UNSHARED=1 exec unshare -m bash "${BASH_SOURCE[0]}" # mounts of its own, gone at its end
fi
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

[[ -z ${EPOCHD_SANITIZE:-} ]] || skip "a package is not for instrumented programs"
for tool in cpack dpkg-deb dpkg-shlibdeps file; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch/packages" >"$scratch/cpack.log" 2>&1 ||
  fail "cpack: $(tail -n 20 "$scratch/cpack.log")"
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
for library in libmicrohttpd12 libjansson4 libseccomp2 libsqlite3-0 libopenblas0 libzip4 libpng16-16 libjpeg62-turbo libutf8proc2; do
  dpkg-deb -f "$package" Depends | grep -q "\b$library" || fail "it does not depend on $library"
done
[[ $(dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles) == /etc/epochd/config.json ]] || fail "config.json is no conffile"
echo "ok: the package has what it should, and depends on what it loads"

((EUID == 0)) || skip "installed by root alone"
[[ -n ${EPOCHD_TEST_UNSHARED:-} ]] || skip "no mounts of one's own here"
# The other root lies in a tmpfs of its own, apart from $scratch, and is never deleted file by file: unmounting
# it is all that it takes. Its /dev has nodes of its own; nothing of this machine that can be written to is
# mounted in it.
place=$(mktemp -d "${TMPDIR:-/tmp}/epochd-root.XXXXXX")
take_down() {
  umount -R "$place" 2>/dev/null || umount -R -l "$place" 2>/dev/null || true
  rmdir "$place" || true
}
trap 'status=$?; set +e; stop_daemon; take_down; (exit "$status"); leave' EXIT
stop_daemon() { [[ -z $daemon ]] || { kill "$daemon"; wait "$daemon"; daemon=; } 2>/dev/null; }
mount -t tmpfs -o size=3g,mode=0755 root "$place" 2>"$scratch/mount" || skip "no tmpfs here: $(<"$scratch/mount")"
root=$place/root
mkdir "$root"
if [[ ${EPOCHD_TEST_IMAGES:-} == 1 ]]; then
  command -v debootstrap >/dev/null || skip "there is no debootstrap"
  debootstrap --variant=minbase bookworm "$root" >"$scratch/base.log" 2>&1 ||
    skip "debootstrap brings no Debian: $(tail -n 1 "$scratch/base.log")"
  cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  where="a bare Debian"
else
  mkdir "$place/upper" "$place/work"
  mount -t overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" view "$root" 2>"$scratch/mount" ||
    skip "this system cannot be looked at through an overlay: $(<"$scratch/mount")"
  where="a view of this system"
fi
mount -t tmpfs -o mode=0755 dev "$root/dev"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
  mknod -m 0666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
mount -t proc -o ro proc "$root/proc"
mkdir -p "$root/var/tmp/epochd"
cp "$package" "$root/var/tmp/epochd/"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
name=/var/tmp/epochd/$(basename "$package")

if [[ ${EPOCHD_TEST_IMAGES:-} == 1 ]]; then
  inside apt-get update -q >"$scratch/apt.log" 2>&1 || skip "apt reaches no archive: $(tail -n 1 "$scratch/apt.log")"
  inside apt-get install -y -q --no-install-recommends "$name" >"$scratch/apt.log" 2>&1 || fail "$(tail -n 20 "$scratch/apt.log")"
else
  inside dpkg -i "$name" >"$scratch/apt.log" 2>&1 || fail "$(tail -n 20 "$scratch/apt.log")"
fi
[[ $(inside epochd --version) == "epochd $(dpkg-deb -f "$package" Version)" ]] || fail "epochd --version: $(inside epochd --version)"
[[ $(stat -c '%a %u %s' "$root/etc/epochd/token") == "600 0 65" ]] || fail "the token: $(stat -c '%a %u %s' "$root/etc/epochd/token")"
first=$(<"$root/etc/epochd/token")
echo "ok: installed into $where, with a token that root alone reads"

# daemon_start runs $build/bin/epochd
build=$scratch/inside
mkdir -p "$build/bin"
printf '#!/bin/sh\nexec chroot %s /usr/bin/epochd --config /etc/epochd/config.json "$@"\n' "$root" >"$build/bin/epochd"
chmod +x "$build/bin/epochd"
daemon_start
submit "$(xor_job 1000)"
finish "$id"
check "the installed epochd trains" '.metrics.test.accuracy == 1'
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
