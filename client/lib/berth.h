/**
 * libberth: ask the node's berthd where to run, where to allocate and whether the node is well.
 *
 * Units: sizes are bytes, times are nanoseconds unless a name ends in _s (seconds since the epoch)
 * or _ms, rates are bytes per second, 1 GB/s being 10^9 bytes per second. An unknown double is NAN,
 * an unknown integer -1, an unknown text NULL. Places are named as `berth topo` shows them: gpu0,
 * numa3, llc2, core7, pu12, nic1.
 *
 * Errors: functions return BERTH_DONE or a negative enum berth_status; the handle then knows the
 * error's name and one line about it. Outputs are untouched on failure.
 *
 * Ownership: a result is one block with everything that hangs on it; the function named beside the
 * type frees it. The library keeps no pointer to a request after the call. NULL is fine for every
 * free function.
 *
 * Threads: a handle serves one thread at a time; different handles are independent. The library has
 * no global state, prints nothing, raises no signal, ends no process, and its descriptors are
 * close-on-exec.
 *
 * Newer daemons: fields that this header does not know are left out, names in an enumeration that
 * it does not know become its value 0, UNKNOWN.
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

struct berth; /* a connection to a daemon, or the wish for one */

enum berth_status {
    BERTH_DONE = 0,

    /* Found on this side. */
    BERTH_ERROR_NO_DAEMON = -1, /* nobody listens at the path, or berth_connect was not called */
    BERTH_ERROR_TIMED_OUT = -2, /* no answer within berth_set_timeout */
    BERTH_ERROR_CLOSED = -3,    /* the daemon closed the connection before it answered */
    /* what came is not Varlink, not the promised reply, or over 64 MiB */
    BERTH_ERROR_PROTOCOL = -4,
    BERTH_ERROR_OUT_OF_MEMORY = -5,
    BERTH_ERROR_BAD_ARGUMENT = -6, /* a request that cannot be sent */
    BERTH_ERROR_SYSTEM = -7,       /* the operating system refused an operation */

    /* Said by the daemon. */
    BERTH_ERROR_INVALID_PARAMETER = -20,
    BERTH_ERROR_METHOD_NOT_FOUND = -21,
    BERTH_ERROR_METHOD_NOT_IMPLEMENTED = -22,
    BERTH_ERROR_INTERFACE_NOT_FOUND = -23,
    BERTH_ERROR_PERMISSION_DENIED = -24, /* also when the socket may not be opened */
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
    BERTH_ERROR_OTHER = -99 /* an error of a newer daemon: berth_error_name says which */
};

/* ---- the connection ---- */

/* A handle that is not connected yet. NULL only when out of memory. berth_free ends it, the
 * connection and every call. */
BERTH_PUBLIC struct berth *berth_new(void);
BERTH_PUBLIC void berth_free(struct berth *berth);

/* Connects, after closing an earlier connection. path NULL: $BERTH_SOCKET, else
 * /run/berth/berth.sock. A path that begins with @ is an abstract name. Fails with NO_DAEMON,
 * PERMISSION_DENIED, TIMED_OUT (the daemon's queue stayed full), BAD_ARGUMENT (a path over 107
 * bytes), SYSTEM. */
BERTH_PUBLIC int berth_connect(struct berth *berth, const char *path);

/* Takes a connected stream socket instead; it belongs to the handle at once, also on failure. */
BERTH_PUBLIC int berth_connect_fd(struct berth *berth, int take_fd);

/* The longest a connect or a blocking call takes: 30 s unless set. Negative: for ever. A call that
 * timed out is forgotten, and the connection stays good: its reply is dropped when it comes. */
BERTH_PUBLIC void berth_set_timeout(struct berth *berth, int timeout_ms);

/* The last error of this handle: its wire name ("io.berth.Placement.NoSuchPlace") or, for one found
 * on this side, a name such as "NoDaemon"; and one line for a person, without control characters.
 * "" when nothing failed yet. Valid until the next call on the handle. */
