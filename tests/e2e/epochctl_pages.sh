#!/usr/bin/env bash
# What epochctl prints about itself: the reference, the manual page, completions, examples.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
unset EPOCHD EPOCHD_TOKEN
export LC_ALL=C.UTF-8
docs=$here/../../docs

"$ctl" help --markdown | diff -u "$docs/epochctl.md" - >"$scratch/diff" ||
  fail "docs/epochctl.md is not what the table says (epochctl help --markdown): $(<"$scratch/diff")"
diff <(echo changed) "$docs/epochctl.md" >/dev/null && fail "the comparison cannot fail"
echo "ok: docs/epochctl.md"

"$ctl" help --man >"$scratch/epochctl.1"
if command -v man >/dev/null && command -v groff >/dev/null; then
  warnings=$(man --warnings=w -E UTF-8 -l -Tutf8 -Z "$scratch/epochctl.1" 2>&1 >/dev/null || true)
  [[ -z $warnings ]] || fail "man warns: $warnings"
  warnings=$(groff -man -ww -z "$scratch/epochctl.1" 2>&1)
  [[ -z $warnings ]] || fail "groff warns: $warnings"
  printf '.TH X 1\n.no_such_macro\n' | groff -man -ww -z 2>&1 | grep -q . || fail "groff warns of nothing"
  man -l "$scratch/epochctl.1" 2>/dev/null | col -b >"$scratch/page"
  for word in 'data put NAME' '--token-file FILE' 'EXIT STATUS' 'printf|epochctl example xor \| epochctl run -'; do
    grep -qE -- "${word#printf|}" "$scratch/page" || fail "the manual page lacks \"$word\""
  done
  echo "ok: the manual page, without a warning"
else
  echo "skipped: there is no man with groff; the page's warnings were not looked for"
fi

# each command explains itself, in both ways
commands=0
while read -r command; do
  # shellcheck disable=SC2086
  "$ctl" help $command | cmp - <("$ctl" $command --help) || fail "help $command and $command --help differ"
  commands=$((commands + 1))
done < <(sed -nE 's/^### epochctl ([a-z]+( [a-z]+)?)( [^a-z].*)?$/\1/p' "$docs/epochctl.md")
((commands >= 20)) || fail "only $commands commands were looked at"
[[ $("$ctl" --version) == "epochctl "* ]] || fail "--version"
[[ $("$ctl" help | grep -xE 'train and predict|jobs|sweeps|data|models|the daemon|epochctl' | paste -sd ,) == \
  'train and predict,jobs,sweeps,data,models,the daemon,epochctl' ]] || fail "help has other groups: $("$ctl" help)"
[[ $("$build/bin/epochd" --help | grep -c '^[a-zA-Z]') == 11 ]] || fail "the groups of epochd --help: $("$build/bin/epochd" --help)"

daemon_start
export EPOCHD_SERVER=$url
python3 "$here/images.py" "$scratch/mnist" 28 400 80
"$ctl" data put mnist "train/x=$scratch/mnist/train-images-idx3-ubyte.gz" "train/y=$scratch/mnist/train-labels-idx1-ubyte.gz" \
  "test/x=$scratch/mnist/t10k-images-idx3-ubyte.gz" "test/y=$scratch/mnist/t10k-labels-idx1-ubyte.gz"
(echo area,rooms,price && for ((i = 0; i < 40; i++)); do echo "$((35 + i)),$((1 + i % 5)),$((100 + 3 * i))"; done) |
  "$ctl" data put houses - >/dev/null
count=0
while read -r name; do
  "$ctl" example "$name" >"$scratch/example"
  command=(validate)
  if jq -e .space "$scratch/example" >/dev/null; then command=(sweep --validate); fi
  "$ctl" "${command[@]}" - <"$scratch/example" >"$scratch/out" || fail "the example $name is refused: $(<"$scratch/out")"
  count=$((count + 1))
done < <("$ctl" example --list -q)
((count == $(find "$here/../../clients/epochctl/examples" -name '*.json' | wc -l))) || fail "$count examples are listed"
"$ctl" example linear | "$ctl" run - >/dev/null || fail "the example linear"
echo "ok: $count examples, each valid"

