# sqrtdk: `make` builds the library and the program, `make test` runs the tests, `make reproduce`
# runs the experiment and draws it. CC, CFLAGS, LDFLAGS, PREFIX and DESTDIR can be given from outside.

# The next line is an error to BSD make, which can read little of the rest, and no more than a rule
# without a recipe to GNU make.
.error this Makefile is for GNU make, often installed as gmake:
.DEFAULT_GOAL := all

CC ?= cc
# For the tests alone: is the library C++'s too?
ifeq ($(origin CXX),default)
CXX = $(if $(findstring clang,$(CC)),clang++,c++)
endif
CFLAGS ?= -O2 -g
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

# With it `cd` may go elsewhere.
unexport CDPATH

# What the results depend on cannot be overridden: no contraction of a*b+c other than the written
# fma, so that gcc and clang give the same bits. What is hot is written in vectors: -O3 gains nothing.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
STANDARD = -std=c11 -D_XOPEN_SOURCE=700 -D_DARWIN_C_SOURCE
# The folder of the build stands in no object, so that two folders give the same bytes. (Compilers
# take it from PWD where that is the same folder by another name.)
export PWD := $(CURDIR)
FOLDER = '-fdebug-prefix-map=$(CURDIR)=.'
# 32-bit x86 would compute in 80 bits.
SSE = $(if $(shell $(CC) $(CFLAGS) -dM -E - </dev/null 2>/dev/null | grep -w __i386__),-msse2 -mfpmath=sse)
ALL_CFLAGS := $(CFLAGS) $(STANDARD) -ftree-vectorize -ffp-contract=off $(SSE) -pthread $(WARNINGS) \
             $(FOLDER) -Iinclude -MMD -MP
LIBS = -lm -pthread

LIB_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/*.c))
PROGRAM_SOURCES = $(filter-out experiments/examples/% experiments/manual/%,$(wildcard experiments/*/*.c))
PROGRAM_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(PROGRAM_SOURCES))
TEST_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))
LIBRARY = $(BUILD)/libtensortape.a
MANUAL = $(BUILD)/manual
MANUALS = $(MANUAL)/sqrtdk.1 $(MANUAL)/sqrtdk

all: $(LIBRARY) $(BUILD)/sqrtdk

# No dates and owners in the archive: D of GNU, LLVM and FreeBSD, the variable of macOS.
$(LIBRARY): $(LIB_OBJECTS)
	rm -f $@ && ZERO_AR_DATE=1 $(AR) rcs$(shell $(AR) --help 2>&1 | grep -q '\[D\]' && echo D) $@ $^

$(BUILD)/sqrtdk: $(BUILD)/experiments/main.o $(PROGRAM_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/experiments/%.o: EXTRA = -Iexperiments

# The commit goes into every .meta file; the stamp changes only when it does. `git archive` writes it
# into experiments/common/commit; a repository that such a folder lies in is not asked.
COMMIT := $(shell { grep -o '^[0-9a-f]\{12\}' experiments/common/commit || git describe --always --dirty --abbrev=12 || echo unknown; } 2>/dev/null)
$(BUILD)/experiments/common/settings.o: EXTRA += -DSQRTDK_COMMIT='"$(COMMIT)"'
$(BUILD)/experiments/common/settings.o: $(BUILD)/commit
$(BUILD)/commit: always
	@mkdir -p $(@D) && { echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@; }
always:

# Other flags give other objects.
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA) -c -o $@ $<

# The examples of the library: attention, and checking an operation of one's own.
example: $(BUILD)/attention $(BUILD)/custom_op

$(BUILD)/attention $(BUILD)/custom_op: $(BUILD)/%: $(BUILD)/experiments/examples/%.o $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# ---- Tests ---------------------------------------------------------------------------------------

