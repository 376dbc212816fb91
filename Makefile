# kde_aqp: build, install and test. `make help` lists the targets.
#
# The extension is built with PGXS (PostgreSQL 15 to 18). The core, src/core, is built by rules of
# its own with flags that know nothing of PostgreSQL; the same objects go into the extension and
# into the unit tests.

EXTENSION  = kde_aqp
MODULE_big = kde_aqp
# PGXS names its data files DATA; on the command line it is the folder `make accuracy` reads.
ACCURACY_DATA := $(if $(filter command,$(origin DATA)),$(DATA),../shared/data)
override DATA = $(wildcard sql/$(EXTENSION)--*.sql)

CORE_SRCS := $(shell find src/core -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
PG_SRCS   := $(shell find src/pg -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
CORE_OBJS := $(CORE_SRCS:.cpp=.o)
PG_OBJS   := $(PG_SRCS:.cpp=.o)
OBJS       = $(CORE_OBJS) $(PG_OBJS)

# Files named with `--` are install scripts; the others in sql/ are pg_regress's inputs.
REGRESS        := $(sort $(basename $(notdir $(shell ls sql/*.sql 2>/dev/null | grep -v -e --))))
REGRESS_OPTS    = --load-extension=$(EXTENSION)
ISOLATION      := $(sort $(basename $(notdir $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS  = --inputdir=test/isolation --load-extension=$(EXTENSION)

EXTRA_CLEAN = build $(OBJS:.o=.d)

# ---------------------------------------------------------------------------------------------
# Flags

# WERROR=-Werror makes warnings fatal (.ci/run does). Nothing here depends on the building
# machine's processor: -march=native is never used, the core chooses at run time.
WARNINGS = -Wall -Wextra -Wshadow -Wnon-virtual-dtor $(WERROR)

# -ffp-contract=off: the same formula gives the same bits wherever the compiler inlines it.
# Never -ffast-math: answers must be deterministic and NaN must stay NaN.
CORE_CPPFLAGS = -Isrc -DKDE_AQP_CORE
CORE_CXXFLAGS = -std=c++20 -O2 -g -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fopenmp \
                -fno-math-errno -ffp-contract=off $(WARNINGS)
CORE_LIBS     = -lnlopt -lgomp

# Appended by PGXS to PostgreSQL's own CXXFLAGS; must be set before the include.
# -Wno-register and the others are for PostgreSQL's headers, which are C.
PG_CXXFLAGS = -std=c++20 -fvisibility-inlines-hidden -ffp-contract=off $(WARNINGS) \
              -Wno-register -Wno-unused-parameter -Wno-sign-compare
PG_CPPFLAGS = -Isrc

# The linker is $(CC), which does not add the C++ runtime by itself.
SHLIB_LINK = $(CORE_LIBS) -lstdc++ -lm

# PGXS compiles bitcode for JIT inlining with clang, without PG_CXXFLAGS (so without -std=c++20).
# It would inline nothing of use: the functions called from SQL cost microseconds, not nanoseconds.
override with_llvm = no

# ---------------------------------------------------------------------------------------------
# PGXS

ifndef PG_CONFIG
PG_CONFIG := $(shell scripts/pg_config.sh)
endif
export PG_CONFIG
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

.DEFAULT_GOAL = all

ifneq (,$(wildcard $(PGXS)))
include $(PGXS)
else
# A machine on which scripts/deps.sh has not run yet: only what needs no PostgreSQL works.
all install installcheck:
	@echo "PostgreSQL's server headers (PGXS) were not found by $(PG_CONFIG);" >&2
	@echo "run scripts/deps.sh or name the right one: make PG_CONFIG=/path/to/pg_config" >&2
	@exit 1
clean:
	rm -rf $(OBJS) $(EXTRA_CLEAN)
endif

# ---------------------------------------------------------------------------------------------
# Objects. Each leaves a .d file, so that an edited header rebuilds what includes it.

# Holds the flags of the last build: rewritten only when they change, it rebuilds what depends on
# them, for instance the glue after `make PG_CONFIG=...` of another version. Named one by one: what
# only an implicit rule can make is an intermediate file, and goes when make ends.
FLAGS_FILES = $(foreach part,core pg nvcc sanitize threads openmp fuzz,build/$(part).flags)

$(FLAGS_FILES): build/%.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
FORCE:

CORE_COMPILE = $(CXX) $(CORE_CPPFLAGS) $(CORE_CXXFLAGS)

# PostgreSQL's include directories as system ones: warnings in its headers are not ours.
# -fvisibility=hidden only from version 16 on: before that PG_FUNCTION_INFO_V1 declares functions
# without exporting them, and none called from SQL would be found.
PG_COMPILE = $(CXX) $(CXXFLAGS) $(PG_VISIBILITY) $(patsubst -I/%,-isystem /%,$(CPPFLAGS))
PG_VISIBILITY = $(if $(filter 15,$(MAJORVERSION)),,-fvisibility=hidden)

build/core.flags: FLAGS = $(CORE_COMPILE)
build/pg.flags: FLAGS = $(VERSION) $(PG_COMPILE)

# Static pattern rules: among implicit ones make may prefer PGXS's own, `%.o: %.cpp`.
$(CORE_OBJS): src/core/%.o: src/core/%.cpp build/core.flags
	$(CORE_COMPILE) -MMD -MP -c -o $@ $<

$(PG_OBJS): src/pg/%.o: src/pg/%.cpp build/pg.flags
	$(PG_COMPILE) -MMD -MP -c -o $@ $<

-include $(OBJS:.o=.d)

# A core compiled without -fopenmp would say of a fit that it used two threads, and use one: a library
# that calls for none is not left behind.
ifneq (,$(DLSUFFIX))
all: build/openmp.checked
endif
build/openmp.checked: $(MODULE_big)$(DLSUFFIX)
	@mkdir -p $(@D)
	@nm -u $< | grep GOMP_parallel >$@ || { rm -f $< $@; echo "$<: its core was compiled without OpenMP" >&2; exit 1; }

# The same library with fault points (src/pg/base/fault.h), for the tests that let it fail there: of the
# glue only what has points is compiled anew.
FAULT_SRCS := $(shell grep -rl --include='*.cpp' '"pg/base/fault.h"' src/pg 2>/dev/null)
FAULT_OBJS := $(FAULT_SRCS:src/pg/%.cpp=build/faults/%.o)

build/faults/%.o: src/pg/%.cpp build/pg.flags
	@mkdir -p $(@D)
	$(PG_COMPILE) -DKDE_AQP_FAULTS -MMD -MP -c -o $@ $<

build/faults/kde_aqp.so: $(FAULT_OBJS) $(filter-out $(FAULT_SRCS:.cpp=.o),$(PG_OBJS)) $(CORE_OBJS)
	$(CXX) -shared -o $@ $^ $(LDFLAGS) $(SHLIB_LINK)

faults: build/faults/kde_aqp.so

-include $(FAULT_OBJS:.o=.d)

# ---------------------------------------------------------------------------------------------
# The device service, a program of its own. All but its kernels (cuda/*.cu) is plain C++: the same
# objects serve the processor in the tests (fake_cudad), and without nvcc only `make cuda` is missing.

VERSION_HERE     := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)
CUDA_SERVER_SRCS := $(wildcard cuda/server/*.cpp)
CUDA_SERVER_OBJS := $(CUDA_SERVER_SRCS:cuda/%.cpp=build/cuda/%.o)
CUDA_KERNEL_SRCS := $(wildcard cuda/*.cu)
CUDA_KERNEL_OBJS := $(CUDA_KERNEL_SRCS:cuda/%.cu=build/cuda/%.cu.o)
CUDA_CORE_OBJS   :=
CUDA_DEFINE       = -DKDE_AQP_VERSION='"$(VERSION_HERE)"'
CUDA_COMPILE      = $(CXX) $(CORE_CPPFLAGS) -I. $(CUDA_DEFINE) $(CORE_CXXFLAGS)
CUDA_PROGRAM      = build/cuda/kde_aqp_cudad

NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
# Machine code for the cards that this nvcc knows among these, and PTX, from which the driver
# compiles for those that come later. PTX runs on cards of its own number or later.
CUDA_CARDS    = 75 80 86 89 90 100 120
CUDA_KNOWN    = $(filter $(CUDA_CARDS),$(subst compute_,,$(shell $(NVCC) --list-gpu-arch)))
CUDA_PTX      = $(or $(filter 90,$(CUDA_KNOWN)),$(lastword $(CUDA_KNOWN)))
CUDA_GENCODE  = $(foreach card,$(CUDA_KNOWN),-gencode arch=compute_$(card),code=sm_$(card)) \
                -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
NVCC_COMPILE  = $(NVCC) -std=c++20 -O3 -lineinfo -cudart static --expt-relaxed-constexpr \
                -Xcompiler -fPIC,-Wall,-Wextra,-fopenmp -Isrc -I. $(CUDA_GENCODE) \
                $(if $(WERROR),-Werror all-warnings -Xcompiler $(WERROR))

build/nvcc.flags: FLAGS = $(NVCC_COMPILE)

build/cuda/%.cu.o: cuda/%.cu build/nvcc.flags
	@mkdir -p $(@D)
	$(NVCC_COMPILE) -MMD -MP -MF build/cuda/$*.cu.d -c -o $@ $<

build/cuda/%.o: cuda/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(CUDA_COMPILE) -MMD -MP -c -o $@ $<

# The program is of one piece but for the C library and the driver, which it opens itself.
$(CUDA_PROGRAM): build/cuda/main.o $(CUDA_SERVER_OBJS) $(CUDA_KERNEL_OBJS) $(CUDA_CORE_OBJS)
	$(NVCC) -cudart static -Xlinker --as-needed \
	  -Xcompiler -static-libstdc++,-static-libgcc,-fopenmp -o $@ $^

-include $(CUDA_SERVER_OBJS:.o=.d) $(CUDA_KERNEL_OBJS:.o=.d) build/cuda/main.d

cuda:
ifeq (,$(NVCC))
	@echo "nvcc was not found; install the CUDA toolkit or name it: make cuda NVCC=/path/to/nvcc" >&2
	@exit 1
else
	+@$(MAKE) --no-print-directory $(CUDA_PROGRAM)
endif

cuda-install: cuda
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_PROGRAM) $(CUDA_PROGRAM) '$(DESTDIR)$(pkglibdir)/'

# ---------------------------------------------------------------------------------------------
# Unit tests of the core, plain and under sanitizers (objects apart, in build/)

# `make accuracy`, whose pieces are tested too.
ACCURACY_SRCS := $(wildcard test/accuracy/*.cpp)
ACCURACY_OBJS := $(ACCURACY_SRCS:test/accuracy/%.cpp=build/accuracy/obj/%.o)
ACCURACY_PART  = $(filter-out %/main.o,$(ACCURACY_OBJS))

# What the device service's tests put in a card's place; fake_main.cpp makes a program of it.
TEST_DEVICE_SRCS := $(wildcard test/device/*.cpp)
TEST_DEVICE_OBJS := $(TEST_DEVICE_SRCS:test/device/%.cpp=build/test/device/%.o)
TEST_DEVICE_PART  = $(filter-out %/fake_main.o,$(TEST_DEVICE_OBJS))

UNIT_SRCS     := $(shell find test/unit -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
UNIT_OBJS     := $(UNIT_SRCS:test/unit/%.cpp=build/unit/%.o)
# Compiling takes longer than running: -O1 and line numbers alone (-g1) halve it.
SANITIZE       = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_OBJS := $(CORE_SRCS:src/%.cpp=build/sanitize/%.o) \
                 $(UNIT_SRCS:test/unit/%.cpp=build/sanitize/unit/%.o) \
                 $(ACCURACY_PART:build/accuracy/obj/%.o=build/sanitize/accuracy/%.o) \
                 $(TEST_DEVICE_PART:build/test/device/%.o=build/sanitize/device/%.o) \
                 $(CUDA_SERVER_OBJS:build/cuda/%.o=build/sanitize/cuda/%.o)
UNIT_COMPILE   = $(CXX) -Isrc -I. -Itest -Itest/unit $(CORE_CXXFLAGS)
UNIT_LINK      = $(CORE_LIBS) -lgtest_main -lgtest -lpthread

build/unit/%.o: test/unit/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) -MMD -MP -c -o $@ $<

build/accuracy/obj/%.o: test/accuracy/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) -MMD -MP -c -o $@ $<

build/test/device/%.o: test/device/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) -DKDE_AQP_VERSION='"$(VERSION_HERE)"' -MMD -MP -c -o $@ $<

build/unit/unit_test: $(UNIT_OBJS) $(ACCURACY_PART) $(TEST_DEVICE_PART) $(CUDA_SERVER_OBJS) \
                      $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(UNIT_LINK)

build/sanitize.flags: FLAGS = $(CORE_COMPILE) $(SANITIZE)

build/sanitize/core/%.o: src/core/%.cpp build/sanitize.flags
	@mkdir -p $(@D)
	$(CORE_COMPILE) $(SANITIZE) -MMD -MP -c -o $@ $<

build/sanitize/unit/%.o: test/unit/%.cpp build/sanitize.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) $(SANITIZE) -MMD -MP -c -o $@ $<

build/sanitize/accuracy/%.o: test/accuracy/%.cpp build/sanitize.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) $(SANITIZE) -MMD -MP -c -o $@ $<

build/sanitize/device/%.o: test/device/%.cpp build/sanitize.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) $(SANITIZE) -MMD -MP -c -o $@ $<

build/sanitize/cuda/%.o: cuda/%.cpp build/sanitize.flags
	@mkdir -p $(@D)
	$(CUDA_COMPILE) $(SANITIZE) -MMD -MP -c -o $@ $<

build/sanitize/unit_test: $(SANITIZE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp $(SANITIZE) -o $@ $^ $(UNIT_LINK)

-include $(UNIT_OBJS:.o=.d) $(ACCURACY_OBJS:.o=.d) $(SANITIZE_OBJS:.o=.d) \
         $(TEST_DEVICE_OBJS:.o=.d)

build/test/fake_cudad: $(TEST_DEVICE_OBJS) $(CUDA_SERVER_OBJS) $(CORE_OBJS)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS) -lpthread

# The service and its client under the thread sanitizer: what has threads of its own. The rest is
# linked as it is, as the sanitizer knows nothing of OpenMP and would take its barriers for races.
THREADS          = -O1 -fno-omit-frame-pointer -fsanitize=thread
THREADS_CORE     := $(filter src/core/device/%,$(CORE_SRCS))
THREADS_UNIT     := $(filter test/unit/message_test.cpp \
                             $(foreach part,answers client program server service silence, \
                               test/unit/device_$(part)_test.cpp),$(UNIT_SRCS))
THREADS_OBJS     := $(THREADS_CORE:src/%.cpp=build/threads/%.o) \
                    $(THREADS_UNIT:test/unit/%.cpp=build/threads/unit/%.o) \
                    $(TEST_DEVICE_PART:build/test/device/%.o=build/threads/device/%.o) \
                    $(CUDA_SERVER_OBJS:build/cuda/%.o=build/threads/cuda/%.o)

build/threads.flags: FLAGS = $(CORE_COMPILE) $(THREADS)

build/threads/core/%.o: src/core/%.cpp build/threads.flags
	@mkdir -p $(@D)
	$(CORE_COMPILE) $(THREADS) -MMD -MP -c -o $@ $<

build/threads/unit/%.o: test/unit/%.cpp build/threads.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) $(THREADS) -MMD -MP -c -o $@ $<

build/threads/device/%.o: test/device/%.cpp build/threads.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) $(THREADS) -MMD -MP -c -o $@ $<

build/threads/cuda/%.o: cuda/%.cpp build/threads.flags
	@mkdir -p $(@D)
	$(CUDA_COMPILE) $(THREADS) -MMD -MP -c -o $@ $<

build/threads/unit_test: $(THREADS_OBJS) $(filter-out src/core/device/%,$(CORE_OBJS))
	$(CXX) -fopenmp $(THREADS) -o $@ $^ $(UNIT_LINK)

-include $(THREADS_OBJS:.o=.d)

# The core's own threads, OpenMP's, under the same sanitizer: what runs in them, compiled by clang for
# LLVM's OpenMP, whose Archer tells the sanitizer who waits for whom. The rest is linked as it is. One
# instruction set (HWY_COMPILE_ONLY_STATIC): the threads are the same in all.
OPENMP_COMPILE   = $(FUZZ_CXX) -Isrc -I. -Itest -Itest/unit -std=c++20 -O1 -g -fPIC -fopenmp -fno-math-errno \
                   -ffp-contract=off -fno-omit-frame-pointer -fsanitize=thread -DHWY_COMPILE_ONLY_STATIC \
                   -Wall -Wextra -Wno-unknown-pragmas
OPENMP_CORE      := $(filter src/core/sums/% $(foreach part,adaptive kernel_estimate polya_tree, \
                               src/core/estimate/$(part).cpp),$(CORE_SRCS))
OPENMP_UNIT      := test/unit/sums_test.cpp
OPENMP_OBJS      := $(OPENMP_CORE:src/%.cpp=build/openmp/%.o) $(OPENMP_UNIT:test/unit/%.cpp=build/openmp/unit/%.o)
OPENMP_REST      := $(filter-out $(OPENMP_CORE:.cpp=.o),$(CORE_OBJS)) \
                    $(foreach part,adaptive gaussian_sums joint_fit,build/unit/$(part)_test.o)
# Of the tests that give the sums more threads than one those that take seconds.
OPENMP_TESTS     := OrderedSum.*:Cancellation.*:Adaptive.*Threads:JointFit.*Threads

build/openmp.flags: FLAGS = $(OPENMP_COMPILE)

build/openmp/core/%.o: src/core/%.cpp build/openmp.flags
	@mkdir -p $(@D)
	$(OPENMP_COMPILE) -DKDE_AQP_CORE -MMD -MP -c -o $@ $<

build/openmp/unit/%.o: test/unit/%.cpp build/openmp.flags
	@mkdir -p $(@D)
	$(OPENMP_COMPILE) -MMD -MP -c -o $@ $<

build/openmp/unit_test: $(OPENMP_OBJS) $(OPENMP_REST)
	$(FUZZ_CXX) -fopenmp -fsanitize=thread -o $@ $^ -lnlopt -lgtest_main -lgtest -lpthread

-include $(OPENMP_OBJS:.o=.d)

# The kernels against the reference engine, and their speed: for a machine with a card.
CUDA_TEST_SRCS   := $(wildcard test/cuda/*.cpp)
CUDA_TEST_OBJS   := $(CUDA_TEST_SRCS:test/%.cpp=build/%.o)
DEVICE_BENCH_OBJS = build/bench/device/main.o build/bench/table.o build/bench/covariance.o \
                    build/bench/textbook_plugin.o
# The core may not know CUDA; these know both. nvcc may be a link or a wrapper anywhere, so it is asked
# where its headers are.
CUDA_INCLUDE      = $(dir $(firstword $(filter %/cuda_runtime.h,$(shell $(NVCC) -M -x cu /dev/null))))
CUDA_HOST_COMPILE = $(UNIT_COMPILE) -Itest/bench -idirafter $(CUDA_INCLUDE)

build/cuda/%_test.o: test/cuda/%_test.cpp build/core.flags
	@mkdir -p $(@D)
	$(CUDA_HOST_COMPILE) -MMD -MP -c -o $@ $<

build/bench/device/%.o: test/bench/device/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(CUDA_HOST_COMPILE) -MMD -MP -c -o $@ $<

build/cuda/cuda_test: $(CUDA_TEST_OBJS) $(CUDA_KERNEL_OBJS) $(CORE_OBJS)
	$(NVCC) -cudart static -Xcompiler -fopenmp -o $@ $^ $(UNIT_LINK)

build/cuda/device_bench: $(DEVICE_BENCH_OBJS) $(CUDA_KERNEL_OBJS) $(CORE_OBJS)
	$(NVCC) -cudart static -Xcompiler -fopenmp -o $@ $^ $(CORE_LIBS) -lbenchmark -lpthread

-include $(CUDA_TEST_OBJS:.o=.d) build/bench/device/main.d

cuda-check: build/cuda/cuda_test
	build/cuda/cuda_test --gtest_brief=1

cuda-bench: build/cuda/device_bench
	build/cuda/device_bench

# The service over the processor, which misbehaves when asked to: for tests of its clients.
fake-cudad: build/test/fake_cudad

# Planner hooks and table access methods that put a table's rows elsewhere: for tests, never installed.
build/test/elsewhere.so: test/planner/elsewhere.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CFLAGS_SL) -Wextra -Wno-declaration-after-statement -Wno-unused-parameter \
	  -I$(includedir_server) -shared -o $@ $<

elsewhere: build/test/elsewhere.so

unit-build: build/unit/unit_test
unit: unit-build
	scripts/shards.sh build/unit/unit_test --gtest_brief=1

sanitize: build/sanitize/unit_test
	scripts/shards.sh build/sanitize/unit_test --gtest_brief=1

# The program's tests fork after other tests had threads, which have ended by then.
sanitize-threads: build/threads/unit_test
	TSAN_OPTIONS=die_after_fork=0 scripts/shards.sh build/threads/unit_test --gtest_brief=1

sanitize-openmp: build/openmp/unit_test
	scripts/archer.sh build/openmp/unit_test --gtest_brief=1 --gtest_filter='$(OPENMP_TESTS)'

# ---------------------------------------------------------------------------------------------
# Tests that need a server, and the demo: a private installation, a throw-away cluster
# (scripts/private_cluster.sh). `+` passes make's job server on to the scripts' own make.

deps:
	@scripts/deps.sh build

regress isolation tap:
	+@TESTS='$(TESTS)' scripts/test.sh $@ </dev/null

# The same on other versions of PostgreSQL, and packages for them (scripts/versions.sh says which).
versions: TASK = test
deb: TASK = deb
versions deb:
	+@TESTS='$(TESTS)' scripts/versions.sh $(TASK) </dev/null

test:
	+@scripts/deps.sh test </dev/null && TESTS= scripts/test.sh unit regress isolation tap </dev/null

# Random queries (test/sqlsmith).
QUERIES ?= 2000
SEED    ?= 1

sqlsmith:
	+@scripts/deps.sh sqlsmith </dev/null && QUERIES=$(QUERIES) SEED=$(SEED) test/sqlsmith/run.sh </dev/null

valgrind:
	+@scripts/deps.sh valgrind </dev/null && TESTS='$(TESTS)' test/valgrind/run.sh </dev/null

demo:
	+@scripts/deps.sh demo </dev/null && CSV='$(subst ','\'',$(CSV))' \
	  COLUMN='$(subst ','\'',$(COLUMN))' demo/run.sh </dev/null

# ---------------------------------------------------------------------------------------------
# Benchmarks of the core (Google Benchmark)

BENCH_SRCS := $(wildcard test/bench/*.cpp)
BENCH_OBJS := $(BENCH_SRCS:test/bench/%.cpp=build/bench/%.o)

build/bench/%.o: test/bench/%.cpp build/core.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) -MMD -MP -c -o $@ $<

build/bench/bench: $(BENCH_OBJS) $(CORE_OBJS)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS) -lbenchmark -lpthread

-include $(BENCH_OBJS:.o=.d)

bench:
	+@scripts/deps.sh bench </dev/null && $(MAKE) --no-print-directory build/bench/bench
	build/bench/bench

# ---------------------------------------------------------------------------------------------
# Accuracy on real columns: a folder of CSV files (test/accuracy)

build/accuracy/accuracy: $(ACCURACY_OBJS) $(CORE_OBJS)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS)

# PART: columns (each by itself), joint (densities of several) or all. JOINT: tables and columns of
# the joint part, as TABLE:COLUMN,COLUMN ... Without it those that something is asked of.
PART  ?= all
JOINT ?=

# A comparator that cannot be installed is left out, and named in the report.
accuracy:
	+@scripts/deps.sh accuracy </dev/null || echo "going on without what is missing"
	+@$(MAKE) --no-print-directory build/accuracy/accuracy
	+build/accuracy/accuracy '$(subst ','\'',$(ACCURACY_DATA))' build/accuracy '$(PART)' '$(JOINT)' </dev/null

# ---------------------------------------------------------------------------------------------
# kde_agg beside avg() and a t-digest (test/bench/agg): speed, groups, rollup, answers, and errors on
# the columns of `make accuracy`. A quick run: make bench-agg ROWS=100000 GENERATED_ROWS=20000

BENCH_AGG = build/bench/agg
ROWS     ?= 10000000
RUNS     ?= 5
GENERATED_ROWS ?= 1000000
SECTIONS ?= speed rollup groups answers accuracy

$(BENCH_AGG)/accuracy_script.o: test/bench/agg/accuracy_script.cpp build/core.flags
	@mkdir -p $(@D)
	$(UNIT_COMPILE) -MMD -MP -c -o $@ $<

$(BENCH_AGG)/accuracy_script: $(BENCH_AGG)/accuracy_script.o $(ACCURACY_PART) $(CORE_OBJS)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS)

-include $(BENCH_AGG)/accuracy_script.d

bench-agg:
	+@scripts/deps.sh accuracy </dev/null || echo "going on without what is missing"
	+@$(MAKE) --no-print-directory -s all $(BENCH_AGG)/accuracy_script
	@rm -f $(BENCH_AGG)/columns.sql
	@if [ -d '$(subst ','\'',$(ACCURACY_DATA))' ]; then $(BENCH_AGG)/accuracy_script \
	  '$(subst ','\'',$(ACCURACY_DATA))' $(BENCH_AGG) $(GENERATED_ROWS) >$(BENCH_AGG)/columns.sql; fi
	+@ROWS=$(ROWS) RUNS=$(RUNS) SECTIONS='$(SECTIONS)' \
	  test/bench/agg/run.sh $(BENCH_AGG)/columns.sql </dev/null

# ---------------------------------------------------------------------------------------------
# Joint densities in SQL (test/bench/joint): what an answer costs, fits of 16 columns. A quick run:
# make bench-joint POINTS=2000 FIT_ROWS=1000

POINTS   ?= 10000
FIT_ROWS ?= 16384
bench-joint: SECTIONS = answers fits
bench-joint: RUNS = 11

bench-joint:
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@POINTS=$(POINTS) FIT_ROWS=$(FIT_ROWS) RUNS=$(RUNS) SECTIONS='$(SECTIONS)' \
	  test/bench/joint/run.sh </dev/null

# ---------------------------------------------------------------------------------------------
# What the extension costs others' DDL (test/bench/ddl). A quick run: make bench-ddl TABLES=2000
# RESTORED=300 PARTITIONS=500

TABLES     ?= 40000
COMMANDS   ?= 100
RESTORED   ?= 3000
ROUNDS     ?= 9
RESTORES   ?= 3
PARTITIONS ?= 8000
bench-ddl: SECTIONS = commands restores densities

bench-ddl:
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@TABLES=$(TABLES) COMMANDS=$(COMMANDS) RESTORED=$(RESTORED) ROUNDS=$(ROUNDS) RESTORES=$(RESTORES) \
	  PARTITIONS=$(PARTITIONS) SECTIONS='$(SECTIONS)' test/bench/ddl/run.sh </dev/null

# ---------------------------------------------------------------------------------------------
# Load (test/load): 64 clients that ask, while all else happens to what they ask; memory; what fits cost
# those who ask. The full run: make load LOAD_SECONDS=300. A quick one: make load-quick

LOAD_SECONDS  ?= 60
LOAD_SECTIONS ?= storm leak latency
load:
	+@scripts/deps.sh test </dev/null
	+@LOAD_SECONDS=$(LOAD_SECONDS) LOAD_SECTIONS='$(LOAD_SECTIONS)' test/load/run.sh </dev/null

load-quick:
	+@scripts/deps.sh test </dev/null
	+@LOAD_SECONDS=20 LOAD_ANSWERS=200000 LOAD_FITS=1000 LOAD_SECTIONS='storm leak' \
	  test/load/run.sh </dev/null

# ---------------------------------------------------------------------------------------------
# Format and lint

CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 clang-format) clang-format)
CLANG_TIDY   ?= $(firstword $(shell command -v clang-tidy-14 clang-tidy) clang-tidy)
FORMATTED    := $(shell find src test cuda -name '*.cpp' -o -name '*.h' 2>/dev/null | LC_ALL=C sort)

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

format-check:
	$(CLANG_FORMAT) --dry-run --Werror $(FORMATTED)

# Only the core and the service: the glue is full of PostgreSQL's macros, which clang-tidy reads as defects.
# clang has no omp.h of its own here, so the compiler's is offered last (-idirafter), after clang's
# intrinsics. One instruction set is enough for lint (HWY_COMPILE_ONLY_STATIC).
OMP_INCLUDE = $(dir $(shell $(CXX) -print-file-name=include/omp.h))
# libFuzzer targets (test/fuzz), with clang: each for FUZZ_SECONDS, from the inputs that earlier runs on
# this machine found worth keeping (scripts/fuzz.sh). A finding stays behind as
# build/fuzz/TARGET-crash-..., and in the output as text.
FUZZ_CXX     ?= $(firstword $(shell command -v clang++-14 clang++) clang++)
FUZZ_SECONDS ?= 60
FUZZ     := $(patsubst test/fuzz/%_fuzzer.cpp,%,$(wildcard test/fuzz/*_fuzzer.cpp))
FUZZ_COMPILE  = $(FUZZ_CXX) $(CORE_CPPFLAGS) -Itest/unit -std=c++20 -O1 -g -fopenmp -fno-math-errno \
                -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas -Wno-pass-failed -DHWY_COMPILE_ONLY_STATIC \
                -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# All of the core, of which each target takes what it reaches. OpenMP is LLVM's, as the compiler is,
# and the targets ask it for one thread.
FUZZ_OBJS    := $(CORE_SRCS:src/%.cpp=build/fuzz/%.o)

# Of the vector code one instruction set. Without one that Highway knows it emulates vectors by loops,
# over which clang takes minutes; all files that include Highway must have the same.
VECTOR_SRCS  := $(shell grep -l '<hwy/' $(CORE_SRCS))
VECTOR_BASE  := $(if $(filter x86_64,$(shell uname -m)),-mssse3)
$(VECTOR_SRCS:src/%.cpp=build/fuzz/%.o): FUZZ_COMPILE += $(VECTOR_BASE)
$(VECTOR_SRCS:src/%.cpp=build/openmp/%.o): OPENMP_COMPILE += $(VECTOR_BASE)

build/fuzz.flags: FLAGS = $(FUZZ_COMPILE)

build/fuzz/core/%.o: src/core/%.cpp build/fuzz.flags
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -MMD -MP -c -o $@ $<

build/fuzz/core.a: $(FUZZ_OBJS)
	@rm -f $@
	$(AR) rcs $@ $^

build/fuzz/%_fuzzer.o: test/fuzz/%_fuzzer.cpp build/fuzz.flags
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -MMD -MP -c -o $@ $<

build/fuzz/%_fuzzer: build/fuzz/%_fuzzer.o build/fuzz/core.a
	$(FUZZ_CXX) -fopenmp -fsanitize=fuzzer,address,undefined -o $@ $^ -lnlopt

-include $(FUZZ_OBJS:.o=.d) $(FUZZ:%=build/fuzz/%_fuzzer.d)

fuzz: $(FUZZ:%=fuzz/%)
fuzz/%: build/fuzz/%_fuzzer FORCE
	@scripts/fuzz.sh $* $(FUZZ_SECONDS) $(FUZZ_SEED)

lint: $(CORE_SRCS:%=lint/%) $(CUDA_SERVER_SRCS:%=lint/%) lint/cuda/main.cpp
lint/%: FORCE
	$(CLANG_TIDY) --quiet $* -- -std=c++20 $(CORE_CPPFLAGS) -I. $(CUDA_DEFINE) \
	  -DHWY_COMPILE_ONLY_STATIC \
	  -idirafter $(OMP_INCLUDE) -fopenmp -Wall -Wextra

# The boundary of the core is a compile error; this tries to cross it.
rooms:
	@scripts/check_rooms.sh $(CORE_COMPILE)

# PGXN's META.json against its specification, and the version against what else names it.
meta-check:
	@scripts/meta_check.pl

# README.md and docs/ against the extension: the examples run, the reference is complete, links lead
# somewhere.
docs-check:
	+@scripts/deps.sh test </dev/null && scripts/docs_check.sh

# ---------------------------------------------------------------------------------------------

help:
	@echo "make                 build the extension (PG_CONFIG=/path/to/pg_config chooses the server)"
	@echo "make install         install it into that server (needs the right to write there)"
	@echo "make installcheck    regression and isolation tests against a running server"
	@echo "make cuda            build the device service for graphics cards (needs nvcc)"
	@echo "make cuda-install    install it into that server"
	@echo "make cuda-check      check the cards' sums (needs a card)"
	@echo "make cuda-bench      measure the cards (needs a card)"
	@echo "make deps            install what is missing to build (apt)"
	@echo "make test            everything below up to tap, in a private installation; needs no root"
	@echo "make unit            unit tests of the core"
	@echo "make regress         SQL regression tests [TESTS='refresh filter': these alone]"
	@echo "make isolation       concurrency tests [TESTS=...]"
	@echo "make tap             tests of restart, dump, upgrade ... [TESTS='018_worker ...']"
	@echo "make versions        the last three on other versions of PostgreSQL; needs root [VERSIONS='15 17 18']"
	@echo "make deb             a Debian package for each of them, installed and tested; needs root [VERSIONS=...]"
	@echo "make sanitize        unit tests under the address and undefined-behaviour sanitizers"
	@echo "make sanitize-threads  tests of the device service under the thread sanitizer"
	@echo "make faults          build the extension with fault points, for tests"
	@echo "make sanitize-openmp  tests of the core's own threads under the thread sanitizer (clang, Archer)"
	@echo "make fuzz            libFuzzer targets of the core [FUZZ_SECONDS=n each] [FUZZ_SEED=n]"
	@echo "make sqlsmith        SQLsmith's random queries against a private server [QUERIES=n SEED=n]"
	@echo "make valgrind        regression tests with the server under valgrind [TESTS='errors fit']"
	@echo "make fake-cudad      build the device service over the processor, for tests"
	@echo "make elsewhere       build the library whose planner hooks put a table's rows elsewhere, for tests"
	@echo "make demo            exact against approximate answers [CSV=file.csv COLUMN=name]"
	@echo "make bench           benchmarks of the core (ratios in one run)"
	@echo "make bench-agg       kde_agg beside avg() and t-digest [ROWS=n RUNS=n SECTIONS=names DATA=folder]"
	@echo "make bench-joint     answers and fits of several columns in SQL [POINTS=n FIT_ROWS=n RUNS=n SECTIONS=names]"
	@echo "make bench-ddl       what the extension costs others' DDL [TABLES=n RESTORED=n PARTITIONS=n ROUNDS=n RESTORES=n SECTIONS=names]"
	@echo "make load            answers under fits, refreshes, DDL, cancels [LOAD_SECONDS=n LOAD_SECTIONS=names]; load-quick"
	@echo "make accuracy        errors and coverage on real columns [DATA=folder of CSV files PART=columns|joint|all]"
	@echo "make format          format the sources; format-check only looks"
	@echo "make lint            clang-tidy on the core and the device service"
	@echo "make rooms           check that the core cannot include PostgreSQL or CUDA, and the order of the wings"
	@echo "make meta-check      check META.json against PGXN's specification"
	@echo "make docs-check      run the examples of README.md and docs, check the reference, links, lengths"
	@echo "make clean           remove what was built"

.PHONY: all fuzz install installcheck clean cuda cuda-install cuda-check cuda-bench faults fake-cudad elsewhere deps unit unit-build sanitize sanitize-threads \
        sanitize-openmp sqlsmith valgrind regress isolation tap versions deb test demo bench bench-agg bench-ddl bench-joint accuracy load load-quick format format-check lint rooms meta-check docs-check help FORCE
