# shellcheck shell=sh
# Debian's source packages: fetched by apt from this machine's mirrors and verified by Debian's
# keys. Lists and archives are in $work, so those of this machine stay unchanged.

DEBIAN_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints `URI suite component` for each part of Debian's archive that apt knows.
debian_archives() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep -E '^[^ ]*/debian(-security)?(/[^ ]*)? '
}

# own_lists TYPES: creates $work, with lists of the archives on standard input, in the format of
# debian_archives.
own_lists() {
    [ -e "$DEBIAN_KEYS" ] ||
        fail "Debian's keys are not in $DEBIAN_KEYS" "apt-get install debian-archive-keyring"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    while read -r uri suite component; do
        printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n\n' \
            "$1" "$uri" "$suite" "$component" "$DEBIAN_KEYS"
    done >"$work/release.sources"
}

# own_apt COMMAND ARGUMENTS
own_apt() {
    command=$1
    shift
    "$command" -qq -o "Dir::Etc::SourceList=$work/release.sources" \
        -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists" \
        -o "Dir::Cache=$work/cache" -o APT::Sandbox::User= -o Acquire::Languages=none \
        -o Acquire::Retries=3 "$@" >&2
}