BERTH_PUBLIC const char *berth_error_name(const struct berth *berth);
BERTH_PUBLIC const char *berth_error_detail(const struct berth *berth);

/* Parameters of that error as the daemon sent them: a JSON object as text. NULL for an error found
 * on this side. Valid as long as the others. */
BERTH_PUBLIC const char *berth_error_parameters(const struct berth *berth);

/* ---- any method ---- */

/* Calls a method and waits. parameters: a JSON object as text, NULL for none. ret_reply receives
 * the reply's parameters as the daemon wrote them, "{}" when it sent none; free(3) it. */
BERTH_PUBLIC int berth_call(struct berth *berth, const char *method, const char *parameters,
                            char **ret_reply);

/* One reply to berth_call_async. status: BERTH_DONE, or why there is none (the handle has the
 * details meanwhile). parameters: JSON text, valid during the callback; NULL on failure of this
 * side, the error's parameters on an error of the daemon. continues: 1 when more replies follow, 0
 * on the last one. The callback may start calls; it must neither free, connect nor process the
 * handle, nor make a blocking call. */
typedef void berth_reply_fn(struct berth *berth, int status, const char *parameters, int continues,
                            void *arg);

/* Flags of berth_call_async. */
/* stream: reply may be called many times; berth_connect or berth_free ends a stream early. Replies
 * come in the order of the calls: what is called after a stream waits for its end, and a blocking
 * call meanwhile fails at once with BAD_ARGUMENT. Give an endless one (Watch) a handle of its own.
 */
#define BERTH_MORE 1u

/* Starts a call without blocking. reply is called from berth_process, berth_wait or a blocking
 * call, exactly once with continues 0 unless the handle is freed or connected anew before. Nothing
 * times out here. Fails, without calling reply, with NO_DAEMON, BAD_ARGUMENT or OUT_OF_MEMORY. */
BERTH_PUBLIC int berth_call_async(struct berth *berth, const char *method, const char *parameters,
                                  unsigned flags, berth_reply_fn *reply, void *arg);

/* ---- event loops ---- */

/* The descriptor to poll, -1 when there is no connection; and what to poll it for: POLLIN, with
 * POLLOUT while something is unsent. Ask again after every call on the handle. */
BERTH_PUBLIC int berth_fd(const struct berth *berth);
BERTH_PUBLIC short berth_events(const struct berth *berth);

/* Sends and receives what it can without blocking and calls the callbacks. On a lost connection
 * (CLOSED, PROTOCOL, SYSTEM, OUT_OF_MEMORY) every open call ends with that status and berth_fd
 * becomes -1. */
BERTH_PUBLIC int berth_process(struct berth *berth);

/* Polls for at most timeout_ms (negative: for ever), then processes. 1: something happened, 0:
 * nothing did, or as berth_process. */
BERTH_PUBLIC int berth_wait(struct berth *berth, int timeout_ms);

/* ---- what requests and answers share ---- */

