# The only build file. `make help` lists what it can do.
VERSION   := 0.1.0
SOMAJOR   := 1
PREFIX    ?= /usr/local
DESTDIR   ?=
CC        ?= cc
CXX       ?= c++
PKGCONFIG ?= pkg-config

# Folders of the installation. Packagers set LIBDIR to the multiarch folder; SYSCONFDIR stays /etc
# for any PREFIX.
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec/berth
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share/berth
MANDIR     ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
SYSCONFDIR ?= /etc

# SAN=address,undefined or SAN=thread builds instrumented programs in a folder of their own.
SAN   ?=
comma := ,
BUILD ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)),)
WERROR ?=

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith \
        -Wformat=2 -Wvla -Wundef $(if $(WERROR),-Werror,)
# Instrumented code takes half the time to compile at -O1, but there gcc's warnings about lengths of
# texts and about variables without a value are wrong.
GCC_AT_O1 := -Wno-format-truncation -Wno-maybe-uninitialized
CFLAGS ?= $(if $(SAN),-O1 -g1 $(if $(findstring clang,$(CC)),,$(GCC_AT_O1)),-O2 -g)
DEFINES    = -D_GNU_SOURCE -DBERTH_VERSION='"$(VERSION)"' -DBERTH_LIBEXECDIR='"$(LIBEXECDIR)"' \
             -DBERTH_SYSCONFDIR='"$(SYSCONFDIR)/berth"' -DBERTH_DEBUG=$(if $(SAN),1,0)
FORTIFY    = -D_FORTIFY_SOURCE=2
ALL_CFLAGS = -std=c17 $(DEFINES) $(WARN) -fno-omit-frame-pointer -fPIC -pthread \
             -fvisibility=hidden \
             $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all,$(FORTIFY)) \
             -Ischema $(CFLAGS)
RELRO       = -Wl,-z,relro,-z,now
ALL_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN),$(RELRO)) $(LDFLAGS)

# One short line a step; V=1 shows the commands.
Q    := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')

pkg_cflags = $(shell $(PKGCONFIG) --cflags $(1) 2>/dev/null)
pkg_libs   = $(shell $(PKGCONFIG) --libs $(1) 2>/dev/null)

