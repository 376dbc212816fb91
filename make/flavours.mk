# Objects. A flavour is a way to compile: of every SOURCE.cpp that it is asked for it has the object
# build/FLAVOUR/SOURCE.o, with a .d file beside it, so that an edited header rebuilds what includes it.
#
#   plain     what is installed, and its unit tests
#   faults    the glue with fault points (src/pg/base/fault.h)
#   sanitize  address and undefined-behaviour sanitizers
#   threads   thread sanitizer: what has threads of its own, the service and its client
#   openmp    thread sanitizer and LLVM's OpenMP: the core's own threads
#   fuzz      libFuzzer
#   arm64, s390x  other machines (scripts/cross.sh)

MACHINES     = arm64 s390x
TRIPLE_arm64 = aarch64-linux-gnu
TRIPLE_s390x = s390x-linux-gnu

# build/FLAVOUR.flags holds the flags of the last build: rewritten only when they change, it rebuilds what
# depends on them, for instance the glue after `make PG_CONFIG=...` of another version. Named one by
# one: what only an implicit rule can make is an intermediate file, and goes when make ends.
FLAGS_FILES = $(foreach name,pg plain sanitize threads openmp fuzz nvcc $(MACHINES),build/$(name).flags)

$(FLAGS_FILES): build/%.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
FORCE:

# PCH=yes compiles first, once for all, what most files include, for a first build that does not take long
# (make demo). The objects are the same. Not by default: ccache keeps nothing of it.
PCH ?=
hash := \#
PCH_CORE = algorithm cmath cstdint cstring functional limits memory new numbers span string vector
PCH_PG   = executor/spi utils/typcache
precompiled = $(and $(PCH),$(filter plain,$(1)),$(filter src/core src/pg,$(2)),build/pch/$(2).h.gch)

build/pch/src/core.h: INCLUDED = $(PCH_CORE:%='$(hash)include <%>')
build/pch/src/pg.h: INCLUDED = '$(hash)include "pg/base/pg.h"' '$(hash)include "core/kde.h"' '$(hash)include <cmath>' \
                               'extern "C" {' $(PCH_PG:%='$(hash)include "%.h"') '}'
build/pch/src/%.h: make/flavours.mk
	@mkdir -p $(@D)
	@printf '%s\n' $(INCLUDED) > $@
.PRECIOUS: build/pch/src/%.h
build/pch/src/core.h.gch: build/pch/src/core.h build/plain.flags
	$(CXX) $(HARDENING) $(CORE_CXXFLAGS) -x c++-header -o $@ $<
build/pch/src/pg.h.gch: build/pch/src/pg.h build/pg.flags
	$(PG_COMPILE) -MMD -MP -x c++-header -o $@ $<
-include build/pch/src/pg.h.d

# $(call objects,flavour,folder,flags file,command): those of the folder's sources.
define objects
build/$(1)/$(2)/%.o: $(2)/%.cpp build/$(3).flags | $(call precompiled,$(1),$(2))
	@mkdir -p $$(@D)
	$(4) $(patsubst %.gch,-include %,$(call precompiled,$(1),$(2))) -MMD -MP -c -o $$@ $$<
	$(if $(call precompiled,$(1),$(2)),@echo '$$@: $(call precompiled,$(1),$(2))' >>$$(@:.o=.d))
endef

# The core sees itself alone. Of x86 what has no SSE4 (and AES) computes in scalars: each instruction set
# takes seconds to compile. The service and the tests see more. Test files are compiled without
# optimisation, and not for undefined behaviour of their own: that takes longer than they run.
# Sanitized, the vectors' code in its widest form and in scalars: between them it is the same.
CORE_CPPFLAGS = -Isrc -DKDE_AQP_CORE -DHWY_DISABLED_TARGETS='$(or $(LEFT_OUT_$(1)),HWY_SSSE3)'
LEFT_OUT_sanitize = (HWY_SSSE3|HWY_SSE4|HWY_AVX2)
VERSION_HERE := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)
REST_CPPFLAGS = -Isrc -I. -Itest -Itest/unit -Itest/bench -DKDE_AQP_VERSION='"$(VERSION_HERE)"'
QUICKLY       = $(if $(filter test/unit/% test/device/%,$<),-O0 -g1 -fno-sanitize=undefined)