struct berth_pair {
    const char *name, *value;
};
struct berth_texts {
    const char *const *item;
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
enum berth_source {
    BERTH_SOURCE_UNKNOWN,
    BERTH_SOURCE_MEASURED,
    BERTH_SOURCE_NOMINAL,
    BERTH_SOURCE_PUBLISHED
};

/* What an answer was computed from: the same basis and request give the same answer. */
struct berth_basis {
    const char *snapshot, *claims;
    enum berth_origin origin;
};

/* Expected time with its 95 % interval; NAN when it was not predicted. bottleneck: the resource
 * that limits it, or NULL. */
struct berth_prediction {
    double time_ns, low_ns, high_ns;
    const char *bottleneck;
};

/* One number that an answer rests on. low, high: 95 % interval or NAN. measured_at_s: -1 unknown.
 * flows: what ran at the same time. */
struct berth_evidence {
    const char *metric, *from, *to, *unit;
    struct berth_pairs axes;
    struct berth_texts flows;
    double value, low, high;
    enum berth_source source;
    int64_t measured_at_s;
};

/* The part of the node that may be used. cpus: a list "0-7,64-71", NULL for all. memory, gpus:
 * names, PCI addresses or UUIDs; item NULL for all, count 0 with item set for none. */
struct berth_allowed {
    const char *cpus;
    struct berth_texts memory, gpus;
};

/* What the calling thread may use, as berth_bind and berth_allocate send it by default: its
 * affinity; the memory nodes of its cpuset; with_gpus (as both do) the gpus whose device nodes it
 * may open, narrowed by CUDA_, ROCR_ and HIP_VISIBLE_DEVICES, else all. Opens no device. Asks the
 * daemon for the node only for gpus, and where there are gpu device nodes. A numeric device list
 * counts in PCI order for CUDA (as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID or gpus all alike;
 * otherwise it is ignored) and in driver order for ROCm. Blocks. Free with berth_allowed_free,
 * whatever was put into its fields. */
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
enum berth_mechanism {
    BERTH_MECHANISM_DEFAULT,
    BERTH_MECHANISM_BEST,
    BERTH_MECHANISM_COPY_ENGINE,
    BERTH_MECHANISM_KERNEL
};
enum berth_order { BERTH_ORDER_DEFAULT, BERTH_ORDER_FREE, BERTH_ORDER_RANK };
enum berth_visible { BERTH_VISIBLE_DEFAULT, BERTH_VISIBLE_OWN, BERTH_VISIBLE_ALL };

struct berth_flow {
    int from, to;
    int64_t bytes;
};

/* Initialise with berth_bind_request_init; only tasks must be set. -1, 0 for enumerations and NULL
 * leave a field to the daemon. */
struct berth_bind_request {
    int tasks;
    int gpus_per_task, cores_per_task, threads_per_core;
    int tasks_per_gpu; /* where there are fewer gpus than tasks, up to so many share one */
    const int *ranks;  /* tasks of them: the ranks of these tasks in a job of world ranks */
    int world;
    enum berth_pattern pattern; /* traffic between tasks, bytes per flow; or flows exactly */
    int64_t bytes, host_bytes;
    const struct berth_flow *flows;
    size_t flow_count;
    enum berth_mechanism mechanism;
    enum berth_order order;
    enum berth_visible visible;
    /* under the key of a claim of yours the first plan stands until it is released; NULL: as
     * BERTH_KEY says (empty: none), else in a job of Slurm's within the job's claim, unless
     * whole_node is set */
    const char *key;
    /* NULL: berth_allowed_here, or the whole node with whole_node 1 */
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
    const char *cpus, *cpu_mask; /* "0-7", "0xff" */
    enum berth_memory_policy memory_policy;
    struct berth_pairs environment; /* to set, and the variables to unset, before the task starts */
    struct berth_texts unset;
};

struct berth_binding {
    const struct berth_task *tasks;
    size_t task_count;
    /* of one step; baseline is the launcher's default order */
    struct berth_prediction predicted, baseline;
    int proven_optimal;
    double gap;                  /* to a lower bound, when not proven */
    struct berth_pairs launcher; /* options for launchers, by name */
    const struct berth_evidence *why;
    size_t why_count;
    struct berth_texts reasons; /* what decided, a sentence each */
    struct berth_texts warnings;
    struct berth_basis basis;
};

BERTH_PUBLIC void berth_bind_request_init(struct berth_bind_request *request);
BERTH_PUBLIC int berth_bind(struct berth *berth, const struct berth_bind_request *request,
                            struct berth_binding **ret_binding);
BERTH_PUBLIC void berth_binding_free(struct berth_binding *binding);

/* ---- in a job: which task this is, and taking its berth ---- */

/* Gives a variable's value, NULL when it is not set. Where one is asked for, NULL instead of a
 * function stands for getenv(3). */
typedef const char *berth_variable_fn(const char *name, void *arg);

/* What a launcher's variables say of this task and its step. name: openmpi, hydra (MPICH, Intel
 * MPI), pals, flux, slurm, pmi or pmix; NULL when there are no such variables. An inner launcher
 * goes before the one that it was itself started by. */
struct berth_launcher {
    const char *name;
    /* the task's number on this node, from 0, and how many the step has here; -1 unknown */
    int task, tasks;
    int rank, world; /* the same in the whole step; -1 unknown */
    /* the ranks of this node's tasks, tasks of them; NULL unless it says how they are
     * distributed, or all are here */
    const int *ranks;
    /* "slurm/1234.0": the same in all tasks of the step, no other's meanwhile; NULL where it
     * gives the step no name */
    const char *key;
    /* task or tasks is unknown: one line that says which variable would tell; else NULL */
    const char *missing;
};

/* Reads them. Calls no daemon and blocks nowhere. OUT_OF_MEMORY alone is a failure: what is not
 * said is unknown. */
BERTH_PUBLIC int berth_launcher_here(struct berth *berth, berth_variable_fn *variable, void *arg,
                                     struct berth_launcher **ret_launcher);
BERTH_PUBLIC void berth_launcher_free(struct berth_launcher *launcher);

/* What the step's tasks on this node may use together, and what the launcher has already given to
 * this one of them. */
struct berth_step {
    /* of all its tasks, and so the same in each: what a Bind for all of them is to be asked with */
    struct berth_allowed allowed;
    const char *cpus;        /* the calling thread's affinity */
    struct berth_texts gpus; /* those that the variables leave visible; item NULL for all */
    /* 1: the launcher has given this task cpus, or gpus, of its own */
    int cpus_bound, gpus_bound;
    /* the launcher's, else one by the process that started the tasks, the same in all of them */
    const char *key;
};

/* Looks at what the calling thread may use beside what the process has that started the step's
 * tasks: the nearest ancestor without this task's rank among its variables. A task whose affinity,
 * or whose visible-device variables, are narrower than that one's was bound by the launcher. With
 * Slurm it is bound to gpus when SLURM_STEP_GPUS names fewer than SLURM_GPUS_ON_NODE; allowed then
 * has all of the node's, of which the job's claim leaves its own. Of another process that does not
 * show its variables, the gpus count as shared unless they are fewer than tasks. launcher: with
 * task, tasks and rank as they are known, also when not from a launcher. given: cpus and gpus that
 * may be used instead of all (NULL, or fields NULL: all); with cpus none are bound. Asks the daemon
 * for the node where there are gpus to be told apart. The affinity is widened meanwhile, to see
 * what the cpuset allows, and set back. Fails as berth_allowed_here. */
BERTH_PUBLIC int berth_step_here(struct berth *berth, const struct berth_launcher *launcher,
                                 const struct berth_allowed *given, berth_variable_fn *variable,
                                 void *arg, struct berth_step **ret_step);
BERTH_PUBLIC void berth_step_free(struct berth_step *step);

/* What is taken of a berth. GPUS are the variables that say which gpus are visible, ENVIRONMENT are
 * the others. */
enum berth_part {
    BERTH_PART_CPUS = 1,
    BERTH_PART_MEMORY = 2,
    BERTH_PART_GPUS = 4,
    BERTH_PART_ENVIRONMENT = 8,
    BERTH_PART_ALL = 15
};

/* The berth of this task in a binding for all tasks of its step, borrowed from it, and which parts
 * of it are to be taken so that what the launcher has bound stays: the one of its number, or, where
 * the launcher has given it gpus, the one that has just these. NULL when there is none. Pure. */
BERTH_PUBLIC const struct berth_task *berth_step_berth(const struct berth_step *step, int task,
                                                       const struct berth_binding *binding,
                                                       unsigned *ret_parts);

/* Takes these parts of a berth: the calling thread's affinity and memory policy, which its children
 * and what it executes inherit, and the process's environment; variables that choose nics
 * (UCX_NET_DEVICES, NCCL_IB_HCA) only where nobody else has set them. Nothing has changed on
 * failure: SYSTEM (the kernel refuses the cpus or the policy), BAD_ARGUMENT (cpus that are no list,
 * or none; a memory that is no NUMA node; a name that no variable has), OUT_OF_MEMORY. Calls no
 * daemon. setenv(3) makes it unsafe beside threads that read the environment. */
BERTH_PUBLIC int berth_apply(struct berth *berth, const struct berth_task *task, unsigned parts);

/* ---- Allocate: which memory ---- */

enum berth_memory_kind {
    BERTH_KIND_UNKNOWN,
    BERTH_KIND_SYSTEM,
    BERTH_KIND_PINNED,
    BERTH_KIND_MANAGED,
    BERTH_KIND_DEVICE
};

/* Who touches the buffer and how much: by is a place; random accesses come in cache lines. cores: 0
 * leaves it to the daemon. */
struct berth_access {
    const char *by;
    int64_t reads_bytes, writes_bytes;
    int random, cores;
};

/* Initialise with berth_allocate_request_init; only bytes must be set. Without accesses the
 * caller's cores stream over it once. */
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
    const char *call; /* what to call, in the words of its programming interface */
    struct berth_prediction predicted;
    int64_t free_bytes, free_at_s;
    const struct berth_evidence *why;
    size_t why_count;
};

