# shellcheck shell=sh
# Debian packages: finds missing ones, and installs them without starting or stopping any daemon.

POLICY=/usr/sbin/policy-rc.d
POLICY_MARK="written by the set-up of corehop, removed when it ends"

# Prints the distribution and its release: `debian 13`, `ubuntu 24.04`.
release() {
    # shellcheck source=/dev/null
    (. "${OS_RELEASE:-/etc/os-release}" && echo "${ID-} ${VERSION_ID-}") 2>/dev/null || true
}

# Prints the package of the release's postgres.
postgres_package() {
    case $(release) in
        "debian 12") echo postgresql-15 ;;
        "debian 13") echo postgresql-17 ;;
        *) echo postgresql ;;
    esac
}

# Prints the package of libtcmalloc_minimal.so.4, which newer releases renamed for 64-bit time.
tcmalloc_package() {
    case $(release) in
        "debian 12" | "ubuntu 22.04") echo libtcmalloc-minimal4 ;;
        *) echo libtcmalloc-minimal4t64 ;;
    esac
}

# Prints the package of a part of MariaDB. Ubuntu 22.04 has its version in the name.
mariadb_package() {
    case $(release) in
        "ubuntu 22.04") echo "mariadb-$1-core-10.6" ;;
        *) echo "mariadb-$1-core" ;;
    esac
}

# Prints a package of Python 3.11 or newer: itself, `-venv` or `-dev`. Ubuntu 22.04's python3 is
# older.
python_package() {
    case $(release) in
        "ubuntu 22.04") echo "python3.11${1-}" ;;
        *) echo "python3${1-}" ;;
    esac
}

# Ubuntu has chromium as a snap only.
require_browser() {
    case $(release) in
        ubuntu*)
            ! lacks chromium ||
                fail "there is no chromium, and apt has none here" "snap install chromium"
            ;;
    esac
}

# Prints the packages that provide what is missing for the purpose.
missing_packages() {
    case $1 in
        qemu)
            missing_for_qemu
            return 0
            ;;
        upstream)
            missing_for_upstream
            return 0
            ;;
        root)
            lacks debootstrap && echo debootstrap
            return 0
            ;;
        postgres)
            lacks_postgres && postgres_package
            return 0
            ;;
        parts)
            lacks qemu-system-x86_64 && echo qemu-system-x86
            lacks_postgres && postgres_package
            missing_programs_with_tests
            lacks spin && echo spin
            lacks gdb && echo gdb
            return 0
            ;;
    esac
    lacks cc && echo gcc
    lacks /usr/include/stdio.h && echo libc6-dev
    lacks readelf && echo binutils
    lacks /etc/ssl/certs/ca-certificates.crt && echo ca-certificates
    if [ "$1" = deb ]; then
        lacks dpkg-shlibdeps && echo dpkg-dev
        lacks debootstrap && echo debootstrap
        return 0
    fi
    lacks /usr/bin/qemu-x86_64 && echo qemu-user
    lacks /usr/sbin/mariadbd && mariadb_package server
    lacks_system_tables && mariadb_package server
    lacks mariadb && mariadb_package client
    lacks /usr/bin/redis-server && echo redis-server
    lacks redis-cli && echo redis-tools
    lacks capnp && echo capnproto
    lacks python3 && python_package
    has_venv || python_package -venv
    if [ "$1" = test ]; then
        lacks /usr/bin/python3 && echo python3
        lacks g++ && echo g++
        lacks valgrind && echo valgrind
        lacks strace && echo strace
        lacks_python_headers && python_package -dev
        lacks /usr/bin/memcached && echo memcached
        lacks /usr/sbin/nginx && echo nginx-light
        lacks /usr/sbin/lighttpd && echo lighttpd
        lacks /usr/sbin/dnsmasq && echo dnsmasq-base
        lacks /usr/lib/x86_64-linux-gnu/libsqlite3.so.0 && echo libsqlite3-0
        lacks /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 && echo libjemalloc2
        lacks /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 && tcmalloc_package
        lacks sqlite3 && echo sqlite3
        lacks chromium && echo chromium
    fi
    [ "$1" = bench ] && missing_for_bench
    return 0
}

# The servers that `make bench-servers` measures, and the programs of `make bench-pollute`.
missing_for_bench() {
    lacks /usr/sbin/dnsmasq && echo dnsmasq-base
    lacks /usr/sbin/apache2 && echo apache2-bin
    lacks /usr/lib/apache2/modules/mod_security2.so && echo libapache2-mod-security2
    lacks /usr/share/modsecurity-crs/rules && echo modsecurity-crs
    ls /usr/lib/apache2/modules/libphp*.so >/dev/null 2>&1 || echo libapache2-mod-php
    lacks /usr/bin/php-cgi && echo php-cgi
    lacks /usr/share/dokuwiki/doku.php && echo dokuwiki
    lacks_postgres && postgres_package
    lacks /usr/bin/memcached && echo memcached
    lacks /usr/sbin/nginx && echo nginx-light
    lacks /usr/sbin/haproxy && echo haproxy
    lacks /usr/sbin/named && echo bind9
    lacks taskset && echo util-linux
    lacks /usr/bin/bzip2 && echo bzip2
    lacks /usr/bin/xz && echo xz-utils
    lacks /usr/bin/mawk && echo mawk
    lacks sqlite3 && echo sqlite3
    return 0
}

