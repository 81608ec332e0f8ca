/**
 * A virtual node, read from its description (README.md says what may stand in one): what devices
 * and memories there are, which resources each way of moving bytes uses, and how fast it is alone.
 * Never changes after it was read.
 *
 * A place is a device, 0 ... device_count - 1 in the runtime's order, or a NUMA node of the host:
 * device_count + its index.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share.h"

#define MODEL_DEVICES_MAX 16
#define MODEL_NUMAS_MAX   16
#define MODEL_PLACES_MAX  (MODEL_DEVICES_MAX + MODEL_NUMAS_MAX)
#define MODEL_HOPS_MAX    6
#define MODEL_LEVELS_MAX  6

enum model_kind {
    MODEL_PINNED,
    MODEL_COHERENT,
    MODEL_NONCOHERENT,
    MODEL_PAGEABLE,
    MODEL_MANAGED,
    MODEL_KIND_COUNT
};
enum model_mechanism { MODEL_ENGINE, MODEL_KERNEL };
enum model_how { MODEL_READ, MODEL_WRITE };
enum model_flag { MODEL_FLAG_FROM, MODEL_FLAG_TO, MODEL_FLAG_READER, MODEL_FLAG_COUNT };

enum model_call {
    MODEL_CALL_INIT,
    MODEL_CALL_OPEN,
    MODEL_CALL_ALLOC,
    MODEL_CALL_COPY,
    MODEL_CALL_LAUNCH,
    MODEL_CALL_EVENT,
    MODEL_CALL_SYNC,
    MODEL_CALL_QUERY,
    MODEL_CALL_CLOCK,
    MODEL_CALL_DEVICE,
    MODEL_CALL_OTHER,
    MODEL_CALL_COUNT
};

enum model_fault {
    MODEL_FAULT_NONE,
    MODEL_FAULT_HANG,
    MODEL_FAULT_STUCK,
    MODEL_FAULT_MEMORY,
    MODEL_FAULT_PEER,
    MODEL_FAULT_LOST,
    MODEL_FAULT_STICKY,
    MODEL_FAULT_UNSUPPORTED
};

struct model_device {
    char pci[16], uuid[48], model[64];
    int numa;        /* the operating system's number of the nearest one */
    int memory_numa; /* of the one that its own memory is; -1 none */
    int module;
    uint64_t bytes;
    int major, minor, multiprocessors, threads, khz, l2, engines, integrated, managed, pageable,
        ats;
};

struct model_path {
    double limit; /* bytes/s of one such flow alone; 0: there is no such way */
    double ns;    /* before the first byte moves */
    size_t use_count;
    struct {
        unsigned resource;
        double weight;
    } use[SHARE_USES_MAX / 2];
    bool wrong; /* it breaks bytes */
};

/* The nth call of that name (0: all, "*" any name) on that device (-1: any) fails so. */
struct model_planned_fault {
    char call[40];
    unsigned nth;
    int device;
    enum model_fault fault;
};

struct model_level {
    uint64_t bytes; /* up to so many visited */
    double ns;
};

struct model {
    char name[32], api[8];
    int driver;
    int device_count, numa_count;
    struct model_device device[MODEL_DEVICES_MAX];
    struct {
        int number;
        uint64_t bytes, free_bytes;
    } numa[MODEL_NUMAS_MAX];
    struct share_resource *resources;
    char (*resource_names)[32];
    size_t resource_count;
    enum share_discipline discipline;
    double noise; /* relative standard deviation of what an operation takes */
    uint64_t seed;
    double call_ns[MODEL_CALL_COUNT];
    /* that waiting for an event of another stream holds up what comes behind it, when it has
     * happened */
    double wait_ns;
    double wake_ns;  /* that much more when it has not */
    double event_ns; /* that an event with a time holds up what comes behind it in its stream */
    double flops;
    /* bytes/s of managed memory that goes where it is touched; 0: it stays and is read from afar */
    double migrate;
    uint64_t bytes_max; /* of one operation that really move */
    bool no_peer[MODEL_DEVICES_MAX][MODEL_DEVICES_MAX];
    /* the last has bytes 0 */
    struct model_level chase[MODEL_DEVICES_MAX][MODEL_PLACES_MAX][MODEL_LEVELS_MAX];
    double pingpong[MODEL_PLACES_MAX][MODEL_DEVICES_MAX][MODEL_FLAG_COUNT];
    struct model_planned_fault *faults;
    size_t fault_count;
    struct model_path *paths;
};

/* False: cannot be read, and ret_why, of why_size, says in which line and why. */
bool model_read(const char *path, struct model **ret_model, char *ret_why, size_t why_size);
void model_free(struct model *model);

int model_places(const struct model *model);
/* The place of a NUMA node by its number; -1 there is none such. */
int model_numa_place(const struct model *model, int number);
/* Whose memory a place is: of a NUMA node that is a device's memory that device, of any other the
 * place itself. */
int model_owner(const struct model *model, int place);

/* By engine: from and to are where the bytes lie; driven by the source (MODEL_WRITE) or the target.
 * By kernel: from is the device that runs it, to the memory that it reads or writes. kind is that
 * of the host's memory, if there is any. */
const struct model_path *model_path(const struct model *model, enum model_mechanism mechanism,
                                    enum model_how how, enum model_kind kind, int from, int to);

/* ns of one dependent load; 0 not known. */
double model_chase_ns(const struct model *model, int device, int place, uint64_t bytes);
