#!/bin/sh
# `make test-transparent`: programs' own tests, bare and patched (scripts/upstream).
#
# The programs are Debian's, patched; only helpers of the tests are built. The tests come with
# Debian's packages, or with the source packages of exactly these versions, fetched once into
# scratch/upstream.
#
# Variables: UPSTREAM_SUITES (redis memcached python stress-ng perl glibc postgres),
# UPSTREAM_BACKENDS (count carrier posted batched auto affinity; the third and fourth make system
# calls asynchronous, in addition to the hops of `carrier`), UPSTREAM_UNITS (all; `short` for some
# of each suite, or names), UPSTREAM_CALLS (200000) of hooked functions per unit if hooks migrate
# threads, UPSTREAM_ATTEMPTS (3), UPSTREAM_UNIT_SECONDS (600), UPSTREAM_SECONDS (7200) for a suite
# on one program.
#
# exit code: 0 what passes on the original passes on the patched programs, 1 something does not,
# 2 a variable is invalid, 6 something is missing, 7 it could not be fetched or a step failed,
# 130 interrupted
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/sources.sh
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

scratch=$PWD/scratch/upstream
work=$scratch/work

# fetch SUITE PACKAGE: the source of the installed PACKAGE, as scratch/upstream/SUITE/source.
fetch() {
    wanted=$(dpkg-query -W -f '${source:Package}=${source:Version}' "$2" 2>/dev/null) ||
        fail "$2 is not installed as Debian's package" "apt-get install $2"
    source=$scratch/$1/source
    [ "$(cat "$scratch/$1/version" 2>/dev/null)" != "$wanted" ] || return 0
    say "fetching the source of $wanted"
    failure_code=7
    rm -rf "$source" "$scratch/$1/version" "$work"
    mkdir -p "$scratch/$1"
    distribution=$(release)
    archives "${distribution% *}" | own_lists "${distribution% *}" deb-src
    (cd "$work" && own_apt apt-get update && fetch_source "$wanted") ||
        fail "the source of $wanted could not be fetched" \
            "see apt's message above; a mirror keeps the newest: apt-get install $2"
    # apt has verified the fetched files, including the description of the source.
    dpkg-source --no-check -x "$work/${wanted%%=*}"_*.dsc "$source" >/dev/null ||
        fail "the source of $wanted could not be unpacked" "see dpkg-source's message above"
    rm -rf "$work"
    echo "$wanted" >"$scratch/$1/version"
    failure_code=6
}

# fetch_source PACKAGE=VERSION: if mirrors lack this version, fetches Debian's closest one of the
# same upstream version, whose tests are the same except for Debian's patches.
fetch_source() {
    own_apt apt-get source --download-only "$1" && return 0
    upstream=${1%-*}
    for version in $(own_apt apt-cache showsrc "${1%%=*}" 2>&1 | sed -n 's/^Version: //p'); do
        case ${1%%=*}=$version in
            "$1") ;;
            "$upstream"-*)
                say "taking the tests of ${1%%=*}=$version"
                own_apt apt-get source --download-only "${1%%=*}=$version" && return 0
                ;;
        esac
    done
    return 1
}

# needs SUITE: whether its tests are selected.
needs() {
    case " ${UPSTREAM_SUITES:-redis memcached perl glibc postgres} " in
        *[\ ,]"$1"[\ ,]*) true ;;
        *) false ;;
    esac
}

scripts/setup.sh test
install_packages upstream
! needs redis || fetch redis redis-server
! needs memcached || fetch memcached memcached
! needs perl || fetch perl perl
! needs glibc || fetch glibc libc6
! needs postgres || fetch postgres "$(postgres_package)"
cargo build --locked
exec env PYTHONPATH=scripts PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m upstream
