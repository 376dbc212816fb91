# Tests. Unit tests link the core as it is installed, and again under sanitizers; what needs a server gets a
# private installation and a throw-away cluster (scripts/private_cluster.sh).

UNIT_SRCS   := $(call sources,test/unit)
UNIT_LIBS    = $(CORE_LIBS) -lgtest_main -lgtest -lpthread
# The unit tests also link what they test beside the core: the pieces of `make accuracy`, the service's server, and
# what stands in for a card (fake_main.cpp makes a program of that).
DEVICE_SRCS := $(wildcard test/device/*.cpp) $(CUDA_SERVER_SRCS)
UNIT_PARTS  := $(UNIT_SRCS) $(filter-out %/main.cpp,$(wildcard test/accuracy/*.cpp)) \
               $(filter-out %/fake_main.cpp,$(DEVICE_SRCS))

# $(call in,flavour,sources): their objects.
in = $(patsubst %.cpp,build/$(1)/%.o,$(2))

build/plain/unit_test: $(CORE_OBJS) $(call in,plain,$(UNIT_PARTS))
	$(CXX) -fopenmp -o $@ $^ $(UNIT_LIBS)

build/sanitize/unit_test: $(call in,sanitize,$(CORE_SRCS) $(UNIT_PARTS))
	$(CXX) -fopenmp $(SANITIZE) -o $@ $^ $(UNIT_LIBS)

# Of other machines. CROSS_FOLDER: where their libraries are.
$(MACHINES:%=build/%/unit_test): build/%/unit_test:
	$(TRIPLE_$*)-g++ -fopenmp -o $@ $^ -L$(CROSS_FOLDER)/$*/usr/lib/$(TRIPLE_$*) $(UNIT_LIBS)
$(foreach m,$(MACHINES),$(eval build/$(m)/unit_test: $(call in,$(m),$(CORE_SRCS) $(UNIT_PARTS))))
cross: ## core and unit tests for other machines, run by qemu-user [MACHINES=names CROSS_FILTER=tests] (root)
	scripts/cross.sh $(MACHINES) -- --gtest_filter='$(CROSS_FILTER)'
CROSS_FILTER ?= *

# The service and its client under the thread sanitizer. The rest is linked as it is, as the sanitizer
# knows nothing of gcc's OpenMP and would take its barriers for races.
THREADS_TESTS = $(filter %/message_test.cpp $(foreach part,answers client program server service silence, \
                  %/device_$(part)_test.cpp),$(UNIT_SRCS))
build/threads/unit_test: $(call in,threads,$(filter src/core/device/%,$(CORE_SRCS)) $(THREADS_TESTS) \
                           $(filter-out %/fake_main.cpp,$(DEVICE_SRCS))) \
                         $(call in,plain,$(filter-out src/core/device/%,$(CORE_SRCS)))
	$(CXX) -fopenmp $(THREADS) -o $@ $^ $(UNIT_LIBS)

# The core's own threads under the same sanitizer, where LLVM's Archer tells it who waits for whom: what
# runs in them. The rest is linked as it is. OPENMP_FILTER: of the tests that give the sums more threads
# than one those that take seconds.
OPENMP_CORE   = $(filter src/core/sums/% %/share_items.cpp %/adaptive.cpp %/kernel_estimate.cpp %/polya_tree.cpp,$(CORE_SRCS))
OPENMP_FILTER = ShareItems*:OrderedSum.*:Cancellation.*:Adaptive.*Threads:JointFit.*Threads
build/openmp/unit_test: $(call in,openmp,$(OPENMP_CORE) test/unit/sums_test.cpp test/unit/share_items_test.cpp) \
                        $(call in,plain,$(filter-out $(OPENMP_CORE),$(CORE_SRCS)) \
                          $(patsubst %,test/unit/%_test.cpp,adaptive gaussian_sums joint_fit))
	$(CLANGXX) -fopenmp -fsanitize=thread -o $@ $^ -lnlopt -lgtest_main -lgtest -lpthread

unit-build: build/plain/unit_test
unit: unit-build ## unit tests of the core
	scripts/shards.sh build/plain/unit_test --gtest_brief=1

# Those that take over five seconds sanitized, half of the whole, as they add up millions of pairs with what
# smaller tests run too. SANITIZED=all has them as well.
SLOW_SANITIZED = Words.AreWithin* Words.Hold* Words.MeasuresHold* Words.Lists* Words.OfOneRun* Words.Means* LineBandwidth.NearExact* LineBandwidth.OfAPart* LineBandwidth.MovesWithTheUnit LscvEngines.* \
  DeviceSums.SelectLines NormalBox.DrawsAgree* LscvScalar.SinglePrecision* LscvMatrix.IsNoWorse* \
  *Representation.KeepsWhatItPromises* FitAutomatic.PropertiesHold* FitAutomatic.EveryShape* \
  FitAutomatic.TheSameBytes* KernelEstimate.ManyPoints* KernelEstimate.EveryDimension \
  HistogramIntegral.WithoutALattice* *EveryGaussianEngine.IsRightToAMillionthInManyDimensions* \
  Measure.TheSameForAny* Spectral.AgreesOnPlugin* JointMeasure.Counts* HonestIntervals.* *HonestBursts.* *HonestParts.* JointHonest.* \
  Interval.HoldsTheEstimateAndGrows Variance.BlockSeries* Validate.RandomDamage* FitColumn.ScaleEquivariance \
  Drift.LevelWhereTheDensityIsASample LineSmoother.IsTheReflectedKernelSum SmoothedCv.IsTheSameOnExactSums \
  *EverySimdEngine.HasTheSameBits* *EveryGaussianEngine.IsRightToAMillionthOnFewPlaces*
SANITIZED ?= quick
empty :=
sanitize: build/sanitize/unit_test ## unit tests under the address and undefined-behaviour sanitizers [SANITIZED=all]
	scripts/shards.sh $< --gtest_brief=1 \
	  $(if $(filter quick,$(SANITIZED)),--gtest_filter='-$(subst $(empty) $(empty),:,$(strip $(SLOW_SANITIZED)))')

# The program's tests fork after other tests had threads, which have ended by then.
sanitize-threads: build/threads/unit_test ## tests of the device service under the thread sanitizer
	TSAN_OPTIONS=die_after_fork=0 scripts/shards.sh $< --gtest_brief=1

sanitize-openmp: build/openmp/unit_test ## tests of the core's threads under the thread sanitizer (clang, Archer)
	scripts/archer.sh $< --gtest_brief=1 --gtest_filter='$(OPENMP_FILTER)'

# libFuzzer targets, each for FUZZ_SECONDS, from the inputs that earlier runs on this machine found worth
# keeping (scripts/fuzz.sh). A finding stays behind as build/fuzz/TARGET-crash-..., and in the output as text.
# Each takes of the core what it reaches. OpenMP is LLVM's, as the compiler is; the targets ask it for one thread.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst test/fuzz/%_fuzzer.cpp,%,$(wildcard test/fuzz/*_fuzzer.cpp))

build/fuzz/core.a: $(call in,fuzz,$(CORE_SRCS))
	@rm -f $@
	$(AR) rcs $@ $^

build/fuzz/%_fuzzer: build/fuzz/test/fuzz/%_fuzzer.o build/fuzz/core.a
	$(CLANGXX) -fopenmp -fsanitize=fuzzer,address,undefined -o $@ $^ -lnlopt
.PRECIOUS: build/fuzz/test/fuzz/%_fuzzer.o

fuzz: $(FUZZ_TARGETS:%=fuzz/%) ## libFuzzer targets of the core [FUZZ_SECONDS=n each] [FUZZ_SEED=n]
fuzz/%: build/fuzz/%_fuzzer FORCE
	@scripts/fuzz.sh $* $(FUZZ_SECONDS) $(FUZZ_SEED)

# What the TAP tests put beside the extension: the service over the processor, which misbehaves when asked
# to, planner hooks and table access methods that put a table's rows elsewhere, and planner hooks that rely on
# each other. Never installed.
build/test/fake_cudad: $(call in,plain,$(DEVICE_SRCS)) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS) -lpthread

