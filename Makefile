# corehop: `make demo` runs the whole pipeline on MariaDB, `make test` passes every test.

SHELL := /bin/sh
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# All Python programs are checked by the rules in symbolizer/pyproject.toml.
PYTHON := src tests ../scripts/demo ../scripts/bench ../scripts/upstream ../scripts/figures \
	../scripts/corehop_json ../scripts/suite ../scripts/tests
FLEET := ../research/fleet/src ../research/fleet/tests ../research/fleet/bench
RUFF := ../.venv/bin/ruff --config pyproject.toml
SUITE := PYTHONPATH=scripts .venv/bin/python -B -m suite

.PHONY: help demo figures test test-again build-tests lint-python lint-words test-python test-benches test-long qemu guest test-qemu10 \
	bench-hop bench-record bench-staged bench-accesstest bench-messages bench-servers \
	bench-utilisation bench-verdicts bench-optimize bench-connections \
	bench-delegation bench-truth bench-replay bench-data-hops bench-search bench-core-model \
	bench-fleet bench-system bench-syscalls bench-pollute build deb test-deb package release sample fuzz \
	soak test-runtime test-transparent test-upstream test-msrv test-ubsan test-miri test-tsan coverage \
	test-releases deny lint-c clean

# The oldest Rust that builds everything.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

help:
	@echo 'make demo   record MariaDB under TPC-C, find the split, patch mariadbd, run and compare it'
	@echo 'make test   install what is missing, build, pass every test'
	@echo 'make test-again  every test TIMES (10) times, BESIDE=load, idle or half of each, as a table'
	@echo 'make test-long  a million random cases of the simulator (COREHOP_CASES), and new ones of traces'
	@echo 'make test-benches  runs each bench for a moment'
	@echo 'make test-msrv  builds it by the oldest Rust that Cargo.toml promises'
	@echo 'make test-ubsan  the runtime ends where the C standard leaves undefined what it does'
	@echo 'make test-miri  unit tests of traces/ and simulator/ under Miri, with a nightly Rust'
	@echo 'make test-tsan  tests of crates/wire under ThreadSanitizer, with a nightly Rust'
	@echo 'make coverage  runs the tests of Rust and prints which lines they reach, a file a row'
	@echo 'make deny   licences, sources, duplicates and advisories of the crates that are used'
	@echo 'make lint-c  the layout of the C (clang-format 14)'
	@echo 'make qemu   builds QEMU 10 from Debian'\''s source, for servers that crash under 7.2 (postgres)'
	@echo 'make guest  fetches the kernel and the shell of the machine that record --system records'
	@echo 'make test-qemu10  runs the tests that record under it, postgres too'
	@echo 'make bench-replay  times replays, beside pycachesim and cachegrind, and prints a table'
	@echo 'make bench-search  times searches of the bundled sample, and prints a table'
	@echo 'make bench-core-model  redis walking a list and intersecting sets, timed and simulated'
	@echo 'make bench-fleet  a sweep of the samples over all machines, by one worker process and by two'
	@echo 'make bench-system  redis, nginx and mariadbd recorded with their kernel: its part, and what a split needs of it'
	@echo 'make bench-record  what recording costs redis, mariadbd and sqlite3, and prints a table'
	@echo 'make bench-hop  times hops and hooks of a patched program, and prints a table'
	@echo 'make bench-staged  times sessions in place and with a core for each phase, and draws it'
	@echo 'make bench-accesstest  the same over working sets, as a thesis has it, simulated and timed'
	@echo 'make bench-messages  a critical section under a lock, by messages and by hops, as a thesis'
	@echo 'make bench-pollute  L2 misses of Debian programs with a pollute buffer, as a thesis has it'
	@echo 'make bench-servers  times real servers as they are and with hops, and prints a table'
	@echo 'make bench-utilisation  times threads that take locks, beside two models, and prints a table'
	@echo 'make bench-verdicts  what auto says of redis with and without a gain, twenty times each'
	@echo 'make bench-optimize  how soon corehop optimize answers on eight loads, and how often rightly'
	@echo 'make bench-data-hops  times redis and mariadbd with 2, 4 and 8 sets or tables beyond an L2, at home by hops'
	@echo 'make bench-delegation  times memcached with its allocator on another core'
	@echo 'make bench-syscalls  system calls on another core and in batches: what one costs, and six servers'
	@echo 'make bench-connections  throughput and misses over connections, simulated and real, and draws it'
	@echo 'make bench-truth  predicted beside measured ratios: rank correlation and median error'
	@echo 'make figures  fills the tables of README.md and docs from the figures kept in research/notes'
	@echo 'make build  build the corehop command, the recorder and the load (target/release)'
	@echo 'make deb    build the Debian package and its file of symbols (target/deb)'
	@echo 'make test-deb  installs it into an empty Debian, and goes through the tutorial there; as root'
	@echo 'make package  packs each crate as it is published, and builds what was packed'
	@echo 'make release  package, crates, container file, SBOM, notes, and checksums (target/release-files)'
	@echo 'make sample records the bundled sample traces anew'
	@echo 'make fuzz   runs each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make soak   real servers hop under load, SOAK_SECONDS (600) for each way to hop'
	@echo 'make test-releases  runs demo, test and test-deb in fresh roots of Debian 12 and 13; as root'
	@echo 'make test-runtime  the runtime'\''s tests with the libc and compiler of Debian 13, in a chroot; as root'
	@echo 'make test-transparent  programs'\'' own tests, bare and patched (scripts/upstream.sh has the variables)'
	@echo 'make clean  remove everything the others made here; installed packages stay'

