# shellcheck shell=sh
# The symbolizer's virtual environment, .venv: pinned, checked by hash, made anew when pins change.

# Prints the first Python that is new enough and can make virtual environments.
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
    requirements=symbolizer/requirements.txt
    [ "$1" = test ] && requirements=symbolizer/requirements-test.txt
    stamp=.venv/installed
    # What the tests need includes what the demo needs.
    wanted=$(environment_of symbolizer/requirements-test.txt)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return 0
    wanted=$(environment_of "$requirements")
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return 0

    # What is emptied below must not be another checkout's.
    [ ! -L .venv ] || fail ".venv is a symbolic link" "remove the link: each checkout has its own"
    say "making .venv for the symbolizer"
    rm -f "$stamp"
    "$python" -m venv --clear .venv || fail ".venv could not be made" "see Python's message above"
    if ! pip install --require-hashes -r "$requirements" ||
        ! pip install --no-deps --no-index --no-build-isolation --editable symbolizer; then
        fail "the symbolizer's packages could not be installed" \
            "see pip's message above; they are fetched over the network once"
    fi
    echo "$wanted" >"$stamp"
}

# Prints what .venv depends on: pins, package definition, place and interpreter.
environment_of() {
    {
        cat "$1" symbolizer/pyproject.toml
        pwd
        "$python" -c 'import sys; print(sys.version, sys.base_prefix)'
    } | sha256sum | cut -d ' ' -f 1
}

pip() {
    .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input "$@"
}
