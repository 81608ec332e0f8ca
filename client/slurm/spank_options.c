#include "slurm/spank_options.h"

#include <stdio.h>
#include <string.h>

#include "lib/size.h"

struct word {
    const char *name;
    int value;
};

static const struct word patterns[] = {
    {"none", BERTH_PATTERN_NONE},           {"pairs", BERTH_PATTERN_PAIRS},
    {"ring", BERTH_PATTERN_RING},           {"grid2d", BERTH_PATTERN_GRID2D},
    {"grid3d", BERTH_PATTERN_GRID3D},       {"alltoall", BERTH_PATTERN_ALLTOALL},
    {"allreduce", BERTH_PATTERN_ALLREDUCE}, {NULL, 0}};
static const struct word mechanisms[] = {{"best", BERTH_MECHANISM_BEST},
                                         {"copy_engine", BERTH_MECHANISM_COPY_ENGINE},
                                         {"kernel", BERTH_MECHANISM_KERNEL},
                                         {NULL, 0}};
static const struct word orders[] = {
    {"free", BERTH_ORDER_FREE}, {"rank", BERTH_ORDER_RANK}, {NULL, 0}};
static const struct word visibles[] = {
    {"own", BERTH_VISIBLE_OWN}, {"all", BERTH_VISIBLE_ALL}, {NULL, 0}};

static bool find_word(const struct word *words, const char *text, int *ret)
{
    for (; words->name != NULL; words++)
        if (strcmp(words->name, text) == 0) {
            *ret = words->value;
            return true;
        }
    return false;
}

static bool take_word(const struct word *words, const char *value, int *ret, const char *key,
                      char *why, size_t size)
{
    if (find_word(words, value, ret))
        return true;
    int used = snprintf(why, size, "%s takes ", key);
    for (const struct word *word = words; word->name != NULL && used >= 0 && (size_t)used < size;
         word++)
        used +=
            snprintf(why + used, size - (size_t)used, "%s%s", word > words ? ", " : "", word->name);
    if (used >= 0 && (size_t)used < size)
        snprintf(why + used, size - (size_t)used, "; not \"%.40s\"", value);
    return false;
}

static bool take_size(const char *value, int64_t *ret, const char *key, char *why, size_t size)
{
    if (lib_parse_size(value, ret))
        return true;
    snprintf(why, size, "%s takes a size such as 64M or 1G, not \"%.40s\"", key, value);
    return false;
}

static bool take_count(const char *value, long least, int *ret, const char *key, char *why,
                       size_t size)
{
    long count;
    if (lib_parse_count(value, least, 4096, &count)) {
        *ret = (int)count;
        return true;
    }
    snprintf(why, size, "%s takes a number from %ld to 4096, not \"%.40s\"", key, least, value);
    return false;
}

static bool take(const char *key, const char *value, struct spank_options *options, char *why,
                 size_t size)
{
    int word = 0;
    bool fine = false;
    if (strcmp(key, "pattern") == 0 && (fine = take_word(patterns, value, &word, key, why, size)))
        options->pattern = (enum berth_pattern)word;
    else if (strcmp(key, "mechanism") == 0 &&
             (fine = take_word(mechanisms, value, &word, key, why, size)))
        options->mechanism = (enum berth_mechanism)word;
    else if (strcmp(key, "order") == 0 && (fine = take_word(orders, value, &word, key, why, size)))
        options->order = (enum berth_order)word;
    else if (strcmp(key, "visible") == 0 &&
             (fine = take_word(visibles, value, &word, key, why, size)))
        options->visible = (enum berth_visible)word;
    else if (strcmp(key, "bytes") == 0)
        fine = take_size(value, &options->bytes, key, why, size);
    else if (strcmp(key, "host") == 0)
        fine = take_size(value, &options->host_bytes, key, why, size);
    else if (strcmp(key, "gpus") == 0)
        fine = take_count(value, 0, &options->gpus_per_task, key, why, size);
    else if (strcmp(key, "cores") == 0)
        fine = take_count(value, 1, &options->cores_per_task, key, why, size);
    else if (*why == '\0')
        snprintf(why, size,
                 "there is no \"%.40s\"; there are pattern, bytes, host, visible, order, "
                 "mechanism, gpus, cores, on and off",
                 key);
    return fine;
}

void spank_options_init(struct spank_options *options)
{
    *options = (struct spank_options){
        .gpus_per_task = -1, .cores_per_task = -1, .bytes = -1, .host_bytes = -1};
}

bool spank_options_parse(const char *text, struct spank_options *options, char *why, size_t size)
{
    struct spank_options read = *options;
    why[0] = '\0';
    for (;;) {
        char setting[96];
        size_t length = strcspn(text, ",");
        if (length >= sizeof setting) {
            snprintf(why, size, "\"%.40s...\" is too long", text);
            return false;
        }
        memcpy(setting, text, length);
        setting[length] = '\0';
        char *value = strchr(setting, '=');
        if (value != NULL)
            *value++ = '\0';
        if (value == NULL && (strcmp(setting, "on") == 0 || strcmp(setting, "off") == 0))
            read.is_off = setting[1] == 'f';
        else if (!take(setting, value != NULL ? value : "", &read, why, size))
            return false;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    if (read.bytes >= 0 && read.pattern == BERTH_PATTERN_DEFAULT) {
        snprintf(why, size, "bytes are those of a pattern: pattern=ring, for example");
        return false;
    }
    *options = read;
    return true;
}
