/* berthd: builds struct daemon, connects it to the loop and the signals, and ends it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "base/free_memory.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/peer.h"
#include "base/process_limits.h"
#include "base/service_manager.h"
#include "measure/guardian.h"
#include "measure/offspring.h"
#include "measure/sched.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/hwloc_keep.h"
#include "varlink/listen.h"
#include "varlink/method.h"
#include "varlink/server.h"

/* Smallest allocation that is returned to the system when freed. glibc would raise it at the first
 * such free. */
#define LARGE_BYTES (1 << 20)

#define DEFAULT_CONFIG BERTH_SYSCONFDIR "/berth.conf"

struct options {
    const char *config_file, *node, *socket, *state_dir;
    bool check_config, no_probe;
};

/* State for the lifetime of the loop. */
struct process {
    struct daemon daemon;
    struct options options;
    uv_loop_t loop;
    uv_signal_t term, interrupt, hangup, child;
    uv_timer_t watchdog;
    uv_poll_t highest; /* see reserve_table */
    uv_idle_t first_turn;
    struct log_limit log;
    struct hwloc_keep hwloc;
    int lock_fd;
    bool stopping;
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check-config", no_argument, NULL, 'C'},
    {"node", required_argument, NULL, 'n'},
    {"socket", required_argument, NULL, 's'},
    {"state-dir", required_argument, NULL, 'd'},
    {"no-probe", no_argument, NULL, 'P'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("berthd " BERTH_VERSION
           ": measures this node and answers placement, allocation and health questions\n\n"
           "  --config FILE     configuration (default " DEFAULT_CONFIG ", if it is there)\n"
           "  --check-config    read it, print what is in force, and exit\n"
           "  --node FOLDER     serve a recorded node instead of this machine: measures nothing, "
           "keeps nothing\n"
           "  --socket PATH     Unix socket to listen on\n"
           "  --state-dir DIR   where berth.db is kept\n"
           "  --no-probe        measure nothing at the start\n"
           "  --help, --version\n\n"
           "berth(1) asks it. SIGHUP: read the configuration again and look at the node again.\n");
}

/* Returns true to continue; otherwise *ret_status is the exit status. */
static bool parse_options(int argc, char **argv, struct options *ret_options, int *ret_status)
{
    int option;
    *ret_status = 64;
    /* getopt's messages begin with the path of the program and lack a hint at help */
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        switch (option) {
        case 'c':
            ret_options->config_file = optarg;
            break;
        case 'C':
            ret_options->check_config = true;
            break;
        case 'n':
            ret_options->node = optarg;
            break;
        case 's':
            ret_options->socket = optarg;
            break;
        case 'd':
            ret_options->state_dir = optarg;
            break;
        case 'P':
            ret_options->no_probe = true;
            break;
        case 'h':
            print_help();
            *ret_status = 0;
            return false;
        case 'V':
            puts("berthd " BERTH_VERSION);
            *ret_status = 0;
            return false;
        case ':':
            fprintf(stderr, "berthd: %s needs a value (berthd --help)\n", argv[optind - 1]);
            return false;
        default:
            fprintf(stderr, "berthd: no option %s (berthd --help)\n", argv[optind - 1]);
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "berthd: unexpected argument %s (berthd --help)\n", argv[optind]);
        return false;
    }
    return true;
}

static enum berth_code load_config(const struct options *options, struct config *ret_config,
                                   struct berth_err *err)
{
    struct config config;
    enum berth_code code = config_init(&config, err);
    if (code != BERTH_OK)
        return code;
    if (options->config_file != NULL)
        code = config_read(&config, options->config_file, err);
    else if (access(DEFAULT_CONFIG, F_OK) == 0)
        code = config_read(&config, DEFAULT_CONFIG, err);
    if (code == BERTH_OK && options->node != NULL && options->node[0] == '\0')
        code = err_set(err, BERTH_BAD_CONFIG,
                       "--node takes a folder, not \"\"; without it this machine is served");
    if (code == BERTH_OK && options->node != NULL)
        code = config_set(&config, "node", options->node, err);
    if (code == BERTH_OK && options->socket != NULL)
        code = config_set(&config, "socket", options->socket, err);
    if (code == BERTH_OK && options->state_dir != NULL)
        code = config_set(&config, "state_dir", options->state_dir, err);
    if (code == BERTH_OK && options->no_probe)
        code = config_set(&config, "probe_at_start", "no", err);
    if (code == BERTH_OK && config.socket == NULL)
        code = err_set(err, BERTH_BAD_CONFIG, "socket must not be empty");
    if (code != BERTH_OK) {
        config_done(&config);
        return code;
    }
    *ret_config = config;
    return BERTH_OK;
}

