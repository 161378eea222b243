#!/usr/bin/env bash
# The contract: real answers of every route, good and bad, against api/openapi.json.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "there is no python3-jsonschema"
(umask 077 && echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$scratch/secret")
daemon_start --webhook-secret-file "$scratch/secret" --checkpoint-after 0 --max-upload-bytes 1000000
python3 "$here/contract.py" "$url" "$here/../../api/openapi.json" || fail "the answers are not the contract's"
daemon_stop