$(BUILD)/tests/%.o: EXTRA = -Isrc -Iexperiments $(shell pkg-config --cflags check 2>/dev/null) \
  -DTEST_GOLDEN_DIR='"tests/golden"' -DTEST_PROGRAM='"$(BUILD)/sqrtdk"' \
  -DTEST_BUILD='"$(BUILD)"' -DTEST_SCRATCH_DIR='"$(BUILD)/tests/scratch"' -DTEST_EXAMPLE='"$(BUILD)/custom_op"' -DTEST_LOCALES='"$(BUILD)/locale"' \
  -DTEST_CC='"$(CC) $(CFLAGS) $(LDFLAGS)"' -DTEST_CXX='"$(CXX) $(CFLAGS) $(LDFLAGS)"'

$(BUILD)/tests/run: $(TEST_OBJECTS) $(PROGRAM_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs check 2>/dev/null || echo -lcheck) $(LIBS)

# Hashes of the bits of everything that is computed, one line a part.
$(BUILD)/bits: $(BUILD)/tests/bits/bits.o $(filter-out %/main.o,$(PROGRAM_OBJECTS)) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# How fast the loops are; by hand, no test. scripts/bench_peers.py holds attention against PyTorch.
$(BUILD)/bench: $(BUILD)/tests/bench/bench.o $(filter-out %/main.o,$(PROGRAM_OBJECTS)) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

bench: $(BUILD)/bench
	$(BUILD)/bench

# How often a verdict on a gradient is wrong where the truth is known, on a million derivatives and on
# a hundred million elements of gradients from files; some minutes. build/calibrate-verdicts is run by
# hand: it trains for long.
CALIBRATIONS = $(BUILD)/calibrate-differences $(BUILD)/calibrate-formats $(BUILD)/calibrate-factors

$(BUILD)/calibrate-factors: $(BUILD)/tests/factor_cases.o
$(BUILD)/calibrate-%: $(BUILD)/tests/calibrate/%.o $(filter-out %/main.o,$(PROGRAM_OBJECTS)) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

calibrate: $(CALIBRATIONS)
	for program in $(CALIBRATIONS); do $$program || exit 1; done

same-bits:
	scripts/same_bits

# A tiny locale with a decimal comma, to prove that no result depends on the locale.
$(BUILD)/locale/comma: tests/comma.locale tests/comma.charmap
	@mkdir -p $(@D)
	@localedef -c -f tests/comma.charmap -i tests/comma.locale $@ 2>/dev/null || :

test-build: all example $(MANUALS) $(BUILD)/tests/run $(BUILD)/bits $(CALIBRATIONS) $(BUILD)/calibrate-verdicts $(BUILD)/locale/comma

test: test-build
	@mkdir -p $(BUILD)/tests/scratch
	$(BUILD)/tests/run

# The same tests where every read, write and overflow is watched, a tree of their own each. One test
# asks for more memory than there is and expects NULL, as the real allocator gives it. Suite by suite:
# each test is a fork, and takes the longer the more those before it left behind. SUITES="rng ops" runs
# those alone.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN = BUILD=build/asan CFLAGS="$(CFLAGS) $(SANITIZE)" LDFLAGS="$(SANITIZE)"
asan: asan-build
	@mkdir -p build/asan/tests/scratch
	suites="$(or $(SUITES),$$(build/asan/tests/run list))" && for suite in $$suites; do \
	  CK_RUN_SUITE=$$suite ASAN_OPTIONS=allocator_may_return_null=1 build/asan/tests/run || exit 1; done

asan-build:
	$(MAKE) test-build $(ASAN)

