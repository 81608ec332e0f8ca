/* libFuzzer target: any bytes as a configuration. What is refused names file and line and changes
 * nothing; what is taken is printed, and what was printed is read back as the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
    char *start;
    size_t length;
};

static struct text printed(const struct config *config)
{
    struct text text = {0};
    FILE *file = open_memstream(&text.start, &text.length);
    if (file == NULL)
        abort();
    config_print(config, file);
    fclose(file);
    return text;
}

static enum berth_code read_bytes(struct config *config, const void *data, size_t size,
                                  struct berth_err *err)
{
    char path[32];
    int fd = memfd_create("conf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum berth_code code = config_read(config, path, err);
    unsigned line = 0;
    if (code != BERTH_OK && (sscanf(err->detail, "/proc/self/fd/%*d:%u: ", &line) != 1 ||
                             line == 0 || strchr(err->detail, '\n') != NULL))
        abort();
    close(fd);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_err err = {0};
    struct config config, again;
    if (config_init(&config, &err) != BERTH_OK || config_init(&again, &err) != BERTH_OK)
        abort();
    struct text before = printed(&config);
    bool is_read = read_bytes(&config, data, size, &err) == BERTH_OK;
    if (is_read && memchr(data, '\0', size) != NULL)
        abort();
    struct text after = printed(&config);
    if (!is_read && strcmp(before.start, after.start) != 0)
        abort();
    err = (struct berth_err){0};
    if (read_bytes(&again, after.start, after.length, &err) != BERTH_OK)
        abort();
    struct text round = printed(&again);
    if (round.length != after.length || memcmp(round.start, after.start, round.length) != 0)
        abort();
    free(before.start);
    free(after.start);
    free(round.start);
    config_done(&config);
    config_done(&again);
    return 0;
}
