/* Looks up CUDA's or HIP's driver and hides where the two differ. */
#include "lib/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIP_COPY_DEFAULT = 4,
    HIP_NEW_TYPES = 60000000, /* from this version on HIP numbers kinds of memory as CUDA does */
    POINTER_CONTEXT = 1,
    POINTER_TYPE = 2,
    POINTER_MANAGED = 8,
    POINTER_DEVICE = 9
};

struct call {
    size_t offset;
    const char *cuda, *hip; /* NULL: the driver has no such call */
    bool needed;
};

#define SPECIAL(member, cuda, hip, needed)                                                         \
    {                                                                                              \
        offsetof(struct lib_driver, member), cuda, hip, needed                                     \
    }
static const struct call calls[] = {
#define NEEDED(name, cuda, hip, arguments) {offsetof(struct lib_driver, name), #cuda, #hip, true},
#define WANTED(name, cuda, hip, arguments) {offsetof(struct lib_driver, name), #cuda, #hip, false},
    LIB_DRIVER_CALLS(NEEDED, WANTED) SPECIAL(cuda.text, "cuGetErrorString", NULL, true),
    SPECIAL(cuda.get_context, "cuCtxGetCurrent", NULL, true),
    SPECIAL(cuda.set_context, "cuCtxSetCurrent", NULL, true),
    SPECIAL(cuda.retain, "cuDevicePrimaryCtxRetain", NULL, true),
    SPECIAL(cuda.release, "cuDevicePrimaryCtxRelease_v2", NULL, true),
    SPECIAL(cuda.state, "cuDevicePrimaryCtxGetState", NULL, true),
    SPECIAL(cuda.stream_context, "cuStreamGetCtx", NULL, true),
    SPECIAL(cuda.access_peer, "cuCtxEnablePeerAccess", NULL, true),
    SPECIAL(cuda.copy, "cuMemcpyAsync", NULL, true),
    SPECIAL(hip.text, NULL, "hipGetErrorString", true),
    SPECIAL(hip.get_device, NULL, "hipGetDevice", true),
    SPECIAL(hip.set_device, NULL, "hipSetDevice", true),
    SPECIAL(hip.stream_device, NULL, "hipStreamGetDevice", false),
    SPECIAL(hip.access_peer, NULL, "hipDeviceEnablePeerAccess", true),
    SPECIAL(hip.copy, NULL, "hipMemcpyAsync", true),
};

/* Functions come as pointers to void, which C does not convert. POSIX guarantees that their bytes
 * are the same. */
