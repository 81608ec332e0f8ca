/**
 * libberth: asks the node's berthd where to run, where to allocate memory and whether the node is
 * healthy.
 *
 * Units: sizes are bytes. Times are nanoseconds unless a name ends in _s (seconds since the epoch)
 * or _ms. Rates are bytes per second; 1 GB/s is 10^9 bytes per second. An unknown double is NAN, an
 * unknown integer -1, an unknown text NULL. Places have the names that `berth topo` shows: gpu0,
 * numa3, llc2, core7, pu12, nic1.
 *
 * Errors: functions return BERTH_DONE or a negative enum berth_status. The handle then holds the
 * name of the error and one line of detail. Outputs are untouched on failure.
 *
 * Ownership: a result is one block that includes all of its texts and arrays. The function named
 * beside the type frees it. The library keeps no pointer to a request after the call. Every free
 * function accepts NULL.
 *
 * Threads: one thread at a time uses a handle; different handles are independent. The library has
 * no global state, prints nothing, raises no signal and ends no process. Its descriptors are
 * close-on-exec.
 *
 * Newer daemons: fields unknown to this header are left out. Enumeration names unknown to it become
 * value 0, UNKNOWN.
 */
#ifndef BERTH_H
#define BERTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BERTH_PUBLIC __attribute__((visibility("default")))
#else
#define BERTH_PUBLIC
#endif

struct berth; /* a handle: a connection to a daemon, or not connected yet */

enum berth_status {
    BERTH_DONE = 0,

    /* Found by the library. */
    BERTH_ERROR_NO_DAEMON = -1, /* nobody listens at the path, or berth_connect was not called */
    BERTH_ERROR_TIMED_OUT = -2, /* no answer within the timeout of berth_set_timeout */
    BERTH_ERROR_CLOSED = -3,    /* the daemon closed the connection before it answered */
    /* the bytes are not Varlink, not the promised reply, over 64 MiB, or over 4 million values */
    BERTH_ERROR_PROTOCOL = -4,
    BERTH_ERROR_OUT_OF_MEMORY = -5,
    BERTH_ERROR_BAD_ARGUMENT = -6, /* a request that cannot be sent */
    BERTH_ERROR_SYSTEM = -7,       /* the operating system refused an operation */

    /* Sent by the daemon. */
    BERTH_ERROR_INVALID_PARAMETER = -20,
    BERTH_ERROR_METHOD_NOT_FOUND = -21,
    BERTH_ERROR_METHOD_NOT_IMPLEMENTED = -22,
    BERTH_ERROR_INTERFACE_NOT_FOUND = -23,
    BERTH_ERROR_PERMISSION_DENIED = -24, /* also when opening the socket is not permitted */
    BERTH_ERROR_EXPECTED_MORE = -25,
    BERTH_ERROR_NO_SUCH_PLACE = -26,
    BERTH_ERROR_NO_SUCH_METRIC = -27,
    BERTH_ERROR_NOT_ENOUGH = -28,
    BERTH_ERROR_NOT_MEASURED = -29,
    BERTH_ERROR_NOTHING_ALLOWED = -30,
    BERTH_ERROR_BUSY = -31,
    BERTH_ERROR_UNAVAILABLE = -32,
    BERTH_ERROR_ALREADY_CLAIMED = -33,
    BERTH_ERROR_KEY_MISMATCH = -34,
    BERTH_ERROR_NO_SUCH_OWNER = -35,
    BERTH_ERROR_NO_SUCH_CLAIM = -36,
    BERTH_ERROR_OTHER = -99 /* an error of a newer daemon; berth_error_name gives its name */
};

/* ---- the connection ---- */

/* Makes a handle without a connection; NULL only when out of memory. berth_free ends the handle,
 * its connection and every call. */
BERTH_PUBLIC struct berth *berth_new(void);
BERTH_PUBLIC void berth_free(struct berth *berth);

/* Connects, after closing an earlier connection. path NULL: $BERTH_SOCKET, else
 * /run/berth/berth.sock. A path that begins with @ is an abstract name. Fails with NO_DAEMON,
 * PERMISSION_DENIED, TIMED_OUT (the daemon's queue stayed full), BAD_ARGUMENT (a path over 107
 * bytes), SYSTEM. */
BERTH_PUBLIC int berth_connect(struct berth *berth, const char *path);

/* Uses a connected stream socket as the connection. The handle owns the socket at once, also on
 * failure. */
BERTH_PUBLIC int berth_connect_fd(struct berth *berth, int take_fd);

/* Sets the longest time of a connect or a blocking call: 30 s unless set, no limit when negative. A
 * call that timed out is forgotten and the connection stays usable: its late reply is dropped. */
BERTH_PUBLIC void berth_set_timeout(struct berth *berth, int timeout_ms);

/* Return the name and the detail of this handle's last error. The name is the wire name
 * ("io.berth.Placement.NoSuchPlace") or, for an error found by the library, a name such as
 * "NoDaemon". The detail is one line for a person, without control characters. Both are "" when
 * nothing has failed yet. Both are valid until the next call on the handle. */
BERTH_PUBLIC const char *berth_error_name(const struct berth *berth);
BERTH_PUBLIC const char *berth_error_detail(const struct berth *berth);

/* Returns the parameters of that error as the daemon sent them: a JSON object as text. NULL for an
 * error found by the library. Valid as long as the name and the detail. */
BERTH_PUBLIC const char *berth_error_parameters(const struct berth *berth);

/* ---- any method ---- */

/* Calls a method and waits for the reply. parameters: a JSON object as text, NULL for none.
 * ret_reply receives the reply's parameters as the daemon wrote them, "{}" when it sent none; the
 * caller ends it with free(3). */
BERTH_PUBLIC int berth_call(struct berth *berth, const char *method, const char *parameters,
                            char **ret_reply);

/* Receives one reply to berth_call_async. status: BERTH_DONE, or the error; the handle has its
 * details during the callback. parameters: JSON text, valid during the callback. On an error of the
 * daemon they are the error's parameters; on one found by the library, NULL. continues: 1 when more
 * replies follow, 0 on the last one. The callback may start calls. It must not free, connect or
 * process the handle, nor make a blocking call. */
typedef void berth_reply_fn(struct berth *berth, int status, const char *parameters, int continues,
                            void *arg);

/* Flags of berth_call_async. */
/* Requests a stream: reply may be called many times. berth_connect or berth_free ends a stream
 * early. Replies come in the order of the calls: a call made after a stream waits for its end. A
 * blocking call during a stream fails at once with BAD_ARGUMENT. An endless stream (Watch) needs a
 * handle of its own. */
#define BERTH_MORE 1u

/* Starts a call without blocking. berth_process, berth_wait or a blocking call calls reply. reply
 * is called exactly once with continues 0, unless the handle is freed or connected anew before. No
 * timeout applies. Fails, without calling reply, with NO_DAEMON, BAD_ARGUMENT or OUT_OF_MEMORY. */