# Threads are in five subcommands only, so these run, with more threads than processors.
tsan:
	$(MAKE) all BUILD=build/tsan CFLAGS="-O1 -g -fsanitize=thread" LDFLAGS="-fsanitize=thread"
	build/tsan/sqrtdk stall --d-k 3,8 --lr 1,0.5 --seed 0..3 --steps 40 --batch 4 --tokens 5 --d-model 6 \
	  --d-v 3 --threads 4 --quiet --output build/tsan/stall.csv
	build/tsan/sqrtdk saturation --d-k 2,8 --keys 4,16 --rows 2000 --threads 4 --quiet \
	  --output build/tsan/saturation.csv
	build/tsan/sqrtdk gradcheck --d-k 2 --threads 4 --quiet --output build/tsan/gradcheck.csv
	build/tsan/sqrtdk inspect $(REAL_PART) --threads 4 --quiet --output build/tsan/inspect.csv
	build/tsan/sqrtdk map --d-k 3,8 --optimizer sgd,adam --kappa 1..64 --steps 40 --batch 4 --tokens 5 --d-model 6 \
	  --d-v 3 --chaos --curves 5 --threads 4 --quiet --output build/tsan/map.csv

# The suites that are LONG under valgrind (tests/suites.h) are left out; what they run is run by
# others, and saturation by two small runs.
valgrind: all $(BUILD)/tests/run
	@mkdir -p $(BUILD)/tests/scratch
	suites=$$($(BUILD)/tests/run list quick) && for suite in $$suites; do \
	  CK_RUN_SUITE=$$suite CK_FORK=no valgrind -q --error-exitcode=1 --leak-check=full \
	    $(BUILD)/tests/run || exit 1; done
	for options in "--d-k 2,3 --keys 3,4 --scale none,keys,t5" "--sigma 1,8 --keys 5"; do \
	  valgrind -q --error-exitcode=1 --leak-check=full $(BUILD)/sqrtdk saturation $$options \
	    --rows 60 --force --output $(BUILD)/tests/scratch/valgrind.csv >$(BUILD)/tests/scratch/valgrind.txt || exit 1; done

# Needs clang. 10 million inputs to both file readers; the corpus grows in build/, its seeds are few.
FUZZ_RUNS ?= 10000000
fuzz:
	@mkdir -p build/fuzz/corpus
	clang $(STANDARD) -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  -Iexperiments tests/fuzz/fuzz_npy.c \
	  $(addprefix experiments/heads/,npy.c array.c array_csv.c array_file.c other_format.c) experiments/common/memory.c -lm -o build/fuzz/npy
	build/fuzz/npy -runs=$(FUZZ_RUNS) -max_len=512 build/fuzz/corpus tests/fuzz/corpus

# What fails on purpose or at random, for so many seconds; each part is a program (scripts/torture).
TORTURE_SECONDS ?= 600
TORTURE = $(BUILD)/torture
HARNESS = $(BUILD)/tests/torture/harness.o

