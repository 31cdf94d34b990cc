# shellcheck shell=sh
# The virtual environment of the Python programs, .venv: pinned, checked by hash, and recreated when
# pins change. It contains the symbolizer, and for tests also their requirements and the fleet.

# Prints the first Python that is new enough and can create virtual environments.
find_python() {
    for python in python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
        if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
            >/dev/null 2>&1; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

make_virtual_environment() {
    python=$(find_python) ||
        fail "no Python 3.11 or newer with venv" "install python3 and python3-venv"
    stamp=.venv/installed
    # The requirements of the tests include those of the demo.
    all="symbolizer/requirements-test.txt research/fleet/requirements.txt"
    # shellcheck disable=SC2086 # lists of files and folders, here and below
    wanted=$(environment_of $all research/fleet/pyproject.toml)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return 0
    requirements=$all
    programs="symbolizer research/fleet"
    if [ "$1" != test ]; then
        requirements=symbolizer/requirements.txt
        programs=symbolizer
        wanted=$(environment_of "$requirements")
        [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return 0
    fi

    # The folder that is emptied below must not belong to another checkout.
    [ ! -L .venv ] || fail ".venv is a symbolic link" "remove the link: each checkout has its own"
    say "making .venv for the Python programs: $programs"
    rm -f "$stamp"
    "$python" -m venv --clear .venv || fail ".venv could not be made" "see Python's message above"
    # shellcheck disable=SC2086
    if ! pip install --require-hashes $(named -r $requirements) ||
        ! pip install --no-deps --no-index --no-build-isolation $(named --editable $programs); then
        fail "the packages of $programs could not be installed" \
            "see pip's message above; they are fetched over the network once"
    fi
    echo "$wanted" >"$stamp"
}

# Prints the dependencies of .venv: pins, package definition, path, and interpreter.
environment_of() {
    {
        cat "$@" symbolizer/pyproject.toml
        pwd
        "$python" -c 'import sys; print(sys.version, sys.base_prefix)'
    } | sha256sum | cut -d ' ' -f 1
}

# Prints each name after the option: `named -r A B` prints `-r A -r B`.
named() {
    option=$1
    shift
    printf -- "$option %s " "$@"
}

# pycachesim's C code passes Python's objects as its own, which is an error in GCC from 14 on.
pip() {
    CFLAGS="${CFLAGS:-} -Wno-error=incompatible-pointer-types" \
        .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input "$@"
}
