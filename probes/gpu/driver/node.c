#include "gpu/driver/node.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/file.h"
#include "gpu/driver/api.h"
#include "gpu/driver/dl.h"
#include "gpu/driver/image.h"

/* Codes of CUDA and HIP on a machine without devices, and of CUDA when NVSwitch is not set up. */
enum { NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_READY = 802 };

static bool fail_device(struct gpu_device *device, const struct gpu_api *api, const char *doing,
                        int code)
{
    device->usable = false;
    return probe_why_set(&device->why, "%s: %s", doing, api->text(api, code));
}

/* Describes a device without opening it. */
static void describe(const struct gpu_api *api, const char *root, struct gpu_device *device)
{
    int code = api->device_name(api, device->api_device, device->model, sizeof device->model);
    if (code == 0)
        code = api->device_bytes(api, device->api_device, &device->bytes);
    device->usable = code == 0 || fail_device(device, api, "asking the driver about it", code);
    /* stays "" */
    (void)api->device_uuid(api, device->api_device, device->uuid, sizeof device->uuid);
    for (enum gpu_attribute i = 0; i < GPU_ATTRIBUTE_COUNT; i++) {
        bool is_numa = i == GPU_ATTRIBUTE_HOST_NUMA || i == GPU_ATTRIBUTE_MEMORY_NUMA;
        if (api->attribute(api, device->api_device, i, &device->attribute[i]) != 0)
            device->attribute[i] = is_numa ? -1 : 0;
    }
    int *numa = &device->attribute[GPU_ATTRIBUTE_HOST_NUMA];
    if (*numa < 0)
        *numa = (int)probe_file_number(root, "/sys/bus/pci/devices/%s/numa_node", device->name);
}

/* Orders by address. Domains may have more than four digits, so a longer address comes later. Equal
 * addresses keep the driver's order. */
static int by_address(const void *a, const void *b)
{
    const struct gpu_device *left = a, *right = b;
    size_t left_length = strlen(left->name), right_length = strlen(right->name);
    int order = left_length != right_length ? (left_length > right_length ? 1 : -1)
                                            : strcmp(left->name, right->name);
    return order != 0
               ? order
               : (left->api_device > right->api_device) - (left->api_device < right->api_device);
}

static bool list_devices(const char *root, struct gpu_node *node, struct probe_why *why)
{
    const struct gpu_api *api = node->api;
    int count;
    int code = api->count(api, &count);
    if (code == NO_DEVICE || code == INVALID_DEVICE)
        return true;
    if (code != 0)
        return probe_why_set(why, "%s does not count its devices: %s", api->library,
                             api->text(api, code));
    for (int i = 0; i < count && node->device_count < GPU_DEVICES_MAX; i++) {
        struct gpu_device *device = &node->device[node->device_count];
        device->api_device = i;
        code = api->device_pci(api, i, device->name, sizeof device->name);
        if (code != 0) /* no measurement could be attributed to this device */
            return probe_why_set(why, "%s does not say where device %d is: %s", api->library, i,
                                 api->text(api, code));
        describe(api, root, device);
        node->device_count++;
    }
    qsort(node->device, (size_t)node->device_count, sizeof node->device[0], by_address);
    for (int i = 1; i < node->device_count; i++)
        if (strcmp(node->device[i].name, node->device[i - 1].name) == 0)
            node->device[i].usable =
                probe_why_set(&node->device[i].why,
                              "another device has its PCI address, as partitions of a GPU may");
    return true;
}

bool gpu_node_is(const char *pci, const char *uuid, const char *text)
{
    char address[24];
    return strcasecmp(uuid, text) == 0 ||
           (gpu_dl_pci(text, address, sizeof address) && strcmp(address, pci) == 0);
}

static bool is_selected(const struct gpu_device *device, const char *selection)
{
    return gpu_node_is(device->name, device->uuid, selection);
}

/* Keeps the selected devices, in their order, and adds selected ones that are not there. */
static bool choose(struct gpu_node *node, const char *root, const char *const *selection,
                   struct probe_why *why)
{
    int kept = 0;
    for (int i = 0; i < node->device_count; i++) {
        bool keep = false;
        for (const char *const *name = selection; *name != NULL && !keep; name++)
            keep = is_selected(&node->device[i], *name);
        if (keep && kept++ != i)
            node->device[kept - 1] = node->device[i];
    }
    int present = kept;
    for (const char *const *name = selection; *name != NULL; name++) {
        bool found = false;
        for (int i = 0; i < kept && !found; i++)
            found = is_selected(&node->device[i], *name);
        struct gpu_device absent = {.api_device = -1};
        if (found)
            continue;
        if (kept == GPU_DEVICES_MAX || !gpu_dl_pci(*name, absent.name, sizeof absent.name))
            return probe_why_set(why, "the driver has no GPU \"%s\"", *name);
        if (!gpu_access_denied(root, node->api->name, &absent.why))
            probe_why_write(&absent.why, "the driver does not list it");
        node->device[kept++] = absent;
    }
    node->device_count = kept;
    if (kept > present)
        qsort(node->device, (size_t)kept, sizeof node->device[0], by_address);
    return true;
}