BERTH_PUBLIC int berth_call_async(struct berth *berth, const char *method, const char *parameters,
                                  unsigned flags, berth_reply_fn *reply, void *arg);

/* ---- event loops ---- */

/* Return the descriptor to poll, -1 without a connection, and the events to poll for: POLLIN, with
 * POLLOUT while bytes are unsent. Both may change with every call on the handle. */
BERTH_PUBLIC int berth_fd(const struct berth *berth);
BERTH_PUBLIC short berth_events(const struct berth *berth);

/* Sends and receives without blocking and calls the callbacks. On a lost connection (CLOSED,
 * PROTOCOL, SYSTEM, OUT_OF_MEMORY) every open call ends with that status and berth_fd becomes -1.
 */
BERTH_PUBLIC int berth_process(struct berth *berth);

/* Polls for at most timeout_ms (negative: no limit), then processes. Returns 1 when something
 * happened, 0 when nothing did, or the error of berth_process. */
BERTH_PUBLIC int berth_wait(struct berth *berth, int timeout_ms);

/* ---- what requests and answers share ---- */

struct berth_pair {
    const char *name, *value;
};
struct berth_texts {
    const char *const *item;
    size_t count;
};
struct berth_number {
    const char *name; /* its end is the unit: _ns, _bytes, _bytes_per_s, ... */
    double value;
};
/* A reason or a warning: programs read the code, persons the text. */
struct berth_reason {
    const char *code, *text;
    struct berth_texts subjects;
    const struct berth_number *numbers;
    size_t number_count;
};
struct berth_reasons {
    const struct berth_reason *item;
    size_t count;
};
struct berth_pairs {
    const struct berth_pair *item;
    size_t count;
};

enum berth_origin {
    BERTH_ORIGIN_UNKNOWN,
    BERTH_ORIGIN_LIVE,
    BERTH_ORIGIN_RECORDED,
    BERTH_ORIGIN_RECONSTRUCTED,
    BERTH_ORIGIN_STANDIN
};
/* Source of a number, in ascending doubt; io.berth.Placement explains each (Prediction). Single
 * values are measured, published or nominal. */
enum berth_source {
    BERTH_SOURCE_UNKNOWN,
    BERTH_SOURCE_MEASURED,
    BERTH_SOURCE_SIMILAR_PAIR,
    BERTH_SOURCE_REVERSE_DIRECTION,
    BERTH_SOURCE_PUBLISHED,
    BERTH_SOURCE_NOMINAL,
    BERTH_SOURCE_LOWER_BOUND
};

/* State that an answer was computed from: equal bases and requests give equal answers. */
struct berth_basis {
    const char *snapshot, *claims;
    enum berth_origin origin;
};

/* Expected time with its 95 % interval; NAN when there is no prediction. bottleneck: the resource
 * that limits it, or NULL. source: of the most doubtful number behind the time; UNKNOWN without a
 * prediction. */
struct berth_prediction {
    double time_ns, low_ns, high_ns;
    const char *bottleneck;
    enum berth_source source;
    double factor;  /* on the time, by reports of programs; NAN: none */
    const char *id; /* for berth_report; NULL: nothing to report */
};

/* One number that supports an answer. low, high: 95 % interval or NAN. measured_at_s: -1 unknown.
 * flows: the flows that ran at the same time. */
struct berth_evidence {
    const char *metric, *from, *to, *unit;
    struct berth_pairs axes;
    struct berth_texts flows;
    double value, low, high;
    enum berth_source source;
    int64_t measured_at_s;
};

/* Part of the node that may be used. cpus: a list "0-7,64-71", NULL for all. memory, gpus: names,
 * PCI addresses or UUIDs; item NULL for all, count 0 with item set for none. */
struct berth_allowed {
    const char *cpus;
    struct berth_texts memory, gpus;
};

/* Finds the resources that the calling thread may use, as berth_bind and berth_allocate send them
 * by default. cpus: its affinity. memory: the memory nodes of its cpuset. gpus, when with_gpus is
 * set (as both calls do): those whose device nodes it may open, else all. CUDA_VISIBLE_DEVICES,
 * ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES narrow them.
 *
 * A numeric device list counts in PCI order for CUDA, in driver order for ROCm. CUDA itself counts
 * so with CUDA_DEVICE_ORDER=PCI_BUS_ID or when all gpus are alike; otherwise the list is ignored.
 *
 * Opens no device. Asks the daemon for the node only for gpus, and only where there are gpu device
 * nodes. Blocks. The caller ends the result with berth_allowed_free, even after changing its
 * fields. */
BERTH_PUBLIC int berth_allowed_here(struct berth *berth, int with_gpus,
                                    struct berth_allowed **ret_allowed);
BERTH_PUBLIC void berth_allowed_free(struct berth_allowed *allowed);

/* ---- Bind: where to run ---- */

enum berth_pattern {
    BERTH_PATTERN_DEFAULT,
    BERTH_PATTERN_NONE,
    BERTH_PATTERN_PAIRS,
    BERTH_PATTERN_RING,
    BERTH_PATTERN_GRID2D,
    BERTH_PATTERN_GRID3D,
    BERTH_PATTERN_ALLTOALL,
    BERTH_PATTERN_ALLREDUCE
};
/* HOST, by copy engines through host memory, and DEFAULT, none or an unknown one, stand in answers;
 * a request has the others. */
enum berth_mechanism {
    BERTH_MECHANISM_DEFAULT,
    BERTH_MECHANISM_BEST,
    BERTH_MECHANISM_COPY_ENGINE,
    BERTH_MECHANISM_KERNEL,
    BERTH_MECHANISM_HOST
};
enum berth_order { BERTH_ORDER_DEFAULT, BERTH_ORDER_FREE, BERTH_ORDER_RANK };
enum berth_visible { BERTH_VISIBLE_DEFAULT, BERTH_VISIBLE_OWN, BERTH_VISIBLE_ALL };

struct berth_flow {
    int from, to;
    int64_t bytes;
};

/* Initialise with berth_bind_request_init; only tasks must be set. -1, NULL, and 0 for enumerations
 * leave a field to the daemon. */
struct berth_bind_request {
    int tasks;
    int gpus_per_task, cores_per_task, threads_per_core;
    int tasks_per_gpu; /* most tasks that share a gpu when there are fewer gpus than tasks */
    const int *ranks;  /* ranks of these tasks in a job of world ranks; one per task */
    int world;
    enum berth_pattern pattern; /* traffic between tasks, bytes per flow; flows gives it exactly */
    int64_t bytes, host_bytes;
    const struct berth_flow *flows;
    size_t flow_count;
    enum berth_mechanism mechanism;
    enum berth_order order;
    enum berth_visible visible;
    /* Key of a claim of the caller: the first plan under it holds until its release. NULL:
     * BERTH_KEY (empty: none), else, in a Slurm job and unless whole_node is set, a key within the
     * job's claim. */
    const char *key;
    /* NULL: the result of berth_allowed_here, or the whole node when whole_node is 1 */
    const struct berth_allowed *allowed;
    int whole_node;
};

