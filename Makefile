# kde_aqp: build, install and test. `make help` lists the targets; their rules are in make/.
#
# The extension is built with PGXS (PostgreSQL 15 to 18). The core, src/core, is built by rules of
# its own with flags that know nothing of PostgreSQL; the same objects go into the extension and
# into the unit tests. All objects are in build/ (make/flavours.mk).

EXTENSION  = kde_aqp
MODULE_big = kde_aqp
# PGXS names its data files DATA; on the command line it is the folder `make accuracy` reads.
ACCURACY_DATA := $(if $(filter command,$(origin DATA)),$(DATA),../shared/data)
override DATA = $(wildcard sql/$(EXTENSION)--*.sql)

sources = $(shell find $(1) -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
CORE_SRCS := $(call sources,src/core)
PG_SRCS   := $(call sources,src/pg)
CORE_OBJS := $(CORE_SRCS:%.cpp=build/plain/%.o)
PG_OBJS   := $(PG_SRCS:%.cpp=build/plain/%.o)
OBJS       = $(CORE_OBJS) $(PG_OBJS)

REGRESS_TESTS := $(sort $(basename $(notdir $(wildcard test/regress/sql/*.sql))))
REGRESS        = test_setup $(filter-out test_setup,$(REGRESS_TESTS))
REGRESS_OPTS   = --inputdir=test/regress --load-extension=$(EXTENSION)
ISOLATION     := $(sort $(basename $(notdir $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=$(EXTENSION)

EXTRA_CLEAN = build

# ---------------------------------------------------------------------------------------------
# Flags

# WERROR=-Werror makes warnings fatal (.ci/run does). Nothing here depends on the building
# machine's processor: -march=native is never used, the core chooses at run time.
WARNINGS = -Wall -Wextra -Wshadow -Wnon-virtual-dtor $(WERROR)

# DISTRIBUTION_CXXFLAGS, DISTRIBUTION_LDFLAGS: what a distribution compiles and links all with
# (debian/rules). Of the flags that the server was compiled with the core takes those that harden it.
DISTRIBUTION_CXXFLAGS ?=
DISTRIBUTION_LDFLAGS ?=
HARDENING = $(filter -fstack-protector% -fstack-clash-protection -fcf-protection% -mbranch-protection=% \
              -D_FORTIFY_SOURCE=% -Wformat -Werror=format-security,$(CXXFLAGS) $(CPPFLAGS)) \
            $(DISTRIBUTION_CXXFLAGS)

# -ffp-contract=off: the same formula gives the same bits wherever the compiler inlines it.
# Never -ffast-math: answers must be deterministic and NaN must stay NaN.
CORE_CXXFLAGS = -std=c++20 -O2 -g1 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fopenmp \
                -fno-math-errno -ffp-contract=off $(WARNINGS)
CORE_LIBS     = -lnlopt -lgomp

# Appended by PGXS to PostgreSQL's own CXXFLAGS; must be set before the include.
# -Wno-register and the others are for PostgreSQL's headers, which are C.
PG_CXXFLAGS = -std=c++20 -fvisibility-inlines-hidden -ffp-contract=off $(WARNINGS) \
              -Wno-register -Wno-unused-parameter -Wno-sign-compare $(DISTRIBUTION_CXXFLAGS)
PG_CPPFLAGS = -Isrc

# The linker is $(CC), which does not add the C++ runtime by itself.
SHLIB_LINK = $(CORE_LIBS) -lstdc++ -lm $(DISTRIBUTION_LDFLAGS) -Wl,--version-script=make/exports.map

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
# PGXS knows of objects alone.
$(shlib): make/exports.map
else
# A machine on which scripts/deps.sh has not run yet: only what needs no PostgreSQL works.
all install installcheck:
	@echo "PostgreSQL's server headers (PGXS) were not found by $(PG_CONFIG);" >&2
	@echo "run scripts/deps.sh or name the right one: make PG_CONFIG=/path/to/pg_config" >&2
	@exit 1
clean:
	rm -rf $(EXTRA_CLEAN)
endif

include make/flavours.mk make/cuda.mk make/tests.mk make/benchmarks.mk make/checks.mk

# A core compiled without -fopenmp would say of a fit that it used two threads, and use one: a library
# that calls for none is not left behind.
ifneq (,$(DLSUFFIX))
all: build/openmp.checked ## build the extension [PG_CONFIG=/path/to/pg_config chooses the server]
endif
build/openmp.checked: $(MODULE_big)$(DLSUFFIX)
	@nm -u $< | grep GOMP_parallel >$@ || { rm -f $< $@; echo "$<: its core was compiled without OpenMP" >&2; exit 1; }

# Of PGXS, for `make help`:
install:      ## install it into that server [needs the right to write there]
installcheck: ## regression and isolation tests against a running server
clean:        ## remove what was built

deps: ## install what is missing to build (apt)
	@scripts/deps.sh build

demo: ## exact against approximate answers, with a report [CSV=file.csv [COLUMN=name]]
	+@scripts/deps.sh demo </dev/null && CSV='$(subst ','\'',$(CSV))' \
	  COLUMN='$(subst ','\'',$(COLUMN))' demo/run.sh </dev/null

# A target and what stands behind its `##`, file by file.
help:
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
	  awk -F '\t' '{ printf "make %-17s %s\n", $$1, $$2 }'

.PHONY: all install installcheck clean deps demo help FORCE
