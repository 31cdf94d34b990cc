#!/bin/sh
# `make test-runtime`: runs the runtime's tests with the libc and the compiler of another Debian
# release, in a chroot.
#
# The tests are built here and run there, where they build their programs. Tests of server packages,
# whose versions differ, are left out. So are tests of the files' layout by one compiler.
#
# usage: scripts/test-runtime.sh [RELEASE]   (default: trixie), as root
# exit code: 0 all pass there, 6 something is missing here, else that of what failed
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/root.sh

release=${1:-trixie}
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
tests="notices:: signal_matrix:: carrier:: posted:: batched:: delegation:: runtime:: stacks::"
tests="$tests terminated:: queues:: waiting:: statistics:: in_memory::"

printed=$(cargo test --locked -p corehop-patcher --test patcher --no-run 2>&1) || {
    echo "$printed" >&2
    fail "the tests cannot be built" "see cargo's messages above"
}
program=$(echo "$printed" | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
make_root "$release" "sudo make test-runtime"
cat >"$chroot/tests.sh" <<END
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get -qq update
apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install g++ >/dev/null
ldd --version | head -n 1
g++ --version | head -n 1
cd "$PWD/patcher"
exec "$PWD/$program" --test-threads 2 $tests
END
say "running the runtime's tests there"
in_root /tests.sh "$PWD"
say "the runtime's tests pass on $release"
