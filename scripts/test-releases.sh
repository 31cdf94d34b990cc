#!/bin/sh
# `make test-releases`: the README's commands in fresh roots of Debian releases, one after another.
#
# Each root has what debootstrap installs, make, and this machine's Rust; the commands must install
# everything else. They run on a copy of the commit that is checked out, so that no existing build
# output helps them.
#
# usage: scripts/test-releases.sh [RELEASE ...]   (default: bookworm trixie), as root
# TARGETS (default: demo test test-deb) are the commands.
# exit code: 0 all pass, 1 some do not, 6 something is missing here
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/report.sh
. scripts/setup/packages.sh
. scripts/setup/root.sh

[ $# -gt 0 ] || set -- bookworm trixie
targets=${TARGETS:-demo test test-deb}
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
rust=$(rustc --print sysroot) || fail "there is no Rust" "install rustup"
logs=$PWD/target/releases
mkdir -p "$logs"
outcome=0
table=

for release; do
    make_root "$release" "sudo make test-releases"
    git archive --prefix=corehop/ HEAD | tar -x -C "$chroot"
    cat >"$chroot/walk.sh" <<END
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
export PATH="$rust/bin:\$PATH"
mount -t tmpfs tmpfs /dev/shm || true
apt-get -qq update
apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install make git >/dev/null
cd /corehop
git init -q . && git add -A
git -c user.name=test -c user.email=test@example.org commit -q -m copy
for target in $targets; do
    began=\$(date +%s)
    code=0
    make \$target >"/\$target.log" 2>&1 || code=\$?
    echo "\$target \$code \$((\$(date +%s) - began))" >>/outcomes
done
END
    say "running $targets there"
    in_root /walk.sh "$rust" || outcome=1
    for target in $targets; do
        [ ! -f "$chroot/$target.log" ] || cp "$chroot/$target.log" "$logs/$release-$target.log"
        found=$(sed -n "s/^$target //p" "$chroot/outcomes" 2>/dev/null || true)
        [ "${found%% *}" = 0 ] || outcome=1
        table="$table$release $target ${found:-not-run -}
"
    done
    rm -rf --one-file-system "$chroot"
done
printf '%s' "$table" | awk '
    { printf "%-10s %-10s exit code %-8s %6s s\n", $1, $2, $3, $4 }
    $3 == "not-run" { $3 = $4 = "null" }
    { rows = rows (NR > 1 ? "," : "") "{\"release\":\"" $1 "\",\"command\":\"" $2 "\"," }
    { rows = rows "\"exit_code\":" $3 ",\"seconds\":" $4 "}" }
    END { printf "{\"releases\":[%s]}\n", rows }'
echo "logs: $logs" >&2
exit "$outcome"
