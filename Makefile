# Everything here is one Cargo command or two; the file exists so that nobody has to remember them. `.ci/run` calls these targets.

CARGO ?= cargo
THREADS ?= 2
SECONDS ?= 10
DATA ?= ./data
PG ?= 127.0.0.1:5432
SEEDS ?= 5000
# Orders of the threads that `make miri` tries.
ORDERS ?= 8
FIRST ?= 0
EVENTS ?= 10000000
MINUTES ?= 30
KILL ?= 300
# Nodes of `make cluster`, whose clients connect to PG's port, or to a number, and the ports behind it.
N ?= 3

# The server and the examples are built to be ready soon (decision 0173); `release` is the fastest.
PROFILE ?= quick

# Continuous integration sets CI, and then a lock file that does not fit is an error.
LOCKED = $(if $(CI),--locked)

# The simulated cluster is compiled for tests only.
SIMULATED = --features seriatim-paxos/sim,seriatim-rsm/sim

# Northwind's tables, if they are beside the repository; else the example makes a sample of their shape.
CSV ?= $(wildcard ../shared/data/northwind/csv)
SERIATIM = $(CARGO) run --profile $(PROFILE) -p seriatim-cli --
NORTHWIND = $(CARGO) run --profile $(PROFILE) -p seriatim-northwind -- --data $(DATA)/orders $(if $(CSV),--csv $(CSV)) \
	--threads $(THREADS) --seconds $(SECONDS)
LAB = $(CARGO) run --release -p seriatim-lab --bin lab --

# Crates with models of their concurrency: loom tries all interleavings of two or three threads, shuttle random ones of many.
crates_with = $(sort $(foreach test,$(wildcard crates/*/*/tests/$(1)_*.rs),$(patsubst %/tests/,%,$(dir $(test)))))
LOOM_CRATES := $(call crates_with,loom)
SHUTTLE_CRATES := $(call crates_with,shuttle)

