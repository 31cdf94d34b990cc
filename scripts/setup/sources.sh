# shellcheck shell=sh
# Source packages: fetched by apt from mirrors of Debian or Ubuntu and verified by their keys. Lists
# and archives are in $work, so those of this machine stay unchanged.

# Prints `URI suite component` for each part of an archive, `debian` or `ubuntu`, that apt knows.
archives() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep -E "^[^ ]*/$1(-security)?(/[^ ]*)? "
}

# own_lists ARCHIVE TYPES: creates $work, with lists of the parts of this archive on standard input,
# in the format of `archives`.
own_lists() {
    keys=/usr/share/keyrings/$1-archive-keyring.gpg
    case $1 in
        debian) package=debian-archive-keyring ;;
        *) package=$1-keyring ;;
    esac
    [ -e "$keys" ] || fail "the keys of $1's archive are not in $keys" "apt-get install $package"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    while read -r uri suite component; do
        printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n\n' \
            "$2" "$uri" "$suite" "$component" "$keys"
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