/* Warns of an admin group that does not exist: its members could not measure, without any other
 * sign. */
static void check_admins(const struct config *config)
{
    if (config->admin_group != NULL && !peer_admins_of(config->admin_group).has_group)
        log_line(LOG_LEVEL_WARNING,
                 "admin_group: there is no group %s; only root and the daemon's user may measure",
                 config->admin_group);
}

static const struct snapshot *current_snapshot(struct daemon *daemon)
{
    return sched_snapshot(daemon->sched);
}

static void work_ended(struct daemon *daemon) { sched_store_used(daemon->sched); }

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void sched_stopped(void *arg)
{
    struct process *process = arg;
    close_handle(&process->term);
    close_handle(&process->interrupt);
    close_handle(&process->hangup);
    close_handle(&process->child);
    close_handle(&process->watchdog);
}

static void server_closed(void *arg)
{
    struct process *process = arg;
    process->daemon.server = NULL;
    claim_keep_stop(process->daemon.claims);
    sched_stop(process->daemon.sched, sched_stopped, process);
}

static void stop(uv_signal_t *handle, int number)
{
    struct process *process = handle->data;
    if (process->stopping)
        return;
    process->stopping = true;
    log_line(LOG_LEVEL_INFO, "stopping (%s)", strsignal(number));
    service_manager_send(process->daemon.notify, "STOPPING=1");
    sched_cancel(process->daemon.sched);
    claim_keep_end_waits(process->daemon.claims);
    server_close(process->daemon.server, server_closed, process);
}

/* Reads the configuration again. Socket, hwloc's file, state directory and node need a restart to
 * change. */
static void reload(uv_signal_t *handle, int number)
{
    (void)number;
    struct process *process = handle->data;
    struct daemon *daemon = &process->daemon;
    if (process->stopping)
        return;
    service_manager_send(daemon->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
                         (unsigned long long)(clock_mono_ns(&daemon->clock) / 1000));
    struct config config;
    struct berth_err err = {0};
    if (load_config(&process->options, &config, &err) != BERTH_OK) {
        log_line(LOG_LEVEL_ERROR, "the configuration stays as it was: %s", err.detail);
    } else {
        struct config old = daemon->config;
        daemon->config = config;
        char *const kept[] = {daemon->config.socket, daemon->config.state_dir, daemon->config.node};
        daemon->config.socket = old.socket;
        daemon->config.state_dir = old.state_dir;
        daemon->config.node = old.node;
        old.socket = kept[0];
        old.state_dir = kept[1];
        old.node = kept[2];
        config_done(&old);
        struct server_limits limits = server_limits_of(&daemon->config);
        server_configure(daemon->server, &limits, daemon->config.admin_group);
        check_admins(&daemon->config);
        log_line(LOG_LEVEL_INFO, "configuration read again");
    }
    sched_reload(daemon->sched);
    service_manager_send(daemon->notify, "READY=1");
}

static void pet_watchdog(uv_timer_t *timer)
{
    struct process *process = timer->data;
    service_manager_send(process->daemon.notify, "WATCHDOG=1");
}

/* Returns memory that discovery freed to the system, after the first turn of the loop: then the
 * daemon may sleep for hours. */
static void first_turn(uv_idle_t *idle)
{
    uv_close((uv_handle_t *)idle, NULL);
    malloc_trim(0);
}

static enum berth_code open_socket(struct process *process, int *ret_fd, const char **ret_unlink,
                                   struct berth_err *err)
{
    const struct config *config = &process->daemon.config;
    int fd = -1, count = 0;
    enum berth_code code = listen_activated(&fd, &count, err);
    if (code != BERTH_OK)
        return code;
    if (count > 1)
        return err_set(err, BERTH_BAD_CONFIG,
                       "the service manager passed %d sockets, berthd serves one", count);
    if (count == 0) {
        code = listen_path(config->socket, (mode_t)config->socket_mode, config->socket_group, &fd,
                           &process->lock_fd, err);
        if (code != BERTH_OK)
            return code;
        *ret_unlink = config->socket;
    }
    *ret_fd = fd;
    return BERTH_OK;
}

/* Opens the free memory; if it cannot be read, it is unknown, which is no reason to stop. */
static enum berth_code open_free_memory(struct daemon *daemon, struct berth_err *err)
{
    struct berth_err why = {0};
    enum berth_code code = free_memory_new(&daemon->io, &daemon->clock, &daemon->free_memory, &why);
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "%s", why.detail);
    if (code != BERTH_OK)
        log_line(LOG_LEVEL_NOTICE, "free memory is unknown: %s", why.detail);
    return BERTH_OK;
}