enum berth_memory_policy {
    BERTH_POLICY_UNKNOWN,
    BERTH_POLICY_PREFERRED,
    BERTH_POLICY_BIND,
    BERTH_POLICY_INTERLEAVE
};

struct berth_task {
    int task;
    struct berth_texts gpus, memory, nics;
    const char *cpus, *cpu_mask; /* "0-7" and "0xff" */
    enum berth_memory_policy memory_policy;
    /* variables to set, and variables to unset, before the task starts */
    struct berth_pairs environment;
    struct berth_texts unset;
};

struct berth_binding {
    const struct berth_task *tasks;
    size_t task_count;
    /* time of one iteration; baseline: in the launcher's default order */
    struct berth_prediction predicted, baseline;
    int proven_optimal;
    double gap;                  /* gap to a lower bound, when not proven */
    struct berth_pairs launcher; /* launcher options, by launcher name */
    const struct berth_evidence *evidence;
    size_t evidence_count;
    struct berth_reasons reasons; /* grounds of the decision */
    struct berth_reasons warnings;
    struct berth_basis basis;
};

/* Sets every field to its default, which leaves it to the daemon. */
BERTH_PUBLIC void berth_bind_request_init(struct berth_bind_request *request);

/* Plans a berth for each task of the request. Blocks. Errors of the daemon include NOT_ENOUGH,
 * NOTHING_ALLOWED, NO_SUCH_PLACE and KEY_MISMATCH (the key has the plan of another request). */
BERTH_PUBLIC int berth_bind(struct berth *berth, const struct berth_bind_request *request,
                            struct berth_binding **ret_binding);
BERTH_PUBLIC void berth_binding_free(struct berth_binding *binding);

/* ---- in a job: which task this is, and taking its berth ---- */

/* Gives the value of a variable, NULL when it is not set. A NULL function stands for getenv(3). */
typedef const char *berth_variable_fn(const char *name, void *arg);

/* Position of this task in its step, from the launcher's variables. name: torchrun,
 * deepspeed, openmpi, hydra (MPICH, Intel MPI), mvapich, jsrun, pals, flux, slurm, pmi or pmix;
 * NULL without such variables. An inner launcher takes precedence over the launcher that started
 * it. */
struct berth_launcher {
    const char *name;
    /* number of the task on this node, from 0, and tasks of the step here; -1 unknown */
    int task, tasks;
    int rank, world; /* the same numbers in the whole step; -1 unknown */
    /* Ranks of this node's tasks, one per task. NULL unless the launcher states the distribution or
     * all tasks are here. */
    const int *ranks;
    /* "slurm/1234.0": equal in all tasks of the step and in no other running step, but for
     * the names of torchrun and jsrun, which two may share; NULL where the launcher does not name
     * the step */
    const char *key;
    /* one line that names the missing or contradictory variable, when task or tasks is unknown;
     * else NULL */
    const char *missing;
};

/* Reads the launcher's variables. Calls no daemon and never blocks. Fails only with OUT_OF_MEMORY:
 * a missing variable leaves its field unknown. */
BERTH_PUBLIC int berth_launcher_here(struct berth *berth, berth_variable_fn *variable, void *arg,
                                     struct berth_launcher **ret_launcher);
BERTH_PUBLIC void berth_launcher_free(struct berth_launcher *launcher);

/* Resources that the step's tasks on this node may use together, and the part that the launcher has
 * already bound to this task. */
struct berth_step {
    /* resources of all tasks together, equal in each: the allowed field of a Bind for all of them
     */
    struct berth_allowed allowed;
    const char *cpus;        /* affinity of the calling thread */
    struct berth_texts gpus; /* gpus that the variables leave visible; item NULL for all */
    /* 1: the launcher has bound cpus, or gpus, to this task alone */
    int cpus_bound, gpus_bound;
    /* key of the launcher, else one from the process that started the tasks; equal in all of them
     */
    const char *key;
};

/* Finds the resources of a step and of this task. Compares the calling thread with the process that
 * started the step's tasks: the nearest ancestor without this task's rank among its variables. The
 * launcher has bound a task whose affinity or visible-device variables are narrower than that
 * process's.
 *
 * With Slurm a task is bound to gpus when SLURM_STEP_GPUS names fewer than SLURM_GPUS_ON_NODE.
 * allowed then has all gpus of the node; the job's claim narrows them to the job's own. When
 * another process does not show its variables, the gpus count as shared unless they are fewer than
 * tasks.
 *
 * launcher: task, tasks and rank must hold all that is known, also from a source other than a
 * launcher. given: cpus and gpus that may be used instead of all; NULL, or fields NULL, for all.
 * With given cpus, none count as bound.
 *
 * Asks the daemon for the node where gpus must be told apart. Widens the affinity for a moment to
 * read the limit of the cpuset, and sets it back. Fails like berth_allowed_here. */
BERTH_PUBLIC int berth_step_here(struct berth *berth, const struct berth_launcher *launcher,
                                 const struct berth_allowed *given, berth_variable_fn *variable,
                                 void *arg, struct berth_step **ret_step);
BERTH_PUBLIC void berth_step_free(struct berth_step *step);

/* Parts of a berth to take. GPUS: the variables that choose the visible gpus; ENVIRONMENT: the
 * other variables. */
enum berth_part {
    BERTH_PART_CPUS = 1,
    BERTH_PART_MEMORY = 2,
    BERTH_PART_GPUS = 4,
    BERTH_PART_ENVIRONMENT = 8,
    BERTH_PART_ALL = 15
};

/* Returns the berth of this task in a binding for all tasks of its step, borrowed from the binding;
 * NULL when there is none. The berth is the one with this task's number or, when the launcher has
 * bound gpus to the task, the one with exactly these gpus. ret_parts receives the parts to take so
 * that the launcher's bindings stay. Pure. */
BERTH_PUBLIC const struct berth_task *berth_step_berth(const struct berth_step *step, int task,
                                                       const struct berth_binding *binding,
                                                       unsigned *ret_parts);

/* Takes parts of a berth. Sets the calling thread's affinity and memory policy, which its children
 * and the programs that it executes inherit, and the process's environment. Sets variables that
 * choose nics (UCX_NET_DEVICES, NCCL_IB_HCA) only where nobody else has set them.
 *
 * Changes nothing on failure. Fails with SYSTEM when the kernel refuses the cpus or the policy, and
 * with OUT_OF_MEMORY. Fails with BAD_ARGUMENT for cpus that are no list or empty, a memory that is
 * no NUMA node, or an invalid variable name. Calls no daemon. Unsafe beside threads that read the
 * environment, because of setenv(3). */