DAEMON_PKGS := hwloc libuv sqlite3 jansson
ALL_PKGS    := $(DAEMON_PKGS) numa $(if $(filter unit units fault faults,$(MAKECMDGOALS)),cmocka)
# C files of a folder and of the folders in it.
sources     = $(shell find $(1) -name "*.c" | LC_ALL=C sort)
DAEMON_MAIN := daemon/main.c
DAEMON_SRC  := $(filter-out $(DAEMON_MAIN),$(call sources,daemon))
LIB_SRC     := $(call sources,client/lib)
SPANK_MAIN  := client/slurm/spank_berth.c
SPANK_SRC   := $(call sources,client/slurm)
TOP_SRC     := $(call sources,client/top)
CMD_SRC     := $(filter-out $(LIB_SRC) $(SPANK_MAIN) $(TOP_SRC),$(call sources,client))
PROBE_SRC   := $(call sources,probes/common)
CPU_SRC     := $(call sources,probes/cpu)
EVENTS_SRC  := $(call sources,probes/events)
MPI_SRC     := $(call sources,probes/mpi)
GPU_MAIN    := probes/gpu/main.c
GPU_SRC     := $(filter-out $(GPU_MAIN),$(call sources,probes/gpu))
UNIT_SRC    := $(shell find tests/unit -name "test_*.c" | LC_ALL=C sort)
FAULT_SRC   := $(wildcard tests/fault/test_*.c)
BENCH_PARTS := tests/bench/advice_ranks.c tests/bench/advice_step.c # parts of advice_run
BENCH_SRC   := $(filter-out $(BENCH_PARTS),$(wildcard tests/bench/*.c))
SCHEMAS     := $(wildcard schema/*)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
TOP      := $(if $(call pkg_libs,ncursesw),$(BUILD)/bin/berth-top)
# The compiler of an MPI library whose header is there (MPICC= leaves the MPI probe out). Sanitizers
# find the library's own faults.
ifeq ($(origin MPICC),undefined)
has_mpi = $(shell $(1) -E -include mpi.h -x c /dev/null >/dev/null 2>&1 && echo $(1))
MPICC  := $(firstword $(foreach c,mpicc mpicc.mpich mpicc.openmpi,$(call has_mpi,$(c))))
endif
MPI      := $(if $(MPICC),$(if $(SAN),,$(BUILD)/bin/berth-probe-mpi))
PROGRAMS := $(if $(wildcard $(DAEMON_MAIN)),$(BUILD)/bin/berthd) \
            $(if $(CMD_SRC),$(BUILD)/bin/berth) $(TOP) \
            $(if $(CPU_SRC),$(BUILD)/bin/berth-probe-cpu) $(BUILD)/bin/berth-probe-gpu \
            $(BUILD)/bin/berth-probe-events $(MPI)
LIBS     := $(if $(LIB_SRC),$(BUILD)/lib/libberth.so.$(SOMAJOR) $(BUILD)/lib/libberth.a)
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
FAULTS   := $(patsubst tests/fault/%.c,$(BUILD)/fault/%,$(FAULT_SRC))
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))
SPANK_H  := $(shell $(CC) -E -include slurm/spank.h -x c /dev/null >/dev/null 2>&1 && echo yes)
SPANK    := $(if $(SPANK_H),$(BUILD)/lib/spank_berth.so)
EXAMPLES := $(patsubst docs/examples/%.c,$(BUILD)/examples/%,$(wildcard docs/examples/*.c))
# Those in C++, and a program that makes every call, are built where there is a compiler for them.
EXAMPLES += $(if $(shell command -v $(CXX)),$(addprefix $(BUILD)/examples/,route every_call))

# Goals that call make again use every core, unless the caller gave a number of jobs.
AGAIN = @$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all
all: ## build the programs into build/bin and the library into build/lib
all: $(PROGRAMS) $(LIBS) $(or $(SPANK),no_spank) $(or $(TOP),no_top) $(if $(MPI),,no_mpi)

# One clear line instead of hundreds of compiler errors. Goals that install libraries first pass.
WITHOUT_LIBRARIES := python deps deb rpm demo check check-all check-sites check-numa check-cluster \
                     check-package check-deploy check-browser check-lake check-frameworks check-monitors check-dist check-rpm check-container ci bench bench-gpu \
                     bench-planner bench-advice bench-fleet lint help clean dist uninstall format
ifneq ($(filter-out $(WITHOUT_LIBRARIES),$(or $(MAKECMDGOALS),all)),)
has_pkg  = $(shell $(PKGCONFIG) --exists $(1) 2>/dev/null && echo yes)
MISSING := $(strip $(foreach p,$(ALL_PKGS),$(if $(call has_pkg,$(p)),,$(p))))
ifneq ($(MISSING),)
$(error $(PKGCONFIG) does not find $(MISSING); run `make deps`, which installs the libraries)
endif
endif

# Objects. Each module sees its own directory and those below it in the include order.
$(BUILD)/obj/daemon/%.o: daemon/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -iquote daemon $(call pkg_cflags,$(DAEMON_PKGS)) -MMD -MP -c -o $@ $<
$(BUILD)/obj/client/%.o: client/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -iquote client $(call pkg_cflags,jansson) -MMD -MP -c -o $@ $<
$(BUILD)/obj/probes/%.o: probes/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -iquote probes -MMD -MP -c -o $@ $<
# The library's compiler calls this one.
$(BUILD)/obj/probes/mpi/%.o: probes/mpi/%.c Makefile
	@mkdir -p $(@D)
	$(call say,mpicc,$<)
	$(Q)MPICH_CC="$(CC)" OMPI_CC="$(CC)" $(MPICC) $(ALL_CFLAGS) -iquote probes -MMD -MP -c -o $@ $<
# Optimising a unit test takes longer than the test. What it tests stays optimised.
$(BUILD)/obj/tests/unit/%.o: CFLAGS := -O0 -g $(if $(findstring clang,$(CC)),,$(GCC_AT_O1))
$(BUILD)/obj/tests/unit/%.o: FORTIFY :=
$(BUILD)/obj/tests/%.o: tests/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -DSTANDIN_DIR='"$(BUILD)/standin"' \
	    $(addprefix -iquote ,tests daemon client probes) \
	    $(call pkg_cflags,$(DAEMON_PKGS) cmocka) -MMD -MP -c -o $@ $<

# Interface files and migrations are embedded by .incbin, which no compiler lists as a dependency.
$(BUILD)/obj/daemon/base/embedded.o: $(SCHEMAS)

# The GPU probe's kernels are compiled by nvcc and hipcc where they exist (NVCC= and HIPCC= leave
# them out) and embedded; one build of them serves all. The source is embedded as well: the probe
# compiles it at run time for gpus without an image.
NVCC        ?= $(firstword $(shell command -v nvcc) \
                 $(wildcard /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc))
HIPCC       ?= $(firstword $(shell command -v hipcc) $(wildcard /opt/rocm/bin/hipcc))
GPU_IMAGES  := build/gpu
GPU_KERNELS := probes/gpu/driver/gpu_kernels.cu probes/gpu/driver/gpu_kernels.h
$(GPU_IMAGES)/compilers: always
	@mkdir -p $(@D)
	@echo "$(NVCC) $(HIPCC)" | cmp -s - $@ || echo "$(NVCC) $(HIPCC)" >$@
$(GPU_IMAGES)/included.txt: probes/gpu/driver/images.sh $(GPU_KERNELS) $(GPU_IMAGES)/compilers
	$(call say,gpu,$(GPU_KERNELS))
	$(Q)NVCC="$(NVCC)" HIPCC="$(HIPCC)" probes/gpu/driver/images.sh $(@D)
$(BUILD)/obj/probes/gpu/driver/image.o: ALL_CFLAGS += -Iprobes/gpu/driver -I$(GPU_IMAGES)
$(BUILD)/obj/probes/gpu/driver/image.o: $(GPU_IMAGES)/included.txt $(GPU_KERNELS)

# Files with folders of the installation compiled in are compiled anew when these change:
# make && make install PREFIX=/usr.
FOLDERS := $(LIBEXECDIR) $(SYSCONFDIR)
WITH_FOLDERS := $(shell grep -rlE 'BERTH_(LIBEXEC|SYSCONF)DIR' --include='*.c' daemon client)
$(call obj,$(WITH_FOLDERS)): $(BUILD)/obj/folders
$(BUILD)/obj/folders: always
	@mkdir -p $(@D)
	@echo "$(FOLDERS)" | cmp -s - $@ || echo "$(FOLDERS)" >$@

# Shows ThreadSanitizer the descriptors that libuv closes.
SEEN_CLOSE := $(if $(filter thread,$(SAN)),$(BUILD)/obj/tests/lib/seen_close.o)

# All objects of a program except its main, for linking by unit tests.
$(BUILD)/libdaemon.a: $(call obj,$(DAEMON_SRC))
	$(call say,ar,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(BUILD)/libprobe.a: $(call obj,$(filter-out %/main.c,$(CPU_SRC) $(EVENTS_SRC)) $(PROBE_SRC))
	$(call say,ar,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(BUILD)/libprobe_gpu.a: $(call obj,$(GPU_SRC))
	$(call say,ar,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(BUILD)/libcommand.a: $(call obj,$(filter-out client/main.c,$(CMD_SRC)))
	$(call say,ar,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(BUILD)/lib/libberth.a: $(call obj,$(LIB_SRC))
	@mkdir -p $(@D)
	$(call say,ar,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(BUILD)/lib/libberth.so.$(SOMAJOR): $(call obj,$(LIB_SRC)) client/lib/libberth.sym
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) \
	    -Wl,--version-script=client/lib/libberth.sym -o $@ $(filter %.o,$^) \
	    $(call pkg_libs,jansson numa) -lm
	$(Q)ln -sf $(@F) $(BUILD)/lib/libberth.so

# Slurm's plugin, where Slurm's headers exist. Slurm finds its functions by name; those of the
# library stay hidden.
$(call obj,$(SPANK_MAIN)): ALL_CFLAGS += -fvisibility=default
$(BUILD)/lib/spank_berth.so: $(call obj,$(SPANK_SRC)) $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(call pkg_libs,jansson numa) -lm
.PHONY: no_spank
no_spank:
	@echo "  left out: Slurm's plugin spank_berth.so, without slurm/spank.h (Debian: libslurm-dev)"

$(BUILD)/bin/berthd: $(call obj,$(DAEMON_MAIN)) $(SEEN_CLOSE) $(BUILD)/libdaemon.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS)) -lm
# The command links the library statically: one file to load, because its start-up time counts. It
# also links an archive of libnuma where there is one. The command uses only two system calls of it,
# and the shared library would read the machine's nodes before main.
HAS_LIBNUMA_A = $(filter /%,$(shell $(CC) -print-file-name=libnuma.a))
STATIC_NUMA   = -Wl,-Bstatic -lnuma -Wl,-Bdynamic
NUMA_ARCHIVE  = $(if $(HAS_LIBNUMA_A),$(STATIC_NUMA),$(call pkg_libs,numa))
$(BUILD)/bin/berth: $(call obj,client/main.c) $(BUILD)/libcommand.a $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(NUMA_ARCHIVE) $(call pkg_libs,jansson) -lm
# The launcher beside the compiler that built the MPI probe.
$(call obj,client/cmd/probe_mpi.c): \
    DEFINES += $(if $(MPI),-DBERTH_MPIEXEC='"$(subst mpicc,mpiexec,$(notdir $(MPICC)))"')
# The live view: linked to ncurses, which the command is not.
$(call obj,$(TOP_SRC)): ALL_CFLAGS += $(call pkg_cflags,ncursesw)
$(BUILD)/bin/berth-top: $(call obj,$(TOP_SRC)) $(BUILD)/libcommand.a $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(NUMA_ARCHIVE) $(call pkg_libs,ncursesw jansson) -lm
.PHONY: no_top
no_top:
	@echo "  left out: berth-top, without ncurses (Debian: libncurses-dev)"
$(BUILD)/bin/berth-probe-cpu: $(call obj,probes/cpu/main.c) $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lnuma -lm
$(BUILD)/bin/berth-probe-events: $(call obj,probes/events/main.c) $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm
$(BUILD)/bin/berth-probe-gpu: $(call obj,$(GPU_MAIN)) $(BUILD)/libprobe_gpu.a $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lnuma -lm -ldl
	@printf '  %-5s %s\n' gpu "$$(cat $(GPU_IMAGES)/included.txt)"

$(BUILD)/bin/berth-probe-mpi: $(call obj,$(MPI_SRC)) $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)MPICH_CC="$(CC)" OMPI_CC="$(CC)" $(MPICC) $(ALL_LDFLAGS) -o $@ $^ -lm
.PHONY: no_mpi
no_mpi:
	@echo "  left out: berth-probe-mpi, $(if $(SAN),with sanitizers,without mpicc \
	    (Debian: libmpich-dev or libopenmpi-dev))"

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(SEEN_CLOSE) $(BUILD)/libdaemon.a \
                 $(BUILD)/libprobe_gpu.a $(BUILD)/libprobe.a \
                 $(if $(CMD_SRC),$(BUILD)/libcommand.a) $(if $(LIB_SRC),$(BUILD)/lib/libberth.a)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS) cmocka) -lnuma -lm $(GLPK)
$(BUILD)/unit/sim/test_lp: \
    GLPK = $(shell $(CC) -E -include glpk.h -x c /dev/null >/dev/null 2>&1 && echo -lglpk)
# Stand-ins for NVIDIA's management library: the present version, and an old one with less.
NVML := $(BUILD)/standin/nvml/libnvidia-ml.so.1 $(BUILD)/standin/nvml/libnvidia-ml-old.so.1
$(NVML): tests/unit/gpu/facts/fake_nvml.c probes/gpu/facts/nvml.h Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(findstring old,$@),-DFAKE_OLD) -iquote probes -shared -o $@ $<
$(BUILD)/unit/gpu/facts/test_facts: | $(NVML)
$(BUILD)/fault/test_alloc_answers: $(BUILD)/lib/libberth.a
$(BUILD)/fault/%: $(BUILD)/obj/tests/fault/%.o $(BUILD)/obj/tests/fault/fault.o $(BUILD)/libdaemon.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS) cmocka) -lm
$(addprefix $(BUILD)/bench/,year plan bind parser): $(BUILD)/bench/%: \
    $(BUILD)/obj/tests/bench/%.o $(BUILD)/libdaemon.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS)) -lm
$(BUILD)/bench/advice_run: $(patsubst %,$(BUILD)/obj/tests/bench/advice_%.o,run ranks step) \
                           $(BUILD)/libprobe_gpu.a $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lnuma -lm -ldl
$(BUILD)/bench/gpu_curves: $(BUILD)/obj/tests/bench/gpu_curves.o $(BUILD)/libdaemon.a \
                           $(BUILD)/libprobe_gpu.a $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,jansson) -lnuma -lm -ldl
$(BUILD)/bench/map: $(BUILD)/obj/tests/bench/map.o $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,hwloc jansson) -lnuma -lm
$(BUILD)/bench/copy: $(BUILD)/obj/tests/bench/copy.o $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,jansson numa) -lm
# Only the libraries that a bench calls: the start-up time of a process is one of the results.
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl$(comma)--as-needed -o $@ $^ $(call pkg_libs,libuv jansson)

# Replaces HIP and forwards its names to CUDA. The second one lacks the calls that are optional for
# the probe.
FORWARD := $(BUILD)/standin/forward/libamdhip64.so.7 $(BUILD)/standin/lean/libamdhip64.so.7
LEAN    := hipDeviceGetUuid hipSetDeviceFlags hipDeviceReset hipMallocManaged hipMemAdvise \
           hipMemPrefetchAsync hipMemcpy
STANDIN_FLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -fPIC -fvisibility=hidden -shared
$(FORWARD): tests/standin/hip_forward.c Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(STANDIN_FLAGS) -Wno-missing-prototypes -Wl,-soname,$(@F) \
	    $(if $(findstring lean,$@),$(foreach c,$(LEAN),-D$(c)=without_$(c))) -o $@ $< -ldl
$(BUILD)/unit/gpu/driver/test_api: | $(FORWARD) $(BUILD)/standin/cuda/libcuda.so.1

# Stand-ins for the drivers of GPUs, with a virtual node behind them (tests/standin/README.md), for
# programs of any build: never with sanitizers. Beside each are empty libraries, which replace the
# other ones of a real node.
STANDIN_SRC := $(addprefix tests/standin/,driver.c driver_streams.c host.c host_files.c kernels.c \
                 kernels_bytes.c memory.c model.c model_paths.c share.c world.c world_flags.c)
STANDIN_H   := $(wildcard tests/standin/*.h) probes/gpu/driver/gpu_kernels.h
STANDIN_CC   = $(CC) $(STANDIN_FLAGS) -iquote probes -iquote tests/standin -Wl,-soname,$(@F)
STANDINS    := $(addprefix $(BUILD)/standin/,cuda/libcuda.so.1 cuda/libnvrtc.so.13 \
                 hip/libamdhip64.so.5 hip/libhiprtc.so.5 libnccl.so.2 librccl.so.1 libcublas.so.13 \
                 librocblas.so.5 fast_clock.so paths cupti/libcupti.so.13)
$(BUILD)/standin/absent.so: Makefile
	@mkdir -p $(@D)
	$(Q)echo | $(STANDIN_CC) -o $@ -x c -
$(BUILD)/standin/cuda/libcuda.so.1: tests/standin/cuda.c $(STANDIN_SRC) $(STANDIN_H) \
                                    $(BUILD)/standin/absent.so
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(STANDIN_CC) -o $@ $(filter %.c,$^) -lm -pthread
	$(Q)cd $(@D) && for l in libnvidia-ml.so.1 libamdhip64.so.5 libamdhip64.so.6 libamdhip64.so.7; \
	    do ln -sf ../absent.so $$l; done
$(BUILD)/standin/hip/libamdhip64.so.5: tests/standin/hip.c $(STANDIN_SRC) $(STANDIN_H) \
                                       $(BUILD)/standin/absent.so
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(STANDIN_CC) -o $@ $(filter %.c,$^) -lm -pthread
	$(Q)cd $(@D) && ln -sf $(@F) libamdhip64.so.6 && ln -sf $(@F) libamdhip64.so.7
	$(Q)cd $(@D) && for l in libnvidia-ml.so.1 libcuda.so.1; do ln -sf ../absent.so $$l; done
$(BUILD)/standin/cuda/libnvrtc.so.13: tests/standin/rtc.c Makefile
	@mkdir -p $(@D)
	$(Q)$(STANDIN_CC) -o $@ $<
$(BUILD)/standin/hip/libhiprtc.so.5: tests/standin/rtc.c Makefile
	@mkdir -p $(@D)
	$(Q)$(STANDIN_CC) -DRTC_HIP -o $@ $<
	$(Q)cd $(@D) && ln -sf $(@F) libhiprtc.so.6 && ln -sf $(@F) libhiprtc.so.7
# Replaces CUPTI; beside it an empty one.
$(BUILD)/standin/cupti/libcupti.so.13: tests/standin/cupti.c $(BUILD)/standin/absent.so Makefile
	@mkdir -p $(@D)/empty
	$(call say,link,$@)
	$(Q)$(STANDIN_CC) -o $@ $<
	$(Q)cd $(@D)/empty && for l in libcupti.so.13 libcupti.so.12 libcupti.so; \
	    do ln -sf ../../absent.so $$l; done
# Makes a daemon's idle time short.
$(BUILD)/standin/fast_clock.so: tests/standin/fast_clock.c Makefile
	@mkdir -p $(@D)
	$(Q)$(STANDIN_CC) -o $@ $< -ldl
$(BUILD)/unit/standin/test_share: $(BUILD)/obj/tests/standin/share.o
$(addprefix $(BUILD)/unit/standin/test_,driver faults): | $(STANDINS)
$(addprefix $(BUILD)/unit/lib/test_,alloc copy): | $(STANDINS)
$(BUILD)/standin/paths: $(addprefix tests/standin/,paths.c model.c model_paths.c share.c \
                          model.h model_parts.h share.h) Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -o $@ $(filter %.c,$^) -lm
.PHONY: standins
standins: $(STANDINS) $(NVML) ## build the stand-in GPU drivers of the tests: virtual nodes with GPUs

# Replaces NCCL and RCCL; its copies go to the driver that the program has loaded.
$(addprefix $(BUILD)/standin/,libnccl.so.2 librccl.so.1): tests/standin/nccl.c Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(STANDIN_FLAGS) -Wl,-soname,$(@F) -o $@ $< -ldl
$(BUILD)/unit/gpu/driver/test_collective: | $(addprefix $(BUILD)/standin/,libnccl.so.2 librccl.so.1)
# Replaces cuBLAS and rocBLAS.
BLAS_STANDINS := $(addprefix $(BUILD)/standin/,libcublas.so.13 librocblas.so.5)
$(BLAS_STANDINS): tests/standin/cublas.c tests/standin/gemm.h Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(STANDIN_CC) -o $@ $< -ldl
$(BUILD)/unit/gpu/driver/test_blas: | $(BLAS_STANDINS)

# The Python package. setuptools makes the wheel without a registry.
PYTHON     ?= $(firstword $(wildcard /usr/bin/python3) python3)
WHEEL      := $(BUILD)/python/berth-$(VERSION)-py3-none-any.whl
PYTHON_SRC := $(wildcard client/python/berth/*.py) client/python/berth/py.typed \
              $(addprefix client/python/,pyproject.toml generate.py) LICENSE
.PHONY: python
python: $(WHEEL) ## build the Python package: a wheel in build/python (Debian: python3-wheel)
	@echo "$(WHEEL): python3 -m pip install --no-index $(WHEEL)"
$(WHEEL): $(PYTHON_SRC) $(SCHEMAS) client/lib/task/launcher.c tests/lib/idl.py Makefile
	@tests/lib/deps.sh python
	@rm -rf $(@D) && mkdir -p $(@D)/source
	$(call say,wheel,$@)
	$(Q)cp -r client/python/berth client/python/pyproject.toml LICENSE $(@D)/source
	$(Q)$(PYTHON) client/python/generate.py $(@D)/source/berth $(VERSION)
	$(Q)cd $(@D)/source && $(PYTHON) -c 'from setuptools import build_meta as b; b.build_wheel("..")' \
	    >../build.log 2>&1 || { cat ../build.log; exit 1; }

.PHONY: deps
deps: ## install the packages that the build needs (apt; prints its commands)
	@tests/lib/deps.sh build

.PHONY: demo
demo: ## install missing packages, build, and show this machine: topology, heat map, advice, health
	@tests/lib/deps.sh build
	@tests/lib/progress.sh $(MAKE) --no-print-directory \
	    $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) all
	@BIN=$(BUILD)/bin PAGE=$(BUILD)/demo.html tests/lib/demo.sh

.PHONY: check
check: ## test in 8 minutes, sanitized and fuzzed; UNIT=plan/route or CHANGED=1: in seconds
	@tests/lib/deps.sh build $(if $(UNIT)$(CHANGED),,test)
	@BUILD=$(BUILD) tests/run.sh $(if $(UNIT),unit $(UNIT),$(if $(CHANGED),changed,check))

.PHONY: check-all
check-all: ## what check leaves out: every fault, survival, Slurm, sanitized daemons, ThreadSanitizer
	@tests/lib/deps.sh build test cluster
	@BUILD=$(BUILD) tests/run.sh all

.PHONY: check-sites
check-sites: ## check-numa, -cluster, -package, -rpm, -container, -deploy, -browser, -lake, -frameworks, -monitors, -walk
	@status=0; for t in numa cluster package rpm container deploy browser lake frameworks monitors walk; do \
	    $(MAKE) --no-print-directory check-$$t || status=1; done; exit $$status

.PHONY: check-numa
check-numa: ## run daemon, probe and an advised program on an emulated NUMA machine (QEMU)
	@tests/lib/deps.sh build test numa
	$(AGAIN) all examples
	@BUILD=$(BUILD) tests/numa/run.sh

$(BUILD)/slurm/app: tests/slurm/app.c Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -o $@ $<
.PHONY: check-cluster
check-cluster: ## run jobs under a private Slurm of one node; SLURM="23.11 24.11": under others
	@tests/lib/deps.sh build test numa cluster $(if $(SLURM),roots)
	$(AGAIN) all $(BUILD)/slurm/app
	@[ -n "$(SLURM)" ] || for t in hooks plugin exec berths constrained; do \
	    BUILD=$(BUILD) BIN=$(BUILD)/bin tests/slurm/$$t.sh || exit 1; done
	@[ -z "$(SLURM)" ] || BUILD=$(BUILD) tests/slurm/versions.sh $(SLURM)

.PHONY: unit
unit: $(UNITS) ## run the unit tests alone, half a minute
	@fail=0; for t in $(UNITS); do $$t >$(BUILD)/unit.log 2>&1 || \
	    { fail=1; echo "FAILED $$t"; cat $(BUILD)/unit.log; }; done; \
	 [ $$fail = 0 ] && echo "$(words $(UNITS)) unit test programs passed"
.PHONY: units
units: $(UNITS)
.PHONY: examples
examples: ## build the programs of docs/examples with only the library's header and shared library
examples: $(EXAMPLES)
$(BUILD)/examples/%: docs/examples/%.c client/lib/berth.h $(LIBS)
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) -std=c17 $(WARN) $(if $(SAN),-fsanitize=$(SAN)) -Iclient/lib -o $@ $< \
	    -L$(BUILD)/lib -lberth -Wl,-rpath,'$$ORIGIN/../lib' $(if $(shell grep -l '<numa.h>' $<),-lnuma)
BUILD_CXX = $(CXX) -std=c++17 -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror,) \
            $(if $(SAN),-fsanitize=$(SAN) -O1 -g1,-O1) -Iclient/lib -o $@ $< -L$(BUILD)/lib \
            -lberth -Wl,-rpath,'$$ORIGIN/../lib'
$(BUILD)/examples/%: docs/examples/%.cc client/lib/berth.hpp client/lib/berth.h $(LIBS)
	@mkdir -p $(@D)
	$(call say,c++,$<)
	$(Q)$(BUILD_CXX)
$(BUILD)/examples/every_call: tests/system/every_call.cc client/lib/berth.hpp client/lib/berth.h \
                              $(LIBS)
	@mkdir -p $(@D)
	$(call say,c++,$<)
	$(Q)$(BUILD_CXX)

.PHONY: fault
fault: $(FAULTS) ## fail every allocation and every access to the disk in turn (not with SAN=)
	@for t in $(FAULTS); do $$t || exit 1; done
.PHONY: faults
faults: $(FAULTS)

# Loaded before a daemon, makes allocations and accesses fail and the wall clock jump. It is always
# built without sanitizers.
PRELOAD := build/survival/preload.so
$(PRELOAD): tests/survival/preload.c Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(STANDIN_FLAGS) -o $@ $<
.PHONY: survive survivors
survivors: $(PRELOAD)
survive: ## faults everywhere, kills, orphans, clock jumps, 120 days of whole daemons: half an hour
	@tests/lib/deps.sh build test
	$(AGAIN) all survivors
	@for t in tests/survival/*.py; do \
	    BERTH_LONG=$${BERTH_LONG-1} BIN=$(BUILD)/bin python3 $$t || exit 1; done

.PHONY: bench
bench: ## measure berth against named references in the same run and compare with its targets
	@tests/lib/deps.sh build test
	$(AGAIN) all benches standins
	@BIN=$(BUILD)/bin BENCH=$(BUILD)/bench tests/bench/run.sh
.PHONY: benches
benches: $(BENCHES)
.PHONY: bench-planner
bench-planner: ## the part of bench that is about Bind, Route and Allocate: a minute
	@tests/lib/deps.sh build
	$(AGAIN) all benches standins
	@BIN=$(BUILD)/bin BENCH=$(BUILD)/bench tests/bench/planner.sh
.PHONY: bench-gpu
bench-gpu: ## compare the gpu probe with NVBANDWIDTH=, BABELSTREAM= (paths), its curves, its stalls
	@tests/lib/deps.sh build
	$(AGAIN) all $(BUILD)/bench/gpu_curves
	@$(BUILD)/bin/berth-probe-gpu >$(BUILD)/gpu.record
	@status=0; $(BUILD)/bench/gpu_curves $(BUILD)/gpu.record || status=$$?; \
	    python3 tests/bench/gpu_compare.py --probe $(BUILD)/bin/berth-probe-gpu \
	    $(if $(NVBANDWIDTH),--nvbandwidth $(NVBANDWIDTH)) \
	    $(if $(BABELSTREAM),--babelstream $(BABELSTREAM)) || status=$$?; \
	    python3 tests/bench/gpu_explain.py --probe $(BUILD)/bin/berth-probe-gpu || \
	    { explained=$$?; [ $$explained = 75 ] || status=$$explained; }; exit $$status

.PHONY: bench-advice
bench-advice: ## run berth's advice on virtual nodes beside the best and other placements: minutes
	@tests/lib/deps.sh build test
	$(AGAIN) all standins $(BUILD)/bench/advice_run
	@BIN=$(BUILD)/bin BUILD=$(BUILD) python3 tests/bench/advice.py --seeds 1-6
	@BIN=$(BUILD)/bin BUILD=$(BUILD) python3 tests/bench/reports.py

.PHONY: bench-fleet
bench-fleet: ## berth fleet over 2,000 drawn nodes beside other rules, and its speed: 2 minutes
	@tests/lib/deps.sh build
	$(AGAIN) all
	@BIN=$(BUILD)/bin python3 tests/bench/fleet.py

# Fuzzing needs clang's libFuzzer, and a complete instrumented build in a folder of its own.
FUZZERS      := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzzers/%,$(wildcard tests/fuzz/fuzz_*.c))
$(BUILD)/fuzzers/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libdaemon.a \
                    $(if $(CMD_SRC),$(BUILD)/libcommand.a) \
                    $(if $(LIB_SRC),$(BUILD)/lib/libberth.a)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS)) -lm
.PHONY: fuzzers fuzz coverage
fuzzers: $(FUZZERS)
fuzz: ## fuzz each target, and daemons with messages, for FUZZ_SECONDS=600 (clang, valgrind)
	@tests/fuzz/run.sh
coverage: ## report the daemon's code reached by corpora and COVERAGE_SECONDS=60 of messages (clang)
	@tests/fuzz/coverage.sh

.PHONY: format
format: ## format every C file with clang-format, at 100 columns
	@tests/lib/deps.sh lint
	$(Q)find daemon client probes tests docs -name '*.[ch]' -o -name '*.cu' -o -name '*.[ch]pp' -o \
	    -name '*.cc' | \
	    xargs clang-format-14 -i
.PHONY: lint
lint: ## clang-format, clang-tidy, cppcheck, shellcheck, systemd-analyze; fails on any finding
	@tests/lib/deps.sh build lint
	$(AGAIN) all
	@BUILD=$(BUILD) tests/lib/lint.sh -std=c17 $(DEFINES) -DSTANDIN_DIR='"build/standin"' -Ischema \
	    $(addprefix -iquote ,daemon client probes tests) -Iclient/lib \
	    $(call pkg_cflags,$(DAEMON_PKGS) cmocka) \
	    $(if $(MPICC),$(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) -show))))

# Files made from a template, with the folders of this PREFIX in them.
SUBSTITUTE = sed $(foreach v,BINDIR PREFIX LIBDIR LIBEXECDIR SYSCONFDIR INCLUDEDIR VERSION, \
                   -e 's|@$(v)@|$($(v))|g')
.PHONY: always
$(BUILD)/systemd/%.service: systemd/%.service.in always
	@mkdir -p $(@D)
	@$(SUBSTITUTE) $< >$@
$(BUILD)/libberth.pc: client/lib/libberth.pc.in always
	@mkdir -p $(@D)
	@$(SUBSTITUTE) $< >$@

# Manual pages and shells' completion, printed by the programs from their own tables.
MANUALS     := $(patsubst docs/man/%.in,$(BUILD)/man/%,$(wildcard docs/man/*.in))
COMPLETIONS := $(BUILD)/completion/berth $(BUILD)/completion/_berth
# The Fortran module, installed as source: a compiled one is of one compiler's version.
$(BUILD)/berth.f90: client/lib/fortran.awk client/lib/berth.h
	@mkdir -p $(@D)
	@awk -f $^ >$@.new && mv $@.new $@

.PHONY: documents
documents: ## build the manual pages (build/man) and the completion of shells (build/completion)
documents: $(MANUALS) $(COMPLETIONS)
$(BUILD)/man/berth.1: $(BUILD)/man/berth.1.part
$(BUILD)/man/berth.1.part: $(BUILD)/bin/berth
	@mkdir -p $(@D)
	@$< help --as manual >$@
$(BUILD)/man/berth.conf.5: $(BUILD)/man/berth.conf.5.part
$(BUILD)/man/berth.conf.5.part: $(BUILD)/bin/berthd docs/man/keys.awk
	@mkdir -p $(@D)
	@env -u STATE_DIRECTORY $< --config /dev/null --check-config | awk -f docs/man/keys.awk >$@
$(BUILD)/man/libberth.3: $(BUILD)/man/libberth.3.part
$(BUILD)/man/libberth.3.part: client/lib/berth.h docs/man/functions.awk
	@mkdir -p $(@D)
	@awk -v names=1 -f docs/man/functions.awk $< >$(@:.part=.names)
	@awk -f docs/man/functions.awk $< >$@
$(BUILD)/man/%: docs/man/%.in always
	@mkdir -p $(@D)
	@$(SUBSTITUTE) -e '/^@NAMES@$$/{r $@.names' -e 'd}' -e '/^@[A-Z]*@$$/{r $@.part' -e 'd}' $< >$@
$(BUILD)/completion/berth: $(BUILD)/bin/berth $(addprefix etc/completion/,what.sh berth.bash)
	@mkdir -p $(@D)
	@{ $< help --as completion && cat $(filter etc/%,$^); } >$@.new && mv $@.new $@
$(BUILD)/completion/_berth: $(BUILD)/bin/berth $(addprefix etc/completion/,what.sh berth.zsh)
	@mkdir -p $(@D)
	@{ echo '#compdef berth' && $< help --as completion && cat $(filter etc/%,$^); } >$@.new
	@mv $@.new $@

# Installed files, for install and uninstall: mode:file:folder. The configuration is never
# overwritten, and removed only while it is unchanged.
INSTALLED = $(foreach p,berth $(if $(TOP),berth-top) berthd,755:$(BUILD)/bin/$(p):$(BINDIR)) \
            $(foreach p,cpu gpu events $(if $(MPI),mpi),755:$(BUILD)/bin/berth-probe-$(p):$(LIBEXECDIR)) \
            $(if $(SPANK),755:$(SPANK):$(LIBDIR)/slurm) \
            $(foreach h,$(wildcard etc/slurm/*),755:$(h):$(LIBEXECDIR)/slurm) \
            755:etc/node-problem-detector/berth-health:$(LIBEXECDIR)/node-problem-detector \
            644:etc/node-problem-detector/berth.json:$(DATADIR)/node-problem-detector \
            644:etc/nhc/berth.nhc:$(DATADIR)/nhc \
            644:$(BUILD)/lib/libberth.so.$(SOMAJOR):$(LIBDIR) \
            644:$(BUILD)/lib/libberth.a:$(LIBDIR) \
            644:$(BUILD)/libberth.pc:$(LIBDIR)/pkgconfig \
            $(foreach h,h hpp,644:client/lib/berth.$(h):$(INCLUDEDIR)) \
            644:$(BUILD)/berth.f90:$(INCLUDEDIR) \
            $(foreach f,$(wildcard schema/*.varlink) schema/map_layout.h,644:$(f):$(DATADIR)) \
            644:$(BUILD)/systemd/berthd.service:$(UNITDIR) 644:systemd/berthd.socket:$(UNITDIR) \
            644:systemd/berthd.sysusers:$(SYSUSERSDIR) \
            644:$(BUILD)/systemd/berth-export.service:$(UNITDIR) \
            644:systemd/berth-export.timer:$(UNITDIR) \
            644:$(BUILD)/systemd/berth-events.service:$(UNITDIR) \
            644:systemd/berth-events.timer:$(UNITDIR) \
            644:etc/prometheus/berth.rules.yml:$(DATADIR)/prometheus \
            644:etc/grafana/berth.json:$(DATADIR)/grafana \
            $(foreach m,$(MANUALS),644:$(m):$(MANDIR)/man$(patsubst .%,%,$(suffix $(m)))) \
            644:$(BUILD)/completion/berth:$(BASHCOMPDIR) \
            644:$(BUILD)/completion/_berth:$(ZSHCOMPDIR)
CONFIG    = $(DESTDIR)$(SYSCONFDIR)/berth/berth.conf

.PHONY: install
install: ## install below DESTDIR= with PREFIX=/usr/local
install: all documents $(BUILD)/libberth.pc $(BUILD)/berth.f90 \
         $(foreach u,berthd berth-export berth-events,$(BUILD)/systemd/$(u).service)
	@for i in $(INSTALLED); do mode=$${i%%:*}; file=$${i#*:}; folder=$${file#*:}; \
	    file=$${file%%:*}; name=$${file##*/}; \
	    [ $$name != berthd.sysusers ] || name=berthd.conf; \
	    install -D -m $$mode $$file $(DESTDIR)$$folder/$$name || exit 1; \
	    echo "$(DESTDIR)$$folder/$$name"; done
	@ln -sfn libberth.so.$(SOMAJOR) $(DESTDIR)$(LIBDIR)/libberth.so
	@if [ -e $(CONFIG) ]; then echo "$(CONFIG) is kept as it is"; \
	    else install -D -m 644 etc/berth.conf $(CONFIG); echo "$(CONFIG)"; fi

.PHONY: uninstall
uninstall: ## remove exactly the installed files (give it the same DESTDIR= and PREFIX=)
	@for i in $(INSTALLED); do file=$${i#*:}; folder=$${file#*:}; \
	    file=$${file%%:*}; name=$${file##*/}; \
	    [ $$name != berthd.sysusers ] || name=berthd.conf; rm -f $(DESTDIR)$$folder/$$name; done
	@rm -f $(DESTDIR)$(LIBDIR)/libberth.so
	@! cmp -s etc/berth.conf $(CONFIG) || rm -f $(CONFIG)
	@for d in $(LIBEXECDIR)/slurm $(LIBDIR)/slurm $(LIBEXECDIR)/node-problem-detector $(LIBEXECDIR) \
	    $(DATADIR)/node-problem-detector $(DATADIR)/nhc $(DATADIR)/prometheus \
	    $(DATADIR)/grafana $(DATADIR) $(SYSCONFDIR)/berth; do \
	    [ ! -d $(DESTDIR)$$d ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$$d; done

# All files have the time of the commit, which an unpacked tarball keeps.
DIST  := build/dist/berth-$(VERSION)
EPOCH  = $(or $(shell [ ! -e .git ] || git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y Makefile))
.PHONY: dist
dist: ## build/dist: a tarball, the same bytes every time, its SPDX bill of materials, their sums
	@tests/lib/deps.sh build python
	@[ ! -e .git ] || [ -z "$$(git status --porcelain)" ] || \
	    echo "  the tarball has changes that are not committed"
	@rm -rf build/dist && mkdir -p build/dist
	@tests/lib/ours.sh | LC_ALL=C sort | tar -c -T - --format=gnu --mtime=@$(EPOCH) --owner=0 --group=0 \
	    --numeric-owner --mode=u=rwX,go=rX --transform='s|^|berth-$(VERSION)/|' | gzip -9n >$(DIST).tar.gz
	@PKGCONFIG=$(PKGCONFIG) $(PYTHON) etc/dist/sbom.py $(DIST).tar.gz $(EPOCH) $(DAEMON_PKGS) numa \
	    ncursesw cmocka >$(DIST).spdx.json
	@cd build/dist && sha256sum berth-$(VERSION).* >SHA256SUMS && cat SHA256SUMS

.PHONY: check-dist
check-dist: ## build the tarball of make dist and make check in it, without git: as long as make check
check-dist: dist
	@tests/package/tarball.sh

# Debian's tools need debian/ at the top. Here it is etc/debian, and the packages are built in a
# folder of their own.
DEB := build/deb/berth-$(VERSION)
.PHONY: deb
deb: ## build Debian packages into build/deb, and check them with lintian
	@tests/lib/deps.sh build deb
	@rm -rf build/deb && mkdir -p $(DEB)
	@tests/lib/ours.sh | tar -c -T - | tar -x -C $(DEB)
	@cp -r etc/debian $(DEB)/debian
	@[ "$$(dpkg-parsechangelog -l etc/debian/changelog -S Version)" = $(VERSION) ] || \
	    { echo "etc/debian/changelog does not begin with $(VERSION)" >&2; exit 65; }
	cd $(DEB) && dpkg-buildpackage -b -us -uc -j$(shell nproc) >../build.log 2>&1 || \
	    { tail -n 40 ../build.log; exit 70; }
	lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file \
	    build/deb/*.changes
	@ls build/deb/*.deb

# Debian's packages do not resolve the names of BuildRequires.
RPMBUILD = rpmbuild $(if $(wildcard /etc/debian_version),--nodeps) --define '_topdir $(CURDIR)/build/rpm' \
           --define '_sourcedir $(CURDIR)/build/dist' --define '_smp_mflags -j$(shell nproc)'
.PHONY: rpm
rpm: dist ## build RPM packages into build/rpm from the tarball of make dist, and check them with rpmlint
	@tests/lib/deps.sh build rpm
	@[ "$$(rpmspec -q --srpm --qf '%{VERSION}' etc/rpm/berth.spec)" = $(VERSION) ] || \
	    { echo "etc/rpm/berth.spec has another version than $(VERSION)" >&2; exit 65; }
	@rm -rf build/rpm && mkdir -p build/rpm
	$(RPMBUILD) -ba etc/rpm/berth.spec >build/rpm/build.log 2>&1 || \
	    { tail -n 40 build/rpm/build.log; exit 70; }
	rpmlint --rpmlintrc etc/rpm/berth.rpmlintrc build/rpm/RPMS build/rpm/SRPMS
	@ls build/rpm/RPMS/*/*.rpm build/rpm/SRPMS/*.rpm

.PHONY: check-rpm
check-rpm: ## install, run, upgrade and erase the RPM packages by rpm's database, beside the Debian ones
check-rpm: rpm deb
	@tests/lib/deps.sh rpm package
	@tests/package/rpm.sh

.PHONY: check-container
check-container: ## build the image of etc/container with buildah and run it
check-container: dist
	@tests/lib/deps.sh build container
	$(AGAIN) all
	@BIN=$(BUILD)/bin tests/package/container.sh

.PHONY: check-package
check-package: ## install, upgrade, remove, purge the packages in a clean Debian, boot it (QEMU)
check-package: deb
	@tests/lib/deps.sh build package
	$(AGAIN) standins
	@status=0; for t in install boot; do BUILD=$(BUILD) tests/package/$$t.sh || status=1; done; \
	    exit $$status

.PHONY: check-deploy
check-deploy: ## make a node's image with the Ansible role and the Warewulf overlay, boot it diskless
check-deploy: deb
	@tests/lib/deps.sh build package deploy
	@ansible-lint --offline --nocolor etc/ansible/roles/berth
	@tests/package/deploy.sh

.PHONY: check-browser
check-browser: ## open the pages of berth report and fleet in headless Chromium: wide, narrow, light, dark
	@tests/lib/deps.sh build browser
	$(AGAIN) all
	@BIN=$(BUILD)/bin tests/browser/run.sh

.PHONY: check-lake
check-lake: ## read the lines of berth fleet with DuckDB, from npm (needs network)
	@tests/lib/deps.sh build lake
	$(AGAIN) all
	@BIN=$(BUILD)/bin tests/lake/run.sh

.PHONY: check-frameworks
check-frameworks: ## test with PyTorch, its torchrun and matplotlib as well (700 MB; 4 minutes)
	@tests/lib/deps.sh build test frameworks
	$(AGAIN) all examples standins
	@FRAMEWORKS=1 BIN=$(BUILD)/bin tests/system/python_package.sh
	@TORCHRUN=torchrun BIN=$(BUILD)/bin tests/system/torchrun.sh

.PHONY: check-monitors
check-monitors: ## run the monitoring plugin under Nagios, Icinga 2 and NRPE, Prometheus over the metrics
	@tests/lib/deps.sh build test monitors
	$(AGAIN) all
	@status=0; for t in monitors metrics; do BIN=$(BUILD)/bin tests/system/$$t.sh || status=1; done; \
	    exit $$status

.PHONY: check-walk
check-walk: ## follow docs/ADMIN.md and docs/SLURM.md on a fresh Debian (QEMU; root; 15 minutes)
	@tests/lib/deps.sh build package
	@PAGE=docs/measured/walk.md tests/package/walk.sh

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1 \2/p' Makefile | \
	    while read -r make name about; do printf '  %-19s %s\n' "$$make $$name" "$$about"; done | \
	    fold -s -w 80 | sed 's/^[^ ]/                      &/; s/ *$$//'
	@echo "  variables: PREFIX= DESTDIR= SAN=address,undefined|thread CC=clang"
	@echo "             NVCC= HIPCC= WERROR=1 BUILD= V=1"

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
.SECONDARY:
