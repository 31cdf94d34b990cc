# shellcheck shell=sh
# Rust is installed by rustup, which Debian packages from 13 on, and Ubuntu from 24.04 on. Their own
# versions of Rust are too old.

require_rust() {
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    remedy="install rustup (https://rustup.rs), run 'rustup default stable', then try again"
    case $(release) in
        "debian 12" | "ubuntu 22.04") ;;
        debian* | ubuntu*)
            remedy="apt-get install rustup, run 'rustup default stable', then try again"
            ;;
    esac
    command -v cargo >/dev/null 2>&1 ||
        fail "Rust is missing ($needed or newer is needed)" "$remedy"
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2)
    [ -n "$found" ] || fail "cargo does not answer to --version" "$remedy"
    oldest=$(printf '%s\n%s\n' "$needed" "$found" | sort -V | head -n 1)
    [ "$oldest" = "$needed" ] ||
        fail "Rust $found is too old ($needed or newer is needed)" "$remedy"
}
