#!/usr/bin/env bash
# Backups while jobs run: each starts again with every job that it has, running ones go on, and unchanged files
# are there once.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

backup() { # makes one; its folder goes to $made
  "$build/bin/epochd" --backup "$scratch/backups" --data-dir "$data_dir" >"$scratch/made" || fail "no backup"
  made=$(cut -d ' ' -f 1 "$scratch/made")
  made=${made%:}
  (cd "$made" && sha256sum --quiet -c SHA256SUMS) || fail "$made is not as its SHA256SUMS"
}

daemon_start
printf 'a,b,c\n1,2,3\n3,4,5\n5,6,1\n7,8,2\n' >"$scratch/table.csv"
http PUT /v1/datasets/table -T "$scratch/table.csv"
expect 201
table_job() { jq -nc --argjson epochs "$1" '{data: {dataset: "table", target: "c"}, epochs: $epochs,
  model: {layers: [{type: "linear", out_features: 1}]}, loss: "mse"}'; }
submit "$(xor_job 100)"
done_first=$id
finish "$id"
hash_first=$(jq -r .weights.sha256 "$body")
epochs_lasting 4
submit "$(xor_job "$epochs" "{\"report_every\": $((epochs / 500))}")"
long=$id
begun() { http GET "/v1/jobs/$long" && jq -e '.progress.fraction > 0.05' "$body" >/dev/null; }
until_so "the long job reports" begun

stream() { # short jobs that are submitted, end and are deleted while backups are made
  local n answer
  for ((n = 0; n < 400; n++)); do
    answer=$(curl -sS "${json[@]}" "${ndjson[@]}" -d "$(xor_job 50)" "$url/v1/jobs" | jq -rs '.[0].job')
    ((n % 3)) || curl -sS -X DELETE "$url/v1/jobs/$answer" >/dev/null
  done
}
stream &
own+=($!)
declare -a all=()
for ((i = 0; i < 3; i++)); do
  backup
  all+=("$made")
  cat "$scratch/made"
done
kill "${own[-1]}" 2>/dev/null || true
wait "${own[-1]}" 2>/dev/null || true
[[ $(stat -c %h "$made/jobs/$done_first/weights.safetensors") == 3 ]] || fail "the first job's weights are copied again"
[[ $(stat -c %h "$made/jobs/$long/events.ndjson") == 1 ]] || fail "the log of a running job is a link"
echo "ok: backups are whole, and unchanged files are links"

printf 'x' | dd of="$made/jobs/$done_first/weights.safetensors" bs=1 seek=100 conv=notrunc 2>/dev/null
backup
cmp -s "$made/jobs/$done_first/weights.safetensors" "$data_dir/jobs/$done_first/weights.safetensors" ||
  fail "a file that rotted in a backup is linked into the next one"
all=("${all[0]}" "$made")
(cd "${all[0]}" && ! sha256sum --status -c SHA256SUMS) || fail "sha256sum -c does not notice a bit that flipped"
cp "$made/jobs/$done_first/weights.safetensors" "${all[0]}/jobs/$done_first/weights.safetensors" # heals all links
echo "ok: a file that rotted is noticed, and copied anew"

# The names of three seconds are taken: by empty folders, which a rename would replace, and by a link to nothing. This
# second's may be that of the backup before. On a machine so busy that all have passed, any name is right.
second=$(date +%s)
name_of() { TZ=UTC date -d "@$1" +"$scratch/backups/%Y-%m-%dT%H:%M:%SZ"; }
mkdir -p "$(name_of "$second")"
mkdir "$(name_of $((second + 1)))"
ln -s nowhere "$(name_of $((second + 2)))"
backup
[[ $made > $(name_of $((second + 2))) ]] || fail "$made was taken"
rmdir "$(name_of "$second")" 2>/dev/null || [[ -f $(name_of "$second")/SHA256SUMS ]] || fail "the empty folder of $second is gone"
rmdir "$(name_of $((second + 1)))" || fail "a backup is in the place of an empty folder"
rm "$(name_of $((second + 2)))"
echo "ok: a backup whose second's name is taken has another one"
daemon_stop

for made in "${all[@]}"; do
  data_dir=$scratch/restored
  rm -rf "$data_dir"
  cp -r --preserve=timestamps "$made" "$data_dir"
  count=$(python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM jobs").fetchone())' \
    "$data_dir/epochd.sqlite")
  daemon_start
  http GET "/v1/jobs/$done_first/weights"
  [[ $(sha256sum <"$body" | cut -d ' ' -f 1) == "$hash_first" ]] || fail "the first job has other weights"
  finish "$long"
  events_read "$long"
  sequence "$body" 1
  check "one end, after every report" '([.[] | select(.type == "end")] | length) == 1 and .[-1].type == "end"' -s
  http GET '/v1/jobs?limit=1000&view=summary'
  check "all $count jobs are there" '(.data | length) == $count' --argjson count "$count"
  for id in $(jq -r '.data[].id' "$body"); do finish "$id"; done
  submit "$(table_job 5)"
  finish "$id"
  daemon_stop
done
