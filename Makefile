# The only build file. `make help` lists what it can do.
VERSION   := 0.1.0
SOMAJOR   := 0
PREFIX    ?= /usr/local
DESTDIR   ?=
CC        ?= cc
PKGCONFIG ?= pkg-config

# SAN=address,undefined or SAN=thread builds instrumented programs in a folder of their own.
SAN   ?=
comma := ,
BUILD ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)),)
WERROR ?=

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith -Wformat=2 -Wvla -Wundef \
        $(if $(WERROR),-Werror,)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -DBERTH_VERSION='"$(VERSION)"' $(WARN) -fno-omit-frame-pointer -fPIC -pthread \
             -fvisibility=hidden $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all,-D_FORTIFY_SOURCE=2) -Ischema $(CFLAGS)
ALL_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now) $(LDFLAGS)

pkg_cflags = $(shell $(PKGCONFIG) --cflags $(1) 2>/dev/null)
pkg_libs   = $(shell $(PKGCONFIG) --libs $(1) 2>/dev/null)

DAEMON_PKGS := hwloc libuv sqlite3 jansson
DAEMON_MAIN := daemon/berthd.c
DAEMON_SRC  := $(filter-out $(DAEMON_MAIN),$(wildcard daemon/*.c))
LIB_SRC     := $(wildcard client/lib_*.c)
CMD_SRC     := $(filter-out $(LIB_SRC),$(wildcard client/*.c))
CPU_SRC     := $(wildcard probes/cpu_*.c probes/probe_*.c)
UNIT_SRC    := $(wildcard tests/unit/test_*.c)
BENCH_SRC   := $(wildcard tests/bench/*.c)
SCHEMAS     := $(wildcard schema/*)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
PROGRAMS := $(if $(wildcard $(DAEMON_MAIN)),$(BUILD)/bin/berthd) $(if $(CMD_SRC),$(BUILD)/bin/berth) \
            $(if $(CPU_SRC),$(BUILD)/bin/berth-probe-cpu)
LIBS     := $(if $(LIB_SRC),$(BUILD)/lib/libberth.so.$(SOMAJOR) $(BUILD)/lib/libberth.a)
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))

.PHONY: all
all: $(PROGRAMS) $(LIBS)

# Objects. Each module sees its own directory and those below it in the include order.
$(BUILD)/obj/daemon/%.o: daemon/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Idaemon $(call pkg_cflags,$(DAEMON_PKGS)) -MMD -MP -c -o $@ $<
$(BUILD)/obj/client/%.o: client/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Iclient $(call pkg_cflags,jansson) -MMD -MP -c -o $@ $<
$(BUILD)/obj/probes/%.o: probes/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Iprobes -MMD -MP -c -o $@ $<
$(BUILD)/obj/tests/%.o: tests/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests -Idaemon -Iclient -Iprobes $(call pkg_cflags,$(DAEMON_PKGS) cmocka) -MMD -MP -c -o $@ $<

# The interface files and migrations are embedded by .incbin, which no compiler lists as a dependency.
$(BUILD)/obj/daemon/embedded.o: $(SCHEMAS)

# Everything of a program but its main, so that unit tests can link it.
$(BUILD)/libdaemon.a: $(call obj,$(DAEMON_SRC))
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libprobe.a: $(call obj,$(filter-out probes/cpu_main.c,$(CPU_SRC)))
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libcommand.a: $(call obj,$(filter-out client/berth.c,$(CMD_SRC)))
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/lib/libberth.a: $(call obj,$(LIB_SRC))
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/lib/libberth.so.$(SOMAJOR): $(call obj,$(LIB_SRC)) client/libberth.sym
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=client/libberth.sym -o $@ $(filter %.o,$^) $(call pkg_libs,jansson)
	ln -sf $(@F) $(BUILD)/lib/libberth.so

$(BUILD)/bin/berthd: $(call obj,$(DAEMON_MAIN)) $(BUILD)/libdaemon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS)) -lm
# The command links the library statically: one file to start, and start is what it is measured by.
$(BUILD)/bin/berth: $(call obj,client/berth.c) $(BUILD)/libcommand.a $(BUILD)/lib/libberth.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,jansson) -lm
$(BUILD)/bin/berth-probe-cpu: $(call obj,probes/cpu_main.c) $(BUILD)/libprobe.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lnuma -lm

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libdaemon.a $(if $(CPU_SRC),$(BUILD)/libprobe.a) \
                 $(if $(CMD_SRC),$(BUILD)/libcommand.a) $(if $(LIB_SRC),$(BUILD)/lib/libberth.a)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS) cmocka) -lnuma -lm
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libdaemon.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(DAEMON_PKGS)) -lm

# Unit tests alone, in a second or two; make check runs everything.
.PHONY: unit
unit: $(UNITS)
	@fail=0; for t in $(UNITS); do $$t >$(BUILD)/unit.log 2>&1 || { fail=1; echo "FAILED $$t"; cat $(BUILD)/unit.log; }; done; \
	 [ $$fail = 0 ] && echo "$(words $(UNITS)) unit test programs passed"

.PHONY: clean
clean:
	rm -rf build

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
.SECONDARY:
