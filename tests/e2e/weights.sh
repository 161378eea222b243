#!/usr/bin/env bash
# The served weights, read by a few lines of Python, give the served predictions to 1e-5.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

python3 - >"$scratch/bowl.json" <<'PYTHON'
import json, random
random.seed(5)
def rows(count):
    x = [[random.uniform(-3, 3), random.uniform(100, 200), random.gauss(0, 1)] for _ in range(count)]
    return sum(x, []), [a * a + b / 10 - 2 * c + 50 for a, b, c in x]
(x, y), (x_test, y_test) = rows(200), rows(57)
print(json.dumps({"m": 200, "n": 3, "m_test": 57, "x": x, "y": y, "x_test": x_test, "y_test": y_test}))
PYTHON
http PUT /v1/datasets/bowl -T "$scratch/bowl.json"
expect 201
jq -c '[.x_test as $x | range(.m_test) | $x[. * 3:. * 3 + 3]]' "$scratch/bowl.json" >"$scratch/rows"

for activations in '["tanh", "gelu"]' '["leaky_relu", "sigmoid"]' '["sin", "relu"]'; do
  for standardize in '["x", "y"]' '["x"]'; do
    submit "$(jq -nc --argjson a "$activations" --argjson standardize "$standardize" '{
      data: {dataset: "bowl", standardize: $standardize}, loss: "huber", epochs: 300, batch_size: 32,
      model: {layers: [{type: "linear", out_features: 7}, {type: $a[0]}, {type: "linear", out_features: 5},
                       {type: $a[1]}, {type: "linear", out_features: 1}]},
      optimizer: {lr: 0.01, momentum: 0.5}}')"
    finish "$id"
    http GET "/v1/jobs/$id/weights"
    expect 200
    cp "$body" "$scratch/weights"
    http GET "/v1/jobs/$id/predictions"
    jq -c .prediction "$body" >"$scratch/served"
    python3 "$here/weights.py" "$scratch/weights" "$scratch/rows" "$scratch/served" ||
      fail "the weights do not give the served predictions ($activations, $standardize)"
    http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"x\": $(<"$scratch/rows")}"
    expect 200
    jq -c '.predictions | flatten' "$body" >"$scratch/asked"
    python3 "$here/weights.py" "$scratch/weights" "$scratch/rows" "$scratch/asked" ||
      fail "predict answers something else"
    echo "ok: $activations, standardized $standardize"
  done
done

# the comparison can fail
jq -c 'map(. + 0.01)' "$scratch/served" >"$scratch/wrong"
! python3 "$here/weights.py" "$scratch/weights" "$scratch/rows" "$scratch/wrong" >/dev/null ||
  fail "predictions that are off by 0.01 went unnoticed"
