# sqrtdk: `make` builds the library and the program, `make test` runs the tests, `make reproduce`
# runs the experiment and draws it. CC, CFLAGS, LDFLAGS and PREFIX can be given from outside.

CC ?= cc
CFLAGS ?= -O2 -g
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

# What the results depend on cannot be overridden: no contraction of a*b+c other than the written
# fma, so that gcc and clang give the same bits. -O2 with vectorisation, not -O3: gcc 12 at -O3
# takes the register tile of gemm.c apart and is 2.5 times slower.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
STANDARD = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DARWIN_C_SOURCE
ALL_CFLAGS = $(CFLAGS) $(STANDARD) -ftree-vectorize -ffp-contract=off -pthread $(WARNINGS) \
             -Iinclude -MMD -MP
LIBS = -lm -pthread

LIB_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/*.c))
PROGRAM_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(filter-out experiments/main.c,$(wildcard experiments/*.c)))
TEST_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))
LIBRARY = $(BUILD)/libtensortape.a

all: $(LIBRARY) $(BUILD)/sqrtdk

$(LIBRARY): $(LIB_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/sqrtdk: $(BUILD)/experiments/main.o $(PROGRAM_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA) -c -o $@ $<

# ---- Tests ---------------------------------------------------------------------------------------

$(BUILD)/tests/%.o: EXTRA = -Isrc -Iexperiments $(shell pkg-config --cflags check 2>/dev/null) \
  -DTEST_GOLDEN_DIR='"tests/golden"' -DTEST_PROGRAM='"$(BUILD)/sqrtdk"' \
  -DTEST_SCRATCH_DIR='"$(BUILD)/tests/scratch"'

$(BUILD)/tests/run: $(TEST_OBJECTS) $(PROGRAM_OBJECTS) $(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs check 2>/dev/null || echo -lcheck) $(LIBS)

# A tiny locale with a decimal comma, to prove that no result depends on the locale.
$(BUILD)/locale/comma: tests/comma.locale
	@mkdir -p $(@D)
	-localedef -c -i tests/comma.locale $@ 2>/dev/null

test: all $(BUILD)/tests/run $(BUILD)/locale/comma
	@mkdir -p $(BUILD)/tests/scratch
	$(BUILD)/tests/run

clean:
	rm -rf build

-include $(wildcard $(BUILD)/*/*.d)

.PHONY: all test clean
