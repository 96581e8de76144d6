# The short way in. Meson and Ninja do the work; HACKING.md shows their own commands.
BUILD      := build
TEST_BUILD := build-test
TSAN_BUILD := build-tsan
FUZZ_BUILD := build-fuzz
FAST_BUILD := build-fuzz-fast
COVER_BUILD := build-coverage
TINY_BUILD := build-tiny
ARGS       ?=
TARGET     ?= guard
SECONDS    ?= 60
SCALE      ?= 1
export SCALE
RUNS       ?= 10000000

SANITIZE := -Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all
NPM_DONE := test/sdk/node_modules/.package-lock.json
PEERS    := test/bench/peers
PEERS_NODE := NODE_OLDEST=22 tools/node.sh

.PHONY: all run test test-tsan test-process test-sdks tiny unit mutants mutant-table bench bench-curves bench-peers fuzz fuzz-all coverage deps clean help

all: $(BUILD)/build.ninja ## build build/rondo and build/sim
	@ninja -C $(BUILD) rondo sim

run: ## install what is missing, build, start the server on ./rondo.db (ARGS="--data FILE ...")
	@tools/deps.sh build
	@$(MAKE) --no-print-directory all
	@exec $(BUILD)/rondo server $(ARGS)

test: ## install what is missing, build with ASan and UBSan, run every test
	@tools/deps.sh build test
	@tools/node.sh --install
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory tiny
	@$(MAKE) --no-print-directory $(NPM_DONE) $(TEST_BUILD)/build.ninja
	@ninja -C $(TEST_BUILD)
	@tools/run_tests.sh $(TEST_BUILD) $(ARGS)

# Not what has one thread (sim but for a few seeds), runs no code of ours (tidy, contract), looks at memory (torture), or
# runs the release binary (process).
test-tsan: ## the same tests with ThreadSanitizer, where any report ends the process (ARGS="--suite sdk")
	@tools/deps.sh build test
	@tools/node.sh --install
	@$(MAKE) --no-print-directory $(NPM_DONE) $(TSAN_BUILD)/build.ninja
	@ninja -C $(TSAN_BUILD)
	@$(TSAN_BUILD)/sim --seeds 1..6 --jobs 2
	@TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" tools/run_tests.sh $(TSAN_BUILD) --timeout-multiplier 4 \
		--no-suite sim --no-suite tidy --no-suite contract --no-suite torture --no-suite process $(ARGS)

test-process: ## the long form of the process suite, against the release binary: hours (ARGS="'process kills'" for one file)
	@tools/deps.sh build test
	@tools/node.sh --install
	@$(MAKE) --no-print-directory all tiny $(NPM_DONE) $(TEST_BUILD)/build.ninja
	@PROCESS_LONG=1 tools/run_tests.sh $(TEST_BUILD) --suite process --timeout-multiplier 0 $(ARGS)

test-sdks: ## the SDKs in Python and Java, and Mistral's client in Python, against the release binary (ARGS=java for one)
	@tools/deps.sh build
	@$(MAKE) --no-print-directory all
	@tools/sdks.sh $(ARGS)

tiny: $(TINY_BUILD)/build.ninja ## build build-tiny/rondo, whose limits are small, for the tests that reach them
	@ninja -C $(TINY_BUILD) rondo

unit: $(TEST_BUILD)/build.ninja ## only the unit tests (ARGS=arena for one)
	@ninja -C $(TEST_BUILD)
	@tools/run_tests.sh $(TEST_BUILD) --suite unit $(ARGS)

mutants: $(BUILD)/build.ninja ## plant known bugs one by one, each of which must be found (ARGS="--only NAME --count")
	@tools/mutate.py $(BUILD) $(ARGS)

mutant-table: ## print the planted bugs as a table
	@tools/mutant_table.py

bench: ## benchmarks: a table, and JSON lines in build/bench.json (SCALE=0.1 for a quick look)
	@tools/deps.sh build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD) rondo bench
	@test/bench/run.sh $(BUILD)

bench-curves: ## cost as the number of open workflows and schedules grows, to a million of each (SCALE=0.1: to 100,000)
	@tools/deps.sh build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD) rondo bench
	@$(BUILD)/test/bench_load --server $(BUILD)/rondo --dir $(BUILD) --scale $(SCALE) --only curves --json $(BUILD)/curves.json

