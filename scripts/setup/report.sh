# shellcheck shell=sh
# Messages of the set-up: progress and failures on standard error, each failure with a remedy.

say() {
    echo "set-up: $*" >&2
}

# 6: something is missing. During the installation of packages: 7.
failure_code=6

# fail PROBLEM REMEDY
fail() {
    say "$1"
    echo "  remedy: $2" >&2
    exit "$failure_code"
}