# $(call flavour,name,command): of all but the glue, with the command that compiles.
define flavour
build/$(1).flags: FLAGS = $(2)
$(call objects,$(1),src/core,$(1),$(2) $(CORE_CPPFLAGS))
$(call objects,$(1),cuda,$(1),$(2) $$(REST_CPPFLAGS))
$(call objects,$(1),test,$(1),$(2) $$(REST_CPPFLAGS) $$(QUICKLY))
-include $$(shell find build/$(1) -name '*.d' 2>/dev/null)
endef

# PostgreSQL's include directories as system ones: warnings in its headers are not ours.
PG_COMPILE = $(CXX) $(CXXFLAGS) $(patsubst -I/%,-isystem /%,$(CPPFLAGS))
build/pg.flags: FLAGS = $(VERSION) $(PG_COMPILE)

# -O1 and line numbers alone (-g1): compiling takes longer than running.
SANITIZE = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
THREADS  = -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
# By clang. One instruction set (HWY_COMPILE_ONLY_STATIC): the threads are the same in all, and what is
# fuzzed is not in the vectors. The lowest that Highway knows: without one it emulates vectors by loops,
# over which clang takes minutes.
CLANGXX    ?= $(firstword $(shell command -v clang++-14 clang++) clang++)
CLANG_FLAGS = -std=c++20 -O1 -g1 -fPIC -fopenmp -fno-math-errno -ffp-contract=off -Wall -Wextra \
              -Wno-unknown-pragmas -Wno-pass-failed -DHWY_COMPILE_ONLY_STATIC \
              $(if $(filter x86_64,$(shell uname -m)),-msse4.2 -maes -mpclmul)
FUZZ        = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

$(eval $(call flavour,plain,$(CXX) $(HARDENING) $(CORE_CXXFLAGS)))
$(eval $(call flavour,sanitize,$(CXX) $(CORE_CXXFLAGS) $(SANITIZE)))
$(eval $(call flavour,threads,$(CXX) $(CORE_CXXFLAGS) $(THREADS)))
$(eval $(call flavour,openmp,$(CLANGXX) $(CLANG_FLAGS) -fno-omit-frame-pointer -fsanitize=thread))
$(eval $(call flavour,fuzz,$(CLANGXX) $(CLANG_FLAGS) $(FUZZ)))
$(foreach m,$(MACHINES),$(eval $(call flavour,$(m),$(TRIPLE_$(m))-g++ $(CORE_CXXFLAGS) -isystem $(CROSS_FOLDER)/$(m)/usr/include)))
$(eval $(call objects,plain,src/pg,pg,$$(PG_COMPILE)))
$(eval $(call objects,faults,src/pg,pg,$$(PG_COMPILE) -DKDE_AQP_FAULTS))
# What kde_check() compares with the extension's version.
build/plain/src/pg/check/server_findings.o build/faults/src/pg/check/server_findings.o: \
  private PG_COMPILE += -DKDE_AQP_VERSION='"$(VERSION_HERE)"'
build/plain/src/pg/check/server_findings.o build/faults/src/pg/check/server_findings.o: $(EXTENSION).control
-include $(shell find build/faults -name '*.d' 2>/dev/null)

# The extension with fault points: of the glue only what has them is compiled anew.
FAULT_SRCS := $(shell grep -rl --include='*.cpp' '"pg/base/fault.h"' src/pg 2>/dev/null)
build/faults/kde_aqp.so: $(FAULT_SRCS:%.cpp=build/faults/%.o) \
                         $(filter-out $(FAULT_SRCS:%.cpp=build/plain/%.o),$(PG_OBJS)) $(CORE_OBJS)
	$(CXX) -shared -o $@ $^ $(LDFLAGS) $(SHLIB_LINK)

faults: build/faults/kde_aqp.so ## build the extension with fault points, for tests
.PHONY: faults