BERTH_PUBLIC int berth_apply(struct berth *berth, const struct berth_task *task, unsigned parts);

/* Outcome of berth_take. launcher: its name, NULL none. cpus, gpus and memory: what this task has
 * now, also by its launcher; item NULL: no gpus, or memory that nothing was said about. parts:
 * enum berth_part, those that were taken; 0 when the launcher had bound the task to cpus and gpus.
 */
struct berth_taken {
    const char *launcher;
    int task, tasks;
    unsigned parts;
    const char *cpus;
    struct berth_texts gpus, memory;
};

/* Takes this task's berth in one call, as berth exec does before it runs a program: the functions
 * above in their order, and the gpus shared out as Slurm's plugin does. Without a launcher's
 * variables this is the only task. Call it before threads start, a gpu runtime is loaded or large
 * memory is touched; berth_apply says what it sets.
 *
 * request: NULL for Bind's defaults. Its tasks, ranks, world, allowed and whole_node are found
 * here and not read. berth: connected anew, to $BERTH_SOCKET or the usual socket; NULL: this call
 * makes a handle of its own. ret_taken may be NULL.
 *
 * Blocks for the handle's timeout, or 2 s when that is longer. Fails like the functions above, with
 * BAD_ARGUMENT when the launcher does not say which task this is, and with UNAVAILABLE when no
 * berth of the plan has just the gpus that the launcher gave. Nothing is changed then, and the
 * program may go on as it is. */
BERTH_PUBLIC int berth_take(struct berth *berth, const struct berth_bind_request *request,
                            struct berth_taken **ret_taken);
BERTH_PUBLIC void berth_taken_free(struct berth_taken *taken);

/* ---- Allocate: which memory ---- */

enum berth_memory_kind {
    BERTH_KIND_UNKNOWN,
    BERTH_KIND_SYSTEM,
    BERTH_KIND_PINNED,
    BERTH_KIND_MANAGED,
    BERTH_KIND_DEVICE
};

/* Accesses to the buffer by one place, and their bytes. Random accesses come in cache lines. cores:
 * 0 leaves the number to the daemon. */
struct berth_access {
    const char *by;
    int64_t reads_bytes, writes_bytes;
    int random, cores;
};

/* Initialise with berth_allocate_request_init; only bytes must be set. Without accesses the
 * caller's cores stream over the buffer once. */
struct berth_allocate_request {
    int64_t bytes;
    const struct berth_access *accesses;
    size_t access_count;
    unsigned kinds;                      /* bits 1u << BERTH_KIND_...; 0: all */
    const struct berth_allowed *allowed; /* as in berth_bind_request */
    int whole_node;
};

struct berth_memory_option {
    const char *memory;
    enum berth_memory_kind kind;
    const char *call; /* the function to call, in the terms of its programming interface */
    struct berth_prediction predicted;
    double setup_ns; /* the part of predicted until the memory is there; NAN unknown */
    int64_t free_bytes, free_at_s;
    const struct berth_evidence *evidence;
    size_t evidence_count;
};

struct berth_allocation {
    const struct berth_memory_option *options; /* best first */
    size_t option_count;
    struct berth_reasons warnings;
    struct berth_basis basis;
    struct berth_reasons reasons; /* grounds of the decision */
};

/* Sets every field to its default, which leaves it to the daemon. */
BERTH_PUBLIC void berth_allocate_request_init(struct berth_allocate_request *request);

/* Lists the memories for a buffer, best first. Blocks. Errors of the daemon include NOTHING_ALLOWED
 * and NO_SUCH_PLACE. */
BERTH_PUBLIC int berth_allocate(struct berth *berth, const struct berth_allocate_request *request,
                                struct berth_allocation **ret_allocation);
BERTH_PUBLIC void berth_allocation_free(struct berth_allocation *allocation);

/* Memory that Allocate's first option names. data: address in the host, or a device's address for
 * kind DEVICE. allocation: the answer, of which options[0] was carried out; reasons say why. how:
 * the calls that were made. */
struct berth_buffer {
    void *data;
    int64_t bytes;
    const struct berth_allocation *allocation;
    const char *how;
};

/* Asks Allocate and gets the memory that it names first: pages of a NUMA node (which come there as
 * they are touched), pinned or managed memory, or memory of a gpu. Opens CUDA's or HIP's driver
 * where the memory is the driver's, and the default (primary) context of the gpu; what is current
 * in the calling thread stays. Blocks.
 *
 * Gets nothing on failure, and never another memory. Fails as berth_allocate does, with NOT_ENOUGH
 * when the memory has too little free, and with SYSTEM when the kernel or the driver refuses. */
BERTH_PUBLIC int berth_alloc(struct berth *berth, const struct berth_allocate_request *request,
                             struct berth_buffer **ret_buffer);
/* Ends the memory and the structure. The handle may be freed before. Copies from or to the memory
 * must be done. */
BERTH_PUBLIC void berth_buffer_free(struct berth_buffer *buffer);

/* Allocate for PyTorch: functions as torch.cuda.memory.CUDAPluggableAllocator wants them. Memory
 * for a device of CUDA's or HIP's numbers: its own, pinned on the NUMA node that Allocate names for
 * it (the daemon of BERTH_SOCKET, within a second), or managed, preferably in the device's. stream
 * is unused. NULL when it cannot be had, which PyTorch's pools report as out of memory. The
 * device's default (primary) context must be open, as PyTorch has it. */
BERTH_PUBLIC void *berth_torch_device(int64_t bytes, int device, void *stream);
BERTH_PUBLIC void *berth_torch_pinned(int64_t bytes, int device, void *stream);
BERTH_PUBLIC void *berth_torch_managed(int64_t bytes, int device, void *stream);
/* Ends memory of each of them. Work on it must be done. */
BERTH_PUBLIC void berth_torch_free(void *memory, int64_t bytes, int device, void *stream);

/* ---- Route: which path a copy takes ---- */

struct berth_transfer {
    const char *from, *to; /* gpus or NUMA nodes */
    int64_t bytes;
};

/* Initialise with {0}; from, to and bytes must be set. */
struct berth_route_request {
    const char *from, *to;
    int64_t bytes;
    int overlap;          /* 1: the gpus must stay free for computing, so no kernels copy */
    int both_directions;  /* 1: as many bytes move the other way at the same time */
    int allow_unmeasured; /* 1: paths that were not measured, or not together, may be first */
    const struct berth_transfer *concurrent; /* transfers that start at the same time */
    size_t concurrent_count;
    const struct berth_allowed *allowed; /* as in berth_bind_request */
    int whole_node;
};

