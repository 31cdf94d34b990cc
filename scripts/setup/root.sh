# shellcheck shell=sh
# A fresh Debian of some release in a folder, $chroot, for as long as the script runs that asks for
# it. A container would do as well, but asks for a daemon; debootstrap asks for root and for the
# mirror that apt uses already. What runs there has processes and mounts of its own (in_root), which
# end with it. Whoever asks has read packages.sh.

# make_root RELEASE COMMAND: makes it; COMMAND is how to call the script as root.
make_root() {
    [ "$(id -u)" -eq 0 ] || fail "a chroot needs root" "$2"
    install_packages root
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        grep -v -e security -e updates | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no mirror of Debian" "apt-get update"
    chroot=$(mktemp --directory)
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
    # Authorities that this machine's administrator trusts, for registries behind a proxy.
    mkdir -p "$chroot/usr/local/share"
    [ ! -d /usr/local/share/ca-certificates ] ||
        cp -r /usr/local/share/ca-certificates "$chroot/usr/local/share"
    # Nothing is started by being installed.
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d"
    chmod 755 "$chroot/usr/sbin/policy-rc.d"
}

# in_root SCRIPT [FOLDER]: runs a script that lies there. FOLDER of here can be read there, by the
# same name. Nobody outside sees that mount, so what removes the chroot cannot reach it.
in_root() {
    [ -z "${2-}" ] || mkdir -p "$chroot$2"
    unshare --mount --pid --fork --kill-child sh -eu -c '
        [ -z "$3" ] || mount --bind "$3" "$1$3"
        [ -z "$3" ] || mount -o remount,ro,bind "$1$3"
        exec chroot "$1" /bin/sh "$2"' sh "$chroot" "$1" "${2-}"
}