static bool find_calls(struct lib_driver *driver, const char *library, char *why, size_t size)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const char *name = driver->is_hip ? calls[i].hip : calls[i].cuda;
        if (name == NULL)
            continue;
        void *symbol = dlsym(driver->library, name);
        if (symbol == NULL && calls[i].needed) {
            snprintf(why, size, "%s has no %s", library, name);
            return false;
        }
        memcpy((char *)driver + calls[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

bool lib_driver_pci(const char *text, struct lib_pci *ret_pci)
{
    struct lib_pci pci;
    if (text == NULL ||
        sscanf(text, "%8x:%2x:%2x.%1x", &pci.domain, &pci.bus, &pci.device, &pci.function) != 4)
        return false;
    *ret_pci = pci;
    return true;
}

static bool find_devices(struct lib_driver *driver, const char *library, char *why, size_t size)
{
    int version = 0, code = driver->init(0);
    if (code == 0)
        code = driver->get_count(&driver->count);
    if (code == 0)
        code = driver->version(&version);
    if (code != 0 || driver->count < 1) {
        snprintf(why, size, "%s finds no gpu: %s", library, lib_driver_text(driver, code));
        return false;
    }
    if (driver->count > LIB_DEVICES_MAX)
        driver->count = LIB_DEVICES_MAX;
    driver->host_type = !driver->is_hip || version >= HIP_NEW_TYPES ? 1 : 0;
    for (int i = 0; i < driver->count; i++) {
        char text[32] = "";
        if (driver->pci(text, sizeof text, i) != 0 || !lib_driver_pci(text, &driver->place[i]))
            driver->place[i].domain = UINT32_MAX;
    }
    return true;
}

struct lib_driver *lib_driver_open(char *why, size_t size)
{
    static const char *const libraries[] = {"libcuda.so.1", "libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so.5"};
    static const int flags[] = {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_NODELETE};
    struct lib_driver *driver = calloc(1, sizeof *driver);
    snprintf(why, size, "%s", driver == NULL ? "out of memory" : "this machine has no gpu driver");
    for (size_t f = 0; f < 2 && driver != NULL; f++)
        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
            *driver =
                (struct lib_driver){.library = dlopen(libraries[i], flags[f]), .is_hip = i > 0};
            if (driver->library == NULL)
                continue;
            if (find_calls(driver, libraries[i], why, size) &&
                find_devices(driver, libraries[i], why, size))
                return driver;
            dlclose(driver->library);
        }
    free(driver);
    return NULL;
}

void lib_driver_free(struct lib_driver *driver)
{
    if (driver == NULL)
        return;
    for (int i = 0; i < driver->count; i++)
        if (driver->context[i] != NULL)
            driver->cuda.release(i);
    dlclose(driver->library);
    free(driver);
}

const char *lib_driver_text(const struct lib_driver *driver, int code)
{
    const char *text = NULL;
    if (driver->is_hip)
        text = driver->hip.text(code);
    else
        driver->cuda.text(code, &text);
    return text != NULL ? text : "an error that the driver has no words for";
}

int lib_driver_save(const struct lib_driver *driver, struct lib_driver_place *ret_before)
{
    *ret_before = (struct lib_driver_place){0};
    return driver->is_hip ? driver->hip.get_device(&ret_before->device)
                          : driver->cuda.get_context(&ret_before->context);
}

int lib_driver_enter(struct lib_driver *driver, int device)
{
    if (driver->is_hip)
        return driver->hip.set_device(device);
    int code = 0;
    if (driver->context[device] == NULL)
        code = driver->cuda.retain(&driver->context[device], device);
    return code != 0 ? code : driver->cuda.set_context(driver->context[device]);
}

void lib_driver_leave(const struct lib_driver *driver, const struct lib_driver_place *before)
{
    if (driver->is_hip)
        driver->hip.set_device(before->device);
    else
        driver->cuda.set_context(before->context);
}

int lib_driver_access(struct lib_driver *driver, int device, int peer)
{
    int can = 0, code = driver->can_access(&can, device, peer);
    if (code == 0 && can == 0)
        code = LIB_DRIVER_NO_PEER;
    if (code == 0 && !driver->is_hip) /* the peer's context must be there */
        code = lib_driver_enter(driver, peer);
    if (code == 0)
        code = lib_driver_enter(driver, device);
    if (code == 0)
        code = driver->is_hip ? driver->hip.access_peer(peer, 0)
                              : driver->cuda.access_peer(driver->context[peer], 0);
    return code == LIB_DRIVER_PEER_ALREADY ? 0 : code;
}

int lib_driver_copy(const struct lib_driver *driver, void *to, const void *from, size_t bytes,
                    void *stream)
{
    return driver->is_hip ? driver->hip.copy(to, from, bytes, HIP_COPY_DEFAULT, stream)
                          : driver->cuda.copy(to, from, bytes, stream);
}

/* The context that a device's memory has by default; NULL when nobody has opened it. */
static void *primary(struct lib_driver *driver, int device)
{
    unsigned flags;
    int is_active = 0;
    if (driver->context[device] == NULL && driver->cuda.state(device, &flags, &is_active) == 0 &&
        is_active != 0 && driver->cuda.retain(&driver->context[device], device) != 0)
        driver->context[device] = NULL;
    return driver->context[device];
}

bool lib_driver_has_stream(struct lib_driver *driver, int device, void *stream)
{
    if (driver->is_hip) {
        int own = -1;
        if (stream != NULL && driver->hip.stream_device != NULL)
            return driver->hip.stream_device(stream, &own) == 0 && own == device;
        return driver->hip.get_device(&own) == 0 && own == device;
    }
    void *context = NULL;
    int code = stream != NULL ? driver->cuda.stream_context(stream, &context)
                              : driver->cuda.get_context(&context);
    return code == 0 && context != NULL && context == primary(driver, device);
}

enum lib_memory lib_driver_memory(struct lib_driver *driver, const void *memory, int *ret_device)
{
    unsigned managed = 0; /* the driver writes one byte, or four */
    unsigned type = 0;
    int device = -1;
    void *context = NULL;
    if (driver->attribute(&type, POINTER_TYPE, memory) != 0 ||
        driver->attribute(&managed, POINTER_MANAGED, memory) != 0 || managed != 0)
        return LIB_MEMORY_OTHER;
    if (type == (unsigned)driver->host_type)
        return LIB_MEMORY_PINNED;
    if (type != (unsigned)driver->host_type + 1 ||
        driver->attribute(&device, POINTER_DEVICE, memory) != 0 || device < 0 ||
        device >= driver->count)
        return LIB_MEMORY_OTHER;
    if (!driver->is_hip && (driver->attribute(&context, POINTER_CONTEXT, memory) != 0 ||
                            context == NULL || context != primary(driver, device)))
        return LIB_MEMORY_OTHER;
    *ret_device = device;
    return LIB_MEMORY_DEVICE;
}
