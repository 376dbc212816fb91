# The device service, a program of its own. All but its kernels (cuda/*.cu) is plain C++: the same
# objects serve the processor in the tests (fake_cudad), and without nvcc only `make cuda` is missing.

CUDA_SERVER_SRCS := $(wildcard cuda/server/*.cpp)
CUDA_SERVER_OBJS := $(CUDA_SERVER_SRCS:%.cpp=build/plain/%.o)
CUDA_KERNEL_OBJS := $(patsubst %.cu,build/plain/%.cu.o,$(wildcard cuda/*.cu))

NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
# Machine code for the cards that this nvcc knows among these, and PTX, from which the driver
# compiles for those that come later. PTX runs on cards of its own number or later.
CUDA_CARDS    = 75 80 86 89 90 100 120
CUDA_KNOWN    = $(filter $(CUDA_CARDS),$(subst compute_,,$(shell $(NVCC) --list-gpu-arch)))
CUDA_PTX      = $(or $(filter 90,$(CUDA_KNOWN)),$(lastword $(CUDA_KNOWN)))
# Of 9.0 the instructions of that capability alone, too (cuda/gram.cuh). -ffp-contract: Makefile.
CUDA_GENCODE  = $(foreach card,$(CUDA_KNOWN:90=90a),-gencode arch=compute_$(card),code=sm_$(card)) \
                -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
NVCC_COMPILE  = $(NVCC) -std=c++20 -O3 -lineinfo -cudart static --expt-relaxed-constexpr \
                -Xcompiler -fPIC,-Wall,-Wextra,-fopenmp,-ffp-contract=off -Isrc -I. $(CUDA_GENCODE) \
                $(if $(WERROR),-Werror all-warnings -Xcompiler $(WERROR))
NVCC_LINK     = $(NVCC) -cudart static -Xcompiler -fopenmp

build/nvcc.flags: FLAGS = $(NVCC_COMPILE)
build/plain/cuda/%.cu.o: cuda/%.cu build/nvcc.flags
	@mkdir -p $(@D)
	$(NVCC_COMPILE) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# The program is of one piece but for the C library and the driver, which it opens itself.
build/cuda/kde_aqp_cudad: build/plain/cuda/main.o $(CUDA_SERVER_OBJS) $(CUDA_KERNEL_OBJS)
	@mkdir -p $(@D)
	$(NVCC_LINK),-static-libstdc++,-static-libgcc -Xlinker --as-needed -o $@ $^

cuda: ## build the device service for graphics cards (needs nvcc)
ifeq (,$(NVCC))
	@echo "nvcc was not found; install the CUDA toolkit or name it: make cuda NVCC=/path/to/nvcc" >&2
	@exit 1
else
	+@$(MAKE) --no-print-directory build/cuda/kde_aqp_cudad
endif

cuda-install: cuda ## install it into that server
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_PROGRAM) build/cuda/kde_aqp_cudad '$(DESTDIR)$(pkglibdir)/'

# The kernels against the reference engine, and their speed. The core may not know CUDA; these know
# both. nvcc may be a link or a wrapper anywhere, so it is asked where its headers are.
CUDA_INCLUDE = $(dir $(firstword $(filter %/cuda_runtime.h,$(shell $(NVCC) -M -x cu /dev/null))))
build/plain/test/cuda/%.o build/plain/test/bench/device/%.o: REST_CPPFLAGS += -idirafter $(CUDA_INCLUDE)

build/cuda/cuda_test: $(patsubst %.cpp,build/plain/%.o,$(wildcard test/cuda/*.cpp)) $(CUDA_KERNEL_OBJS) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(NVCC_LINK) -o $@ $^ $(UNIT_LIBS)

build/cuda/device_bench: $(patsubst %,build/plain/test/bench/%.o,device/main table covariance textbook_plugin) \
                         $(CUDA_KERNEL_OBJS) $(CORE_OBJS)
	@mkdir -p $(@D)
	$(NVCC_LINK) -o $@ $^ $(CORE_LIBS) -lbenchmark -lpthread

cuda-check: build/cuda/cuda_test ## check the cards' sums (needs a card)
	$< --gtest_brief=1

cuda-tap: ## fits whose card fails, in a private installation (needs a card)
	+@scripts/deps.sh test </dev/null && scripts/test.sh cuda-tap </dev/null

cuda-bench: build/cuda/device_bench ## measure the cards (needs a card)
	$<

cuda-compare: build/cuda/device_bench ## measure a compiling array library beside them (needs a card, PyTorch, Triton)
	python3 test/bench/device/array_library.py --device-bench $<

.PHONY: cuda cuda-install cuda-check cuda-tap cuda-bench cuda-compare
