#include "varlink/service.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"

struct service {
    struct idl **idl; /* in the order of embedded_interfaces */
    size_t idl_count;
    /* open addressing by the hash of the name; an empty slot has no name */
    struct service_method *slot;
    size_t slot_count; /* a power of two, at least twice the methods */
    size_t longest;    /* length of the longest name of a method */
    json_t *info;      /* the answer to GetInfo */
};

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        h = (h ^ *c) * 16777619u;
    return h;
}

/* The slot that holds name, or the empty one where it belongs. */
static struct service_method *slot_of(const struct service *service, const char *name)
{
    size_t i = hash(name) & (service->slot_count - 1);
    while (service->slot[i].name != NULL && strcmp(service->slot[i].name, name) != 0)
        i = (i + 1) & (service->slot_count - 1);
    return &service->slot[i];
}

static const struct idl *find_interface(const struct service *service, const char *name,
                                        size_t length)
{
    for (size_t i = 0; i < service->idl_count; i++)
        if (strlen(service->idl[i]->name) == length &&
            memcmp(service->idl[i]->name, name, length) == 0)
            return service->idl[i];
    return NULL;
}

static enum berth_code get_info(const struct service *service, const json_t *params,
                                json_t **ret_result, struct berth_err *err)
{
    (void)params;
    (void)err;
    *ret_result = json_incref(service->info);
    return BERTH_OK;
}

static enum berth_code interface_not_found(const char *name, struct berth_err *err)
{
    enum berth_code code =
        err_set(err, BERTH_INTERFACE_NOT_FOUND, "there is no interface %.100s", name);
    err_text(err, 0, name);
    return code;
}

static enum berth_code get_description(const struct service *service, const json_t *params,
                                       json_t **ret_result, struct berth_err *err)
{
    const char *name = json_string_value(json_object_get(params, "interface"));
    for (size_t i = 0; i < service->idl_count; i++)
        if (strcmp(service->idl[i]->name, name) == 0) {
            json_t *result = json_pack("{s:s}", "description", embedded_interfaces[i].text);
            if (result == NULL)
                return err_set(err, BERTH_NO_MEMORY, "no memory for a description");
            *ret_result = result;
            return BERTH_OK;
        }
    return interface_not_found(name, err);
}

static const struct {
    const char *name;
    service_own own;
} own_methods[] = {
    {"org.varlink.service.GetInfo", get_info},
    {"org.varlink.service.GetInterfaceDescription", get_description},
};

