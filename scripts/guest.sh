#!/bin/sh
# Fetches the parts of a machine to record: a kernel for virtual machines and a shell.
#
# apt fetches and verifies the kernel that linux-image-cloud-amd64 (Debian) or linux-image-virtual
# (Ubuntu) names, and busybox-static (27 and 1 MB). Neither is installed, so no boot loader uses the
# kernel. Both files (15 MB) stay in ${XDG_CACHE_HOME:-~/.cache}/corehop/guest, where
# `corehop record --system` finds them.
#
# usage: scripts/guest.sh
# exit code: 0 there, 6 something is missing, 7 it could not be fetched
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh

home=${XDG_CACHE_HOME:-$HOME/.cache}/corehop/guest
work=$home/work

case $(release) in
    ubuntu*) newest=linux-image-virtual ;;
    *) newest=linux-image-cloud-amd64 ;;
esac

# Prints the package of the newest kernel, which others name: linux-image-6.8.0-31-generic.
kernel_package() {
    package=$newest
    while [ -n "$package" ]; do
        case $package in
            linux-image-[0-9]*)
                echo "$package"
                return
                ;;
        esac
        package=$(apt-cache depends "$package" 2>/dev/null |
            sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    done
}

for command in apt-get dpkg-deb; do
    command -v "$command" >/dev/null || fail "there is no $command" \
        "this needs Debian or Ubuntu; name a kernel for virtual machines and a static busybox in \
COREHOP_GUEST_KERNEL and COREHOP_GUEST_BUSYBOX"
done
kernel=$(kernel_package)
if [ -z "$kernel" ]; then
    # An image of Debian has no lists of packages.
    missing="lists of packages"
    become_root
    apt_get update || true
    kernel=$(kernel_package)
fi
[ -n "$kernel" ] || fail "apt knows no $newest" "apt-get update"
rm -rf "$work"
mkdir -p "$work" "$home/boot" "$home/bin"
trap 'rm -rf "$work"' EXIT
say "fetching $kernel and busybox-static"
failure_code=7
(cd "$work" && apt-get -qq -o APT::Sandbox::User= download "$kernel" busybox-static >&2) ||
    fail "they could not be fetched" "see apt's message above; it needs the network"
for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/unpacked"
done
cp "$work"/unpacked/boot/vmlinuz-* "$home/boot"
# Ubuntu's is readable for root only.
chmod a+r "$home"/boot/vmlinuz-*
# In /bin, or in newer releases in /usr/bin.
busybox=$(find "$work/unpacked" -type f -path '*/bin/busybox' | head -n 1)
[ -n "$busybox" ] || fail "the package busybox-static has no busybox" "please report this"
cp "$busybox" "$home/bin"
say "in $home"