demo:
	@scripts/demo.sh

build:
	@scripts/setup.sh demo
	cargo build --release --locked

test: build-tests
	@$(SUITE) run

test-again: build-tests
	@$(SUITE) again --times $(or $(TIMES),10) --beside $(or $(BESIDE),half)

# The first build contains the plugin and the load, which some tests use from the command's folder.
build-tests:
	@scripts/build-tests.sh

lint-python:
	cd symbolizer && $(RUFF) check $(PYTHON) $(FLEET) && $(RUFF) format --check $(PYTHON) $(FLEET)
	cd symbolizer && MYPYPATH=../scripts ../.venv/bin/mypy $(PYTHON) && ../.venv/bin/mypy $(FLEET)

# Misspellings, and words that the documents avoid (scripts/words.txt). One page has JSON keys with
# other spellings.
lint-words:
	.venv/bin/codespell --dictionary - --dictionary scripts/words.txt \
		--ignore-words-list "crate,fo,te,ot,fro,BESIDE" \
		--skip research/pollute.md README.md CONTRIBUTING.md SECURITY.md docs research/*.md

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

# Miri runs no C, so tests that compress or open a trace are excluded; MIRI_SLOW takes minutes each.
MIRI_SLOW = addresses_in_too_many_regions there_is_room_until_a_count_is_full \
	every_piece_is_found_again
test-miri:
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri \
		cargo +nightly miri test --locked -p corehop-traces -p corehop-simulator --lib \
		-- --skip write:: --skip definition:: $(foreach test,$(MIRI_SLOW),--skip $(test))

# The standard library is rebuilt, because its synchronization must be instrumented too.
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

bench-record: build
	@cargo bench --locked --bench recording -- --whole

bench-staged:
	@cargo bench --locked --bench staged -- --whole

bench-accesstest:
	@cargo bench --locked --bench accesstest -- --whole

bench-messages:
	@cargo bench --locked --bench messages -- --whole

# The table omits servers that cannot be installed, and reports this.
bench-servers:
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench servers -- --whole

bench-verdicts: build
	@cargo bench --locked --bench servers -- --verdicts

# The table omits servers that cannot be installed, and reports this.
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

# The tables omit servers that are not installed, and report this.
bench-connections: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked --bench connections -- --whole

bench-truth:
	@cargo bench --locked --bench truth -- --whole

bench-search:
	@cargo bench --locked --bench search -- --whole

bench-utilisation:
	@cargo bench --locked -p corehop-utilisation --bench utilisation -- --whole

bench-core-model: build
	@cargo bench --locked --bench core_model -- --whole

# Only counts, so it may run in parallel with anything.
bench-system: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@PYTHONPATH=scripts .venv/bin/python -B -m bench.operating_system

# Also only counts. The table omits programs that are not installed, and reports this.
bench-pollute: build
	@scripts/setup.sh bench || [ $$? -eq 7 ]
	@cargo bench --locked -p corehop-lab --bench pollute -- --whole

# In a separate environment, .venv, which the tests need too.
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

# Also for a checkout with changes. In a separate target folder, because QEMU's plugin has the same
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
