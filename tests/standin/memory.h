/**
 * What memory there is and where: blocks of the virtual devices, of the host known to the runtime,
 * and where the host's pages were bound to. Not locked: the world's lock is held.
 *
 * Memory of a device is address space of this process at an address that no host program can touch
 * (bit 48 is added), so that a program that mistakes it for its own is found out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

enum memory_owner { MEMORY_DEVICE, MEMORY_HOST, MEMORY_REGISTERED, MEMORY_MANAGED };

struct memory_block {
    uint64_t address; /* as programs know it */
    uint64_t size;
    char *bytes; /* where they really are */
    enum memory_owner owner;
    enum model_kind kind;
    int device;                         /* whose; of managed memory who has it, -1 the host */
    int place;                          /* of host memory */
    bool touched;                       /* managed: its place is settled */
    bool stays;                         /* managed: it was advised to stay on the host */
    uint64_t chase_slots, chase_stride; /* of the cycle that was last built in it */
};

/* Where an address lies. block is NULL for host memory that the runtime does not know. */
struct memory_spot {
    struct memory_block *block;
    char *bytes;
    int place;
    enum model_kind kind;
};

struct memory;

struct memory *memory_new(const struct model *model);
/* NULL: out of memory. Device memory counts against the device's. */
struct memory_block *memory_alloc(struct memory *memory, int device, uint64_t size);
struct memory_block *memory_host(struct memory *memory, uint64_t size, enum model_kind kind,
                                 int place, enum memory_owner owner);
struct memory_block *memory_register(struct memory *memory, void *bytes, uint64_t size,
                                     enum model_kind kind);
/* False: no block begins there. */
bool memory_free(struct memory *memory, uint64_t address, bool registered);
void memory_free_device(struct memory *memory, int device); /* all of a device */
uint64_t memory_used(const struct memory *memory, int device);

/* False: bytes of the range are nobody's. */
bool memory_find(struct memory *memory, uint64_t address, uint64_t size,
                 struct memory_spot *ret_spot);

/* Pages of the host: bound, and where a page is by that (the first NUMA node when it was not). */
bool memory_bind(struct memory *memory, uint64_t address, uint64_t size, int numa_place);
void memory_unbind(struct memory *memory, uint64_t address, uint64_t size);
int memory_bound(const struct memory *memory, uint64_t address);
/* From now on what is touched first goes there: managed memory that nobody touched yet. */
void memory_prefer(struct memory *memory, int numa_place);