# The requirements of a QEMU build.
missing_for_qemu() {
    lacks cc && echo gcc
    lacks /usr/include/stdio.h && echo libc6-dev
    lacks strip && echo binutils
    lacks make && echo make
    lacks ninja && echo ninja-build
    lacks pkg-config && echo pkg-config
    { lacks pkg-config || ! pkg-config --exists glib-2.0 gmodule-2.0; } && echo libglib2.0-dev
    lacks dpkg-source && echo dpkg-dev
    lacks xz && echo xz-utils
    lacks python3 && python_package
    has_venv || python_package -venv
    lacks /usr/share/keyrings/debian-archive-keyring.gpg && echo debian-archive-keyring
    return 0
}

# Additional requirements of the upstream tests of servers.
missing_for_upstream() {
    lacks tclsh && echo tcl
    { lacks perl || ! perl -MTest::More -MIO::Socket::UNIX -e 1 2>/dev/null; } && echo perl
    missing_programs_with_tests
    lacks_postgres && postgres_package
    lacks make && echo make
    lacks ps && echo procps
    lacks dpkg-source && echo dpkg-dev
    lacks xz && echo xz-utils
    lacks /usr/share/keyrings/debian-archive-keyring.gpg && echo debian-archive-keyring
    return 0
}

# Programs whose own tests are packages, too.
missing_programs_with_tests() {
    lacks stress-ng && echo stress-ng
    python=$(readlink -f /usr/bin/python3)
    lacks "/usr/lib/${python##*/}/test/test_signal.py" && echo "lib${python##*/}-testsuite"
    return 0
}

# MariaDB 11.8 has these tables in another folder than 10.11, under other names.
lacks_system_tables() {
    lacks /usr/share/mysql/mysql_system_tables.sql &&
        lacks /usr/share/mariadb/mariadb_system_tables.sql
}

# The folder of the server's programs is not in PATH.
lacks_postgres() {
    ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1
}

# True if the file, or the command in PATH, is missing.
lacks() {
    case $1 in
        /*) ! [ -e "$1" ] ;;
        *) ! command -v "$1" >/dev/null 2>&1 ;;
    esac
}

has_venv() {
    find_python >/dev/null
}

# True if the Python for .venv cannot build an extension module.
lacks_python_headers() {
    python=$(find_python) || return 0
    ! "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' >/dev/null 2>&1
}

install_packages() {
    missing=$(missing_packages "$1" | sort -u | paste -sd ' ' -)
    [ -n "$missing" ] || return 0
    failure_code=7
    lacks apt-get &&
        fail "missing, and this is no Debian: $missing" "install what these packages provide"
    become_root
    say "installing $missing"
    hold_daemons
    # shellcheck disable=SC2086 # a list of package names
    if ! apt_get update || ! apt_get install $missing; then
        fail "these packages could not be installed: $missing" \
            "see apt-get's message above; the demo needs the network once"
    fi
    # shellcheck disable=SC2086
    keep_daemons_off $missing
    release_daemons
    left=$(missing_packages "$1" | sort -u | paste -sd ' ' -)
    [ -z "$left" ] || fail "installed, but still not found: $left" "look at PATH"
    failure_code=6
}

# Sets `root` to the prefix of commands that need root.
become_root() {
    root=
    [ "$(id -u)" -ne 0 ] || return 0
    if command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        root=sudo
        return 0
    fi
    fail "missing, with neither root nor sudo at hand: $missing" \
        "as root: apt-get install $missing"
}

apt_get() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
        -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 \
        -o Acquire::Retries=3 --no-install-recommends "$@" >&2
}

# invoke-rc.d consults this policy before it starts or stops anything (101: not allowed). An
# administrator's own policy stays as it is.
hold_daemons() {
    if [ -e "$POLICY" ] && ! grep -q "$POLICY_MARK" "$POLICY"; then
        return 0
    fi
    trap release_daemons EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\n# %s\nexit 101\n' "$POLICY_MARK" | $root tee "$POLICY" >/dev/null
    $root chmod 755 "$POLICY"
}

release_daemons() {
    if [ -e "$POLICY" ] && grep -q "$POLICY_MARK" "$POLICY"; then
        $root rm -f "$POLICY"
    fi
    trap - EXIT INT TERM HUP
}

# Stops and disables the daemons of newly installed packages (an administrator's policy may have let
# them start): tests start what they need themselves.
keep_daemons_off() {
    for package in "$@"; do
        case $package in
            redis-server | memcached | haproxy) unit=$package ;;
            nginx-light) unit=nginx ;;
            libapache2-mod-* | dokuwiki) unit=apache2 ;;
            postgresql*) unit=postgresql ;;
            *) continue ;;
        esac
        $root invoke-rc.d --quiet "$unit" stop >/dev/null 2>&1 || true
        $root update-rc.d "$unit" disable >/dev/null 2>&1 || true
        $root deb-systemd-helper disable "$unit.service" >/dev/null 2>&1 || true
    done
}
