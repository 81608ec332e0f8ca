/* Carries out the first option of Allocate. */
#include "lib/driver.h"
#include "lib/driver_names.h"
#include "lib/pages.h"
#include "lib/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_PORTABLE_MAPPED = 3, ATTACH_GLOBAL = 1, SET_PREFERRED = 3, HOST_DEVICE = -1 };

struct own {
    struct berth_buffer buffer; /* first: what the caller has */
    struct berth_allocation *allocation;
    struct lib_driver *driver; /* NULL for memory of the system */
    int device;                /* whose context the calls are made in */
    bool is_pages;             /* data is of lib_pages_new */
    bool is_registered;        /* and the driver knows it */
    char how[256];
};

/* Ends what there is of a buffer. */
static void end(struct own *own)
{
    struct lib_driver_place before;
    void *data = own->buffer.data;
    if (own->driver != NULL && data != NULL && lib_driver_save(own->driver, &before) == 0) {
        if (lib_driver_enter(own->driver, own->device) == 0) {
            if (own->is_registered)
                own->driver->host_unregister(data);
            else if (!own->is_pages)
                own->driver->free(data);
        }
        lib_driver_leave(own->driver, &before);
    }
    if (own->is_pages)
        lib_pages_free(data, (size_t)own->buffer.bytes);
    lib_driver_free(own->driver);
    berth_allocation_free(own->allocation);
    free(own);
}

__attribute__((format(printf, 2, 3))) static void say(struct own *own, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(own->how, sizeof own->how, format, args);
    va_end(args);
}

static const char *pick(const struct own *own, const char *cuda, const char *hip)
{
    return own->driver->is_hip ? hip : cuda;
}

static int check(struct berth *berth, const struct own *own, int code, const char *call)
{
    const struct berth_memory_option *option = own->allocation->options;
    return code == 0 ? BERTH_DONE
                     : lib_fail(berth, BERTH_ERROR_SYSTEM, "%s of %lld bytes for %s: %s", call,
                                (long long)own->buffer.bytes, option->memory,
                                lib_driver_text(own->driver, code));
}

static int take_pages(struct berth *berth, struct own *own, int node)
{
    own->buffer.data = lib_pages_new(node, (size_t)own->buffer.bytes);
    if (own->buffer.data == NULL)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "%lld bytes of numa%d: %s",
                        (long long)own->buffer.bytes, node, strerror(errno));
    own->is_pages = true;
    say(own, "mmap, mbind to numa%d", node);
    return BERTH_DONE;
}

static int take_pinned(struct berth *berth, struct own *own, int node)
{
    int status = take_pages(berth, own, node);
    if (status < 0)
        return status;
    const char *call = pick(own, "cuMemHostRegister", "hipHostRegister");
    status = check(berth, own,
                   own->driver->host_register(own->buffer.data, (size_t)own->buffer.bytes,
                                              HOST_PORTABLE_MAPPED),
                   call);
    own->is_registered = status == BERTH_DONE;
    say(own, "mmap, mbind to numa%d, %s", node, call);
    return status;
}

static int take_managed(struct berth *berth, struct own *own, int node)
{
    const char *call = pick(own, "cuMemAllocManaged", "hipMallocManaged"),
               *advise = pick(own, "cuMemAdvise", "hipMemAdvise");
    size_t bytes = (size_t)own->buffer.bytes;
    void *data = NULL;
    if (own->driver->managed == NULL || own->driver->advise == NULL)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "the driver has no managed memory");
    int status = check(berth, own, own->driver->managed(&data, bytes, ATTACH_GLOBAL), call);
    if (status < 0)
        return status;
    own->buffer.data = data;
    status =
        check(berth, own,
              own->driver->advise(data, bytes, SET_PREFERRED, node < 0 ? own->device : HOST_DEVICE),
              advise);
    if (status < 0)
        return status;
    if (node < 0)
        say(own, "%s, %s to %s", call, advise, own->allocation->options->memory);
    else
        say(own, "%s, %s to the host, first touched on numa%d", call, advise, node);
    return node < 0 || lib_pages_touch(node, data, bytes)
               ? BERTH_DONE
               : lib_fail(berth, BERTH_ERROR_SYSTEM, "a memory policy for numa%d: %s", node,
                          strerror(errno));
}

