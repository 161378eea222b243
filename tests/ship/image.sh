#!/usr/bin/env bash
# The CPU image: built, started as its own user with a read-only root and without a capability, trained
# with through the published port, stopped, started again on the same volume.
#
# By itself it makes the image's last stage around the programs of this build, which takes seconds. With
# EPOCHD_TEST_IMAGES=1 the whole docker/Dockerfile is built, from EPOCHD_TEST_BASE (an image of Debian 12
# or Ubuntu 24.04) or from a bare Debian that debootstrap makes: minutes, and a network.
# EPOCHD_TEST_IMAGE_ARGUMENTS are further words for buildah.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
tree=$(realpath "$here/../..")
image=localhost/epochd-test-$$
base=$image-base
container=epochd-test-$$

[[ -z ${EPOCHD_SANITIZE:-} ]] || skip "an image is not for instrumented programs"
((EUID == 0)) || skip "containers are started here by root alone"
for tool in buildah podman runc iptables; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
pod=(podman --runtime runc --cgroup-manager=cgroupfs)
"${pod[@]}" info >/dev/null 2>"$scratch/info" || skip "podman does not work here: $(tail -n 1 "$scratch/info")"

# last_words STATUS: of a test that failed
last_words() { (($1 == 0 || $1 == 77)) || "${pod[@]}" logs "$container" 2>&1 | tail -n 20; }

remove() {
  "${pod[@]}" rm -f -t 2 "$container" >/dev/null 2>&1 || true
  "${pod[@]}" rmi -f "$image" "$base" >/dev/null 2>&1 || true
}
trap 'status=$?; set +e; last_words "$status"; remove; (exit "$status"); leave' EXIT

# A bare Debian, as an image.
make_base() {
  command -v debootstrap >/dev/null || skip "there is neither EPOCHD_TEST_BASE nor debootstrap"
  source "$tree/docker/root.sh"
  root_bare bookworm >"$scratch/base.log" 2>&1 || skip "debootstrap brings no Debian: $(tail -n 1 "$scratch/base.log")"
  tar -C "$EPOCHD_ROOTS/bookworm" -c . | "${pod[@]}" import - "$base" >/dev/null 2>&1 || fail "the base is no image"
}

started=$SECONDS
words=(bud --isolation chroot --format docker --target cpu -t "$image" -f "$tree/docker/Dockerfile")
if [[ ${EPOCHD_TEST_IMAGES:-} == 1 ]]; then
  [[ -n ${EPOCHD_TEST_BASE:-} ]] || make_base
  read -ra more <<<"${EPOCHD_TEST_IMAGE_ARGUMENTS:-}"
  words+=(--build-arg "BASE=${EPOCHD_TEST_BASE:-$base}" ${more[@]+"${more[@]}"})
else
  DESTDIR=$scratch/stage cmake --install "$build" --prefix /usr --strip >"$scratch/install.log" ||
    fail "$(<"$scratch/install.log")"
  rm -f "$scratch/stage/usr/lib/epochd/ep_backend_cuda.so" # this one is for the other image
  "$tree/docker/image-root" "$scratch/stage" "$scratch/context/image" || fail "docker/image-root failed"
  words+=(--build-context "build=$scratch/context")
fi
buildah "${words[@]}" "$tree" >"$scratch/build.log" 2>&1 || fail "no image: $(tail -n 30 "$scratch/build.log")"
echo "ok: the image was built in $((SECONDS - started)) s"
compressed=$("${pod[@]}" save "$image" 2>/dev/null | gzip -c | wc -c)
echo "the image is $((compressed / 1000)) kB compressed"
((compressed < 60 * 1000 * 1000)) || fail "the image is not under 60 MB"

# Its metadata.
"${pod[@]}" image inspect "$image" >"$body"
check "it runs as a user without a name, ends by SIGTERM, keeps its data in a volume, says when it is well" '.[0].Config |
  .User == "10001:10001" and .StopSignal == "SIGTERM" and (.Volumes | has("/var/lib/epochd")) and
  (.ExposedPorts | has("8080/tcp")) and (.Labels["org.opencontainers.image.licenses"] == "Apache-2.0")'