struct berth_allocation {
    const struct berth_memory_option *options; /* best first */
    size_t option_count;
    struct berth_texts warnings;
    struct berth_basis basis;
    struct berth_texts reasons; /* what decided, a sentence each */
};

BERTH_PUBLIC void berth_allocate_request_init(struct berth_allocate_request *request);
BERTH_PUBLIC int berth_allocate(struct berth *berth, const struct berth_allocate_request *request,
                                struct berth_allocation **ret_allocation);
BERTH_PUBLIC void berth_allocation_free(struct berth_allocation *allocation);

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
    const char *series; /* metric, from, to and the axes that are not at their defaults */
    const char *unit;
    double value, expected;
};

struct berth_finding {
    enum berth_severity severity;
    const char *place, *code, *text, *unit;
    double value, expected;
    int64_t since_s;
    size_t
        explains; /* slow values that have no finding of their own, because this is their cause */
    const struct berth_slow_value *slow; /* the worst of them, at most 16 */
    size_t slow_count;
};

struct berth_health {
    enum berth_verdict verdict;
    int drain;          /* 1: berth advises to take the node out of service */
    const char *reason; /* one line of at most 120 characters */
    const struct berth_finding *findings;
    size_t finding_count;
    int64_t last_probe_at_s;
    const char *snapshot;
    enum berth_origin origin;
};

/* places NULL: the whole node. */
BERTH_PUBLIC int berth_check(struct berth *berth, const char *const *places, size_t place_count,
                             struct berth_health **ret_health);
BERTH_PUBLIC void berth_health_free(struct berth_health *health);

/* ---- GetMatrix: what was measured ---- */

/* Initialise with {0} and set metric. from, to: item NULL for all places; where: axes that must
 * have a value. at_s: 0 for now, else as it was then, which this version refuses with UNAVAILABLE.
 */
struct berth_matrix_request {
    const char *metric;
    struct berth_texts from, to;
    struct berth_pairs where;
    int64_t at_s;
};

/* value is NAN when there is none, and why_not then says why. */
struct berth_cell {
    const char *from, *to;
    struct berth_pairs axes;
    double value, low, high;
    int64_t repetitions; /* behind the value; -1 unknown */
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

BERTH_PUBLIC int berth_get_matrix(struct berth *berth, const struct berth_matrix_request *request,
                                  struct berth_matrix **ret_matrix);
BERTH_PUBLIC void berth_matrix_free(struct berth_matrix *matrix);

#ifdef __cplusplus
}
#endif
#endif