static enum berth_code start(struct process *process, struct berth_err *err)
{
    struct daemon *daemon = &process->daemon;
    int fd = -1;
    const char *unlink_path = NULL;
    /* The socket comes first. It decides which of two daemons continues, and callers may queue
     * during discovery. */
    enum berth_code code = open_socket(process, &fd, &unlink_path, err);
    if (code != BERTH_OK)
        return code;
    struct sched_env env = {&process->loop, &daemon->clock, &daemon->io, &daemon->config,
                            &daemon->notifier};
    code = sched_new(&env, &daemon->sched, err);
    struct claim_keep_env claims = {&process->loop,  &daemon->clock,    &daemon->io,
                                    &daemon->config, &daemon->notifier, daemon->sched,
                                    &process->log};
    if (code == BERTH_OK)
        code = claim_keep_new(&claims, &daemon->claims, err);
    if (code == BERTH_OK && daemon->config.node == NULL)
        code = open_free_memory(daemon, err);
    struct server_config server = {
        .methods = methods,
        .daemon = daemon,
        .snapshot = current_snapshot,
        .worked = work_ended,
        .notifier = &daemon->notifier,
        .log = &process->log,
        .limits = server_limits_of(&daemon->config),
        .admin_group = daemon->config.admin_group,
        .vendor = "berth",
        .product = "berthd",
        .version = BERTH_VERSION,
        .url = "",
        .check_replies = BERTH_DEBUG,
    };
    if (code == BERTH_OK)
        code = server_new(&process->loop, &server, &daemon->server, err);
    if (code == BERTH_OK)
        code = server_listen(daemon->server, fd, unlink_path, err);
    if (code != BERTH_OK && unlink_path != NULL)
        unlink(unlink_path);
    return code;
}

static void ignore(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
}

/* Reserves libuv's table of descriptors. It grows with the highest one watched, and libuv aborts
 * when memory for that runs out (uv__io_start, maybe_resize). So a descriptor as high as any is
 * watched briefly now, when an end is still harmless. */
static enum berth_code reserve_table(struct process *process, struct berth_err *err)
{
    enum { OTHERS = 256 };
    const struct config *config = &process->daemon.config;
    struct rlimit limit;
    rlim_t count = (rlim_t)(config->max_connections + 2 * config->claims_in_all + OTHERS);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < count)
        count = limit.rlim_cur;
    void *room = malloc(2 * count * sizeof(void *)); /* the table's largest size */
    if (room == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for %ju descriptors", (uintmax_t)count);
    free(room);
    int fd = eventfd(0, EFD_CLOEXEC),
        high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, (int)count - 1) : -1;
    if (high >= 0 && uv_poll_init(&process->loop, &process->highest, high) == 0) {
        uv_poll_start(&process->highest, UV_READABLE, ignore);
        uv_close((uv_handle_t *)&process->highest, NULL);
        uv_run(&process->loop, UV_RUN_NOWAIT);
    }
    if (high >= 0)
        close(high);
    if (fd >= 0)
        close(fd);
    return BERTH_OK;
}

static void no_work(uv_work_t *request) { (void)request; }

/* Starts the thread pool. libuv starts its threads at the first work and aborts if it cannot, so do
 * it now, while process_limits_memory counts. */
static void start_pool(struct process *process)
{
    uv_work_t request;
    uv_queue_work(&process->loop, &request, no_work, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
}

/* Ignores signals that would end the daemon, including real-time ones. Programs that it starts get
 * the defaults. */
static void ignore_signals(void)
{
    static const int numbers[] = {SIGHUP,  SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
                                  SIGPROF, SIGXFSZ, SIGXCPU, SIGPOLL, SIGPWR,  SIGSTKFLT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], SIG_IGN);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
}

static void child_ended(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    offspring_end_adopted("/proc");
}

static void watch_signal(struct process *process, uv_signal_t *handle, uv_signal_cb callback,
                         int number)
{
    uv_signal_init(&process->loop, handle);
    handle->data = process;
    uv_signal_start(handle, callback, number);
}

/* A missing file costs tasks some time, and is no reason to stop. */
static void keep_hwloc(struct process *process)
{
    struct daemon *daemon = &process->daemon;
    struct berth_err err = {0};
    if (hwloc_keep_begin(&process->hwloc, &process->loop, &daemon->notifier, daemon->sched,
                         &daemon->config, &daemon->io, &err) != BERTH_OK)
        log_line(LOG_LEVEL_NOTICE, "tasks have no topology file for hwloc: %s", err.detail);
}