build/test/%.so: test/planner/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CFLAGS_SL) -Wextra -Wno-declaration-after-statement -Wno-unused-parameter \
	  -I$(includedir_server) -shared -o $@ $<

fake-cudad: build/test/fake_cudad ## build the device service over the processor, for tests
elsewhere: build/test/elsewhere.so build/test/entered.so ## build the libraries with planner hooks, for tests

# `+` passes make's job server on to the scripts' own make.
regress:   ## SQL regression tests [TESTS='refresh filter': these alone]
isolation: ## concurrency tests [TESTS=...]
tap:       ## tests of restart, dump, pg_upgrade ... [TESTS='018_worker ...']
regress isolation tap:
	+@TESTS='$(TESTS)' scripts/test.sh $@ </dev/null

test-long: ## what takes longer: all of lint, fuzzers, faults, SQLsmith, valgrind; says when it last passed
	+@scripts/test_long.sh

test: ## unit, regress, isolation and tap, in a private installation; needs no root
	+@scripts/deps.sh test </dev/null && TESTS= scripts/test.sh unit regress isolation tap </dev/null

# On other versions of PostgreSQL, and packages for them (scripts/versions.sh says which).
versions: ## the last three on other versions of PostgreSQL; needs root [VERSIONS='15 17 18 19' PG_CONFIG_16=...]
deb:      ## a Debian package for each of them, installed and tested; needs root [VERSIONS=...]
versions: TASK = test
deb: TASK = deb
versions deb:
	+@TESTS='$(TESTS)' scripts/versions.sh $(TASK) </dev/null

QUERIES ?= 2000
SEED    ?= 1
sqlsmith: ## SQLsmith's random queries against a private server [QUERIES=n SEED=n]
	+@scripts/deps.sh sqlsmith </dev/null && QUERIES=$(QUERIES) SEED=$(SEED) test/sqlsmith/run.sh </dev/null

core-regress: ## PostgreSQL's own tests with kde_aqp.approximate on and off: the same [CORE_SOURCE=its source]
	+@scripts/deps.sh test </dev/null && test/core_regress/run.sh </dev/null

valgrind: ## regression tests with the server under valgrind [TESTS='errors fit']
	+@scripts/deps.sh valgrind </dev/null && TESTS='$(TESTS)' test/valgrind/run.sh </dev/null

# 64 clients that ask, while all else happens to what they ask; memory; what fits cost those who ask.
LOAD_SECONDS  ?= 60
LOAD_SECTIONS ?= storm extension leak latency
load-quick: LOAD = LOAD_SECONDS=20 LOAD_ANSWERS=200000 LOAD_FITS=5000 LOAD_SECTIONS='storm extension leak'
load: LOAD = LOAD_SECONDS=$(LOAD_SECONDS) LOAD_SECTIONS='$(LOAD_SECTIONS)'
load: ## answers under fits, refreshes, DDL, cancels [LOAD_SECONDS=n LOAD_SECTIONS=names]; load-quick
load-quick load:
	+@scripts/deps.sh test </dev/null
	+@$(LOAD) test/load/run.sh </dev/null

.PHONY: unit-build unit cross sanitize sanitize-threads sanitize-openmp fuzz fake-cudad elsewhere regress \
        isolation tap test test-long versions deb sqlsmith core-regress valgrind load load-quick
