#!/bin/sh
# Installs what `make demo`, `make test`, `make deb` or `make bench-servers` needs and is not there
# yet; says nothing when all is.
#
# Asks for each thing by the file that provides it, not by package, so that what the user built or
# installed otherwise counts. Server packages start their daemons when installed: that is prevented
# for the length of the installation, and daemons that ran before are left alone.
#
# For `test` it also fetches the parts of a machine to record, and builds QEMU 10 (setup/parts.sh).
#
# usage: scripts/setup.sh demo|test|deb|bench
# exit code: 0 all there, 2 usage, 6 something else is missing, 7 packages could not be installed
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/rust.sh
. scripts/setup/python.sh
. scripts/setup/parts.sh

case ${1-} in
    demo | test | deb | bench) purpose=$1 ;;
    *)
        echo "usage: scripts/setup.sh demo|test|deb|bench" >&2
        exit 2
        ;;
esac

require_rust
install_packages "$purpose"
[ "$purpose" = deb ] || make_virtual_environment "$purpose"
[ "$purpose" != test ] || install_parts
[ "$purpose" = deb ] || require_qemu_with_plugins
