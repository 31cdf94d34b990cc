#!/bin/sh
# Builds vale, which checks the wording of documents, help, and messages (scripts/prose).
#
# Distributions do not package it. vale/go.mod and vale/go.sum pin its modules by hash. If this
# machine's Go is missing or too old, as in Debian 12 and 13, the build uses the Go of a Python
# package (vale/requirements.txt). It takes two minutes of CPU time, and removes all but the
# program, which stays in ${XDG_CACHE_HOME:-~/.cache}/corehop/vale until the pins change.
#
# usage: scripts/vale.sh
# exit code: 0 there, 6 something is missing, 7 it could not be fetched, 8 it could not be built
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/python.sh

pins=scripts/vale
home=${XDG_CACHE_HOME:-$HOME/.cache}/corehop/vale
work=$home/work

# True if the Go of this machine can build vale without fetching another Go.
has_go() {
    (cd "$pins" && GOTOOLCHAIN=local go list -m) >/dev/null 2>&1
}

fetch() {
    say "fetching vale's source"
    failure_code=7
    has_go || fetch_go >&2 ||
        fail "Go could not be fetched" "see pip's message above; it needs the network"
    (cd "$pins" && go mod download) >&2 ||
        fail "vale's source could not be fetched" "see Go's message above; it needs the network"
    failure_code=6
}

fetch_go() {
    python=$(find_python) ||
        fail "no Python 3.11 or newer with venv" "install python3 and python3-venv"
    "$python" -m venv "$work/python" &&
        "$work/python/bin/python" -m pip --quiet --disable-pip-version-check --no-input \
            install --no-deps --require-hashes -r "$pins/requirements.txt" &&
        PATH=$(echo "$work"/python/lib/python*/site-packages/go/bin):$PATH
}

build() {
    say "building vale"
    failure_code=8
    (cd "$pins" && GOPROXY=off nice go build -ldflags '-s -w' -o "$home/new" tool &&
        "$home/new" --version) >"$home/build.log" 2>&1 ||
        fail "vale could not be built" "see the end of $home/build.log"
}

stamp=$(cat "$pins/go.mod" "$pins/go.sum" | sha256sum | cut -d ' ' -f 1)
if [ -x "$home/vale" ] && [ "$(cat "$home/stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$home/vale"
    exit 0
fi
rm -rf "$home"
mkdir -p "$work"
export GOTOOLCHAIN=local CGO_ENABLED=1 GOFLAGS=-modcacherw GOPATH="$work/go" GOCACHE="$work/built"
unset GOROOT
fetch
build
mv "$home/new" "$home/vale"
echo "$stamp" >"$home/stamp"
rm -rf "$work" "$home/build.log"
echo "$home/vale"