check "the health check asks epochd itself" '.[0] | (.HealthCheck // .Healthcheck // .Config.Healthcheck).Test |
  .[0] == "CMD" and .[1] == "/usr/bin/epochd" and .[-1] == "--probe"'

# run WORDS…: starts the container as a careful user would: podman's words, the image, epochd's flags.
run() {
  "${pod[@]}" run --name "$container" --ulimit nofile=20000:20000 --ulimit nproc=1000:1000 --read-only \
    --cap-drop=ALL --security-opt=no-new-privileges --no-healthcheck "$@"
}

# Without a token it does not listen beyond its machine.
timeout 60 "${pod[@]}" run --rm --name "$container" --ulimit nofile=20000:20000 --ulimit nproc=1000:1000 \
  --no-healthcheck "$image" >"$scratch/open.log" 2>&1 && fail "it ran without a token" || status=$?
((status == 2)) || fail "without a token it ended with $status, not 2: $(tail -n 3 "$scratch/open.log")"
grep -q 'token file /run/secrets/epochd_token' "$scratch/open.log" || fail "it gave no reason: $(<"$scratch/open.log")"
echo "ok: without a token it does not start, and says which file it wants"

token=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$token" >"$scratch/token"
chmod 0644 "$scratch/token"
chmod 0755 "$scratch"
mkdir "$scratch/volume"
chown 10001:10001 "$scratch/volume"
curl() { command curl -H "Authorization: Bearer $token" "$@"; }

# The port that is published is any free one; the loopback alone reaches it.
container_ready() {
  url=http://$("${pod[@]}" port "$container" 8080/tcp | head -n 1)
  until_so "the container is ready" command curl -sf --max-time 20 -o /dev/null "$url/readyz"
}

run -d -p 127.0.0.1::8080 -v "$scratch/volume:/var/lib/epochd" \
  -v "$scratch/token:/run/secrets/epochd_token:ro" "$image" --devices cpu >/dev/null 2>"$scratch/run.log" ||
  fail "the container does not start: $(<"$scratch/run.log")"
container_ready
process=$("${pod[@]}" inspect -f '{{.State.Pid}}' "$container")
grep -qx 'Uid:	10001	10001	10001	10001' "/proc/$process/status" || fail "it does not run as 10001"
grep -qx 'CapEff:	0000000000000000' "/proc/$process/status" || fail "it has a capability"
grep -qx 'NoNewPrivs:	1' "/proc/$process/status" || fail "it could gain privileges"
echo "ok: started as user 10001 without a capability, on a read-only root"
"${pod[@]}" exec "$container" /usr/bin/epochd --config /etc/epochd/config.json --probe || fail "the health check fails"
"${pod[@]}" exec "$container" /bin/sh -c true 2>/dev/null && fail "there is a shell in the image"
echo "ok: the health check passes, and there is no shell"
code=$(command curl -sS -o /dev/null -w '%{http_code}' "$url/v1/jobs")
expect 401

submit "$(xor_job 1000)"
job=$id
finish "$job"
check "trained XOR through the published port" '.metrics.test.accuracy == 1 and .device == "cpu"'
sha256=$(jq -r .weights.sha256 "$body")

started=$(date +%s%N)
"${pod[@]}" stop -t 20 "$container" >/dev/null
milliseconds=$((($(date +%s%N) - started) / 1000000))
[[ $("${pod[@]}" inspect -f '{{.State.ExitCode}}' "$container") == 0 ]] || fail "it ended with $("${pod[@]}" inspect -f '{{.State.ExitCode}}' "$container") after SIGTERM"
echo "ok: stopped with status 0 in $milliseconds ms"
"${pod[@]}" rm "$container" >/dev/null

run -d -p 127.0.0.1::8080 -v "$scratch/volume:/var/lib/epochd" \
  -v "$scratch/token:/run/secrets/epochd_token:ro" "$image" --devices cpu >/dev/null 2>"$scratch/run.log" ||
  fail "the second container does not start: $(<"$scratch/run.log")"
container_ready
http GET "/v1/jobs/$job"
expect 200
check "another container on the same volume knows the job" '.status == "succeeded" and .weights.sha256 == $sha256' --arg sha256 "$sha256"