static int take_device(struct berth *berth, struct own *own)
{
    const char *call = pick(own, "cuMemAlloc", "hipMalloc");
    void *data = NULL;
    int status = check(berth, own, own->driver->alloc(&data, (size_t)own->buffer.bytes), call);
    if (status == BERTH_DONE)
        own->buffer.data = data;
    say(own, "%s on device %d", call, own->device);
    return status;
}

/* Opens the driver and finds the device whose context the calls are made in: that of the memory,
 * else of the first user of the buffer that is a gpu, else the first. */
static int open_driver(struct berth *berth, struct own *own,
                       const struct berth_allocate_request *request, int node)
{
    const struct berth_memory_option *option = own->allocation->options;
    struct lib_driver_names names;
    char why[128];
    own->driver = lib_driver_open(why, sizeof why);
    if (own->driver == NULL)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "%s memory: %s", lib_kind_names[option->kind],
                        why);
    int status = lib_driver_names_ask(berth, own->driver, &names);
    if (status < 0)
        return status;
    if (node < 0 || option->kind == BERTH_KIND_DEVICE) {
        own->device = lib_driver_names_find(&names, option->memory);
        return own->device >= 0
                   ? BERTH_DONE
                   : lib_fail(berth, BERTH_ERROR_SYSTEM, "the driver shows no %s to this process",
                              option->memory);
    }
    own->device = -1;
    for (size_t i = 0; own->device < 0 && request->accesses != NULL && i < request->access_count;
         i++)
        if (lib_pages_number(request->accesses[i].by) < 0)
            own->device = lib_driver_names_find(&names, request->accesses[i].by);
    own->device = own->device < 0 ? 0 : own->device;
    return BERTH_DONE;
}

static int take_of_driver(struct berth *berth, struct own *own, int node)
{
    enum berth_memory_kind kind = own->allocation->options->kind;
    struct lib_driver_place before;
    int code = lib_driver_save(own->driver, &before);
    if (code != 0)
        return check(berth, own, code, "the current context");
    int status = check(berth, own, lib_driver_enter(own->driver, own->device), "a context");
    if (status == BERTH_DONE)
        status = kind == BERTH_KIND_DEVICE    ? take_device(berth, own)
                 : kind == BERTH_KIND_MANAGED ? take_managed(berth, own, node)
                                              : take_pinned(berth, own, node);
    lib_driver_leave(own->driver, &before);
    return status;
}

static int take(struct berth *berth, struct own *own, const struct berth_allocate_request *request)
{
    if (own->allocation->option_count == 0)
        return lib_fail(berth, BERTH_ERROR_NOT_ENOUGH, "the daemon names no memory");
    const struct berth_memory_option *option = own->allocation->options;
    int node = lib_pages_number(option->memory);
    if (option->free_bytes >= 0 && option->free_bytes < request->bytes)
        return lib_fail(berth, BERTH_ERROR_NOT_ENOUGH, "%s has %lld bytes free of %lld",
                        option->memory, (long long)option->free_bytes, (long long)request->bytes);
    if (option->kind == BERTH_KIND_UNKNOWN ||
        (node < 0 && (option->kind == BERTH_KIND_SYSTEM || option->kind == BERTH_KIND_PINNED)))
        return lib_fail(berth, BERTH_ERROR_SYSTEM,
                        "memory of %.40s in a kind that this version cannot make: %.80s",
                        option->memory, option->call);
    if (option->kind == BERTH_KIND_SYSTEM)
        return take_pages(berth, own, node);
    int status = open_driver(berth, own, request, node);
    return status < 0 ? status : take_of_driver(berth, own, node);
}

int berth_alloc(struct berth *berth, const struct berth_allocate_request *request,
                struct berth_buffer **ret_buffer)
{
    struct own *own = calloc(1, sizeof *own);
    if (own == NULL)
        return lib_fail_memory(berth);
    own->buffer.bytes = request->bytes;
    int status = berth_allocate(berth, request, &own->allocation);
    if (status == BERTH_DONE)
        status = take(berth, own, request);
    if (status < 0) {
        end(own);
        return status;
    }
    own->buffer.allocation = own->allocation;
    own->buffer.how = own->how;
    *ret_buffer = &own->buffer;
    return BERTH_DONE;
}

void berth_buffer_free(struct berth_buffer *buffer)
{
    if (buffer != NULL)
        end((struct own *)buffer);
}
