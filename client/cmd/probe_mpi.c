/* berth probe --mpi and --records: runs berth-probe-mpi under mpiexec as this user, and has the
 * daemon store its records. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/probe_mpi.h"
#include "ui/answer.h"

#ifndef BERTH_MPIEXEC
#define BERTH_MPIEXEC "mpiexec"
#endif
#define PROGRAM      "berth-probe-mpi"
#define WORDS_MOST   64
#define TAIL_WORDS   6 /* the probe and its options */
#define RECORDS_MOST (16 << 20)
#define END_MS       5000 /* for the launcher to end behind its output */
#define TTL_S        60   /* of the claim, behind the limit */
#define RANKS_MOST   64   /* without --ranks */
#define RANKS_A_CORE 2    /* with it, and 4 anywhere: more would only wait for each other */

/* ---- records ---- */

/* Text of records, without progress and without what a launcher prints of its own. */
struct records {
    FILE *file;
    char *text;
    size_t size;
    char line[65536];
    size_t used;
    bool is_cut;     /* the line is longer */
    char other[120]; /* first line that is no record */
};

static struct records *new_records(void)
{
    struct records *records = calloc(1, sizeof *records);
    if (records != NULL &&
        (records->file = open_memstream(&records->text, &records->size)) == NULL) {
        free(records);
        records = NULL;
    }
    return records;
}

static void free_records(struct records *records)
{
    fclose(records->file);
    free(records->text);
    free(records);
}

static void add_line(struct records *records)
{
    static const char record[] = "{\"record\":", progress[] = "{\"record\":\"progress\"";
    records->line[records->used] = '\0';
    if (strncmp(records->line, record, sizeof record - 1) != 0 || records->is_cut) {
        if (records->other[0] == '\0')
            snprintf(records->other, sizeof records->other, "%.100s", records->line);
    } else if (strncmp(records->line, progress, sizeof progress - 1) != 0) {
        fwrite(records->line, 1, records->used, records->file);
        fputc('\n', records->file);
    }
    records->used = 0;
    records->is_cut = false;
}

static void add_bytes(struct records *records, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n')
            add_line(records);
        else if (records->used + 1 < sizeof records->line)
            records->line[records->used++] = bytes[i];
        else
            records->is_cut = true;
    }
}

static bool is_too_much(const struct records *records)
{
    return fflush(records->file) != 0 || records->size > RECORDS_MOST;
}

/* Has the daemon store them, and shows how many values there are. */
static int store(struct cmd *cmd, struct records *records)
{
    json_t *reply = NULL;
    if (fflush(records->file) != 0)
        return cmd_fail_memory();
    if (records->size == 0)
        return cmd_fail(CMD_DATA, "there are no records%s%s%s",
                        records->other[0] != '\0' ? ", but: \"" : "", records->other,
                        records->other[0] != '\0' ? "\"" : "");
    int status = cmd_ask(cmd, "io.berth.Health.AddRun",
                         json_pack("{s:s%}", "records", records->text, records->size), &reply);
    if (status == CMD_DONE)
        status = cmd_show(cmd, reply, ui_probe_summary);
    if (status == CMD_DONE && json_integer_value(json_object_get(reply, "measured")) == 0)
        status = cmd_fail(CMD_AGAIN, "nothing was measured");
    json_decref(reply);
    return status;
}

int cmd_probe_records(struct cmd *cmd, const char *path)
{
    struct records *records = new_records();
    if (records == NULL)
        return cmd_fail_memory();
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC),
        status = CMD_DONE;
    char bytes[4096];
    for (ssize_t got = 1; status == CMD_DONE && got > 0;) {
        got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
        if (got < 0)
            status = cmd_fail(CMD_IO, "cannot read %.200s: %s", path, strerror(errno));
        else
            add_bytes(records, bytes, (size_t)got);
        if (status == CMD_DONE && is_too_much(records))
            status = cmd_fail(CMD_DATA, "%.200s has more than 16 MiB of records", path);
    }
    if (status == CMD_DONE)
        status = store(cmd, records);
    if (fd >= 0)
        close(fd);
    free_records(records);
    return status;
}

/* ---- the launcher ---- */

/* Command line of the launcher: its words, ranks, the probe. */
struct launch {
    char *words, tail[64]; /* cut up */
    char *word[WORDS_MOST + 1];
    size_t word_count;
    char program[PATH_MAX];
    pid_t parent;
    long rank_count, cores;
    int64_t limit_s;
    bool is_full;
};

/* The probe beside this program, else the installed one. */
static int find_program(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof "/" PROGRAM);
    if (length > 0) {
        path[length] = '\0';
        strcpy(strrchr(path, '/') + 1, PROGRAM);
        if (access(path, X_OK) == 0)
            return CMD_DONE;
    }
    snprintf(path, PATH_MAX, "%s/%s", BERTH_LIBEXECDIR, PROGRAM);
    return access(path, X_OK) == 0
               ? CMD_DONE
               : cmd_fail(CMD_SYSTEM, "there is no %s: it is built where there is mpicc", path);
}

