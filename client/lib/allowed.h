/**
 * The gpus that may be used from here, as the library's parts share them.
 */
#pragma once
#include "lib/read.h"
#include "lib/visible_gpus.h"

/* Where variables are read from: the caller's function, or the environment. */
struct lib_variables {
    berth_variable_fn *read; /* NULL: getenv */
    void *arg;
};
/* NULL: it is not set */
const char *lib_variable(const struct lib_variables *variables, const char *name);

struct lib_visible lib_visible_variables(const struct lib_variables *variables);
bool lib_visible_is_any(const struct lib_visible *visible); /* one of them is set */

/* Whether this machine has device nodes of gpus at all. */
bool lib_allowed_has_devices(void);

/* The gpus of a node, the parameters of GetNode's reply, in its order; their names belong to the
 * result that is being read. usable: given names it (NULL: its device node may be opened). False
 * when there are more than LIB_GPUS_MAX: then all may be used, as far as is known. */
bool lib_allowed_gpus(struct lib_read *read, const json_t *node, const struct berth_texts *given,
                      struct lib_gpu ret[LIB_GPUS_MAX], size_t *ret_count);

/* The names of those that are usable. */
struct berth_texts lib_allowed_names(struct lib_read *read, const struct lib_gpu *gpus,
                                     size_t count);

/* The memory nodes of the calling thread's cpuset, item NULL where the kernel does not say. */
struct berth_texts lib_allowed_memory(struct lib_read *read);
