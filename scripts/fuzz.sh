#!/bin/sh
# `make fuzz`: runs each fuzz target for this number of seconds, starting from the repository's own
# files.
#
# libFuzzer's instrumentation is unstable in Rust; RUSTC_BOOTSTRAP enables it in the stable
# compiler, so that no second toolchain is needed.
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=$1
export RUSTC_BOOTSTRAP=1
../scripts/cargo-tool.sh cargo-fuzz 0.13.2
PATH=$PWD/../target/tools/bin:$PATH
targets="trace ring transcript lackey drmemtrace champsim perf_script plan machine elf elision"
for corpus in $targets; do
    mkdir -p "corpus/$corpus"
done
cp seeds/small.trace corpus/trace/
cp seeds/small.lackey corpus/lackey/
cp seeds/small.drmemtrace* corpus/drmemtrace/
cp seeds/small.champsim* corpus/champsim/
cp seeds/small.perf corpus/perf_script/
cp ../configs/machines/*.toml corpus/machine/
cp ../crates/plan/tests/snapshots/*.snap corpus/plan/
cp /bin/true corpus/elf/
cp /bin/true corpus/elision/
for target in $targets; do
    cargo fuzz run "$target" -- -max_total_time="$seconds" -rss_limit_mb=3000
done
