# shellcheck shell=sh
# A fresh Debian of a given release in a folder, $chroot, until the calling script ends. A container
# would also work, but needs a daemon; debootstrap needs root and the mirror that apt already uses.
# Programs in the chroot have separate processes and mounts (in_root), which end with it. The caller
# must have sourced packages.sh.

# make_root RELEASE COMMAND: creates it; COMMAND shows how to call the script as root.
make_root() {
    [ "$(id -u)" -eq 0 ] || fail "a chroot needs root" "$2"
    install_packages root
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        grep -v -e security -e updates | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no mirror of Debian" "apt-get update"
    chroot=$(mktemp --directory)
    # Users other than root pass through it, as apt's and those of the tests.
    chmod 755 "$chroot"
    trap 'rm -rf --one-file-system "$chroot"' EXIT
    trap 'exit 130' INT TERM HUP
    say "a new $1 in $chroot"
    debootstrap --variant=minbase "$1" "$chroot" "$mirror" >"$chroot.log" 2>&1 || {
        tail -n 20 "$chroot.log" >&2
        rm -f "$chroot.log"
        fail "debootstrap failed" "see its messages above"
    }
    rm -f "$chroot.log"
    cp /etc/resolv.conf "$chroot/etc/resolv.conf"
    # Certificate authorities that this machine trusts, for registries behind a proxy.
    mkdir -p "$chroot/usr/local/share"
    [ ! -d /usr/local/share/ca-certificates ] ||
        cp -r /usr/local/share/ca-certificates "$chroot/usr/local/share"
    # Installed packages start no daemons.
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d"
    chmod 755 "$chroot/usr/sbin/policy-rc.d"
}

# in_root SCRIPT [FOLDER]: runs a script inside the chroot, with /proc, /sys, and terminals. FOLDER
# of this machine is readable there under the same name. The mounts are invisible outside, so
# removing the chroot cannot reach it. The chroot becomes the root of its mount namespace, because
# the kernel refuses new namespaces (unshare), which some tests make, to a chrooted process.
in_root() {
    [ -z "${2-}" ] || mkdir -p "$chroot$2"
    unshare --mount --pid --fork --kill-child sh -eu -c '
        mount --bind "$1" "$1"
        [ -z "$3" ] || mount --bind "$3" "$1$3"
        [ -z "$3" ] || mount -o remount,ro,bind "$1$3"
        mount -t proc proc "$1/proc"
        mount -t sysfs -o ro sysfs "$1/sys"
        mount -t devpts -o ptmxmode=666 devpts "$1/dev/pts"
        cd "$1"
        pivot_root . mnt
        exec chroot . /bin/sh -eu -c "umount -l /mnt; exec /bin/sh $2"' sh "$chroot" "$1" "${2-}"
}
