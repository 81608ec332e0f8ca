#include "gpu/driver/dl.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Functions come as pointers to void, which C does not convert. POSIX guarantees that their bytes
 * are the same. */
static bool find_calls(void *handle, const char *library, const struct gpu_dl_call *calls,
                       size_t count, void *ret_calls, struct probe_why *why)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, calls[i].name);
        if (symbol == NULL && calls[i].needed)
            return probe_why_set(why, "%s has no %s, which a measurement needs", library,
                                 calls[i].name);
        memcpy((char *)ret_calls + calls[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

bool gpu_dl_open(const char *const *names, const struct gpu_dl_call *calls, size_t count,
                 void *ret_calls, struct gpu_dl_found *ret_found, struct probe_why *why)
{
    probe_why_write(why, "%s is not on this machine", names[0]);
    for (; *names != NULL; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            /* Most libraries are absent, which needs no text. A library that is there but does not
             * load gives its reason. */
            const char *error = dlerror();
            if (error != NULL && strstr(error, "No such file") == NULL)
                probe_why_write(why, "%s does not load: %s", *names, error);
            continue;
        }
        if (find_calls(handle, *names, calls, count, ret_calls, why)) {
            *ret_found = (struct gpu_dl_found){.library = *names, .handle = handle};
            probe_why_write(why, "%s", "");
            return true;
        }
        dlclose(handle);
    }
    return false;
}

bool gpu_dl_has(const struct gpu_dl_found *found, const char *symbol)
{
    return dlsym(found->handle, symbol) != NULL;
}

bool gpu_dl_pci(const char *text, char *ret_address, size_t size)
{
    unsigned domain, bus, device, function;
    int end = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
        text[end] != '\0')
        return false;
    char address[32];
    int length =
        snprintf(address, sizeof address, "%04x:%02x:%02x.%x", domain, bus, device, function);
    if (length < 0 || (size_t)length >= size)
        return false;
    memcpy(ret_address, address, (size_t)length + 1);
    return true;
}

bool gpu_dl_uuid(const unsigned char bytes[16], char *ret_text, size_t size)
{
    bool is_text = true;
    for (int i = 0; i < 16 && is_text; i++)
        is_text = isxdigit(bytes[i]) != 0;
    char text[48] = "GPU-";
    size_t length = 4;
    if (is_text) {
        memcpy(text + length, bytes, 16);
        length += 16;
    }
    for (int i = 0; i < 16 && !is_text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    if (length >= size)
        return false;
    memcpy(ret_text, text, length);
    ret_text[length] = '\0';
    return true;
}