# bash: what would be offered for a line
complete_bash() {
  PATH=$build/bin:$PATH bash --norc -c '
    source <("$1" completion bash)
    complete -p epochctl | grep -q "_epochctl epochctl" || exit 9
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _epochctl 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' - "$ctl" "$@" | paste -sd ' '
}
offers() {
  local wanted=$1 got
  shift
  got=$(complete_bash epochctl "$@") || fail "bash takes no completion"
  [[ $got == "$wanted" ]] || fail "for \"epochctl $*\" bash offers \"$got\", not \"$wanted\""
}
id=$("$ctl" ls -q --limit 1)
offers 'run resume rm' r
offers 'sweep show set sweeps' s
offers 'ls show promote' sweeps ''
offers 'grid random sobol asha tpe' sweep job.json --search ''
offers 'put ls show head rm set' data ''
offers 'publish' models p
offers '--state' ls --st
offers 'queued running pausing paused succeeded failed cancelled' ls --state ''
offers 'safetensors npz json onnx c' weights "$id" --format ''
offers "last $id" show ''
offers "$id" -s "$url" watch job_
offers 'houses mnist' data show ''
offers 'mnist mnist-tuned' example mn
offers 'bash zsh fish' completion ''
offers 'roc residuals' plot "$id" r
offers 'lr' plot last l
offers '--log' plot last --lo
echo "ok: bash completes commands, options, values, jobs, data sets, examples"
if command -v zsh >/dev/null; then
  "$ctl" completion zsh >"$scratch/_epochctl"
  zsh -n "$scratch/_epochctl" || fail "zsh does not read its completion"
  got=$(PATH=$build/bin:$PATH zsh -f -c '
    compdef() { : }
    compadd() { shift; print -r -- "$@" }
    source "$1"
    words=(epochctl data show "") CURRENT=4
    _epochctl
    words=(epochctl ls --state "") CURRENT=4
    _epochctl' - "$scratch/_epochctl" | paste -sd '|')
  [[ $got == 'houses mnist|queued running pausing paused succeeded failed cancelled' ]] || fail "zsh offers $got"
  echo "ok: zsh, too"
fi
if command -v fish >/dev/null; then
  "$ctl" completion fish >"$scratch/epochctl.fish"
  fish --no-config -n "$scratch/epochctl.fish" || fail "fish does not read its completion"
  offers_fish() { # WANTED LINE: what fish offers there, without descriptions
    local got
    got=$(PATH=$build/bin:$PATH fish --no-config -c "source $scratch/epochctl.fish; complete -C '$2'" | cut -f 1 | paste -sd ' ')
    [[ $got == "$1" ]] || fail "for \"$2\" fish offers \"$got\", not \"$1\""
  }
  offers_fish 'resume rm run' 'epochctl r'
  offers_fish 'head ls put rm set show' 'epochctl data '
  offers_fish 'houses mnist' 'epochctl data show '
  offers_fish 'residuals roc' 'epochctl plot last r'
  offers_fish '--search --seconds --server --set --size' 'epochctl sweep job.json --s'
  offers_fish 'asha grid random sobol tpe' 'epochctl sweep job.json --search '
  offers_fish 'mnist mnist-tuned' 'epochctl -s '"$url"' example mn'
  echo "ok: and fish"
else
  echo "skipped: there is no fish"
fi
daemon_stop

# installed
DESTDIR='' cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || fail "$(<"$scratch/install.log")"
for path in bin/epochctl share/man/man1/epochctl.1 share/bash-completion/completions/epochctl share/zsh/site-functions/_epochctl share/fish/vendor_completions.d/epochctl.fish; do
  [[ -s $scratch/prefix/$path ]] || fail "there is no $path in the prefix"
done
cmp "$scratch/prefix/share/man/man1/epochctl.1" "$scratch/epochctl.1" || fail "another manual page is installed"
[[ $("$scratch/prefix/bin/epochctl" --version) == "$("$ctl" --version)" ]] || fail "the installed epochctl does not run"
libraries=$(ldd "$scratch/prefix/bin/epochctl")
grep -E 'microhttpd|sqlite|blas' <<<"$libraries" && fail "epochctl links what belongs to others"
echo "ok: installed"