$(TORTURE)/allocations $(TORTURE)/calls: $(BUILD)/tests/torture/tiny.o
$(TORTURE)/tapes: $(filter-out %/main.o,$(PROGRAM_OBJECTS)) $(LIBRARY)
$(TORTURE)/%: $(BUILD)/tests/torture/%.o $(HARNESS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(TORTURE)/%.so: tests/torture/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared -fPIC -o $@ $<

torture-build: $(BUILD)/sqrtdk $(addprefix $(TORTURE)/,allocations failing_allocation.so calls kills lines)
	$(MAKE) build/asan/sqrtdk build/asan/torture/tapes build/asan/torture/mutations $(ASAN)

torture: torture-build
	BUILD=$(BUILD) TORTURE_SECONDS=$(TORTURE_SECONDS) scripts/torture

# Deliberate faults, one at a time: does a test notice each? Takes most of an hour.
mutants:
	scripts/mutants

# Lines that run, in all suites and in every process that they start; threads count one after the other.
# Some minutes; scripts/coverage says what must be reached.
coverage:
	$(MAKE) test-build BUILD=build/coverage CFLAGS="-O1 -g --coverage -fprofile-update=atomic" LDFLAGS="--coverage"
	@mkdir -p build/coverage/tests/scratch
	find build/coverage -name '*.gcda' -exec rm -f {} +
	CK_TIMEOUT_MULTIPLIER=10 build/coverage/tests/run
	scripts/coverage

# ---- Lint ----------------------------------------------------------------------------------------

C_FILES = $(wildcard include/tt/*.h src/*.[ch] experiments/*.[ch] experiments/*/*.[ch] tests/*.[ch] tests/*/*.[ch])
SH_FILES = $(filter-out scripts/figures scripts/golden %.py %.awk,$(wildcard scripts/*)) tests/slurm/one_node .ci/run .ci/slow

lint:
	clang-format --dry-run -Werror $(C_FILES)
	clang-tidy --quiet $(wildcard src/*.c) experiments/main.c experiments/manual/manual.c $(PROGRAM_SOURCES) -- $(STANDARD) -Iinclude -Isrc -Iexperiments
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
	  --inline-suppr --suppress=missingIncludeSystem -Iinclude -Isrc -Iexperiments src experiments
	shellcheck $(SH_FILES) experiments/manual/sqrtdk.bash
	scripts/graph >/dev/null

# Who includes whom; what may not be is an error, here and in lint.
graph:
	@scripts/graph

# ---- The experiment and its figures --------------------------------------------------------------

RESULTS ?= results
STALL_OPTIONS ?=
# Enough rows for figures, at four numbers of keys and under every rule, in some 20 seconds.
SATURATION_OPTIONS ?= --keys 4,16,64,256 --scale all --rows 10000

# Of the map the default grid; the window's rates are a factor of 4 apart, and 300 steps keep it cheap.
MAP_OPTIONS ?=
WINDOW_OPTIONS ?= --d-k 8,64,512 --steps 300
WINDOW_SGD ?= 0.0625,0.25,1,4,16,64,256,1024,4096
WINDOW_ADAM ?= 0.0005,0.002,0.008,0.032,0.128
WINDOW_RUN = $(BUILD)/sqrtdk map --axes lr --scale none,sqrt,linear $(WINDOW_OPTIONS)

# Into a folder, one file of both: each optimizer has rates of its own.
WINDOW = $(WINDOW_RUN) --optimizer sgd --lr $(WINDOW_SGD) --output "$(1)/window_sgd.csv" >"$(1)/window_sgd.txt" && \
  $(WINDOW_RUN) --optimizer adam --lr $(WINDOW_ADAM) --output "$(1)/window_adam.csv" >"$(1)/window_adam.txt" && \
  { cat "$(1)/window_sgd.csv" && sed 1d "$(1)/window_adam.csv"; } >"$(1)/window.csv"

# Seeds and steps of the controls: see scripts/controls.
CONTROLS_OPTIONS ?=

# Seeds and widths of what thaws: see scripts/thaw. One seed, and not the widest, in some 15 seconds of CPU time.
THAW_OPTIONS ?= --seeds 0 --widths 64,128,512

DRAW = printf '%s\n' stall saturation gradcheck controls thaw precision map window | \
  xargs -P 2 -I NAME scripts/plots "$(RESULTS)/NAME" "$(RESULTS)/figures"

# What is printed goes to files too; at the end stand the table of the stall, what it means in
# sentences, and where the picture is. V=1 shows how everything is compiled.
reproduce:
	@$(MAKE) $(if $(V),,-s) all
	@mkdir -p "$(RESULTS)"
	@$(BUILD)/sqrtdk stall --output "$(RESULTS)/stall.csv" $(STALL_OPTIONS) >"$(RESULTS)/stall.txt"
	@$(BUILD)/sqrtdk saturation --output "$(RESULTS)/saturation.csv" $(SATURATION_OPTIONS) >"$(RESULTS)/saturation.txt"
	@$(BUILD)/sqrtdk gradcheck --quiet --output "$(RESULTS)/gradcheck.csv"
	@$(BUILD)/sqrtdk precision --output "$(RESULTS)/precision.csv" >"$(RESULTS)/precision.txt"
	@$(BUILD)/sqrtdk map --output "$(RESULTS)/map.csv" $(MAP_OPTIONS) >"$(RESULTS)/map.txt"
	@$(call WINDOW,$(RESULTS))
	@export SQRTDK="$(BUILD)/sqrtdk"; scripts/controls $(CONTROLS_OPTIONS) "$(RESULTS)" >"$(RESULTS)/controls.txt" & beside=$$!; \
	scripts/thaw $(THAW_OPTIONS) "$(RESULTS)" >"$(RESULTS)/thaw.txt" || { kill $$beside; exit 1; }; wait $$beside
	@$(DRAW) >/dev/null
	@echo "Drawn: all figures of $(RESULTS) in $(RESULTS)/figures; the rest is said in $(RESULTS)/saturation.txt, precision.txt, map.txt, window_sgd.txt, window_adam.txt, controls.txt and thaw.txt"
	@echo
	@sed '/^Written/,$$d' "$(RESULTS)/stall.txt"
	@echo "The picture: $(RESULTS)/figures/stall_verdict.png"

plots:
	@$(DRAW)

# The part of a real model's attention that is committed; inspect_none.csv is what it would be without
# the scale. inspect_five.csv, of all its five layers, was made like this from files that are not.
REAL = tests/golden/real/layer
REAL_PART = --causal --heads 1,5 --layers 0,4 --q $(REAL)0_q.npy,$(REAL)4_q.npy --k $(REAL)0_k.npy,$(REAL)4_k.npy

# What README shows: figures, summary and printed text of the default runs, of stall under all rules
# (minutes), of the controls, of what thaws and of the published table. check-expected compares new default runs with it, byte by byte.
EXPECTED = experiments/expected
expected: all example $(BUILD)/calibrate-formats
	@mkdir -p $(BUILD)/expected/figures
	$(BUILD)/sqrtdk stall --output $(BUILD)/expected/stall.csv >$(BUILD)/expected/stall.txt
	$(BUILD)/sqrtdk stall --scale all --output $(BUILD)/expected/stall_rules.csv >$(BUILD)/expected/stall_rules.txt
	$(BUILD)/sqrtdk stall --scale all --lr-unit logit --d-k 8,64,512 --output $(BUILD)/expected/stall_rules_step.csv \
	  >$(BUILD)/expected/stall_rules_step.txt
	$(BUILD)/sqrtdk stall --d-k 128 --scale none --steps 1000 --quiet --output $(BUILD)/expected/stall_128.csv
	$(BUILD)/sqrtdk saturation --output $(BUILD)/expected/saturation.csv >$(BUILD)/expected/saturation.txt
	scripts/compare_published >$(EXPECTED)/published.txt
	$(BUILD)/sqrtdk gradcheck --quiet --output $(BUILD)/expected/gradcheck.csv >$(EXPECTED)/gradcheck.txt
	$(BUILD)/custom_op >>$(EXPECTED)/gradcheck.txt
	$(BUILD)/sqrtdk saturation --quiet --output $(BUILD)/expected/figures/saturation.csv $(SATURATION_OPTIONS)
	$(BUILD)/sqrtdk precision --output $(BUILD)/expected/precision.csv >$(BUILD)/expected/precision.txt
	$(BUILD)/sqrtdk map --output $(BUILD)/expected/map.csv >$(BUILD)/expected/map.txt
	$(call WINDOW,$(BUILD)/expected)
	scripts/plots $(BUILD)/expected/stall
	scripts/plots $(BUILD)/expected/figures/saturation
	scripts/plots $(BUILD)/expected/gradcheck $(BUILD)/expected/figures
	SQRTDK=$(BUILD)/sqrtdk scripts/controls --seeds 0..4 $(BUILD)/expected >$(BUILD)/expected/controls.txt
	scripts/plots $(BUILD)/expected/controls $(BUILD)/expected/figures
	SQRTDK=$(BUILD)/sqrtdk scripts/thaw $(BUILD)/expected >$(BUILD)/expected/thaw.txt
	scripts/draw map_thaw $(BUILD)/expected/thaw.csv $(BUILD)/expected/figures/map_thaw.svg
	scripts/draw stall_precision $(BUILD)/expected/precision.csv $(BUILD)/expected/figures/stall_precision.svg
	scripts/plots $(BUILD)/expected/map $(BUILD)/expected/figures
	scripts/draw map_window $(BUILD)/expected/window.csv $(BUILD)/expected/figures/map_window.svg
	cp $(BUILD)/expected/stall_runs.csv $(BUILD)/expected/stall_summary.csv \
	  $(BUILD)/expected/stall_loss.svg $(BUILD)/expected/stall_verdict.svg \
	  $(BUILD)/expected/stall_signal.svg $(BUILD)/expected/stall_frozen.svg \
	  $(BUILD)/expected/stall_rules_summary.csv $(BUILD)/expected/stall_rules_step_summary.csv \
	  $(BUILD)/expected/stall_128_runs.csv $(BUILD)/expected/saturation.csv \
	  $(BUILD)/expected/precision.csv $(BUILD)/expected/thaw_runs.csv \
	  $(BUILD)/expected/map.csv $(BUILD)/expected/window.csv \
	  $(BUILD)/expected/figures/*.svg $(EXPECTED)/
	for name in stall stall_rules stall_rules_step saturation controls thaw precision map window_sgd window_adam; do \
	  sed '/^Written/,$$d' $(BUILD)/expected/$$name.txt >$(EXPECTED)/$$name.txt; done
	for folder in gradients gradients/bfloat16; do g=tests/golden/$$folder; \
	  $(BUILD)/sqrtdk gradcheck --causal --q $$g/q.npy --k $$g/k.npy --v $$g/v.npy --do $$g/do.npy \
	    --dq $$g/dq.npy --dk $$g/dk.npy --dv $$g/dv.npy --force --quiet --output $(BUILD)/expected/foreign.csv; \
	  done >$(EXPECTED)/foreign.txt
	$(BUILD)/calibrate-formats >$(EXPECTED)/calibrate_formats.txt
	$(BUILD)/sqrtdk trace >$(EXPECTED)/trace.txt
	$(BUILD)/sqrtdk inspect $(REAL_PART) --output $(BUILD)/expected/inspect.csv >$(BUILD)/expected/printed.txt
	sed '/^Written/,$$d' $(BUILD)/expected/printed.txt >$(EXPECTED)/inspect.txt
	awk -F, 'NR == 1 || $$5 == "none"' $(BUILD)/expected/inspect.csv >$(EXPECTED)/inspect_none.csv
	scripts/draw inspect_weights $(BUILD)/expected/inspect_weights.csv \
	  $(EXPECTED)/inspect_weights.svg
	scripts/draw inspect_heads $(EXPECTED)/inspect_five.csv \
	  $(EXPECTED)/inspect_heads.svg

check-expected: all
	$(BUILD)/sqrtdk stall --output $(BUILD)/expected/stall.csv
	$(BUILD)/sqrtdk saturation --quiet --output $(BUILD)/expected/saturation.csv
	$(BUILD)/sqrtdk precision --quiet --output $(BUILD)/expected/precision.csv
	SQRTDK=$(BUILD)/sqrtdk scripts/thaw $(BUILD)/expected
	$(BUILD)/sqrtdk map --quiet --output $(BUILD)/expected/map.csv
	$(call WINDOW,$(BUILD)/expected)
	for name in stall_runs stall_summary saturation precision thaw_runs map window; do \
	  cmp $(EXPECTED)/$$name.csv $(BUILD)/expected/$$name.csv || exit 1; done

# ---- The page ------------------------------------------------------------------------------------

# One file for a browser, in which the same C trains: two modules, exact everywhere and with the
# browser's own multiply-add. Only this needs the tools of `scripts/setup page`.
WASM_CC ?= $(shell command -v clang-19 || echo clang)
WASM_LD ?= $(shell command -v wasm-ld-19 || echo wasm-ld)
WASM_HEADERS ?= /usr/include/wasm32-wasi
WASM_LIBS ?= /usr/lib/wasm32-wasi
WASM_BUILTINS ?= $(lastword $(wildcard /usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a))
WASM_FLAGS = --target=wasm32-wasi -isystem $(WASM_HEADERS) -O2 $(STANDARD) -D_WASI_EMULATED_SIGNAL -ffp-contract=off \
             -ffunction-sections -fdata-sections $(WARNINGS) -Iinclude -Iexperiments -MMD -MP
PAGE = $(BUILD)/page
PAGE_SOURCES = $(filter-out src/kernels_avx%,$(wildcard src/*.c)) \
  $(addprefix experiments/,$(addsuffix .c,page/page page/fma common/format common/scaling common/stats heads/head_stats map/grid saturation/theory trace/inputs trace/matrices \
    $(addprefix training/,columns kappa product ratios recipe rescaled student teacher verdict)))

$(PAGE)/relaxed/%.o: SIMD = -mrelaxed-simd
define MODULE
$(PAGE)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$(WASM_CC) $(WASM_FLAGS) -msimd128 $$(SIMD) -c -o $$@ $$<

$(PAGE)/$(1).wasm: $(patsubst %.c,$(PAGE)/$(1)/%.o,$(PAGE_SOURCES))
	$(WASM_LD) --no-entry --gc-sections --strip-all -z stack-size=262144 --max-memory=1073741824 -o $$@ $$^ \
	  -L$(WASM_LIBS) -lc -lm $(WASM_BUILTINS)
endef
$(eval $(call MODULE,exact))
$(eval $(call MODULE,relaxed))

page: $(PAGE)/sqrtdk.html

# Both engines in Node against the program, and the page in a headless Chromium.
check-page: page $(BUILD)/sqrtdk
	BUILD=$(BUILD) scripts/check_page

$(PAGE)/sqrtdk.html: scripts/page $(wildcard experiments/page/page.* experiments/page/*.js) $(EXPECTED)/map.csv \
  $(PAGE)/exact.wasm $(PAGE)/relaxed.wasm
	scripts/page $(PAGE) >$@.new && mv $@.new $@

# ---- Installing ----------------------------------------------------------------------------------

# The manual page and the completion of bash, filled from the program's tables.
$(MANUAL)/fill: $(BUILD)/experiments/manual/manual.o $(PROGRAM_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(MANUAL)/sqrtdk.1: experiments/manual/sqrtdk.man $(MANUAL)/fill
	$(MANUAL)/fill <$< >$@.new && mv $@.new $@

$(MANUAL)/sqrtdk: experiments/manual/sqrtdk.bash $(MANUAL)/fill
	$(MANUAL)/fill <$< >$@.new && mv $@.new $@

install: all $(MANUALS)
	@BUILD="$(BUILD)" scripts/install "$(PREFIX)" "$(DESTDIR)"

uninstall:
	@scripts/install --remove "$(PREFIX)" "$(DESTDIR)"

# What is committed, under its version, with the commit in experiments/common/commit. Of one commit always the
# same bytes: git takes dates and order from it, and gzip -n keeps none of its own.
VERSION = $(shell sed -n 's/.*SQRTDK_VERSION "\(.*\)"/\1/p' experiments/common/version.h)
DIST = $(BUILD)/sqrtdk-$(VERSION)
dist:
	@git rev-parse -q --verify HEAD >/dev/null || { echo "make dist: needs git and a clone" >&2; exit 1; }
	@git diff --quiet HEAD || echo "make dist: what is not committed is left out" >&2
	@mkdir -p $(BUILD)
	git -c core.autocrlf=false -c tar.umask=0022 archive --prefix=$(notdir $(DIST))/ -o $(DIST).tar HEAD
	gzip -n -9 -f $(DIST).tar
	@echo "$(DIST).tar.gz"

clean:
	rm -rf build

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(PAGE)/*/*/*.d $(PAGE)/*/*/*/*.d)

.PHONY: all always example page check-page bench same-bits calibrate test test-build asan asan-build tsan valgrind fuzz torture torture-build mutants coverage lint graph reproduce plots expected check-expected install uninstall dist clean