bench-peers: ## Rondo beside Restate and DBOS in one run, with ratios (ARGS="--rounds 1 --cases idle,trivial")
	@tools/deps.sh build peers
	@$(PEERS_NODE) --install
	@$(MAKE) --no-print-directory $(PEERS)/node_modules/.package-lock.json $(BUILD)/build.ninja
	@ninja -C $(BUILD) rondo bench
	@$(PEERS_NODE) $(PEERS)/run.mjs --server $(BUILD)/rondo --generator $(BUILD)/test/bench_load \
		--dir $(BUILD) --json $(BUILD)/bench-peers.json $(ARGS)

fuzz: $(FUZZ_BUILD)/build.ninja ## fuzz one target (TARGET=grpc SECONDS=600); finds go to build-fuzz/
	@ninja -C $(FUZZ_BUILD) test/fuzz_$(TARGET)
	@mkdir -p $(FUZZ_BUILD)/corpus/$(TARGET)
	$(FUZZ_BUILD)/test/fuzz_$(TARGET) -max_total_time=$(SECONDS) -max_len=65536 -print_final_stats=1 \
		-artifact_prefix=$(FUZZ_BUILD)/ $(FUZZ_BUILD)/corpus/$(TARGET) test/fuzz/corpus/$(TARGET)

fuzz-all: $(FUZZ_BUILD)/build.ninja $(FAST_BUILD)/build.ninja ## fuzz every target until each had RUNS runs, and print a table
	@for build in $(FUZZ_BUILD) $(FAST_BUILD); do \
		ninja -C $$build $$(cd test/fuzz && ls fuzz_*.c | sed 's,\(.*\)\.c,test/\1,'); done
	@FUZZ_BUILD=$(FUZZ_BUILD) FAST_BUILD=$(FAST_BUILD) tools/fuzz_all.sh $(RUNS)

coverage: ## which conditions of the sources the tests take, both ways (ARGS="--no-run --show src/engine")
	@tools/deps.sh build coverage
	@$(MAKE) --no-print-directory $(COVER_BUILD)/build.ninja
	@ninja -C $(COVER_BUILD)
	@tools/coverage.py $(COVER_BUILD) $(ARGS)

deps: ## install the packages for building and testing
	@tools/deps.sh build test

clean: ## remove build output (not node_modules, not your data)
	rm -rf $(BUILD) $(TEST_BUILD) $(TSAN_BUILD) $(FUZZ_BUILD) $(FAST_BUILD) $(COVER_BUILD) $(TINY_BUILD)

help: ## this text
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

$(BUILD)/build.ninja:
	@tools/deps.sh --check build
	meson setup $(BUILD) --buildtype=release -Ddev=false

$(TEST_BUILD)/build.ninja:
	@tools/deps.sh --check build
	meson setup $(TEST_BUILD) --buildtype=debug --optimization=1 $(SANITIZE)

$(TINY_BUILD)/build.ninja:
	@tools/deps.sh --check build
	meson setup $(TINY_BUILD) --buildtype=debug --optimization=1 -Ddev=false -Dlimits=tiny

$(TSAN_BUILD)/build.ninja:
	@tools/deps.sh --check build
	meson setup $(TSAN_BUILD) --buildtype=debug --optimization=1 -Db_sanitize=thread

$(FUZZ_BUILD)/build.ninja:
	@tools/deps.sh --check build test
	CC=clang meson setup $(FUZZ_BUILD) --buildtype=debug --optimization=1 -Db_lundef=false \
		-Db_sanitize=address,undefined -Dc_args='-fno-sanitize-recover=all -fsanitize=fuzzer-no-link'

$(FAST_BUILD)/build.ninja:
	@tools/deps.sh --check build test
	CC=clang meson setup $(FAST_BUILD) --buildtype=debug --optimization=2 -Db_lundef=false -Db_sanitize=undefined \
		-Dc_args='-fno-sanitize-recover=all -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp'

$(COVER_BUILD)/build.ninja:
	@tools/deps.sh --check build coverage
	CC=clang meson setup $(COVER_BUILD) --buildtype=debug --optimization=1 \
		-Dc_args='-fprofile-instr-generate -fcoverage-mapping' -Dc_link_args=-fprofile-instr-generate

%/node_modules/.package-lock.json: %/package-lock.json
	@echo "npm: installing the packages of $*"
	@cd $* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
