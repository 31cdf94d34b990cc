# corehop: `make demo` runs the whole pipeline on MariaDB, `make test` runs all tests.

SHELL := /bin/sh
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# symbolizer/pyproject.toml has the lint rules for all Python programs.
PYTHON := src tests ../scripts/demo ../scripts/bench ../scripts/upstream ../scripts/figures \
	../scripts/corehop_json ../scripts/prose ../scripts/suite ../scripts/tests
FLEET := ../research/fleet/src ../research/fleet/tests ../research/fleet/bench
RUFF := ../.venv/bin/ruff --config pyproject.toml
SUITE := PYTHONPATH=scripts .venv/bin/python -B -m suite

.PHONY: help demo figures test test-again build-tests lint-python lint-words lint-prose test-python test-benches test-long qemu guest test-qemu10 \
	bench-hop bench-record bench-staged bench-accesstest bench-messages bench-servers \
	bench-utilisation bench-verdicts bench-optimize bench-connections \
	bench-delegation bench-truth bench-what-if bench-replay bench-data-hops bench-search bench-core-model \
	bench-fleet bench-system bench-syscalls bench-pollute bench-many-cores build deb test-deb package release sample fuzz \
	soak test-runtime test-transparent test-upstream test-msrv test-ubsan test-miri test-tsan coverage \
	test-releases deny lint-c clean

# The oldest Rust that builds the whole workspace.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

help:
	@echo 'make demo   records MariaDB under TPC-C, finds a split, patches mariadbd, runs it and compares both'
	@echo 'make test   installs missing packages, builds, and runs all tests; all must pass'
	@echo 'make test-again  runs all tests TIMES (10) times under load, idle, or half of each (BESIDE=load|idle|half)'
	@echo 'make test-long  tests the simulator with COREHOP_CASES (a million) random cases, and traces with new ones'
	@echo 'make test-benches  runs each bench briefly'
	@echo 'make test-msrv  checks the build with the oldest Rust that Cargo.toml promises'
	@echo 'make test-ubsan  tests the runtime; it aborts on undefined behavior (UBSan)'
	@echo 'make test-miri  runs unit tests of traces/ and simulator/ under Miri, with a nightly Rust'
	@echo 'make test-tsan  runs the tests of crates/wire under ThreadSanitizer, with a nightly Rust'
	@echo 'make coverage  runs the Rust tests and prints the covered lines per file'
	@echo 'make deny   checks licenses, sources, duplicates and advisories of the dependencies'
	@echo 'make lint-c  checks the formatting of the C code (clang-format 14)'
	@echo 'make qemu   builds QEMU 10 from Debian'\''s source, for servers that crash under 7.2 (postgres)'
	@echo 'make guest  fetches the kernel and the shell of the virtual machine that record --system records'
	@echo 'make test-qemu10  runs the tests that record under QEMU 10, including postgres'
	@echo 'make bench-replay  times replays, compared with pycachesim and cachegrind, and prints a table'
	@echo 'make bench-search  times searches of the bundled sample, and prints a table'
	@echo 'make bench-core-model  times and simulates redis walking a list and intersecting sets'
	@echo 'make bench-fleet  times a sweep of the samples over all machines, with one and two worker processes'
	@echo 'make bench-system  records redis, nginx and mariadbd with their kernel: its share, and its effect on splits'
	@echo 'make bench-record  measures the cost of recording redis, mariadbd and sqlite3, and prints a table'
	@echo 'make bench-what-if  compares predicted with measured false sharing, and prints a table'
	@echo 'make bench-hop  times hops and hooks of a patched program, and prints a table'
	@echo 'make bench-staged  times sessions in place and with one core per phase, and draws a chart'
	@echo 'make bench-accesstest  the same over working sets, as in a thesis, simulated and timed'
	@echo 'make bench-messages  times a critical section under a lock, by messages and by hops, as in a thesis'
	@echo 'make bench-pollute  counts L2 misses of Debian programs with a pollute buffer, as in a thesis'
	@echo 'make bench-servers  times real servers unmodified and with hops, and prints a table'
	@echo 'make bench-utilisation  times threads that take locks, compared with two models, and prints a table'
	@echo 'make bench-verdicts  runs auto on redis with and without a gain, twenty times each, and prints its verdicts'
	@echo 'make bench-optimize  measures time and correctness of corehop optimize on eight loads'
	@echo 'make bench-data-hops  times redis and mariadbd with 2, 4 and 8 sets or tables beyond an L2, each on one core'
	@echo 'make bench-delegation  times memcached with its allocator on a separate core'
	@echo 'make bench-syscalls  times system calls on another core and in batches: each call, and six servers'
	@echo 'make bench-connections  draws throughput and misses by number of connections, simulated and real'
	@echo 'make bench-truth  compares predicted with measured ratios: rank correlation and median error'
	@echo 'make bench-many-cores  packs a folder (target/many-cores) that measures another machine in ten minutes'
	@echo 'make figures  fills the tables of README.md and docs from the figures in research/notes'
	@echo 'make build  builds the corehop command, the recorder and the load (target/release)'
	@echo 'make deb    builds the Debian package and its symbol file (target/deb)'
	@echo 'make test-deb  installs the package into an empty Debian, and runs the tutorial there; as root'
	@echo 'make package  packs each crate as published, and builds the packed crates'
	@echo 'make release  package, crates, container file, SBOM, notes, and checksums (target/release-files)'
	@echo 'make sample  records the bundled sample traces again'
	@echo 'make fuzz   runs each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make soak   runs real servers with hops under load, SOAK_SECONDS (600) per server and backend'
	@echo 'make test-releases  runs demo, test and test-deb in fresh roots of Debian 12 and 13; as root'
	@echo 'make test-runtime  runs the runtime'\''s tests with libc and compiler of Debian 13, in a chroot; as root'
	@echo 'make test-transparent  runs programs'\'' own tests, unmodified and patched (variables: scripts/upstream.sh)'
	@echo 'make clean  removes all build and test output here; installed packages stay'

