#!/usr/bin/env bash
# The dashboard's files, their headers, and the origins whose requests are accepted.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
html=(-H 'Accept: text/html,application/xhtml+xml,*/*;q=0.8')

http GET /
expect 200
[[ $(header Content-Type) == text/plain* ]] || fail "curl was given $(header Content-Type)"
grep -q /v1/jobs "$body" || fail "the text says nothing of jobs"
http GET / "${html[@]}"
expect 200
[[ $(header Content-Type) == text/html* ]] || fail "a browser was given $(header Content-Type)"
[[ $(header Vary) == *Accept* ]] || fail "both forms of / are one to a cache"
echo "ok: / is a page for a browser and a text for others"

# guarded: the headers of a response that is part of the page.
guarded() {
  [[ $(header Content-Security-Policy) == "default-src 'none'; script-src 'self'; style-src 'self'; "* ]] ||
    fail "the policy is $(header Content-Security-Policy)"
  [[ $(header Content-Security-Policy) != *unsafe* ]] || fail "the policy has a hole"
  [[ $(header Content-Security-Policy) == *"frame-ancestors 'none'"* ]] || fail "the page may be framed"
  [[ $(header X-Content-Type-Options) == nosniff ]] || fail "its type may be guessed"
  [[ $(header Referrer-Policy) == no-referrer ]] || fail "it tells others where it is"
  [[ $(header Cross-Origin-Opener-Policy) == same-origin ]] || fail "another page may hold its window"
  [[ $(header Cross-Origin-Resource-Policy) == same-origin ]] || fail "another page may take it in"
}
guarded
if grep -q 'no dashboard' "$body"; then
  grep -q 'docker/install dashboard' "$body" || fail "it does not say how to get one"
  http GET /assets/main.js
  expect 404
  skip "this build has no dashboard, and says so"
fi

python3 "$here/page.py" "$url" 200000 || fail "the page is not whole"
echo "ok: every file that the page names is there, in both forms, in less than 190 kB for all views"
! python3 "$here/page.py" "$url" 1000 >/dev/null 2>&1 || fail "no page is ever too heavy"

for path in / /assets/main.js /assets/style.css /assets/views/jobs/jobs.js; do
  http GET "$path" "${html[@]}"
  expect 200
  guarded
  [[ $(header Cache-Control) == no-cache ]] || fail "$path may be used unasked: $(header Cache-Control)"
  plain=$(header ETag)
  rm -f "$body"
  http GET "$path" "${html[@]}" -H "If-None-Match: $plain"
  expect 304
  [[ ! -s $body ]] || fail "$path: 304 with a body"
  http GET "$path" "${html[@]}" -H 'Accept-Encoding: br;q=1, gzip;q=0.5'
  expect 200
  [[ $(header Content-Encoding) == gzip ]] || fail "$path was not compressed"
  [[ $(header ETag) != "$plain" ]] || fail "$path: two forms, one ETag"
  http GET "$path" "${html[@]}" -H 'Accept-Encoding: gzip' -H "If-None-Match: $(header ETag)"
  expect 304
  http HEAD "$path" "${html[@]}"
  expect 200
  [[ $(header Content-Length) -gt 0 ]] || fail "HEAD $path has no length"
done
for refused in 'gzip;q=0' 'gzip; q=0.000' 'identity' 'x-gzip-not'; do
  http GET /assets/main.js -H "Accept-Encoding: $refused"
  [[ -z $(header Content-Encoding) ]] || fail "compressed for \"$refused\""
done
echo "ok: ETags, 304, both forms, HEAD"

for path in /assets/nothing.js /assets/views/nothing.js /assets/views/jobs/nothing.js /assets/index.htm /assets/views /assets/views/jobs /assets/ /assets/views/jobs/jobs.js/x; do
  http GET "$path"
  expect 404
done
for path in /assets/..%2fmain.js /assets/views/jobs/..%2Fmain.js /assets/%2e%2e/main.js; do
  http GET "$path" --path-as-is
  [[ $code == 40[04] ]] || expect 404
done
http POST /assets/main.js -d x
expect 405
http GET '/assets/main.js?x=1'
expect 400
echo "ok: nothing beside the page's files"

# The origins whose requests are accepted. A link from any page may open the dashboard in a tab; nothing else.
navigation=(-H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document')
for site in none same-origin cross-site same-site; do
  http GET / "${html[@]}" -H "Sec-Fetch-Site: $site" "${navigation[@]}"
  expect 200
done
foreign() {
  http "$@"
  expect 403
}
for site in cross-site same-site; do
  from=(-H "Sec-Fetch-Site: $site")
  foreign GET / "${from[@]}"
  foreign GET / "${from[@]}" -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: iframe'
  foreign GET / "${from[@]}" -H 'Sec-Fetch-Mode: no-cors' -H 'Sec-Fetch-Dest: document'
  foreign GET / "${from[@]}" "${navigation[@]}" -H 'Host: evil.example'
  foreign POST / "${from[@]}" "${navigation[@]}" -d x
  foreign GET /assets/main.js "${from[@]}" -H 'Sec-Fetch-Mode: no-cors' -H 'Sec-Fetch-Dest: script'
  foreign GET /assets/main.js "${from[@]}" "${navigation[@]}"
  foreign GET /v1/jobs "${from[@]}" "${navigation[@]}"
  foreign POST /v1/jobs "${from[@]}" "${navigation[@]}" "${json[@]}" -d '{}'
  foreign DELETE /v1/datasets/x "${from[@]}" "${navigation[@]}"
done
own_origin=(-H "Origin: $url" -H 'Sec-Fetch-Site: same-origin' -H 'Sec-Fetch-Mode: cors' -H 'Sec-Fetch-Dest: empty')
http POST '/v1/jobs?validate=only' "${json[@]}" "${own_origin[@]}" -d "$(xor_job 10)"
expect 200
http GET /v1/jobs "${own_origin[@]}"
expect 200
http POST '/v1/jobs?validate=only' "${json[@]}" -H "Origin: https${url#http}" -H 'Sec-Fetch-Site: same-origin' -d "$(xor_job 10)"
expect 200
for origin in http://evil.example "$url.evil.example" "http://127.0.0.1:1" null "ftp${url#http}"; do
  foreign POST '/v1/jobs?validate=only' "${json[@]}" -H "Origin: $origin" -d "$(xor_job 10)"
done
foreign GET / "${html[@]}" "${navigation[@]}" -H 'Sec-Fetch-Site: none' -H 'Host: evil.example'
echo "ok: the page's own requests are taken, another site's are not, but for a link to the page"
daemon_stop

# With a token the page is open, and its data are not.
printf 'correct-horse-battery-staple\n' >"$scratch/token"
chmod 600 "$scratch/token"
daemon_start --token-file "$scratch/token"
http GET / "${html[@]}" "${navigation[@]}" -H 'Sec-Fetch-Site: cross-site'
expect 200
python3 "$here/page.py" "$url" >/dev/null || fail "the page needs a token"
http GET /v1/jobs "${own_origin[@]/*Origin: */Origin: $url}"
expect 401
http GET /v1/jobs -H 'Authorization: Bearer correct-horse-battery-staple' -H "Origin: $url" -H 'Sec-Fetch-Site: same-origin'
expect 200
http GET /assets/nothing.js
expect 404
echo "ok: with a token the page is open, and what it shows is not"
