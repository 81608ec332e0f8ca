/* NVIDIA GPUs as the driver's files below /proc/driver/nvidia show them, as device records. */
#include "discover/discover.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "node/pci.h"

#define GPUS      "/proc/driver/nvidia/gpus"
#define GPUS_MAX  256
#define FILE_MAX  16384
#define MODEL_MAX 96
#define MINOR_MAX 65535

static void free_text(char **text) { free(*text); }
static void free_names(char ***names) { files_names_free(*names); }
static void drop_json(json_t **json) { json_decref(*json); }

/* Copies the text behind "key:", without the blanks around it; false when there is no such line or
 * it does not fit. */
static bool find_field(const char *text, const char *key, char *buffer, size_t size)
{
    for (size_t length = strlen(key); *text != '\0';
         text += strcspn(text, "\n"), text += *text == '\n') {
        if (strncmp(text, key, length) != 0 || text[length] != ':')
            continue;
        const char *value = text + length + 1;
        value += strspn(value, " \t");
        size_t end = strcspn(value, "\n");
        while (end > 0 && (value[end - 1] == ' ' || value[end - 1] == '\t'))
            end--;
        if (end == 0 || end >= size)
            return false;
        memcpy(buffer, value, end);
        buffer[end] = '\0';
        return true;
    }
    return false;
}

static bool is_model(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return false;
    return strcmp(text, "Unknown") != 0;
}

/* "GPU-????????-..." is the driver's text for an unknown uuid. */
static bool is_uuid(const char *text)
{
    static const char form[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof form; i++) /* the NUL included */
        if (form[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return true;
}

/* -1 when the text is no minor. */
static int parse_minor(const char *text)
{
    size_t length = strspn(text, "0123456789");
    long number = length > 0 && length <= 5 && text[length] == '\0' ? strtol(text, NULL, 10) : -1;
    return number <= MINOR_MAX ? (int)number : -1;
}

/* Makes the record of the gpu in one directory; NULL when out of memory. */
static json_t *make_record(const char *information, uint64_t pci, size_t number)
{
    char address[24], name[32], model[MODEL_MAX + 1], uuid[64], minor[16];
    pci_format(pci, address);
    snprintf(name, sizeof name, "gpu%zu", number);
    json_t *record = json_pack("{s:s, s:s, s:s, s:s}", "record", "device", "gpu", name, "vendor",
                               "nvidia", "pci", address);
    bool ok = record != NULL;
    if (find_field(information, "Model", model, sizeof model) && is_model(model))
        ok = ok && json_object_set_new(record, "model", json_string(model)) == 0;
    if (find_field(information, "GPU UUID", uuid, sizeof uuid) && is_uuid(uuid))
        ok = ok && json_object_set_new(record, "uuid", json_string(uuid)) == 0;
    if (find_field(information, "Device Minor", minor, sizeof minor) && parse_minor(minor) >= 0)
        ok = ok && json_object_set_new(record, "minor", json_integer(parse_minor(minor))) == 0;
    if (ok)
        return record;
    json_decref(record);
    return NULL;
}

static bool append_line(char **text, json_t *record)
{
    char *line __attribute__((cleanup(free_text))) =
        record == NULL ? NULL : print_tree(record, JSON_COMPACT);
    size_t length = *text == NULL ? 0 : strlen(*text);
    char *more = line == NULL ? NULL : realloc(*text, length + strlen(line) + 2);
    if (more == NULL)
        return false;
    sprintf(more + length, "%s\n", line);
    *text = more;
    return true;
}

enum berth_code nvproc_facts(const struct files *io, char **ret_facts, struct berth_err *err)
{
    char **names __attribute__((cleanup(free_names))) = NULL;
    char *facts __attribute__((cleanup(free_text))) = NULL;
    enum berth_code code = files_list(io, GPUS, &names, NULL);
    size_t count = 0;
    for (size_t i = 0; code == BERTH_OK && names[i] != NULL && count < GPUS_MAX; i++) {
        char path[sizeof GPUS + 300];
        char *information __attribute__((cleanup(free_text))) = NULL;
        json_t *record __attribute__((cleanup(drop_json))) = NULL;
        uint64_t pci = pci_parse(names[i]);
        if (pci == PCI_NONE)
            continue;
        snprintf(path, sizeof path, GPUS "/%.255s/information", names[i]);
        code = files_read(io, path, FILE_MAX, &information, NULL);
        /* the gpu's presence is a fact, even when no more can be read */
        if (code != BERTH_NO_MEMORY) {
            record = make_record(information == NULL ? "" : information, pci, count++);
            code = append_line(&facts, record) ? BERTH_OK : BERTH_NO_MEMORY;
        }
    }
    if (code == BERTH_NO_MEMORY)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): cleanup frees facts */
        return err_set(err, code, "no memory for what the NVIDIA driver says");
    *ret_facts = facts;
    facts = NULL;
    return BERTH_OK;
}