static void run(struct process *process)
{
    struct daemon *daemon = &process->daemon;
    watch_signal(process, &process->term, stop, SIGTERM);
    watch_signal(process, &process->interrupt, stop, SIGINT);
    watch_signal(process, &process->hangup, reload, SIGHUP);
    watch_signal(process, &process->child, child_ended, SIGCHLD);
    uv_unref((uv_handle_t *)&process->child);
    uv_timer_init(&process->loop, &process->watchdog);
    process->watchdog.data = process;
    uint64_t period_ms = service_manager_watchdog_ms(daemon->notify);
    if (period_ms > 0)
        uv_timer_start(&process->watchdog, pet_watchdog, period_ms, period_ms);
    uv_idle_init(&process->loop, &process->first_turn);
    uv_idle_start(&process->first_turn, first_turn);
    sched_begin(daemon->sched);
    keep_hwloc(process);
    const struct graph *graph = sched_snapshot(daemon->sched)->graph;
    log_line(LOG_LEVEL_INFO, "serving %s (%s): %zu packages, %zu NUMA nodes, %zu cores, %zu gpus",
             graph->name, origin_name(graph->origin), graph_count(graph, PLACE_PACKAGE),
             graph_count(graph, PLACE_NUMA), graph_count(graph, PLACE_CORE),
             graph_count(graph, PLACE_GPU));
    service_manager_send(daemon->notify, "READY=1\nSTATUS=serving %s (%s)", graph->name,
                         origin_name(graph->origin));
    uv_run(&process->loop, UV_RUN_DEFAULT);
}

static void nothing(void *arg) { (void)arg; }

/* Ends started parts in order after a failed start. */
static void give_up(struct process *process)
{
    struct daemon *daemon = &process->daemon;
    if (daemon->sched == NULL)
        return;
    if (daemon->server != NULL)
        server_close(daemon->server, nothing, NULL);
    claim_keep_stop(daemon->claims);
    sched_stop(daemon->sched, nothing, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
}

static enum berth_code serve(struct process *process, struct berth_err *err)
{
    struct daemon *daemon = &process->daemon;
    enum berth_code code = process_limits_descriptors(err);
    if (code == BERTH_OK)
        code = process_limits_memory(err);
    if (code != BERTH_OK)
        return code;
    daemon->clock = clock_system();
    daemon->io = (struct files){.root = ""};
    daemon->started_at_s = clock_now_s(&daemon->clock);
    int failed = uv_loop_init(&process->loop);
    if (failed != 0)
        return err_set(err, failed == UV_ENOMEM ? BERTH_NO_MEMORY : BERTH_IO, "cannot begin: %s",
                       uv_strerror(failed));
    log_limit_init(&process->log, &process->loop);
    daemon->notify = service_manager_new();
    start_pool(process);
    code = reserve_table(process, err);
    if (code == BERTH_OK)
        code = start(process, err);
    if (code == BERTH_OK)
        run(process);
    else
        give_up(process);
    for (int i = 0; i < 100 && offspring_end_adopted("/proc") > 0; i++)
        usleep(1000); /* a process that survives SIGKILL for so long is blocked by a driver */
    log_limit_close(&process->log);
    uv_run(&process->loop, UV_RUN_NOWAIT);
    hwloc_keep_done(&process->hwloc);
    claim_keep_free(daemon->claims);
    map_keep_done(&daemon->maps);
    plan_cache_done(&daemon->plans);
    report_keep_done(&daemon->reports);
    sched_free(daemon->sched);
    free_memory_free(daemon->free_memory);
    service_manager_free(daemon->notify);
    uv_loop_close(&process->loop);
    return code;
}

/* Opens closed standard descriptors. Otherwise the next socket or file would get their number and
 * the log's lines. Writing to these fails instead. */
static void fill_standard_descriptors(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_PATH | O_CLOEXEC);
    close(fd);
}

int main(int argc, char **argv)
{
    if (guardian_is_requested(argv))
        guardian_main(argv);
    struct process process = {.lock_fd = -1};
    fill_standard_descriptors();
    ignore_signals();
    /* adopts the descendants of a killed guardian; see child_ended */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    struct berth_err err = {0};
    int status;
    if (!parse_options(argc, argv, &process.options, &status))
        return status;
    enum berth_code code = load_config(&process.options, &process.daemon.config, &err);
    if (code == BERTH_OK)
        check_admins(&process.daemon.config);
    if (code == BERTH_OK && process.options.check_config)
        config_print(&process.daemon.config, stdout);
    else if (code == BERTH_OK)
        code = serve(&process, &err);
    config_done(&process.daemon.config);
    if (code == BERTH_OK)
        return 0;
    log_line(LOG_LEVEL_ERROR, "%s", err.detail);
    return err_info(code)->exit_status;
}
