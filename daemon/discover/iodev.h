/**
 * The I/O devices of an hwloc topology as plain data, and their classification: gpus, nics and
 * switches. Knows nothing of hwloc's own types; backend_hwloc fills it in.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discover/draft.h"

/* A name of a device in the operating system or a runtime, "hsi0", "rsmi3". Texts are borrowed from
 * the topology. */
struct iodev_function {
    const char *name;
    bool is_network, is_verbs; /* "hsi0"; "mlx5_0" */
    uint64_t object;           /* hwloc's gp_index */
    struct iodev_info {
        const char *key, *value;
    } * infos; /* owned */
    size_t info_count;
};

#define IODEV_PORTS 8

struct iodev_port {
    uint64_t pci;
    double bytes_per_s; /* of the bridge's link towards the host; NAN unknown */
};

struct iodev {
    bool is_pci; /* false: not below any PCI device */
    uint64_t pci;
    unsigned class_id, vendor;           /* 0x0302, 0x10de; 0 unknown */
    const char *subtype;                 /* "NVSwitch"; NULL none */
    const char *model;                   /* from the PCI names, NULL unknown */
    double bytes_per_s;                  /* of the PCIe link; NAN unknown */
    struct iodev_port port[IODEV_PORTS]; /* the bridges above it, from the host on */
    size_t port_count;
    bool has_locality;
    struct cpuset cpus; /* cpus local to the device */
    uint64_t object;
    struct iodev_function *functions; /* owned */
    size_t function_count;

    /* Filled in by iodev_add_places. */
    place_id place; /* the (first) gpu, the nic or the switch; PLACE_NONE */
    size_t places;  /* number of gpus, from place on */
};

struct iodev_list {
    struct iodev *item;
    size_t count;
};

/* False when out of memory. The pointer is valid until the next device is added. */
struct iodev *iodev_new(struct iodev_list *devices);
struct iodev_function *iodev_add_function(struct iodev *device);
bool iodev_add_info(struct iodev_function *function, const char *key, const char *value);
void iodev_done(struct iodev_list *devices);

/* Adds gpus, nics, switches and modules to the draft. A device at one of the PCI addresses
 * gpu_memory, from GPUMemory NUMA nodes, is a gpu regardless of its class. */
void iodev_add_places(struct iodev_list *devices, const uint64_t *gpu_memory,
                      size_t gpu_memory_count, struct draft *draft);

/* Returns the place of an hwloc object (PCI device, or function of one); PLACE_NONE. */
place_id iodev_place_of(const struct iodev_list *devices, uint64_t object);