static int count_cores(const json_t *node, long *ret_cores)
{
    const json_t *place;
    size_t i;
    const char *origin = ui_member(json_object_get(node, "basis"), "origin");
    *ret_cores = 0;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        *ret_cores += strcmp(ui_member(place, "kind"), "core") == 0;
    }
    return strcmp(origin, "live") == 0
               ? CMD_DONE
               : cmd_fail(CMD_DATA, "the node is %s: only a live one is measured", origin);
}

/* Adds the words of a text, which it cuts up. */
static void add_words(struct launch *launch, char *text)
{
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word != NULL && launch->word_count < WORDS_MOST;
         word = strtok_r(NULL, " ", &save))
        launch->word[launch->word_count++] = word;
}

/* Writes the words "mpiexec -n 4 PROGRAM --child --ranks 4 --profile quick". */
static int make_words(struct launch *launch, const char *launcher)
{
    if (asprintf(&launch->words, "%s -n %ld", launcher, launch->rank_count) < 0)
        return cmd_fail_memory();
    add_words(launch, launch->words);
    if (launch->word_count < 3 || launch->word_count + TAIL_WORDS >= WORDS_MOST)
        return cmd_fail(CMD_USAGE, "--launcher takes 1 to %d words", WORDS_MOST - TAIL_WORDS - 3);
    launch->word[launch->word_count++] = launch->program;
    snprintf(launch->tail, sizeof launch->tail, "--child --ranks %ld --profile %s",
             launch->rank_count, launch->is_full ? "full" : "quick");
    add_words(launch, launch->tail);
    return CMD_DONE;
}

/* Open MPI starts nothing as root, and no more ranks than cores, unless the environment says so. */
static void prepare_environment(const struct launch *launch)
{
    if (geteuid() == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    }
    if (launch->rank_count > launch->cores) {
        setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
        setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
    }
}

/* Runs in the child: a process group of its own, which ends with this command. Begins when the node
 * is claimed, with a byte of standard input. */
static void become_launcher(const struct launch *launch, int claimed, int output, int errors)
{
    char begin;
    int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launch->parent || read(claimed, &begin, 1) != 1 || nothing < 0 ||
        dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0)
        _exit(126);
    prepare_environment(launch);
    execvp(launch->word[0], launch->word);
    dprintf(STDERR_FILENO, "cannot run %.100s: %s\n", launch->word[0], strerror(errno));
    _exit(127);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the output ends or the time is over. */
static int read_output(int fd, const struct launch *launch, struct records *records)
{
    int64_t end_ms = now_ms() + launch->limit_s * 1000;
    char bytes[16384];
    for (;;) {
        int64_t rest_ms = end_ms - now_ms();
        struct pollfd output = {.fd = fd, .events = POLLIN};
        int ready = rest_ms > 0 ? poll(&output, 1, (int)rest_ms) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return cmd_fail(CMD_AGAIN, "%.100s was ended after %lld s", launch->word[0],
                            (long long)launch->limit_s);
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got <= 0)
            return CMD_DONE;
        add_bytes(records, bytes, (size_t)got);
        if (is_too_much(records))
            return cmd_fail(CMD_DATA, "%.100s printed more than 16 MiB", launch->word[0]);
    }
}

/* Waits for the process; ends its group when it takes longer. Returns its status. */
static int end_launcher(pid_t pid, bool is_over)
{
    int status = 0;
    int64_t killed_ms = now_ms() + (is_over ? 0 : END_MS), gone_ms = killed_ms + 2000;
    bool is_asked = false;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (now_ms() >= gone_ms) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            return status;
        }
        if (now_ms() >= killed_ms && !is_asked) {
            kill(-pid, SIGTERM);
            is_asked = true;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-pid, SIGKILL); /* what it left behind */
    return status;
}

/* Fails with the last line of standard error that is a sentence. */
static int fail_launcher(const struct launch *launch, int errors, int ended)
{
    char text[4096] = "", *line, *save = NULL;
    ssize_t length = pread(errors, text, sizeof text - 1, 0);
    text[length > 0 ? (size_t)length : 0] = '\0';
    char *found = strstr(text, PROGRAM ": ");
    if (found != NULL) {
        found[strcspn(found, "\n")] = '\0';
        return cmd_fail(CMD_AGAIN, "%.400s", found);
    }
    for (line = strtok_r(text, "\n", &save); line != NULL && line[strspn(line, "-= \t")] == '\0';)
        line = strtok_r(NULL, "\n", &save);
    if (line != NULL)
        return cmd_fail(CMD_AGAIN, "%.100s: %.300s", launch->word[0], line);
    return cmd_fail(CMD_AGAIN, "%.100s ended with status %d", launch->word[0],
                    WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended));
}