demo:
	@scripts/demo.sh

build:
	@scripts/setup.sh demo
	cargo build --release --locked

test: build-tests
	@$(SUITE) run

test-again: build-tests
	@$(SUITE) again --times $(or $(TIMES),10) --beside $(or $(BESIDE),half)

# Also builds the plugin and the load: some tests use those next to the command.
build-tests:
	@scripts/build-tests.sh

lint-python:
	cd symbolizer && $(RUFF) check $(PYTHON) $(FLEET) && $(RUFF) format --check $(PYTHON) $(FLEET)
	cd symbolizer && MYPYPATH=../scripts ../.venv/bin/mypy $(PYTHON) && ../.venv/bin/mypy $(FLEET)

# Finds misspellings. Skips a page with JSON keys in another spelling.
lint-words:
	.venv/bin/codespell \
		--ignore-words-list "crate,fo,te,ot,fro,tage,BESIDE" \
		--skip research/pollute.md README.md CONTRIBUTING.md SECURITY.md docs research/*.md

# Checks the wording of documents, help and messages by vale (scripts/vale); `make test` does too.
lint-prose:
	@scripts/vale.sh >/dev/null
	cargo build --locked -p corehop -p corehop-lab -p corehop-tpcc
	cd symbolizer && PYTHONPATH=../scripts ../.venv/bin/python -B -m pytest -q ../scripts/tests/test_prose.py

test-python: lint-python
	cd symbolizer && PYTHONPATH=../scripts ../.venv/bin/python -B -m pytest -q tests ../scripts/tests
	cd research/fleet && ../../.venv/bin/python -B -m pytest -q tests

test-long:
	COREHOP_CASES=$(or $(COREHOP_CASES),1000000) cargo test --release --locked \
		-p corehop-simulator --test simulator the_simulator_equals_the_oracle::
	COREHOP_CASES=$(or $(COREHOP_CASES),50000) cargo test --release --locked \
		-p corehop-simulator --test simulator -- \
		a_replay_equals pages_are_where posted_calls_are_made
	COREHOP_CASES=$(or $(COREHOP_CASES),50000) cargo test --release --locked \
		-p corehop-lab --test lab -- pollute_buffers_equal a_modelled_kernel
	COREHOP_MACHINES=$(or $(COREHOP_MACHINES),200) cargo test --release --locked --test commands second_oracle::
	PROPTEST_CASES=$(or $(PROPTEST_CASES),20000) cargo test --release --locked -p corehop-traces \
		--test traces random

test-msrv:
	rustup toolchain install $(MSRV) --profile minimal
	CARGO_TARGET_DIR=target/msrv cargo +$(MSRV) check --workspace --all-targets --locked

test-ubsan:
	@scripts/setup.sh test
	COREHOP_UBSAN=1 CARGO_TARGET_DIR=target/ubsan cargo test --locked -p corehop-patcher --no-fail-fast

# Miri cannot run C, so tests that compress or open a trace are skipped. Tests in MIRI_SLOW take
# minutes each.
MIRI_SLOW = addresses_in_too_many_regions there_is_room_until_a_count_is_full \
	every_piece_is_found_again
test-miri:
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri \
		cargo +nightly miri test --locked -p corehop-traces -p corehop-simulator --lib \
		-- --skip write:: --skip definition:: $(foreach test,$(MIRI_SLOW),--skip $(test))

# Rebuilds the standard library, so that its synchronization is instrumented too.
test-tsan:
	RUSTFLAGS=-Zsanitizer=thread PROPTEST_CASES=8 CARGO_TARGET_DIR=target/tsan \
		cargo +nightly test --locked -Zbuild-std --target x86_64-unknown-linux-gnu \
		-p corehop-wire --tests

coverage:
	@scripts/setup.sh test
	rustup component add llvm-tools
	@scripts/cargo-tool.sh cargo-llvm-cov 0.9.1
	PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo llvm-cov --workspace --locked --no-fail-fast

deny:
	@scripts/deny.sh

lint-c:
	clang-format --dry-run -Werror runtime/*/*.[ch]