static bool leave_out(struct gpu_node *node, const char *const *without, struct probe_why *why)
{
    int kept = 0;
    for (int i = 0; i < node->device_count; i++) {
        bool keep = true;
        for (const char *const *name = without; *name != NULL && keep; name++)
            keep = !is_selected(&node->device[i], *name);
        struct gpu_left_out *left = &node->left_out[node->left_out_count];
        if (!keep) {
            memcpy(left->name, node->device[i].name, sizeof left->name);
            memcpy(left->uuid, node->device[i].uuid, sizeof left->uuid);
            node->left_out_count++;
        } else if (kept++ != i) {
            node->device[kept - 1] = node->device[i];
        }
    }
    node->device_count = kept;
    return kept > 0 || probe_why_set(why, "every GPU is to be left out");
}

/* Work of one device in one of the two steps of opening. Each device has its own thread, because
 * most of the work is waiting for the driver. */
struct opening {
    struct gpu_node *node;
    struct gpu_device *device;
    struct probe_why kernels_why;
    pthread_t thread;
    bool is_thread;
};

static void *open_device(void *arg)
{
    struct opening *opening = arg;
    const struct gpu_api *api = opening->node->api;
    struct gpu_device *device = opening->device;
    int code = api->open(api, device->api_device, &device->context);
    if (code != 0) {
        device->context = NULL;
        fail_device(device, api, "opening it", code);
        return NULL;
    }
    for (int i = 0; i < GPU_STREAMS && code == 0; i++)
        code = api->stream_new(api, &device->stream[i]);
    const void *image = gpu_image_built(api, NULL);
    if (code != 0)
        fail_device(device, api, "making streams on it", code);
    else if (image == NULL)
        probe_why_write(&opening->kernels_why, "no kernels for it are built in");
    else
        (void)gpu_node_load(api, image, device, &opening->kernels_why);
    return NULL;
}

static void *reach_peers(void *arg)
{
    struct opening *opening = arg;
    const struct gpu_node *node = opening->node;
    const struct gpu_api *api = node->api;
    struct gpu_device *device = opening->device;
    if (api->enter(api, device->api_device, device->context) != 0)
        return NULL;
    for (int i = 0; i < node->device_count; i++) {
        const struct gpu_device *peer = &node->device[i];
        bool can = false;
        if (peer != device && peer->usable &&
            api->can_access(api, device->api_device, peer->api_device, &can) == 0 && can)
            device->access[i] = api->access_peer(api, peer->api_device, peer->context) == 0;
    }
    return NULL;
}

/* Runs the step for every usable device at the same time; without threads one after the other. */
static void for_each(struct gpu_node *node, struct opening *openings, void *(*step)(void *))
{
    for (int i = 0; i < node->device_count; i++) {
        openings[i].node = node;
        openings[i].device = &node->device[i];
        openings[i].is_thread = node->device[i].usable &&
                                pthread_create(&openings[i].thread, NULL, step, &openings[i]) == 0;
    }
    for (int i = 0; i < node->device_count; i++)
        if (openings[i].is_thread)
            pthread_join(openings[i].thread, NULL);
        else if (node->device[i].usable)
            step(&openings[i]);
}

static bool is_same_model(const struct gpu_device *a, const struct gpu_device *b)
{
    return strcmp(a->model, b->model) == 0 &&
           a->attribute[GPU_ATTRIBUTE_ARCH_MAJOR] == b->attribute[GPU_ATTRIBUTE_ARCH_MAJOR] &&
           a->attribute[GPU_ATTRIBUTE_ARCH_MINOR] == b->attribute[GPU_ATTRIBUTE_ARCH_MINOR];
}

/* Loads the kernels of a device that no built-in image fits. *image is compiled for the first
 * device of its model. */
static bool load_compiled(struct gpu_node *node, struct gpu_device *device, void **image,
                          const char **library, struct probe_why *why)
{
    const struct gpu_api *api = node->api;
    int code = api->enter(api, device->api_device, device->context);
    if (code != 0)
        return probe_why_set(why, "entering it: %s", api->text(api, code));
    if (*image == NULL && !gpu_compile(api, device->api_device, image, library, why))
        return false;
    if (!gpu_node_load(api, *image, device, why))
        return false;
    node->compiler = *library;
    return true;
}