# The tests of SQL and of its protocol, by their files; $(ON_EVERY_ENGINE) run on every engine, whatever ENGINE says.
ON_EVERY_ENGINE = anomalies generated histories
SQL_TESTS := $(filter-out $(ON_EVERY_ENGINE),$(sort $(basename $(notdir $(wildcard crates/sql/sql/tests/*.rs crates/sql/wire/tests/*.rs)))))
LONG_SQL_TESTS = depth fuzz memory power vectors
OTHER_ENGINES = hyper twopl
# Tests of other crates may have the same name: Cargo starts each in the folder of its crate, and only those of SQL go on.
IN_SQL = --config 'target."cfg(all())".runner = ["sh", "-c", "case $$PWD in */crates/sql/sql|*/crates/sql/wire) exec \"$$0\" \"$$@\";; esac"]'

# The workspace is named, as in `unit`: for a single package Cargo would compile the dependencies with other features, once more.
sql_tests = ENGINE=$(1) $(CARGO) test --workspace $(SIMULATED) $(LOCKED) --quiet $(IN_SQL) $(addprefix --test ,$(2))

# A newline between the commands that $(foreach) makes, so that each is a line of its own and stops at failure.
define newline


endef

.DEFAULT_GOAL := help
.PHONY: help tools check run cluster orders settlement clients test beside-unit test-clients test-kafka unit engines loom shuttle sim sim-paxos sim-cluster sim-cluster-hour miri soak nightly mutants proofs proofs-if-possible bench figures tpch fmt lint tidy doc ci clean

help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

run: tools ## Serve a database to psql and every PostgreSQL client; knobs: DATA, PG, PROFILE
	$(SERIATIM) serve --data $(DATA)/server --pg $(PG)

cluster: tools ## A replicated database of N nodes on this machine, until Ctrl-C (docs/replication.md); knobs: N, PG, DATA, PROFILE
	$(SERIATIM) cluster $(N) --data $(DATA)/cluster --port $(lastword $(subst :, ,$(PG)))

orders: tools ## The embedded example (examples/northwind); knobs: DATA, CSV, THREADS, SECONDS, PROFILE
	$(NORTHWIND)

settlement: ## The example of procedures in batches (examples/settlement), in memory; knob: PROFILE
	$(CARGO) run --profile $(PROFILE) -p seriatim-settlement

clients: target/clients/bin/python ## Python clients for the tests of the server

# A virtual environment of its own, so that nothing of the machine's Python changes.
target/clients/bin/python: crates/product/cli/tests/clients/requirements.txt
	@command -v python3 >/dev/null || { echo "python3 is missing. On Debian or Ubuntu: apt-get install python3 python3-venv" >&2; exit 1; }
	python3 -m venv target/clients
	target/clients/bin/pip install --quiet --disable-pip-version-check -r crates/product/cli/tests/clients/requirements.txt
	@touch target/clients/bin/python

check: tools ## Before a commit: format, tidy, lints and unit tests of what changed since origin/main; of all: ALL=1
	$(CARGO) xtask check $(if $(ALL),--all)

# The tests of the crates wait for servers, disks and clocks as long as they compute: all else runs beside them, and its lines begin
# with its name. First comes what has a build of its own, so that neither waits for the other's. If one fails, the other goes on.
test: tools clients ## Every test: crates, SQL on all engines, models of concurrency, a mutant or two of each protocol, proofs
	$(MAKE) --no-print-directory -j2 unit beside-unit

beside-unit: tools
	@bash -ec 'set -o pipefail; for target in loom shuttle mutants proofs-if-possible engines; do \
	$(MAKE) --no-print-directory $$target 2>&1 | sed -u "s/^/$$target: /"; done'

# Each client is downloaded and built once, under target/clients. CLIENTS=a,b runs only these.
test-clients: tools ## Drivers, ORMs and tools against the server and PostgreSQL 15; writes docs/compatibility.md; knob: CLIENTS
	$(MAKE) --no-print-directory -j2 -C crates/product/cli/tests/clients
	$(CARGO) test --workspace $(SIMULATED) $(LOCKED) --test compatibility

# Out of continuous integration: it compiles a library in C, and downloads and starts brokers in Java.
test-kafka: tools target/kafka/lib/ready ## The order on Kafka, and a cluster on it, on three brokers that it starts; needs a JDK, Maven and OpenSSL's headers
	$(CARGO) clippy -p seriatim-kafka -p seriatim-cli --features seriatim-kafka/client,seriatim-cli/kafka --all-targets $(LOCKED) -- -D warnings
	CI=1 $(CARGO) test -p seriatim-kafka --features client $(LOCKED)
	CI=1 $(CARGO) test -p seriatim-cli --features kafka $(LOCKED) --test cluster on_kafka

# The broker's libraries, downloaded once.
target/kafka/lib/ready: crates/order/kafka/tests/brokers/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "A JDK and Maven are missing. On Debian or Ubuntu: apt-get install default-jdk-headless maven libssl-dev" >&2; exit 1; }
	rm -rf target/kafka/lib
	mvn --batch-mode --quiet -Dstyle.color=never --file $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(@D))
	@touch $@

unit: tools ## The tests of the crates, a minute of simulated clusters among them
	$(CARGO) test --workspace $(SIMULATED) $(LOCKED)

engines: tools ## The tests of SQL on the engines that `unit` does not run them on; a single run: ENGINE=hyper cargo test -p seriatim-sql
	$(foreach engine,$(OTHER_ENGINES),$(call sql_tests,$(engine),$(filter-out $(LONG_SQL_TESTS),$(SQL_TESTS)))$(newline)	)

loom: tools ## Every interleaving of the kernels that have a model
	$(foreach crate,$(LOOM_CRATES),RUSTFLAGS="--cfg loom" $(CARGO) test $(LOCKED) --profile models \
		--manifest-path $(crate)/Cargo.toml --test 'loom_*'$(newline)	)

shuttle: tools ## Random schedules of whole engines
	$(foreach crate,$(SHUTTLE_CRATES),$(CARGO) test $(LOCKED) --profile models --features shuttle \
		--manifest-path $(crate)/Cargo.toml --test 'shuttle_*'$(newline)	)

# An interpreter of a nightly compiler. The epoch's own library turns numbers into pointers, hence the second flag.
miri: ## Two threads of an engine under an interpreter that checks each access to memory; knob: ORDERS
	rustup toolchain install nightly --profile minimal --component miri --component rust-src
	MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-many-seeds=0..$(ORDERS)" \
		cargo +nightly miri test -p seriatim-mvto -p seriatim-twopl -p seriatim-hyper --test memory_model

sim: tools ## The simulation of the whole engine on many seeds; knob: SEEDS
	SEEDS=$(SEEDS) $(CARGO) test --release -p seriatim-mvto --test sim -- --nocapture many_seeds

# SEED=n tells the story of one.
sim-paxos: tools ## The simulation of whole clusters on many seeds; knobs: SEEDS, FIRST, SEED
	$(if $(SEED),SEED=$(SEED),SEEDS=$(SEEDS) FIRST=$(FIRST)) $(CARGO) test --release -p seriatim-rsm --features sim \
		--test sim -- --nocapture $(if $(SEED),one_seed,many_seeds)

# SEED=n tells the story of one.
sim-cluster: tools ## The simulation of replicated databases on many seeds; knobs: SEEDS, FIRST, SEED
	$(if $(SEED),SEED=$(SEED),SEEDS=$(SEEDS) FIRST=$(FIRST)) $(CARGO) test --release -p seriatim-cluster --test sim -- \
		--nocapture $(if $(SEED),one_seed,many_seeds)

# An hour of simulated time; the ordinary tests take two minutes of it.
sim-cluster-hour: tools ## An hour of simulated time under load and faults: what the nodes of a replicated database keep stays flat
	MINUTES=60 $(CARGO) test --release -p seriatim-cluster --test sim -- --nocapture what_is_kept_stays_flat

soak: tools ## Load, kill -9 and restart a server for MINUTES, and audit its books, memory and disk; knobs: MINUTES, KILL
	$(CARGO) build --release -p seriatim-cli -p seriatim-lab
	target/release/lab soak --minutes $(MINUTES) --kill-every $(KILL)

# What runs every night, beside what every change runs.
nightly: tools ## The long runs: simulations on many seeds, every mutant, the soak
	$(MAKE) sim SEEDS=20000
	$(MAKE) miri ORDERS=64
	$(MAKE) sim-paxos SEEDS=100000
	$(MAKE) sim-cluster SEEDS=10000
	$(MAKE) sim-cluster-hour
	$(foreach engine,$(OTHER_ENGINES),$(call sql_tests,$(engine),$(LONG_SQL_TESTS))$(newline)	)
	SEEDS=200 $(CARGO) test -p seriatim-cli --test dump
	BUDGET=1200 $(CARGO) test -p seriatim-cli --test cluster_histories
	$(CARGO) xtask mutants --all
	$(LAB) history --engine all --operations 1000000 --threads 2
	$(MAKE) soak

mutants: tools ## The mutants marked for every test run; all of them: cargo xtask mutants --all
	$(CARGO) xtask mutants --ci

proofs: tools ## Check the proofs, print the core again and compare, run it beside the oracle; knob: EVENTS
	$(MAKE) -C proofs EVENTS=$(EVENTS)

# Coq is optional, except in continuous integration: a change that touches no proof can be made without it.
proofs-if-possible:
	@if [ -n "$(CI)" ] || $(MAKE) -s -C proofs tools 2>/dev/null; then $(MAKE) proofs; else \
	echo "SKIPPED: the proofs were not checked, and the core was not compared with its Coq model."; \
	$(MAKE) -s -C proofs tools || true; fi

bench: tools ## A short benchmark against two-phase locking (smoke size, not a figure to quote)
	$(LAB) workload ycsb --engine mvto --compare twopl --threads 1,2 --seconds 1 --format table
	$(LAB) workload bank --engine mvto --compare twopl --threads 1,2 --seconds 1 --format table

# Interrupted, it goes on where it was; on another commit it begins anew.
figures: tools ## The papers' experiments at full scale, and a page of them: target/figures.html. Two hours on two cores, alone
	mkdir -p target
	$(LAB) run all --scale full --resume target/trials.jsonl --format json > target/figures.json
	$(LAB) report target/figures.json --out target/figures.html

# Other stores are no part of the workspace, and neither tests nor continuous integration build them. --help lists the options.
.PHONY: rivals rivals-tools
rivals: tools rivals-tools ## Our engines beside RocksDB, LMDB, redb, fjall and SQLite; knob: RIVALS="--durability fsync"
	cd rivals/stores && ROCKSDB_LIB_DIR=$$(dirname $$(cc -print-file-name=librocksdb.so)) $(CARGO) build --release $(LOCKED)
	rivals/stores/target/release/stores $(RIVALS)

# RocksDB and SQLite are the system's; the bindings of RocksDB are made from its header, by libclang.
RIVALS_PACKAGES = librocksdb-dev libsqlite3-dev libclang-dev

rivals-tools:
	@if ls /usr/include/rocksdb/c.h /usr/include/sqlite3.h >/dev/null 2>&1 && ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends $(RIVALS_PACKAGES); \
	else echo "RocksDB, SQLite or libclang is missing. On Debian or Ubuntu: apt-get install $(RIVALS_PACKAGES)" >&2; exit 1; fi

tpch: tools ## The queries of TPC-H, and others: their times on mvto and hyper; knob: TPCH="--duckdb python3 --postgresql CONNECTION" for others beside
	$(CARGO) run --release -p seriatim-tpch -- $(TPCH)

fmt: tools ## Format the code
	$(CARGO) fmt --all

lint: tools ## Formatting and clippy, warnings denied; the library also without optional features
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(SIMULATED) $(LOCKED) -- -D warnings
	$(CARGO) clippy -p seriatim --lib $(LOCKED) -- -D warnings

tidy: tools ## Arrows between crates, circles of imports, rooms of unsafe, stale names
	$(CARGO) xtask tidy

doc: tools ## The documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps $(LOCKED)

ci: ## What continuous integration runs
	.ci/run

clean: ## Remove the build; the data stays
	$(CARGO) clean

# What must be there first. rustup fetches the toolchain that rust-toolchain.toml pins; Cargo fetches the rest.
tools:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing. Install Rust from https://rustup.rs, then try again." >&2; exit 1; }
	@command -v cc >/dev/null || { echo "A C linker (cc) is missing. On Debian or Ubuntu: apt-get install gcc libc6-dev; on Fedora: dnf install gcc; on macOS: xcode-select --install." >&2; exit 1; }
	@$(CARGO) --version >/dev/null 2>&1 || rustup toolchain install
	@wanted=$$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml); found=$$(rustc --version | cut -d' ' -f2); \
	test "$$wanted" = "$$(printf '%s\n%s\n' "$$wanted" "$$found" | sort -V | head -n 1)" || \
	{ echo "Rust $$found is too old: $$wanted is needed, and rustup (https://rustup.rs) would install it by itself." >&2; exit 1; }
