/* Allocates for PyTorch, which keeps no state for it: an address alone tells how to free it. */
#include "lib/driver.h"
#include "lib/driver_names.h"
#include "lib/pages.h"

enum { HOST_PORTABLE_MAPPED = 3, ATTACH_GLOBAL = 1, SET_PREFERRED = 3, ASK_MS = 1000 };

/* Asks for the NUMA node of pinned memory that a device reads; -1 without an answer. The driver
 * shows the device, so it may be used. */
static int find_node(const struct lib_driver *driver, int device, int64_t bytes)
{
    struct lib_driver_names names;
    struct berth_allocate_request request;
    struct berth_allowed *allowed = NULL;
    struct berth_allocation *allocation = NULL;
    struct berth *berth = berth_new();
    int node = -1;
    if (berth == NULL)
        return -1;
    berth_set_timeout(berth, ASK_MS);
    berth_allocate_request_init(&request);
    request.bytes = bytes;
    request.kinds = 1U << BERTH_KIND_PINNED;
    request.access_count = 1;
    if (berth_connect(berth, NULL) == BERTH_DONE &&
        lib_driver_names_ask(berth, driver, &names) == BERTH_DONE &&
        berth_allowed_here(berth, 0, &allowed) == BERTH_DONE) {
        struct berth_access access = {.by = names.gpu[device], .reads_bytes = bytes};
        request.accesses = &access;
        request.allowed = allowed;
        if (berth_allocate(berth, &request, &allocation) == BERTH_DONE &&
            allocation->option_count > 0)
            node = lib_pages_number(allocation->options[0].memory);
    }
    berth_allocation_free(allocation);
    berth_allowed_free(allowed);
    berth_free(berth);
    return node;
}

static void *take_pinned(const struct lib_driver *driver, int device, size_t bytes)
{
    int node = find_node(driver, device, (int64_t)bytes);
    void *memory = node >= 0 ? lib_pages_new(node, bytes) : NULL;
    if (memory == NULL || driver->host_register(memory, bytes, HOST_PORTABLE_MAPPED) == 0)
        return memory;
    lib_pages_free(memory, bytes);
    return NULL;
}

static void *take_managed(const struct lib_driver *driver, int device, size_t bytes)
{
    void *memory = NULL;
    if (driver->managed == NULL || driver->advise == NULL ||
        driver->managed(&memory, bytes, ATTACH_GLOBAL) != 0)
        return NULL;
    if (driver->advise(memory, bytes, SET_PREFERRED, device) == 0)
        return memory;
    driver->free(memory);
    return NULL;
}

static void *take(enum berth_memory_kind kind, int64_t bytes, int device)
{
    char why[128];
    struct lib_driver_place before;
    void *memory = NULL;
    struct lib_driver *driver = bytes > 0 ? lib_driver_open(why, sizeof why) : NULL;
    if (driver == NULL)
        return NULL;
    if (device >= 0 && device < driver->count && lib_driver_save(driver, &before) == 0) {
        if (lib_driver_enter(driver, device) != 0)
            memory = NULL;
        else if (kind == BERTH_KIND_PINNED)
            memory = take_pinned(driver, device, (size_t)bytes);
        else if (kind == BERTH_KIND_MANAGED)
            memory = take_managed(driver, device, (size_t)bytes);
        else if (driver->alloc(&memory, (size_t)bytes) != 0)
            memory = NULL;
        lib_driver_leave(driver, &before);
    }
    lib_driver_free(driver);
    return memory;
}

void *berth_torch_device(int64_t bytes, int device, void *stream)
{
    (void)stream;
    return take(BERTH_KIND_DEVICE, bytes, device);
}

void *berth_torch_pinned(int64_t bytes, int device, void *stream)
{
    (void)stream;
    return take(BERTH_KIND_PINNED, bytes, device);
}

void *berth_torch_managed(int64_t bytes, int device, void *stream)
{
    (void)stream;
    return take(BERTH_KIND_MANAGED, bytes, device);
}

void berth_torch_free(void *memory, int64_t bytes, int device, void *stream)
{
    char why[128];
    int owner;
    struct lib_driver_place before;
    struct lib_driver *driver = memory != NULL ? lib_driver_open(why, sizeof why) : NULL;
    (void)stream;
    if (driver == NULL)
        return;
    if (device >= 0 && device < driver->count && lib_driver_save(driver, &before) == 0) {
        if (lib_driver_enter(driver, device) == 0) {
            if (lib_driver_memory(driver, memory, &owner) != LIB_MEMORY_PINNED)
                driver->free(memory);
            else if (driver->host_unregister(memory) == 0)
                lib_pages_free(memory, (size_t)bytes);
        }
        lib_driver_leave(driver, &before);
    }
    lib_driver_free(driver);
}
