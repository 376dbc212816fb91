# Checks of the sources and the documents.

CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 clang-format) clang-format)
CLANG_TIDY   ?= $(firstword $(shell command -v clang-tidy-14 clang-tidy) clang-tidy)
FORMATTED    := $(shell find src test cuda -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \
                       2>/dev/null | LC_ALL=C sort)

format: ## format the sources; format-check only looks
	$(CLANG_FORMAT) -i $(FORMATTED)

format-check:
	$(CLANG_FORMAT) --dry-run --Werror $(FORMATTED)

# Only the core and the service: the glue is full of PostgreSQL's macros, which clang-tidy reads as defects.
# clang has no omp.h of its own here, so the compiler's is offered last (-idirafter), after clang's
# intrinsics. One instruction set is enough for lint (HWY_COMPILE_ONLY_STATIC). SINCE: only what changed since
# that commit, or includes what changed, as far as a build before has told (its .d files).
LINT_COMPILE = -std=c++20 $(REST_CPPFLAGS) -DKDE_AQP_CORE -DHWY_COMPILE_ONLY_STATIC \
               -idirafter $(dir $(shell $(CXX) -print-file-name=include/omp.h)) -fopenmp -Wall -Wextra
LINT_SRCS    = $(CORE_SRCS) $(CUDA_SERVER_SRCS) cuda/main.cpp
SINCE       ?=
CHANGED      = $(shell git diff --name-only $(SINCE))
LINTED       = $(foreach source,$(LINT_SRCS),$(if $(or $(if $(SINCE),,all),$(filter .clang-tidy make/checks.mk,$(CHANGED)),\
                 $(filter $(source) $(file <build/plain/$(source:.cpp=.d)),$(CHANGED))),$(source)))

lint: $(LINTED:%=lint/%) ## clang-tidy on the core and the device service [SINCE=commit: on what changed]
lint/%: FORCE
	$(CLANG_TIDY) --quiet $* -- $(LINT_COMPILE)

# The boundary of the core is a compile error; this tries to cross it.
rooms: ## check that the core cannot include PostgreSQL or CUDA, the order of the wings, and no circles of files
	@scripts/check_rooms.sh $(CXX) $(CORE_CXXFLAGS) $(CORE_CPPFLAGS)

counts: ## how large the house is: lines, words, long files and functions, forks by form, names and options
	@scripts/counts.sh

meta-check: ## check META.json against PGXN's specification, versions, and that SQL's names are found in src
	@scripts/meta_check.pl

docs-check: ## run the examples of README.md and docs, check the reference, links, words
	+@scripts/deps.sh docs </dev/null && scripts/docs_check.sh

.PHONY: format format-check lint rooms counts meta-check docs-check
