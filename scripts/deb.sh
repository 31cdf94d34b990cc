#!/bin/sh
# `make deb`: the Debian package, in target/deb, and a file with its program's symbols.
#
# The package has what `cargo install` installs, and also manual pages, completions, the header for
# servers that mark their requests, licenses, and the source of QEMU's plugin, which the command
# carries and whose license asks for it. Rejected: cargo-deb, which compiles for minutes before it
# packs anything; and debhelper, because only two of its many steps are needed here.
#
# Debuggers and perf find the symbols by the program's build id or by the link to the file's name.
#
# usage: scripts/deb.sh, after `cargo build --profile profiling`
set -eu
cd "$(dirname "$0")/.."
umask 022
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
built=target/deb
# Where dpkg-shlibdeps looks for it.
package=$built/debian/corehop
share=$package/usr/share
documents=$share/doc/corehop
# Equal commits give equal packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

place() {
    install -D --mode=644 "$@"
}

# compress FILE...: without name and time of day, as Debian's policy requires.
compress() {
    gzip --best --no-name "$@"
}

rm -rf "$built"
install -D --mode=755 target/profiling/corehop "$package/usr/bin/corehop"
corehop=$package/usr/bin/corehop
symbols=$built/corehop_${version}_amd64.debug
objcopy --only-keep-debug --compress-debug-sections "$corehop" "$symbols"
objcopy --strip-all --add-gnu-debuglink="$symbols" "$corehop"
"$corehop" man "$share/man/man1"
compress "$share"/man/man1/*
"$corehop" completions bash | place /dev/stdin "$share/bash-completion/completions/corehop"
"$corehop" completions zsh | place /dev/stdin "$share/zsh/vendor-completions/_corehop"
"$corehop" completions fish | place /dev/stdin "$share/fish/vendor_completions.d/corehop.fish"
place runtime/include/corehop.h "$package/usr/include/corehop.h"

author=$(sed -n 's/^Maintainer: //p' scripts/deb/control)
printf 'corehop (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' \
    "$version" "$author" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" |
    place /dev/stdin "$documents/changelog"
compress "$documents/changelog"
for page in README.md CHANGELOG.md docs/*.md docs/*/*.md docs/*/*.png; do
    place "$page" "$documents/$page"
done
# They build QEMU 10, for servers that crash under Debian's, and fetch a machine to record.
for script in scripts/qemu.sh scripts/guest.sh scripts/setup/*.sh; do
    place "$script" "$share/corehop/$script"
done
place scripts/deb/copyright "$documents/copyright"
sed 's/^$/./; s/^/ /' LICENSE-MIT >>"$documents/copyright"
source=$built/source
scripts/deb/plugin-source.sh "$source"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    --mode=u=rwX,go=rX --directory="$source" . | compress \
    >"$documents/qemu-plugin-source.tar.gz"
rm -rf "$source"

mkdir "$package/DEBIAN"
printf 'Source: corehop\n\nPackage: corehop\nArchitecture: amd64\n' >"$built/debian/control"
libraries=$(cd "$built" && dpkg-shlibdeps -O "${corehop#"$built"/}" | sed 's/^shlibs:Depends=//')
{
    printf 'Package: corehop\nVersion: %s\nArchitecture: amd64\n' "$version"
    printf 'Installed-Size: %s\n' "$(du --summarize --apparent-size --block-size=1K "$package/usr" |
        cut -f 1)"
    printf 'Depends: %s, %s\n' "$libraries" \
        'libstdc++6, python3 (>= 3.11), python3-pyelftools, qemu-user'
    cat scripts/deb/control
} >"$package/DEBIAN/control"
(cd "$package" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$package" "$built" >/dev/null
rm -rf "$built/debian"
ls "$built"/*.deb "$symbols"
