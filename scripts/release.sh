#!/bin/sh
# `make release`: all files of a release, in target/release-files/corehop-VERSION:
#
#     corehop_VERSION_amd64.deb     the package, for Debian 12 and newer
#     corehop_VERSION_amd64.debug   its symbols
#     crates/*.crate                the crates, as `cargo publish` uploads them
#     Containerfile                 makes an image from the package
#     corehop-VERSION.cdx.json      bill of materials (CycloneDX 1.6): every crate, version, license
#     NOTES.md                      the version's section of CHANGELOG.md
#     SHA256SUMS                    checksums of all of these
#
# The release is that of the commit: changes that are not committed are refused, and so is a
# CHANGELOG.md without the version or with entries under *Unreleased*.
#
# usage: scripts/release.sh, after `make deb` and `make package`
# exit code: 0 all there, 1 not ready for a release, else that of what failed
set -eu
cd "$(dirname "$0")/.."
umask 022
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# fail PROBLEM REMEDY
fail() {
    printf 'release: %s\n  remedy: %s\n' "$1" "$2" >&2
    exit 1
}

# section NAME: the lines of CHANGELOG.md under this heading.
section() {
    awk -v name="[$1]" '/^## / { is_in = $2 == name; next } is_in' CHANGELOG.md
}

[ -z "$(git status --porcelain)" ] ||
    fail "the checkout has changes" "commit them: git status lists them"
[ -z "$(section Unreleased | tr -d '[:space:]')" ] ||
    fail "CHANGELOG.md: [Unreleased] has entries" "move them under a heading [$version]"
grep --quiet "^## \[$version\] - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]$" CHANGELOG.md ||
    fail "CHANGELOG.md: no heading '## [$version] - YEAR-MONTH-DAY'" \
        "write it, or set the version in Cargo.toml"

release=target/release-files/corehop-$version
rm -rf "$release"
mkdir -p "$release/crates"
cp "target/deb/corehop_${version}_amd64.deb" "target/deb/corehop_${version}_amd64.debug" "$release"
cp target/packages/package/corehop*-"$version".crate "$release/crates"
cp scripts/deb/Containerfile "$release"
section "$version" | sed '/./,$!d' >"$release/NOTES.md"
scripts/cargo-tool.sh cargo-sbom 0.10.0
target/tools/bin/cargo-sbom --cargo-package corehop --output-format cyclone_dx_json_1_6 \
    >"$release/corehop-$version.cdx.json"
# The file of sums cannot have its own.
(
    cd "$release"
    find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >../SHA256SUMS
    mv ../SHA256SUMS .
    sha256sum --check --quiet SHA256SUMS
)
echo "$release"
