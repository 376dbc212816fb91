# Benchmarks and accuracy: ratios within one run, on a machine that is otherwise idle.

build/bench/bench: $(call in,plain,$(wildcard test/bench/*.cpp)) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS) -lbenchmark -lpthread

bench: ## benchmarks of the core (ratios in one run)
	+@scripts/deps.sh bench </dev/null && $(MAKE) --no-print-directory build/bench/bench
	build/bench/bench

# Real columns, a folder of CSV files (test/accuracy). PART: columns (each by itself), shapes (every shape
# of question, on made columns too), joint (densities of several), places (of points made by rule) or all. JOINT: tables and columns of the
# joint part, as TABLE:COLUMN,COLUMN ... Without it those that something is asked of. A comparator that cannot
# be installed is left out, and named in the report.
ACCURACY_SRCS := $(wildcard test/accuracy/*.cpp)
PART  ?= all
JOINT ?=

build/accuracy/accuracy: $(call in,plain,$(ACCURACY_SRCS)) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS)

accuracy: ## errors and coverage on real columns [DATA=folder of CSV files PART=columns|shapes|joint|places|all]
	+@scripts/deps.sh accuracy </dev/null || echo "going on without what is missing"
	+@$(MAKE) --no-print-directory build/accuracy/accuracy
	+build/accuracy/accuracy '$(subst ','\'',$(ACCURACY_DATA))' build/accuracy '$(PART)' '$(JOINT)' </dev/null

# kde_agg beside avg() and a t-digest (test/bench/agg): speed, groups, rollup, answers, and errors on
# the columns of `make accuracy`. A quick run: make bench-agg ROWS=100000 GENERATED_ROWS=20000
BENCH_AGG = build/bench/agg
ROWS     ?= 10000000
RUNS     ?= 5
GENERATED_ROWS ?= 1000000
SECTIONS ?= speed rollup groups answers accuracy

$(BENCH_AGG)/accuracy_script: $(call in,plain,test/bench/agg/accuracy_script.cpp \
                                $(filter-out %/main.cpp,$(ACCURACY_SRCS))) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS)

bench-agg: ## kde_agg beside avg() and t-digest [ROWS=n RUNS=n SECTIONS=names DATA=folder]
	+@scripts/deps.sh accuracy </dev/null || echo "going on without what is missing"
	+@$(MAKE) --no-print-directory -s all $(BENCH_AGG)/accuracy_script
	@rm -f $(BENCH_AGG)/columns.sql
	@if [ -d '$(subst ','\'',$(ACCURACY_DATA))' ]; then $(BENCH_AGG)/accuracy_script \
	  '$(subst ','\'',$(ACCURACY_DATA))' $(BENCH_AGG) $(GENERATED_ROWS) >$(BENCH_AGG)/columns.sql; fi
	+@ROWS=$(ROWS) RUNS=$(RUNS) SECTIONS='$(SECTIONS)' \
	  test/bench/agg/run.sh $(BENCH_AGG)/columns.sql </dev/null

# Joint densities in SQL (test/bench/joint): what an answer costs, fits of 16 columns. A quick run:
# make bench-joint POINTS=2000 FIT_ROWS=1000
POINTS   ?= 10000
FIT_ROWS ?= 16384
bench-joint: SECTIONS = answers fits
bench-joint: RUNS = 11
bench-joint: ## answers and fits of several columns in SQL [POINTS=n FIT_ROWS=n RUNS=n SECTIONS=names]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@POINTS=$(POINTS) FIT_ROWS=$(FIT_ROWS) RUNS=$(RUNS) SECTIONS='$(SECTIONS)' \
	  test/bench/joint/run.sh </dev/null

# Of fits a part of the same, with a card.
cuda-bench-fit: SECTIONS = card
cuda-bench-fit: RUNS = 11
cuda-bench-fit: ## a fit of 16 columns, table to catalog (needs a card) [FIT_ROWS=n RUNS=n]
	+@scripts/deps.sh test </dev/null
	+@FIT_ROWS=$(FIT_ROWS) RUNS=$(RUNS) SECTIONS='$(SECTIONS)' test/bench/joint/run.sh </dev/null

# What the extension costs others' DDL (test/bench/ddl). A quick run: make bench-ddl TABLES=2000
# RESTORED=300 PARTITIONS=500
TABLES     ?= 40000
COMMANDS   ?= 100
RESTORED   ?= 3000
ROUNDS     ?= 9
RESTORES   ?= 3
PARTITIONS ?= 8000
bench-ddl: SECTIONS = commands restores densities
bench-ddl: ## what it costs others' DDL [TABLES=n RESTORED=n PARTITIONS=n ROUNDS=n RESTORES=n SECTIONS=names]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@TABLES=$(TABLES) COMMANDS=$(COMMANDS) RESTORED=$(RESTORED) ROUNDS=$(ROUNDS) RESTORES=$(RESTORES) \
	  PARTITIONS=$(PARTITIONS) SECTIONS='$(SECTIONS)' test/bench/ddl/run.sh </dev/null

# A table's fit beside that of one of its columns (test/bench/fit). A quick run: make bench-fit ROWS=200000
bench-fit: ROWS = 2000000
bench-fit: RUNS = 7
bench-fit: ## a table's fit beside that of one column [ROWS=n RUNS=n]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@ROWS=$(ROWS) RUNS=$(RUNS) test/bench/fit/run.sh </dev/null

# Plain SQL by pgbench, and panels and a star by one client (test/bench/plain). A quick run: make bench-plain
# ROWS=200000 FACTS=200000 RUNS=1 RUN_SECONDS=2
CLIENTS     ?= 16
RUN_SECONDS ?= 5
FACTS       ?= 10000000
bench-plain: ROWS = 3000000
bench-plain: RUNS = 3
bench-plain: SECTIONS = clients panels changed star
bench-plain: ## plain SQL of clients, panels and a star, off and on [CLIENTS=n ROWS=n FACTS=n RUNS=n RUN_SECONDS=n SECTIONS=names]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@CLIENTS=$(CLIENTS) ROWS=$(ROWS) FACTS=$(FACTS) RUNS=$(RUNS) RUN_SECONDS=$(RUN_SECONDS) SECTIONS='$(SECTIONS)' \
	  test/bench/plain/run.sh </dev/null

# What it costs a question to judge what has changed (test/bench/proof). A quick run: make bench-proof
# BLOCKS=40000 RUNS=1
BLOCKS    ?= 131072
BATCHES   ?= 100
bench-proof: RUNS = 5
bench-proof: ## judging what has changed, by the map of 1 GB [BLOCKS=n BATCHES=n RUNS=n]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@BLOCKS=$(BLOCKS) BATCHES=$(BATCHES) RUNS=$(RUNS) test/bench/proof/run.sh </dev/null

# A table that grows while dashboards ask (test/bench/growing). A quick run: make bench-growing ROWS=500000
# RUN_SECONDS=10 RATE=1000 PARTITIONS=100
bench-growing: PARTITIONS = 1000
bench-growing: ROWS = 20000000
bench-growing: RUNS = 5
bench-growing: RUN_SECONDS = 60
bench-growing: ## a table that grows: refreshes, latency, answers compared [ROWS=n RATE=n RUN_SECONDS=n PAUSE=n RUNS=n PARTITIONS=n]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@ROWS=$(ROWS) RATE=$(RATE) RUN_SECONDS=$(RUN_SECONDS) PAUSE=$(PAUSE) RUNS=$(RUNS) PARTITIONS=$(PARTITIONS) \
	  test/bench/growing/run.sh </dev/null

# The figures of docs/cookbook.md (test/bench/cookbook). A quick run: make bench-cookbook ROWS=300000 RUNS=1
bench-cookbook: ROWS = 10000000
bench-cookbook: RUNS = 3
bench-cookbook: ## the table of docs/cookbook.md: exact and by densities [ROWS=n RUNS=n]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@ROWS=$(ROWS) RUNS=$(RUNS) test/bench/cookbook/run.sh </dev/null

# Many densities merged (test/bench/merge), without a server. A quick run: make bench-merge PARTS=32 SEEDS=3
MERGE_COLUMNS ?= all
LAYOUTS       ?= all
SEEDS         ?= 20
build/bench/merge: $(call in,plain,test/bench/merge/main.cpp) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(CXX) -fopenmp -o $@ $^ $(CORE_LIBS)

bench-merge: PARTS = 32 200 1000
bench-merge: build/bench/merge ## many densities merged [PARTS=numbers SEEDS=n LAYOUTS=names]
	@for n in $(PARTS); do build/bench/merge $$n $(SEEDS) '$(MERGE_COLUMNS)' '$(LAYOUTS)' || exit 1; done

# Figures that others published, beside ours on the same work (test/published).
published: ## beside other systems' published figures [DATA=folder of CSV files SALES_ROWS=n]
	+@scripts/deps.sh test </dev/null
	+@$(MAKE) --no-print-directory -s all
	+@test/published/run.sh '$(subst ','\'',$(ACCURACY_DATA))' </dev/null

.PHONY: published bench accuracy bench-agg bench-joint bench-ddl bench-fit bench-merge bench-plain bench-proof \
        bench-growing \
        bench-cookbook cuda-bench-fit