/* A fraction of the bytes by one mechanism, through the places in via, in pieces of chunk_bytes.
 * The segments of an option run at the same time. streams, chunk_bytes: -1 not split up. */
struct berth_segment {
    enum berth_mechanism mechanism;
    struct berth_texts via;
    int64_t chunk_bytes, streams;
    double fraction;
};

struct berth_route_option {
    const struct berth_segment *segments;
    size_t segment_count;
    const char *call; /* the function to call, in the terms of its programming interface */
    /* variables that force the mechanism; with needs_restart, only when set before the start */
    struct berth_pairs environment;
    int needs_restart;
    int may_lead; /* 1: its numbers are good enough to be the first one; -1: unknown */
    struct berth_prediction predicted;
    const char *worth_measuring; /* command that measures its missing numbers, or NULL */
    const struct berth_evidence *evidence;
    size_t evidence_count;
};

/* Below this size option below is the first one, from it on option above: indices into options. */
struct berth_crossover {
    int64_t bytes;
    size_t below, above;
};

struct berth_routes {
    const struct berth_route_option *options; /* best first */
    size_t option_count;
    const struct berth_crossover *crossovers;
    size_t crossover_count;
    double b80_bytes; /* least size at which the first option has 80 % of its highest rate */
    struct berth_reasons reasons; /* grounds of the decision */
    struct berth_reasons warnings;
    struct berth_basis basis;
};

/* Lists the paths of a transfer, best first. A running program takes the first option with may_lead
 * and without needs_restart. Blocks. Errors of the daemon include NO_SUCH_PLACE, NOT_MEASURED and
 * NOTHING_ALLOWED. */
BERTH_PUBLIC int berth_route(struct berth *berth, const struct berth_route_request *request,
                             struct berth_routes **ret_routes);
BERTH_PUBLIC void berth_routes_free(struct berth_routes *routes);

/* ---- copies as Route advises ---- */

/* Copies on the gpus of this process: CUDA's or HIP's driver, streams, and the advice so far. One
 * thread at a time uses a copier and its handle. */
struct berth_copier;

/* Opens the driver that the process has loaded, else CUDA's, else HIP's. berth: a handle, which may
 * be without a connection, for questions and errors; it must live as long as the copier. Fails with
 * SYSTEM without a driver or a gpu. */
BERTH_PUBLIC int berth_copier_new(struct berth *berth, struct berth_copier **ret_copier);
/* Waits for copies that are not done. */
BERTH_PUBLIC void berth_copier_free(struct berth_copier *copier);

/* Copies bytes between pinned memory of the host and gpus, or between gpus. stream: a CUstream or
 * cudaStream_t, or a hipStream_t; NULL: the default one of the current device. The copy follows
 * earlier work in the stream, and later work there waits for it. Returns before the copy is done.
 *
 * Copies over several paths where Route says that this is faster: for example half of the bytes
 * over another gpu's port and then over NVLink. Only gpus that the driver shows to this process
 * take part. The first such copy opens the other gpu's primary context, allows access between the
 * two, and gets at most 64 MiB for each memory between; these stay.
 *
 * Makes one copy as cuMemcpyAsync or hipMemcpyAsync does where that is as fast; below 4 MiB; for
 * pageable, managed and captured copies; and without advice. Asks the daemon once for each pair of
 * places and power of two of bytes, at most 2 s each time. Asks no more once it got no answer.
 *
 * Fails with SYSTEM when the driver refuses. What was started by then is still before later work in
 * the stream. */
BERTH_PUBLIC int berth_copy(struct berth_copier *copier, void *to, const void *from, size_t bytes,
                            void *stream);

/* Tells how the last copy was made, in one line, and why as one copy; "" before the first. Valid
 * until the next copy. */
BERTH_PUBLIC const char *berth_copy_how(const struct berth_copier *copier);

/* ---- Report: how long it took ---- */

/* Reports the time of a transfer, an access or an iteration that an answer predicted. answer: the
 * prediction's id. bytes: moved in that time, where these are not those of the request; else 0.
 * Reports of a kind that agree correct the caller's later predictions. Blocks. Errors of the daemon
 * include INVALID_PARAMETER (the values have changed since: ask again) and UNAVAILABLE. */
BERTH_PUBLIC int berth_report(struct berth *berth, const char *answer, int64_t observed_ns,
                              int64_t bytes);

enum berth_method {
    BERTH_METHOD_UNKNOWN,
    BERTH_METHOD_BIND,
    BERTH_METHOD_ROUTE,
    BERTH_METHOD_ALLOCATE
};
enum berth_reporter { BERTH_REPORTER_UNKNOWN, BERTH_REPORTER_OWN, BERTH_REPORTER_ROOT };

/* Reports of one kind of predictions. form: words for a person. users, bytes: the least of the
 * kind. reports: number of them. error_before, error_after: median excess of the larger over the
 * smaller of the observed and the predicted time, without and with the correction. factor: of the
 * correction; NAN none. */
struct berth_report_kind {
    enum berth_method method;
    const char *form;
    int64_t users, bytes, reports;
    enum berth_source source;
    enum berth_reporter by;
    double error_before, error_after, factor;
};

struct berth_reports {
    const struct berth_report_kind *kinds; /* the latest first */
    size_t kind_count;
};

/* Lists the caller's reports and root's. Blocks. */
BERTH_PUBLIC int berth_list_reports(struct berth *berth, struct berth_reports **ret_reports);
BERTH_PUBLIC void berth_reports_free(struct berth_reports *reports);

/* ---- Check: is the node well ---- */

enum berth_verdict {
    BERTH_VERDICT_UNKNOWN,
    BERTH_VERDICT_HEALTHY,
    BERTH_VERDICT_DEGRADED,
    BERTH_VERDICT_UNHEALTHY
};
enum berth_severity {
    BERTH_SEVERITY_UNKNOWN,
    BERTH_SEVERITY_INFO,
    BERTH_SEVERITY_WARNING,
    BERTH_SEVERITY_CRITICAL
};

struct berth_slow_value {
    const char *series; /* metric, from, to and the axes with values other than their defaults */
    const char *unit;
    double value, expected;
};

/* The measurement behind a finding: a cell of GetMatrix, and its 95 % interval. metric NULL: none.
 */
struct berth_finding_cell {
    const char *metric, *from, *to;
    struct berth_pairs where;
    double low, high;
    int64_t measured_at_s;
};

struct berth_finding {
    enum berth_severity severity;
    const char *place, *code, *text, *unit;
    double value, expected;
    int64_t since_s;
    size_t explains; /* slow values without a finding of their own, caused by this one */
    const struct berth_slow_value *slow; /* the worst slow values, at most 16 */
    size_t slow_count;
    const char *action;          /* for the administrator; NULL: none */
    struct berth_texts commands; /* for the action, to be run as they are */
    struct berth_finding_cell cell;
};

