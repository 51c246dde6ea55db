#!/usr/bin/env bash
# What the tests need from Debian: a browser for the report page, and a PostgreSQL server for the journal.
# As root it is installed; else this says what to install.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "The tests need Debian's packages: ${missing[*]}. Install them, such as: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "Installing Debian's packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