static enum berth_code parse_all(struct service *service, size_t *ret_count, struct berth_err *err)
{
    size_t files = 0, count = 0;
    while (embedded_interfaces[files].name != NULL)
        files++;
    assert(files > 0);
    service->idl = calloc(files, sizeof(struct idl *));
    if (service->idl == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the interfaces");
    for (size_t i = 0; i < files; i++) {
        struct berth_err parse_err = {0};
        struct idl *idl = NULL;
        enum berth_code code =
            idl_parse(embedded_interfaces[i].text, embedded_interfaces[i].length, &idl, &parse_err);
        if (code != BERTH_OK)
            return err_set(err, code, "%s: %s", embedded_interfaces[i].name, parse_err.detail);
        service->idl[service->idl_count++] = idl;
        for (const struct idl_member *m = idl->members; m != NULL; m = m->next)
            count += m->kind == IDL_METHOD;
    }
    *ret_count = count;
    return BERTH_OK;
}

static enum berth_code build_table(struct service *service, size_t count, struct berth_err *err)
{
    service->slot_count = 16;
    while (service->slot_count < 2 * count)
        service->slot_count *= 2;
    service->slot = calloc(service->slot_count, sizeof *service->slot);
    if (service->slot == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the table of methods");
    for (size_t i = 0; i < service->idl_count; i++)
        for (const struct idl_member *m = service->idl[i]->members; m != NULL; m = m->next) {
            if (m->kind != IDL_METHOD)
                continue;
            size_t size = strlen(service->idl[i]->name) + strlen(m->name) + 2;
            char *name = malloc(size);
            if (name == NULL)
                return err_set(err, BERTH_NO_MEMORY, "no memory for the table of methods");
            strcpy(name, service->idl[i]->name);
            strcat(name, ".");
            strcat(name, m->name);
            if (size - 1 > service->longest)
                service->longest = size - 1;
            *slot_of(service, name) =
                (struct service_method){.name = name, .interface = service->idl[i], .idl = m};
        }
    return BERTH_OK;
}

static void attach_rows(struct service *service, const struct method *rows)
{
    for (size_t i = 0; i < sizeof own_methods / sizeof *own_methods; i++)
        slot_of(service, own_methods[i].name)->own = own_methods[i].own;
    for (const struct method *row = rows; row->name != NULL; row++) {
        struct service_method *method = slot_of(service, row->name);
        if (method->name == NULL || method->row != NULL || method->own != NULL)
            abort(); /* not declared, or twice in the table: our own bug */
        method->row = row;
    }
}

static enum berth_code describe(struct service *service, const struct service_info *info,
                                struct berth_err *err)
{
    json_t *names = json_array();
    for (size_t i = 0; i < service->idl_count; i++)
        json_array_append_new(names, json_string(service->idl[i]->name));
    if (json_array_size(names) == service->idl_count)
        service->info =
            json_pack("{s:s,s:s,s:s,s:s,s:O}", "vendor", info->vendor, "product", info->product,
                      "version", info->version, "url", info->url, "interfaces", names);
    json_decref(names);
    return service->info != NULL
               ? BERTH_OK
               : err_set(err, BERTH_NO_MEMORY, "no memory for the service's description");
}

enum berth_code service_new(const struct method *rows, const struct service_info *info,
                            struct service **ret_service, struct berth_err *err)
{
    struct service *service = calloc(1, sizeof *service);
    if (service == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the service");
    size_t count = 0;
    enum berth_code code = parse_all(service, &count, err);
    if (code == BERTH_OK)
        code = build_table(service, count, err);
    if (code == BERTH_OK)
        code = describe(service, info, err);
    if (code != BERTH_OK) {
        service_free(service);
        return code;
    }
    attach_rows(service, rows);
    *ret_service = service;
    return BERTH_OK;
}

void service_free(struct service *service)
{
    if (service == NULL)
        return;
    for (size_t i = 0; service->slot != NULL && i < service->slot_count; i++)
        free((char *)service->slot[i].name);
    for (size_t i = 0; i < service->idl_count; i++)
        idl_free(service->idl[i]);
    json_decref(service->info);
    free(service->slot);
    free(service->idl);
    free(service);
}

enum berth_code service_find(const struct service *service, const char *name,
                             const struct service_method **ret_method, struct berth_err *err)
{
    /* hashing takes a nanosecond a byte, and a message has up to a million */
    bool is_short = strnlen(name, service->longest + 1) <= service->longest;
    const struct service_method *method = is_short ? slot_of(service, name) : NULL;
    if (method != NULL && method->name != NULL) {
        *ret_method = method;
        return BERTH_OK;
    }
    const char *dot = strrchr(name, '.');
    if (dot == NULL) {
        enum berth_code code =
            err_set(err, BERTH_INVALID_PARAMETER, "a method's name begins with its interface");
        err_text(err, 0, "method");
        return code;
    }
    size_t length = (size_t)(dot - name);
    if (find_interface(service, name, length) == NULL) {
        char interface[sizeof err->arg[0].text];
        if (length >= sizeof interface)
            length = sizeof interface - 1;
        memcpy(interface, name, length);
        interface[length] = '\0';
        return interface_not_found(interface, err);
    }
    enum berth_code code = err_set(err, BERTH_METHOD_NOT_FOUND, "%.*s has no method %.100s",
                                   (int)length, name, dot + 1);
    err_text(err, 0, name);
    return code;
}