struct berth_health {
    enum berth_verdict verdict;
    int drain;          /* 1: berth advises to take the node out of service */
    const char *reason; /* one line of at most 120 characters */
    const struct berth_finding *findings;
    size_t finding_count;
    /* values that one measurement saw worse; a second one confirms or drops them */
    const struct berth_finding *unconfirmed;
    size_t unconfirmed_count;
    int64_t last_probe_at_s;
    const char *snapshot;
    enum berth_origin origin;
};

/* Checks the health of the node or of these places; places NULL: the whole node. */
BERTH_PUBLIC int berth_check(struct berth *berth, const char *const *places, size_t place_count,
                             struct berth_health **ret_health);
BERTH_PUBLIC void berth_health_free(struct berth_health *health);

/* ---- GetMatrix: what was measured ---- */

/* Initialise with {0} and set metric. from, to: item NULL for all places. where: axes and the
 * values that they must have. at_s: 0 for the present, else a time. Each cell then has its latest
 * value measured at that time or before. */
struct berth_matrix_request {
    const char *metric;
    struct berth_texts from, to;
    struct berth_pairs where;
    int64_t at_s;
};

/* One cell. value is NAN when there is none; why_not then gives the reason. */
struct berth_cell {
    const char *from, *to;
    struct berth_pairs axes;
    double value, low, high;
    int64_t repetitions; /* repetitions of the measurement; -1 unknown */
    enum berth_source source;
    int64_t measured_at_s;
    const char *why_not;
};

struct berth_matrix {
    const char *metric, *unit;
    const struct berth_cell *cells; /* sparse */
    size_t cell_count;
    struct berth_basis basis;
};

/* Reads the cells of a metric. Blocks. Errors of the daemon include NO_SUCH_METRIC and
 * NO_SUCH_PLACE. */
BERTH_PUBLIC int berth_get_matrix(struct berth *berth, const struct berth_matrix_request *request,
                                  struct berth_matrix **ret_matrix);
BERTH_PUBLIC void berth_matrix_free(struct berth_matrix *matrix);

/* ---- GetNode: the structure of the node ---- */

enum berth_place_kind {
    BERTH_PLACE_UNKNOWN,
    BERTH_PLACE_MACHINE,
    BERTH_PLACE_PACKAGE,
    BERTH_PLACE_NUMA,
    BERTH_PLACE_LLC,
    BERTH_PLACE_CORE,
    BERTH_PLACE_PU,
    BERTH_PLACE_MODULE,
    BERTH_PLACE_GPU,
    BERTH_PLACE_NIC,
    BERTH_PLACE_SWITCH
};
enum berth_link_kind {
    BERTH_LINK_UNKNOWN,
    BERTH_LINK_XGMI,
    BERTH_LINK_NVLINK,
    BERTH_LINK_C2C,
    BERTH_LINK_PCIE,
    BERTH_LINK_SMP,
    BERTH_LINK_MEMBUS,
    BERTH_LINK_NETWORK
};
enum berth_link_state {
    BERTH_STATE_UNKNOWN,
    BERTH_STATE_UP,
    BERTH_STATE_DEGRADED,
    BERTH_STATE_DOWN
};

/* A package is a processor's socket, a module a card of gpus. parent: the place that contains it.
 * numa: the nearest NUMA node. cpus: a list "0-7". pci, uuid, minor, render_node: of the device.
 * details: further properties and facts of its driver. */
struct berth_place {
    const char *name;
    enum berth_place_kind kind;
    const char *parent, *numa, *cpus, *model, *pci, *uuid, *render_node;
    int64_t capacity_bytes, minor;
    struct berth_pairs details;
};

/* width: number of parallel links. measured: in the slower direction, by the best mechanism;
 * engine: by copy engine alone. */
struct berth_link {
    const char *from, *to;
    enum berth_link_kind kind;
    enum berth_link_state state;
    int64_t width;
    double nominal_bytes_per_s, measured_bytes_per_s, engine_bytes_per_s;
};

/* A limit that transfers share. inferred: 1 when concurrent runs show it and no firmware reports
 * it. users: the places behind it, or transfers (gpu0>numa0) when inferred. */
struct berth_resource {
    const char *name;
    double capacity_bytes_per_s, low, high;
    int inferred;
    struct berth_texts users;
};

struct berth_node {
    const char *name;
    const struct berth_place *places;
    size_t place_count;
    const struct berth_link *links;
    size_t link_count;
    const struct berth_resource *resources;
    size_t resource_count;
    struct berth_pairs software;      /* versions of the kernel, drivers and libraries */
    struct berth_texts disagreements; /* one line for each fact on which sources differ */
    struct berth_basis basis;
};

/* Reads the node's places, links and limits. Blocks. */
BERTH_PUBLIC int berth_get_node(struct berth *berth, struct berth_node **ret_node);
BERTH_PUBLIC void berth_node_free(struct berth_node *node);

/* ---- GetCurves: the time of a transfer by its size ---- */

/* Initialise with {0} and set metric; from, to and where as in berth_matrix_request. */
struct berth_curves_request {
    const char *metric;
    struct berth_texts from, to;
    struct berth_pairs where;
};

/* time = t0_ns + bytes / bytes_per_s, from from_bytes up to the next piece, the last one without
 * end. bytes_per_s NAN: more bytes take no longer. */
struct berth_piece {
    int64_t from_bytes;
    double t0_ns, bytes_per_s;
};

/* t0_call_ns: cost of starting a transfer by the caller's clock. t0_queue_ns: the same when it is
 * queued already. b80_bytes: size that reaches 80 % of wmax_bytes_per_s. residual: largest
 * deviation from a measured size, as a fraction of its time. sizes: number of measured sizes, from
 * least_bytes to most_bytes. */
struct berth_curve {
    const char *from, *to;
    struct berth_pairs axes;
    double t0_call_ns, t0_queue_ns, wmax_bytes_per_s, b80_bytes, residual;
    int64_t sizes, least_bytes, most_bytes;
    int64_t repetitions, measured_at_s;
    const struct berth_piece *pieces; /* ascending */
    size_t piece_count;
};

struct berth_curves {
    const char *metric;
    const struct berth_curve *curves;
    size_t curve_count;
    struct berth_basis basis;
};

/* Reads the curves through the measured sizes of a metric. Pairs without two sizes have none.
 * Blocks. Errors of the daemon include NO_SUCH_METRIC and NO_SUCH_PLACE. */
BERTH_PUBLIC int berth_get_curves(struct berth *berth, const struct berth_curves_request *request,
                                  struct berth_curves **ret_curves);
BERTH_PUBLIC void berth_curves_free(struct berth_curves *curves);

/* ---- History: a value over time ---- */

/* Initialise with {0}; metric, from and to must be set. where: axes and their values, others have
 * their defaults. since_s: 0 for all. */
