#include "memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE_BIT (1ULL << 48)
#define PAGE       4096u

struct binding {
    uint64_t address, size;
    int place;
};

struct memory {
    const struct model *model;
    struct memory_block **blocks;
    size_t block_count;
    struct binding *bindings;
    size_t binding_count;
};

struct memory *memory_new(const struct model *model)
{
    struct memory *memory = calloc(1, sizeof *memory);
    if (memory != NULL)
        memory->model = model;
    return memory;
}

static struct memory_block *add(struct memory *memory, struct memory_block *values)
{
    struct memory_block *block = malloc(sizeof *block);
    struct memory_block **blocks =
        realloc(memory->blocks, (memory->block_count + 1) * sizeof(struct memory_block *));
    if (blocks != NULL)
        memory->blocks = blocks;
    if (blocks == NULL || block == NULL) {
        free(block);
        return NULL;
    }
    *block = *values;
    memory->blocks[memory->block_count++] = block;
    return block;
}

static char *map(uint64_t size)
{
    void *bytes = mmap(NULL, (size + PAGE - 1) / PAGE * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* Not munmap(), which host.c has its own of, that waits for the lock. */
static void unmap(char *bytes, uint64_t size)
{
    syscall(SYS_munmap, bytes, (size + PAGE - 1) / PAGE * PAGE);
}

static struct memory_block *add_mapped(struct memory *memory, struct memory_block *values)
{
    values->bytes = map(values->size);
    if (values->bytes == NULL)
        return NULL;
    values->address =
        (uint64_t)(uintptr_t)values->bytes + (values->owner == MEMORY_DEVICE ? DEVICE_BIT : 0);
    struct memory_block *block = add(memory, values);
    if (block == NULL)
        unmap(values->bytes, values->size);
    return block;
}

uint64_t memory_used(const struct memory *memory, int device)
{
    uint64_t used = 0;
    for (size_t i = 0; i < memory->block_count; i++)
        if (memory->blocks[i]->owner == MEMORY_DEVICE && memory->blocks[i]->device == device)
            used += memory->blocks[i]->size;
    return used;
}

struct memory_block *memory_alloc(struct memory *memory, int device, uint64_t size)
{
    if (size == 0 || memory->model->device[device].bytes - memory_used(memory, device) < size)
        return NULL;
    return add_mapped(memory,
                      &(struct memory_block){
                          .size = size, .owner = MEMORY_DEVICE, .device = device, .place = device});
}

struct memory_block *memory_host(struct memory *memory, uint64_t size, enum model_kind kind,
                                 int place, enum memory_owner owner)
{
    return size == 0
               ? NULL
               : add_mapped(
                     memory,
                     &(struct memory_block){
                         .size = size, .owner = owner, .kind = kind, .device = -1, .place = place});
}

struct memory_block *memory_register(struct memory *memory, void *bytes, uint64_t size,
                                     enum model_kind kind)
{
    uint64_t address = (uint64_t)(uintptr_t)bytes;
    return add(memory, &(struct memory_block){.address = address,
                                              .size = size,
                                              .bytes = bytes,
                                              .owner = MEMORY_REGISTERED,
                                              .kind = kind,
                                              .device = -1,
                                              .place = memory_bound(memory, address)});
}

static void drop(struct memory *memory, size_t i)
{
    struct memory_block *block = memory->blocks[i];
    if (block->owner != MEMORY_REGISTERED)
        unmap(block->bytes, block->size);
    free(block);
    memory->blocks[i] = memory->blocks[--memory->block_count];
}

bool memory_free(struct memory *memory, uint64_t address, bool registered)
{
    for (size_t i = 0; i < memory->block_count; i++)
        if (memory->blocks[i]->address == address &&
            (memory->blocks[i]->owner == MEMORY_REGISTERED) == registered) {
            drop(memory, i);
            return true;
        }
    return false;
}

void memory_free_device(struct memory *memory, int device)
{
    for (size_t i = memory->block_count; i-- > 0;)
        if (memory->blocks[i]->owner == MEMORY_DEVICE && memory->blocks[i]->device == device)
            drop(memory, i);
}

bool memory_find(struct memory *memory, uint64_t address, uint64_t size,
                 struct memory_spot *ret_spot)
{
    for (size_t i = 0; i < memory->block_count; i++) {
        struct memory_block *block = memory->blocks[i];
        if (address < block->address || address - block->address >= block->size)
            continue;
        if (block->size - (address - block->address) < size)
            return false;
        *ret_spot =
            (struct memory_spot){block, block->bytes + (address - block->address),
                                 block->device >= 0 ? block->device : block->place, block->kind};
        return true;
    }
    if (address < PAGE || address >= DEVICE_BIT)
        return false;
    *ret_spot = (struct memory_spot){NULL, (char *)(uintptr_t)address,
                                     memory_bound(memory, address), MODEL_PAGEABLE};
    return true;
}

void memory_unbind(struct memory *memory, uint64_t address, uint64_t size)
{
    for (size_t i = memory->binding_count; i-- > 0;) {
        const struct binding *binding = &memory->bindings[i];
        if (binding->address >= address && binding->address + binding->size <= address + size)
            memory->bindings[i] = memory->bindings[--memory->binding_count];
    }
}

bool memory_bind(struct memory *memory, uint64_t address, uint64_t size, int numa_place)
{
    memory_unbind(memory, address, size);
    struct binding *bindings =
        realloc(memory->bindings, (memory->binding_count + 1) * sizeof *bindings);
    if (bindings == NULL)
        return false;
    memory->bindings = bindings;
    bindings[memory->binding_count++] = (struct binding){address, size, numa_place};
    return true;
}

int memory_bound(const struct memory *memory, uint64_t address)
{
    for (size_t i = memory->binding_count; i-- > 0;)
        if (address - memory->bindings[i].address < memory->bindings[i].size)
            return memory->bindings[i].place;
    return memory->model->device_count;
}

void memory_prefer(struct memory *memory, int numa_place)
{
    for (size_t i = 0; i < memory->block_count; i++)
        if (memory->blocks[i]->owner == MEMORY_MANAGED && !memory->blocks[i]->touched) {
            memory->blocks[i]->place = numa_place;
            memory->blocks[i]->touched = true;
        }
}
