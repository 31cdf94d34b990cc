#!/bin/sh
# Builds a QEMU 10 with plugins, for servers that crash under Debian 12's (postgres forks).
#
# Debian's own newer qemu-user is static and has no plugins. The source is Debian 13's, fetched by
# apt from this machine's mirror and verified by Debian's keys; nothing of that release is
# installed. On other distributions, COREHOP_DEBIAN_MIRROR names a mirror of Debian.
# The build takes some minutes and 600 MB, most of which is freed at the end. The program stays in
# ${XDG_CACHE_HOME:-~/.cache}/corehop/qemu, where `corehop doctor` finds it.
#
# usage: scripts/qemu.sh [test]: with `test`, postgres is installed too
# exit code: 0 there, 6 something is missing, 7 it could not be fetched, 8 it could not be built
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/python.sh
. scripts/setup/sources.sh

release=trixie
home=${XDG_CACHE_HOME:-$HOME/.cache}/corehop/qemu
work=$home/work

fetch() {
    mirror=${COREHOP_DEBIAN_MIRROR:-$(archives debian |
        sed -n 's:^\([^ ]*/debian/\{0,1\}\) .*:\1:p' | head -n 1)}
    [ -n "$mirror" ] || fail "apt knows no mirror of Debian" \
        "apt-get update, or on another distribution: name a mirror in COREHOP_DEBIAN_MIRROR"
    echo "$mirror $release main" | own_lists debian 'deb deb-src'
    say "fetching QEMU's source of Debian's $release"
    failure_code=7
    # The build needs a newer meson than Debian 12's: a few Python files, which are not installed.
    (cd "$work" && own_apt apt-get update && own_apt apt-get source --download-only qemu &&
        own_apt apt-get download meson) ||
        fail "QEMU's source could not be fetched" "see apt's message above; it needs the network"
    failure_code=6
}

build() {
    python=$(find_python) ||
        fail "no Python 3.11 or newer with venv" "install python3 and python3-venv"
    say "building QEMU"
    failure_code=8
    (cd "$work" && prepare && compile) >"$home/build.log" 2>&1 ||
        fail "QEMU could not be built" "see the end of $home/build.log"
}

# apt has verified the fetched files, including the description of the source.
prepare() {
    dpkg-source --no-check -x qemu_*.dsc source &&
        dpkg-deb -x meson_*.deb meson &&
        "$python" -m venv --without-pip python &&
        packages=$(python/bin/python3 -c 'import site; print(site.getsitepackages()[0])') &&
        cp -r meson/usr/lib/python3/dist-packages/meson* "$packages"
}

compile() {
    mkdir build && cd build &&
        ../source/configure --python="$work/python/bin/python3" \
            --target-list=x86_64-linux-user --enable-plugins \
            --disable-install-blobs --disable-docs --disable-tools &&
        nice ninja qemu-x86_64 &&
        strip -o "$home/new" qemu-x86_64 &&
        "$home/new" --help | grep -q -e -plugin
}

[ "${1-}" != test ] || install_packages postgres
if [ -x "$home/qemu-x86_64" ]; then
    echo "$home/qemu-x86_64"
    exit 0
fi
install_packages qemu
rm -rf "$work"
fetch
build
mv "$home/new" "$home/qemu-x86_64"
rm -rf "$work" "$home/build.log"
echo "$home/qemu-x86_64"
