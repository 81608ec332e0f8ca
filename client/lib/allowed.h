/**
 * Gpus that this process may use, shared by the parts of the library.
 */
#pragma once
#include "lib/read.h"
#include "lib/visible_gpus.h"

/* Source of variables: the caller's function, or the environment. */
struct lib_variables {
    berth_variable_fn *read; /* NULL: getenv */
    void *arg;
};
/* Returns the value; NULL when the variable is not set. */
const char *lib_variable(const struct lib_variables *variables, const char *name);

struct lib_visible lib_visible_variables(const struct lib_variables *variables);
/* true when one of the variables is set */
bool lib_visible_is_any(const struct lib_visible *visible);

/* True when this machine has device nodes of gpus. */
bool lib_allowed_has_devices(void);

/* Lists the gpus of node, the parameters of GetNode's reply, in its order. Their names belong to
 * the result that is being read. usable: given names the gpu or, with given NULL, its device node
 * may be opened. False when there are more than LIB_GPUS_MAX; all then count as usable. */
bool lib_allowed_gpus(struct lib_read *read, const json_t *node, const struct berth_texts *given,
                      struct lib_gpu ret[LIB_GPUS_MAX], size_t *ret_count);

/* Names of the usable gpus. */
struct berth_texts lib_allowed_names(struct lib_read *read, const struct lib_gpu *gpus,
                                     size_t count);

/* Memory nodes of the calling thread's cpuset; item NULL where the kernel does not report them. */
struct berth_texts lib_allowed_memory(struct lib_read *read);
