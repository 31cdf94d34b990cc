#!/bin/sh
# `make test-deb`: installs the package into a Debian with nothing else in it, a chroot, and goes
# there through the tutorial's commands up to the patched server.
#
# Whatever the package forgets to bring or to depend on is missing there, and no checkout is in
# sight. A container would do as well, but asks for a daemon; debootstrap asks for root and for the
# mirror that apt uses already. Of the chroot nothing is left, and of what ran in it neither: it has
# processes and mounts of its own, which end with this script.
#
# usage: scripts/test-deb.sh FILE.deb, as root
# exit code: 0 all works there, 2 usage, 6 something is missing here, else that of what failed
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh

release=bookworm
[ $# -eq 1 ] && [ -f "$1" ] || {
    echo "usage: scripts/test-deb.sh FILE.deb" >&2
    exit 2
}
[ "$(id -u)" -eq 0 ] || fail "a chroot needs root" "sudo make test-deb"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    "Codename: $release" | head -n 1)
[ -n "$mirror" ] || fail "apt knows no mirror of $release" "apt-get update"

chroot=$(mktemp --directory)
trap 'rm -rf --one-file-system "$chroot"' EXIT
trap 'exit 130' INT TERM HUP
say "a new $release in $chroot"
debootstrap --variant=minbase "$release" "$chroot" "$mirror" >"$chroot.log" 2>&1 || {
    tail -n 20 "$chroot.log" >&2
    rm -f "$chroot.log"
    fail "debootstrap failed" "see its messages above"
}
rm -f "$chroot.log"
cp "$1" "$chroot/corehop.deb"
cp /etc/resolv.conf "$chroot/etc/resolv.conf"
# Nothing is started by being installed.
printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d"
chmod 755 "$chroot/usr/sbin/policy-rc.d"
# The tutorial's commands, up to its last section, which measures.
sed -n '/^## Measure/q; s/^    //p' docs/guide/tutorial.md >"$chroot/tutorial.sh"
version=$(dpkg-deb --field "$1" Version)

cat >"$chroot/walk.sh" <<END
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt_get() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "\$@" >/dev/null; }
mount -t proc proc /proc
mount -t sysfs -o ro sysfs /sys
apt_get install /corehop.deb redis-server redis-tools
test "\$(corehop --version)" = "corehop $version"
test -f /usr/share/man/man1/corehop-partition.1.gz
bash -c '. /usr/share/bash-completion/completions/corehop; complete -p corehop'
sh -n /usr/share/corehop/scripts/qemu.sh
sh -n /usr/share/corehop/scripts/guest.sh
mkdir /tmp/tutorial
cd /tmp/tutorial
sh -e /tutorial.sh
grep '"hops":' hops.json
apt_get purge corehop
test -z "\$(find /usr -path '*corehop*')"
END
say "installing and trying $(basename "$1") there"
unshare --mount --pid --fork --kill-child chroot "$chroot" /bin/sh /walk.sh
say "installed, recorded, searched, patched, run and purged"
