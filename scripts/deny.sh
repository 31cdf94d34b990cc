#!/bin/sh
# `make deny`: checks licenses, sources, and duplicates of the crates in Cargo.lock, and known
# security advisories against them. Rules: deny.toml.
#
# Advisories are in a Git repository that cargo-deny fetches from GitHub. Without it or an earlier
# copy, the other checks still count, and the last line reports the missing check.
set -eu
cd "$(dirname "$0")/.."
deny=target/tools/bin/cargo-deny
scripts/cargo-tool.sh cargo-deny 0.20.2
"$deny" --workspace --locked check --hide-inclusion-graph licenses bans sources
advisories=$(mktemp)
trap 'rm -f "$advisories"' EXIT
status=0
"$deny" --workspace --locked check --hide-inclusion-graph advisories 2>"$advisories" || status=$?
cat "$advisories" >&2
if grep --quiet 'failed to fetch advisory database' "$advisories"; then
    echo "not checked: advisories, whose list could not be fetched" >&2
    exit
fi
exit "$status"