/* Claims the node, so that nothing is measured beside it and no job begins. The claim is the
 * launcher's: where this command is killed, it lasts until the launcher has ended its ranks. */
static int claim_node(struct cmd *cmd, pid_t launcher, int64_t limit_s, json_t **ret_claim)
{
    return cmd_ask(cmd, "io.berth.Placement.Claim",
                   json_pack("{s:[s],s:s,s:i,s:I}", "places", "machine0", "purpose", "compute",
                             "owner_pid", (int)launcher, "ttl_s", (json_int_t)limit_s + TTL_S),
                   ret_claim);
}

/* Pipes between this command and the launcher, and the file of its standard error. */
struct ends {
    int begin[2], output[2], errors;
};

static void close_ends(struct ends *ends)
{
    int *all[] = {&ends->begin[0], &ends->begin[1], &ends->output[0], &ends->output[1],
                  &ends->errors};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (*all[i] >= 0)
            close(*all[i]);
}

static int fail_start(int number)
{
    return cmd_fail(CMD_SYSTEM, "cannot run the probe: %s", strerror(number));
}

/* Lets the launcher begin under a claim, and reads what it prints. */
static int run_claimed(struct cmd *cmd, const struct launch *launch, pid_t pid, struct ends *ends,
                       struct records *records)
{
    json_t *claim = NULL;
    int status = claim_node(cmd, pid, launch->limit_s, &claim), ended;
    if (status == CMD_DONE && write(ends->begin[1], "", 1) != 1)
        status = fail_start(errno);
    if (status == CMD_DONE)
        status = read_output(ends->output[0], launch, records);
    ended = end_launcher(pid, status != CMD_DONE);
    if (status == CMD_DONE && ended != 0)
        status = fail_launcher(launch, ends->errors, ended);
    const char *name = ui_member(json_object_get(claim, "claim"), "claim");
    if (claim != NULL) /* its owner is gone: the daemon may have ended it already */
        json_decref(
            cmd_try(cmd->berth, "io.berth.Placement.Release", json_pack("{s:s}", "claim", name)));
    json_decref(claim);
    return status;
}

static int run_launcher(struct cmd *cmd, struct launch *launch, struct records *records)
{
    struct ends ends = {{-1, -1}, {-1, -1}, memfd_create("berth-probe", MFD_CLOEXEC)};
    launch->parent = getpid();
    pid_t pid = -1;
    if (ends.errors >= 0 && pipe2(ends.begin, O_CLOEXEC) == 0 && pipe2(ends.output, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0) {
        close(ends.begin[1]); /* the end of this command ends the wait */
        become_launcher(launch, ends.begin[0], ends.output[1], ends.errors);
    }
    int number = errno;
    if (pid > 0) {
        close(ends.output[1]);
        ends.output[1] = -1;
    }
    int status = pid > 0 ? run_claimed(cmd, launch, pid, &ends, records) : fail_start(number);
    close_ends(&ends);
    return status;
}

/* Chooses the number of ranks where the user has not, and refuses too many. */
static int choose_ranks(struct cmd *cmd, struct launch *launch)
{
    const long cores = launch->cores, most = cores * RANKS_A_CORE > 4 ? cores * RANKS_A_CORE : 4;
    if (launch->rank_count > most)
        return cmd_usage(cmd, "--ranks %ld on %ld core%s: at most %ld, %d a core",
                         launch->rank_count, cores, cores == 1 ? "" : "s", most, RANKS_A_CORE);
    if (launch->rank_count == 0)
        launch->rank_count = cores < 2 ? 2 : cores > RANKS_MOST ? RANKS_MOST : cores;
    return CMD_DONE;
}

int cmd_probe_mpi(struct cmd *cmd, const struct cmd_probe_mpi *options)
{
    struct launch launch = {
        .rank_count = options->ranks, .limit_s = options->limit_s, .is_full = options->is_full};
    struct records *records = new_records();
    json_t *node = NULL;
    if (records == NULL)
        return cmd_fail_memory();
    int status = cmd_ask(cmd, "io.berth.Fabric.GetNode", json_object(), &node);
    if (status == CMD_DONE)
        status = count_cores(node, &launch.cores);
    if (status == CMD_DONE)
        status = find_program(launch.program);
    if (status == CMD_DONE)
        status = choose_ranks(cmd, &launch);
    if (status == CMD_DONE)
        status = make_words(&launch, options->launcher != NULL ? options->launcher : BERTH_MPIEXEC);
    if (status == CMD_DONE)
        status = run_launcher(cmd, &launch, records);
    if (status == CMD_DONE)
        status = store(cmd, records);
    free(launch.words);
    free_records(records);
    json_decref(node);
    return status;
}