/* Compiles for the models that no built-in image fits, each once. */
static void compile_missing(struct gpu_node *node, const struct opening *openings)
{
    bool tried[GPU_DEVICES_MAX] = {false};
    for (int i = 0; i < node->device_count; i++) {
        void *image = NULL;
        const char *library = NULL;
        bool has_failed = false;
        for (int j = i; j < node->device_count; j++) {
            struct gpu_device *device = &node->device[j];
            struct probe_why why = {0};
            if (!device->usable || device->module != NULL || tried[j] ||
                !is_same_model(device, &node->device[i]))
                continue;
            tried[j] = true;
            if (has_failed || load_compiled(node, device, &image, &library, &why))
                continue;
            has_failed = image == NULL;
            if (node->kernels_why.text[0] == '\0')
                probe_why_write(&node->kernels_why, "%s: %.90s; %.90s", device->name,
                                openings[j].kernels_why.text, why.text);
        }
        free(image);
    }
}

/* Lists the host's nodes, without those that are a device's memory. */
static void list_numas(struct gpu_node *node, const char *root)
{
    int all[GPU_NUMAS_MAX];
    int count = gpu_numa_list(root, all, GPU_NUMAS_MAX);
    for (int i = 0; i < count; i++) {
        bool is_device = false;
        for (int j = 0; j < node->device_count; j++)
            is_device |= node->device[j].usable &&
                         node->device[j].attribute[GPU_ATTRIBUTE_MEMORY_NUMA] == all[i];
        if (!is_device)
            node->numa[node->numa_count++] = all[i];
    }
}

static bool start(struct gpu_node *node, const char *root, struct probe_why *why)
{
    const struct gpu_api *api = node->api;
    int64_t begin = probe_clock_ns();
    int code = api->init(api);
    node->driver_ns = probe_clock_ns() - begin;
    if (code == 0 && !list_devices(root, node, why))
        return false;
    if (node->device_count > 0)
        return true;
    bool none = code == 0 || code == NO_DEVICE || code == INVALID_DEVICE;
    if (!gpu_access_denied(root, api->name, why))
        probe_why_write(why, "%s: %s%s", api->library,
                        none ? "there is no GPU" : api->text(api, code),
                        code == NOT_READY ? ": is nvidia-fabricmanager running?" : "");
    return false;
}

bool gpu_node_open(const struct gpu_api *api, const char *root, const char *const *selection,
                   const char *const *without, struct gpu_node *ret_node, struct probe_why *why)
{
    struct opening *openings = calloc(GPU_DEVICES_MAX, sizeof *openings);
    struct gpu_node *node = calloc(1, sizeof *node);
    bool ok = openings != NULL && node != NULL;
    if (!ok) {
        probe_why_write(why, "out of memory");
    } else {
        node->api = api;
        ok = start(node, root, why) && (selection == NULL || choose(node, root, selection, why)) &&
             (without == NULL || leave_out(node, without, why));
    }
    if (ok) {
        int64_t begin = probe_clock_ns();
        for_each(node, openings, open_device);
        compile_missing(node, openings);
        for_each(node, openings, reach_peers);
        node->open_ns = probe_clock_ns() - begin;
        list_numas(node, root);
        if (!api->is_standin || *root != '\0') /* a stand-in needs no files of this machine */
            gpu_access_denied(root, api->name, &node->closed);
        *ret_node = *node;
    }
    free(openings);
    free(node);
    return ok;
}

void gpu_node_close(struct gpu_node *node)
{
    const struct gpu_api *api = node->api;
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        if (device->context == NULL || api->enter(api, device->api_device, device->context) != 0)
            continue;
        for (int j = 0; j < GPU_STREAMS; j++)
            if (device->stream[j] != NULL)
                (void)api->stream_free(api, device->stream[j]);
        if (device->module != NULL)
            (void)api->module_unload(api, device->module);
        (void)api->close(api, device->api_device, device->context);
    }
    memset(node, 0, sizeof *node);
}

int gpu_node_near(const struct gpu_node *node, int device)
{
    for (int i = 0; i < node->numa_count; i++)
        if (node->numa[i] == node->device[device].attribute[GPU_ATTRIBUTE_HOST_NUMA])
            return i;
    return 0;
}

bool gpu_node_check(const struct gpu_node *node, int device, int code, const char *what,
                    struct gpu_err *err)
{
    if (code == 0)
        return true;
    if (err == NULL)
        return false;
    err->fault = gpu_api_fault(code);
    return probe_why_set(&err->why, "%s: %s: %.120s", node->device[device].name, what,
                         node->api->text(node->api, code));
}

bool gpu_node_enter(const struct gpu_node *node, int device, struct gpu_err *err)
{
    const struct gpu_device *the = &node->device[device];
    return gpu_node_check(node, device, node->api->enter(node->api, the->api_device, the->context),
                          "enter", err);
}
