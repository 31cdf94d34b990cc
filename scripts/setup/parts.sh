# shellcheck shell=sh
# Requirements of some tests only: a machine to record, QEMU 10, vale, postgres, spin, and programs
# with their own tests.
#
# If one of these cannot be installed, the set-up continues, and the tests that need it are counted
# as skipped. Fetched and built files stay in ${XDG_CACHE_HOME:-~/.cache}/corehop, so each machine
# does this once.

install_parts() {
    parts=${XDG_CACHE_HOME:-$HOME/.cache}/corehop
    (install_packages parts) || go_on_without "these packages"
    has_guest || scripts/guest.sh || go_on_without "a machine to record"
    [ -x "$parts/qemu/qemu-x86_64" ] || scripts/qemu.sh >/dev/null || go_on_without "QEMU 10"
    scripts/vale.sh >/dev/null || go_on_without "vale"
}

# Debian 12's qemu-user has plugins. 13's has none, so one with plugins is built.
require_qemu_with_plugins() {
    parts=${XDG_CACHE_HOME:-$HOME/.cache}/corehop
    for qemu in "${COREHOP_QEMU:-qemu-x86_64}" "$parts/qemu/qemu-x86_64"; do
        ! "$qemu" --help 2>/dev/null | grep -q -e -plugin || return 0
    done
    scripts/qemu.sh >/dev/null || fail "there is no QEMU that takes plugins" "see the message above"
}

has_guest() {
    [ -x "$parts/guest/bin/busybox" ] &&
        ls "$parts"/guest/boot/vmlinuz-* >/dev/null 2>&1
}

go_on_without() {
    say "going on without $1: tests that need it are skipped"
}
