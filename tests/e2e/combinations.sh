#!/usr/bin/env bash
# What is accepted trains: random pairs and triples of fields (combinations.py), and the combinations that once failed.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$scratch/secret"
chmod 600 "$scratch/secret"
daemon_start --webhook-secret-file "$scratch/secret"

spec='{"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 2,
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]}}'
submit "$(jq -c '.repeats = 2 | .webhooks = [{url: "https://127.0.0.1:9/hook"}]' <<<"$spec")"
finish "$id"
check "repeats and webhooks" '.status == "succeeded" and (.metrics.parts.each | length) == 2'
submit "$(jq -c '.executor = "cpu/fused"' <<<"$spec")"
finish "$id"
check "an executor by name" '.status == "succeeded" and .executor == "cpu/fused"'
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.executor = "cpu/fused" | .model.layers[1].type = "elu"' <<<"$spec")"
expect 422
check "an executor that cannot" '.errors[0] | .pointer == "/executor" and (.detail | test("cpu/fused cannot train this network: .*cpu/reference can"))'

curl -sSf -T - "$url/v1/datasets/kinds" >/dev/null < <(awk 'BEGIN {print "a,kind"; for (i = 0; i < 60; i++) print i "," substr("redgreenblue", i % 3 * 3 + 1, 3)}')
http POST /v1/jobs "${json[@]}" -d '{"data": {"dataset": "kinds", "target": "kind"}, "model": "auto", "epochs": 2, "folds": 29}'
expect 422
check "folds of classes that auto stratifies" '.errors[0] | .pointer == "/folds" and (.detail | test("fewer than 29 folds"))'

seed=${EPOCHD_TEST_SEED:-7}
if ((seed % 2 == 0)); then # on four more devices
  daemon_stop
  daemon_start --webhook-secret-file "$scratch/secret" --plugin "$build/tests/e2e/libsecond_device.so"
fi
python3 "$here/combinations.py" "$url" "$here/../../api/openapi.json" --seed "$seed" --count "${EPOCHD_TEST_COUNT:-300}" ||
  fail "an accepted job did not train"
