#!/bin/sh
# `make test-deb`: installs the package into an otherwise empty Debian, a chroot, and runs the
# tutorial's commands there up to the patched server.
#
# Missing files and dependencies of the package are missing there too, because no checkout is
# available. Nothing of the chroot remains.
#
# usage: scripts/test-deb.sh FILE.deb, as root; RELEASE is the Debian (default: this machine's), for
# which a package of an older one will do
# exit code: 0 all works there, 2 usage, 6 something is missing here, else that of what failed
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/root.sh

release=${RELEASE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-}")}
[ "$release" ] || fail "the system does not name its release" "set RELEASE, such as bookworm"
[ $# -eq 1 ] && [ -f "$1" ] || {
    echo "usage: scripts/test-deb.sh FILE.deb" >&2
    exit 2
}
make_root "$release" "sudo make test-deb"
cp "$1" "$chroot/corehop.deb"
# The tutorial's commands, up to its last section, which measures.
sed -n '/^## Measure/q; s/^    //p' docs/guide/tutorial.md >"$chroot/tutorial.sh"
version=$(dpkg-deb --field "$1" Version)

cat >"$chroot/walk.sh" <<END
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt_get() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "\$@" >/dev/null; }
apt_get install /corehop.deb redis-server redis-tools
test "\$(corehop --version)" = "corehop $version"
test -f /usr/share/man/man1/corehop-partition.1.gz
bash -c '. /usr/share/bash-completion/completions/corehop; complete -p corehop'
sh -n /usr/share/corehop/scripts/qemu.sh
sh -n /usr/share/corehop/scripts/guest.sh
# From Debian 13 on, qemu-user has no plugins.
qemu-x86_64 --help | grep -q -e -plugin || sh /usr/share/corehop/scripts/qemu.sh
mkdir /tmp/tutorial
cd /tmp/tutorial
sh -e /tutorial.sh
grep '"hops":' hops.json
apt_get purge corehop
test -z "\$(find /usr -path '*corehop*')"
END
say "installing and trying $(basename "$1") there"
in_root /walk.sh
say "installed, recorded, searched, patched, run and purged"
