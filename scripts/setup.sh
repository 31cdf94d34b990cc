#!/bin/sh
# Installs what `make demo`, `make test`, `make deb`, or `make bench-servers` needs and this machine
# lacks. Prints nothing if nothing is missing.
#
# It looks for the file that a package provides, not for the package, so what the user built or
# installed otherwise counts. Server packages start their daemons when installed: the set-up
# prevents that during the installation, and leaves daemons alone that ran before.
#
# For `test` it also fetches the parts of a machine to record, and builds QEMU 10 (setup/parts.sh).
# `compile` is the part of `test` that compilers need: Rust and the packages.
#
# usage: scripts/setup.sh demo|compile|test|deb|bench
# exit code: 0 all there, 2 usage, 6 something else is missing, 7 packages could not be installed
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/rust.sh
. scripts/setup/python.sh
. scripts/setup/parts.sh

case ${1-} in
    demo | compile | test | deb | bench) purpose=$1 ;;
    *)
        echo "usage: scripts/setup.sh demo|compile|test|deb|bench" >&2
        exit 2
        ;;
esac

require_rust
case $purpose in
    compile | test) require_browser ;;
esac
if [ "$purpose" = compile ]; then
    install_packages test
    exit
fi
install_packages "$purpose"
[ "$purpose" = deb ] || make_virtual_environment "$purpose"
[ "$purpose" != test ] || install_parts
[ "$purpose" = deb ] || require_qemu_with_plugins
