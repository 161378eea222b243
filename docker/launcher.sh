#!/bin/sh
# Starts the program of this name in ../lib/epochd, wherever this folder lies, or says why this system cannot run it.
fail() {
  echo "${0##*/}: $*" >&2
  exit 2
}

self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done

machine=$(uname -sm)
[ "$machine" = "Linux @machine@" ] || fail "this build is for Linux on @machine@; this machine is $machine"
minor=@minor@ needs="epochd needs glibc 2.@minor@ or later; its container image brings it along"
[ -e @loader@ ] || fail "this system has no glibc (@loader@ is missing). $needs"
found=$(getconf GNU_LIBC_VERSION 2>/dev/null) # such as "glibc 2.36"
found=${found#glibc 2.}
if [ "${found%%.*}" -lt "$minor" ] 2>/dev/null; then fail "this system has glibc 2.$found. $needs"; fi
exec "$(dirname "$self")/../lib/epochd/${self##*/}" "$@"
