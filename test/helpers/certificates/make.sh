#!/bin/sh
# Makes the certificates of the tests, with OpenSSL 3: one authority (ca), and certificates of one key for 127.0.0.1.
# They are good for nothing else. Run in this folder.
set -e
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
new_key "$work/ca-key.pem"
new_key key.pem
openssl req -x509 -new -key "$work/ca-key.pem" -subj '/CN=Test CA' -days 36500 -out ca.pem \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
openssl req -x509 -new -key key.pem -subj '/CN=Self-signed' -days 36500 -out self-signed.pem -addext subjectAltName=IP:127.0.0.1

touch "$work/index.txt"
printf '[ca]\ndefault_ca=test\n[test]\ndatabase=%s/index.txt\nnew_certs_dir=%s\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n' "$work" "$work" >"$work/ca.cnf"
# name, subject alternative name, purpose, first and last second
issue() {
  printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' "$2" "$3" >"$work/$1.ext"
  openssl req -new -key key.pem -subj "/CN=$1" -out "$work/$1.csr"
  openssl ca -batch -config "$work/ca.cnf" -cert ca.pem -keyfile "$work/ca-key.pem" -notext \
    -in "$work/$1.csr" -out "$1.pem" -startdate "$4" -enddate "$5" -extfile "$work/$1.ext"
}
issue valid IP:127.0.0.1 serverAuth 20200101000000Z 21200101000000Z
issue expired IP:127.0.0.1 serverAuth 20200101000000Z 20200201000000Z
issue not-yet-valid IP:127.0.0.1 serverAuth 21190101000000Z 21200101000000Z
issue other-host DNS:other.example serverAuth 20200101000000Z 21200101000000Z
issue client DNS:client.example clientAuth 20200101000000Z 21200101000000Z
