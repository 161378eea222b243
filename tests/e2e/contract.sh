#!/usr/bin/env bash
# The contract: real answers of every route, good and bad, against api/openapi.json.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "there is no python3-jsonschema"
daemon_start --checkpoint-after 0 --max-upload-bytes 1000000
python3 "$here/contract.py" "$url" "$here/../../api/openapi.json" || fail "the answers are not the contract's"
daemon_stop