struct berth_history_request {
    const char *metric, *from, *to;
    struct berth_pairs where;
    int64_t since_s;
};

/* run: number of the run. A point with run 0 stands for a day: the median of values values, low and
 * high their ends, measured_at_s the day's beginning (UTC). values is -1 in other points. */
struct berth_point {
    int64_t measured_at_s;
    double value, low, high;
    int64_t run, values;
    struct berth_pairs conditions;
};

struct berth_history {
    const struct berth_point *points; /* ascending in time */
    size_t point_count;
};

/* Reads the stored values of one cell. Blocks. Errors of the daemon include NO_SUCH_METRIC,
 * NO_SUCH_PLACE and UNAVAILABLE. */
BERTH_PUBLIC int berth_get_history(struct berth *berth, const struct berth_history_request *request,
                                   struct berth_history **ret_history);
BERTH_PUBLIC void berth_history_free(struct berth_history *history);

/* ---- GetTuning: how to launch a kernel ---- */

enum berth_operation {
    BERTH_OPERATION_DEFAULT,
    BERTH_OPERATION_READ,
    BERTH_OPERATION_WRITE,
    BERTH_OPERATION_COPY,
    BERTH_OPERATION_PULL
};

/* Initialise with {0}. place: a gpu, NULL for each. to: the memory that its kernels access, NULL
 * for its own. copy moves bytes from its own memory there, pull from there. operation: DEFAULT for
 * all.
 */
struct berth_tuning_request {
    const char *place, *to;
    enum berth_operation operation;
};

/* value: -1 when there is none; why_not then gives the reason. by: the mechanism of the value.
 * from, to: the measured pair. bytes_per_s: the rate that it reached, low and high its interval;
 * next_bytes_per_s: the rate of the next best choice. */
struct berth_tuned {
    int64_t value;
    const char *why_not;
    enum berth_mechanism by;
    const char *from, *to;
    double bytes_per_s, low, high, next_bytes_per_s;
    int64_t measured_at_s;
};

/* The fastest launch of kernels of place that use the memory to. grid: blocks, 0 as many as the
 * bytes need. block: threads. unroll: accesses of 16 bytes of a thread per iteration. chunk_bytes:
 * smallest piece that reaches 95 % of the highest rate. streams: of the copy engine, with pieces of
 * 1 MiB. From threshold on the mechanism above is faster, below it up to certain_below_bytes for
 * certain the mechanism below. stale: why it no longer holds; NULL while it does. */
struct berth_tuning {
    const char *place, *to;
    enum berth_operation operation;
    struct berth_tuned grid, block, unroll, chunk_bytes, streams, threshold_bytes;
    int64_t certain_below_bytes;
    enum berth_mechanism below, above;
    struct berth_pairs conditions;
    const char *stale;
};

struct berth_tunings {
    const struct berth_tuning *tunings;
    size_t tuning_count;
    struct berth_basis basis;
};

/* Reads tuned results. Blocks. Errors of the daemon include NO_SUCH_PLACE and INVALID_PARAMETER. */
BERTH_PUBLIC int berth_get_tuning(struct berth *berth, const struct berth_tuning_request *request,
                                  struct berth_tunings **ret_tunings);
BERTH_PUBLIC void berth_tunings_free(struct berth_tunings *tunings);

/* ---- PredictKernel: how long a streaming kernel takes ---- */

/* copy, axpy, norm, dot, fused CG update, gather, scatter */
enum berth_test {
    BERTH_TEST_UNKNOWN,
    BERTH_TEST_BS1,
    BERTH_TEST_BS2,
    BERTH_TEST_BS3,
    BERTH_TEST_BS4,
    BERTH_TEST_BS5,
    BERTH_TEST_BS6,
    BERTH_TEST_BS7
};

/* Initialise with {0}; place must be set, a gpu. Then either test and dofs, doubles of its vectors,
 * or reads_bytes and writes_bytes of a kernel of one's own, for which the test with the nearest
 * share of written bytes stands. degree: of the elements of BS6 and BS7, 1 to 15, usually 7. flops:
 * its floating-point operations. 0 leaves a number out. */
struct berth_kernel_request {
    const char *place;
    enum berth_test test;
    int64_t degree;
    int64_t dofs, reads_bytes, writes_bytes, flops;
};

/* t0_ns: the part in which no byte moves; from b80_bytes on 80 % of wmax are reached. NAN unknown.
 */
struct berth_kernel_time {
    double time_ns, low_ns, high_ns, t0_ns, b80_bytes;
};

struct berth_kernel {
    const char *place;
    enum berth_test test;
    int64_t bytes; /* read plus written */
    double wmax_bytes_per_s;
    /* behind another kernel; alone by the caller's clock, all NAN where starting is unknown */
    struct berth_kernel_time queued, called;
    double flops_per_s; /* that flops need to fit into queued; NAN without flops */
    enum berth_source source;
    int64_t measured_at_s;
    struct berth_basis basis;
};

/* Predicts the time of a kernel that streams over the gpu's own memory: t0 + bytes / wmax. Blocks.
 * Errors of the daemon include NOT_MEASURED, NO_SUCH_PLACE and INVALID_PARAMETER. */
BERTH_PUBLIC int berth_predict_kernel(struct berth *berth,
                                      const struct berth_kernel_request *request,
                                      struct berth_kernel **ret_kernel);
BERTH_PUBLIC void berth_kernel_free(struct berth_kernel *kernel);

/* ---- Claim: reserve places ---- */

enum berth_purpose { BERTH_PURPOSE_UNKNOWN, BERTH_PURPOSE_COMPUTE, BERTH_PURPOSE_PROFILING };

/* Initialise with berth_claim_request_init; places, purpose and ttl_s must be set. */
struct berth_claim_request {
    struct berth_texts places;
    enum berth_purpose purpose;
    const char *configuration; /* of profiling, for persons */
    const char *key;           /* a second claim under the same key renews the first */
    int64_t owner_pid;         /* the claim ends with this process; -1 none */
    const char *owner_cgroup;  /* the claim ends with this cgroup */
    int64_t ttl_s;
    int64_t wait_s; /* of profiling: longest wait for its gpus; -1 fails at once instead */
};

struct berth_claim_info {
    const char *claim; /* name of the claim, for berth_release */
    struct berth_texts places;
    enum berth_purpose purpose;
    const char *configuration, *key, *owner_cgroup;
    int64_t uid, owner_pid;
    int64_t expires_at_s; /* of a waiting one the end of its waiting */
};

/* stored: 1 when the claim outlives the daemon, 0 when not, -1 unknown. */
struct berth_grant {
    struct berth_claim_info claim;
    int stored;
};

struct berth_claims {
    const struct berth_claim_info *claims;
    size_t claim_count;
    const struct berth_claim_info *waiting; /* claims that wait for their gpus, by arrival */
    size_t waiting_count;
};

