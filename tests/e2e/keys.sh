# keys.sh: authorities and certificates of a test's own. A script sources it after daemon.sh.
command -v openssl >/dev/null || skip "there is no openssl"
keys=$scratch/keys
mkdir "$keys"
quietly() { "$@" >"$scratch/out" 2>&1 || fail "$*: $(tail -n 3 "$scratch/out")"; }

# authority NAME; certificate NAME AUTHORITY PURPOSE KIND-OF-KEY…: NAME.pem and NAME.key in $keys.
authority() {
  quietly openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$1" -keyout "$keys/$1.key" \
    -addext keyUsage=critical,keyCertSign -out "$keys/$1.pem" # Python 3.13 wants it
}
days=20 # until a certificate's end; of one that has ended, less than 0
certificate() {
  local name=$1 by=$2 purpose=$3
  shift 3
  quietly openssl req -newkey "$@" -nodes -subj "/CN=$name" -keyout "$keys/$name.key" -out "$keys/$name.csr"
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nextendedKeyUsage=%s\n' "$purpose" >"$keys/$name.ext"
  quietly openssl x509 -req -in "$keys/$name.csr" -CA "$keys/$by.pem" -CAkey "$keys/$by.key" -CAcreateserial -days "$days" \
    -extfile "$keys/$name.ext" -out "$keys/$name.pem"
}
authority ours
authority others
certificate first ours serverAuth rsa:2048
certificate second ours serverAuth ec -pkeyopt ec_paramgen_curve:P-256
certificate client ours clientAuth ec -pkeyopt ec_paramgen_curve:P-256
certificate stranger others clientAuth ec -pkeyopt ec_paramgen_curve:P-256
