# root.sh: bare roots of Debian and Ubuntu, to build and to test in. Sourced, never run, by root, in a namespace of mounts of
# its own (root_unshare), so that every mount ends with the script.
#
# debootstrap makes a bare root once; it stays in $EPOCHD_ROOTS. EPOCHD_DEBOOTSTRAP are further words for debootstrap,
# such as --no-check-gpg for Ubuntu on a Debian without its keys.
EPOCHD_ROOTS=${EPOCHD_ROOTS:-/var/cache/epochd-roots}

# root_unshare SCRIPT WORDS…: runs the script once more, with mounts of its own.
root_unshare() {
  [[ -z ${EPOCHD_UNSHARED:-} ]] || return 0
  ((EUID == 0)) || fail "only root makes a root of another distribution"
  EPOCHD_UNSHARED=1 exec unshare -m bash "$@"
}

# root_bare SUITE: makes the bare root $EPOCHD_ROOTS/SUITE, if it is not there. SUITE: bullseye, bookworm, trixie (Debian 11,
# 12, 13) or noble (Ubuntu 24.04, whose keys are in Ubuntu's package ubuntu-keyring).
root_bare() {
  local root=$EPOCHD_ROOTS/$1 archive=http://deb.debian.org/debian security script='' parts=main words
  [[ ! -d $root ]] || return 0
  read -ra words <<<"${EPOCHD_DEBOOTSTRAP:---force-check-gpg}"
  security="deb http://deb.debian.org/debian-security $1-security main"
  if [[ $1 == noble ]]; then
    archive=http://archive.ubuntu.com/ubuntu parts="main universe" script=/usr/share/debootstrap/scripts/jammy # the same steps
    security="deb http://security.ubuntu.com/ubuntu noble-security $parts"
  fi
  rm -rf --one-file-system "$root.new"
  mkdir -p "$EPOCHD_ROOTS"
  debootstrap --variant=minbase "${words[@]}" "$1" "$root.new" "$archive" \
    ${script:+"$script"} &&
    printf '%s\n' "deb $archive $1 $parts" "$security" >"$root.new/etc/apt/sources.list" && mv "$root.new" "$root"
}

# root_mount ROOT: its /dev, with nodes of its own, and /proc; the network's names are this machine's.
root_mount() {
  local node
  mount -t tmpfs -o mode=0755 dev "$1/dev"
  for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 0666 "$1/dev/${node%:*}" c 1 "${node#*:}"; done
  ln -s /proc/self/fd "$1/dev/fd"
  mkdir -m 1777 "$1/dev/shm"
  mount -t proc -o ro proc "$1/proc"
  cp -L /etc/resolv.conf "$1/etc/" 2>/dev/null || true
}

# root_view LOWER PLACE: mounts at PLACE/root a view of the folder LOWER whose changes go to memory. Unmounting PLACE with all
# below it (umount -R) is all that it takes to be rid of it: nothing of this machine that can be written to is mounted there.
root_view() {
  mount -t tmpfs -o size=3g,mode=0755 root "$2" && mkdir "$2"/{root,upper,work} &&
    mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" view "$2/root" && root_mount "$2/root"
}

# root_run ROOT COMMAND…: with nothing of this machine's settings, but how many compile at a time.
root_run() {
  local root=$1
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
    ${CMAKE_BUILD_PARALLEL_LEVEL:+"CMAKE_BUILD_PARALLEL_LEVEL=$CMAKE_BUILD_PARALLEL_LEVEL"} chroot "$root" "$@"
}

# root_build_make SUITE TREE PURPOSE…: $EPOCHD_ROOTS/SUITE-build, a bare root with the packages of these purposes and the tree,
# read-only, in /src. It stays, so that the next build there compiles only what has changed.
root_build_make() {
  local root=$EPOCHD_ROOTS/$1-build tree=$2
  step "a bare root of $1" root_bare "$1"
  if [[ ! -d $root ]]; then
    rm -rf --one-file-system "$root.new"
    cp -a "$EPOCHD_ROOTS/$1" "$root.new"
    mv "$root.new" "$root"
  fi
  mkdir -p "$root/src"
  root_mount "$root"
  mount --bind "$tree" "$root/src"
  mount -o remount,bind,ro "$root/src"
  step "its packages" root_run "$root" /src/docker/install "${@:3}"
}