qemu:
	@scripts/qemu.sh

guest:
	@scripts/guest.sh

test-benches:
	@scripts/setup.sh test
	cargo build --locked
	cargo test --locked -p corehop -p corehop-lab -p corehop-utilisation \
		--no-fail-fast --benches

test-qemu10:
	@scripts/setup.sh test
	@scripts/qemu.sh test
	cargo test --locked -p corehop --test record -- --nocapture needs_postgres needs_qemu10

figures:
	@PYTHONPATH=scripts python3 -B -m figures fill

bench-hop:
	@cargo bench --locked --bench hop -- --whole

bench-what-if: build
	@cargo bench --locked --bench what_if -- --whole

bench-record: build
	@cargo bench --locked --bench recording -- --whole

bench-staged:
	@cargo bench --locked --bench staged -- --whole

bench-accesstest:
	@cargo bench --locked --bench accesstest -- --whole

bench-messages:
	@cargo bench --locked --bench messages -- --whole

# The table skips servers that cannot be installed, with a note.
bench-servers: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@scripts/calibrated.sh cargo bench --locked --bench servers -- --whole

bench-verdicts: build
	@cargo bench --locked --bench servers -- --verdicts

# The table skips servers that cannot be installed, with a note.
bench-optimize: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench servers -- --optimize

bench-data-hops:
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench servers -- --data-hops

bench-delegation:
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench servers -- --delegation

bench-syscalls:
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench syscalls -- --whole

# The tables skip what is not installed, with a note.
bench-connections: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench connections -- --whole

# Packs servers that are installed, and reports the others.
bench-many-cores: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench many_cores -- --pack

bench-truth:
	@cargo bench --locked --bench truth -- --whole

bench-search:
	@cargo bench --locked --bench search -- --whole

bench-utilisation:
	@cargo bench --locked -p corehop-utilisation --bench utilisation -- --whole

bench-core-model: build
	@cargo bench --locked --bench core_model -- --whole

# Only counts, so other load on the machine does not matter.
bench-system: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@PYTHONPATH=scripts .venv/bin/python -B -m bench.operating_system

# Only counts. The table skips programs that are not installed, and lists them.
bench-pollute: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked -p corehop-lab --bench pollute -- --whole

# Uses the virtual environment .venv, which the tests need too.
bench-fleet: build
	@scripts/setup.sh test
	@.venv/bin/python -B research/fleet/bench/speed_up.py

bench-replay:
	@scripts/bench.sh

deb:
	@scripts/setup.sh deb
	cargo build --profile profiling --locked
	@scripts/deb.sh

test-deb: deb
	@scripts/test-deb.sh target/deb/*.deb

# Also packs uncommitted changes. Uses a separate target folder, because QEMU's plugin has the same
# name in all builds.
package:
	CARGO_TARGET_DIR=target/packages cargo package --workspace --locked --allow-dirty \
		--exclude corehop-tpcc --exclude corehop-second-oracle --exclude corehop-lab \
		--exclude corehop-utilisation

release: deb package
	@scripts/release.sh

sample: build
	@scripts/sample.sh

fuzz:
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

test-releases:
	@scripts/test-releases.sh $(RELEASES)

test-runtime:
	@scripts/test-runtime.sh $(RELEASE)

soak:
	@scripts/setup.sh test
	SOAK_SECONDS=$(or $(SOAK_SECONDS),600) nice cargo test --locked -p corehop-patcher \
		--test patcher soak:: -- --nocapture --test-threads=1

test-transparent test-upstream:
	@nice scripts/upstream.sh

clean:
	rm -rf target scratch .venv symbolizer/src/corehop_symbolizer.egg-info \
		research/fleet/src/corehop_fleet.egg-info
	find symbolizer research/fleet scripts -name __pycache__ -type d -prune -exec rm -r {} +