/* Sets every field to its default. */
BERTH_PUBLIC void berth_claim_request_init(struct berth_claim_request *request);

/* Claims places. Blocks, with wait_s for so much longer than the handle's timeout. Without an owner
 * only its ttl or berth_release ends the claim. Errors of the daemon include ALREADY_CLAIMED,
 * KEY_MISMATCH, NO_SUCH_PLACE, NO_SUCH_OWNER, PERMISSION_DENIED and NOT_ENOUGH. */
BERTH_PUBLIC int berth_claim(struct berth *berth, const struct berth_claim_request *request,
                             struct berth_grant **ret_grant);
BERTH_PUBLIC void berth_grant_free(struct berth_grant *grant);

/* Ends a claim by its name, or the caller's claim of a key; the other one is NULL. ret_released, if
 * not NULL, receives the number of claims that ended: 0 for a key without one. Blocks. Errors of
 * the daemon include NO_SUCH_CLAIM and PERMISSION_DENIED. */
BERTH_PUBLIC int berth_release(struct berth *berth, const char *claim, const char *key,
                               int *ret_released);

/* Lists the claims in force and the waiting ones. Blocks. */
BERTH_PUBLIC int berth_list_claims(struct berth *berth, struct berth_claims **ret_claims);
BERTH_PUBLIC void berth_claims_free(struct berth_claims *claims);

/* ---- ListMetrics: what can be measured ---- */

enum berth_better { BERTH_BETTER_UNKNOWN, BERTH_BETTER_HIGHER, BERTH_BETTER_LOWER };

/* axes: names of the conditions of its cells. defaults: their values where a cell omits them.
 * cells, measured: number of its cells, and of those with a value. */
struct berth_metric {
    const char *name, *unit, *about;
    enum berth_better better;
    struct berth_texts axes;
    struct berth_pairs defaults;
    int64_t cells, measured;
};

struct berth_metrics {
    const struct berth_metric *metrics;
    size_t metric_count;
    struct berth_basis basis;
};

/* Lists the metrics that berth_get_matrix takes. Blocks. */
BERTH_PUBLIC int berth_list_metrics(struct berth *berth, struct berth_metrics **ret_metrics);
BERTH_PUBLIC void berth_metrics_free(struct berth_metrics *metrics);

/* ---- GetContention: what transfers take from each other ---- */

/* A transfer of a concurrent run. bytes_per_s: its rate beside the others. predicted_bytes_per_s:
 * the rate that the shared limits allow it. */
struct berth_concurrent_transfer {
    const char *from, *to;
    struct berth_pairs axes;
    double bytes_per_s, low, high, predicted_bytes_per_s;
};

/* reproduced: 1 when the shared limits give each rate of the run within 5 %, 0 when not, -1 when it
 * was not analysed. */
struct berth_concurrent_run {
    const char *metric;
    const struct berth_concurrent_transfer *flows;
    size_t flow_count;
    enum berth_source source;
    int64_t measured_at_s;
    int reproduced;
};

/* Highest total rate of so many transfers, up to the number of the next one. */
struct berth_capacity {
    int64_t transfers;
    double bytes_per_s, low, high;
};

/* A limit that its users (gpu0>numa0) share. alternatives: limits that the runs do not distinguish
 * from it. */
struct berth_shared_limit {
    const char *name, *metric;
    struct berth_texts users, alternatives;
    const struct berth_capacity *capacities; /* ascending in transfers */
    size_t capacity_count;
};

struct berth_contention {
    const struct berth_concurrent_run *runs;
    size_t run_count;
    const struct berth_shared_limit *shared;
    size_t shared_count;
    struct berth_basis basis;
};

/* Reads the latest of every concurrent run of a metric, NULL for all, and the limits that they
 * show. Blocks. Errors of the daemon include NO_SUCH_METRIC. */
BERTH_PUBLIC int berth_get_contention(struct berth *berth, const char *metric,
                                      struct berth_contention **ret_contention);
BERTH_PUBLIC void berth_contention_free(struct berth_contention *contention);

/* ---- the map: answers in advance, without a call ---- */

/* The answers of one snapshot, in memory that daemon and programs share. It never changes, and
 * holds when the daemon ends. Any number of threads may look up at once, also after a fork. It does
 * not need the handle any more. */
struct berth_map;

/* Opens the map of the current snapshot. Checks all of it, so that neither a broken daemon nor a
 * broken file makes a look-up fail later. The first caller after a measurement waits until the
 * daemon has made it. Blocks. Fails with PROTOCOL for files that are not sealed, not as long as
 * they say, or inconsistent; errors of the daemon include UNAVAILABLE. berth_map_close ends it,
 * when no thread looks up any more. */
BERTH_PUBLIC int berth_map(struct berth *berth, struct berth_map **ret_map);
BERTH_PUBLIC void berth_map_close(struct berth_map *map);

/* The functions below make no system call, take no lock and cannot fail. */

/* Returns 1 while the daemon that gave the map lives and has no newer snapshot; 0: open another
 * map, or go on with this one. */
BERTH_PUBLIC int berth_map_is_current(const struct berth_map *map);

/* Returns the name of the snapshot, as basis.snapshot of answers has it. Borrowed from the map. */
BERTH_PUBLIC const char *berth_map_snapshot(const struct berth_map *map);

/* Returns the number of a place in this map, and the name of a number, borrowed from the map: -1
 * and NULL for none. berth_map_place searches all places: ask once, keep the number. Another map
 * may have other numbers. */
BERTH_PUBLIC int berth_map_place(const struct berth_map *map, const char *name);
BERTH_PUBLIC const char *berth_map_place_name(const struct berth_map *map, int place);

/* Returns the memory of that kind for a buffer of 64 MiB that the place reads once: the first
 * option of berth_allocate for the whole node, whatever memory is free. -1: the place reaches none.
 */
BERTH_PUBLIC int berth_map_nearest_memory(const struct berth_map *map, int place,
                                          enum berth_memory_kind kind);

/* Return the time of one direct transfer between two memories (GPUs and NUMA nodes) by the caller's
 * clock, its mechanism, and the source of the time. They are those of Route's first direct option,
 * within 0.2 %, without corrections by reports. Route may know a faster path of several parts. The
 * mechanism and the source are those of the next lower power of two. The time is NAN where the
 * source is LOWER_BOUND. NAN, DEFAULT and UNKNOWN where nothing is known, and for fewer bytes than
 * 1. */
BERTH_PUBLIC double berth_map_transfer_ns(const struct berth_map *map, int from, int to,
                                          int64_t bytes);
BERTH_PUBLIC enum berth_mechanism berth_map_mechanism(const struct berth_map *map, int from, int to,
                                                      int64_t bytes);
BERTH_PUBLIC enum berth_source berth_map_source(const struct berth_map *map, int from, int to,
                                                int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
