/**
 * The service: the embedded interfaces, the table of methods by name, and the standard's own
 * interface, org.varlink.service. Constant once made.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "varlink/idl.h"
#include "varlink/method.h"

struct service;

/* Answers a method of org.varlink.service. */
typedef enum berth_code (*service_own)(const struct service *service, const json_t *params,
                                       json_t **ret_result, struct berth_err *err);

struct service_method {
    const char *name;             /* "io.berth.Fabric.GetNode" */
    const struct idl *interface;  /* interface that declares the method */
    const struct idl_member *idl; /* declaration of the method */
    const struct method *row;     /* NULL when the daemon does not implement the method */
    service_own own;              /* for org.varlink.service, else NULL */
};

struct service_info {
    const char *vendor, *product, *version, *url;
};

/* Parses the embedded interfaces; fails with BAD_DATA, naming the file and the place, and with
 * NO_MEMORY. A row of methods that no interface declares aborts. Keeps methods, copies info. */
enum berth_code service_new(const struct method *rows, const struct service_info *info,
                            struct service **ret_service, struct berth_err *err);
void service_free(struct service *service); /* NULL is fine */

/* Returns a method by full name. Fails with INTERFACE_NOT_FOUND, METHOD_NOT_FOUND, and
 * INVALID_PARAMETER for a name without a dot. */
enum berth_code service_find(const struct service *service, const char *name,
                             const struct service_method **ret_method, struct berth_err *err);
