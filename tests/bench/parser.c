/* What a process that parses and checks messages would add to each: parser MESSAGES prints, for
 * some sizes of a call, the time to parse and check it here, and that of a round trip to a child
 * which does so and sends back what it has found, to be taken for true, or to be read again. Its
 * last line is the child's memory and start. */
#include "bench.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "base/embedded.h"
#include "varlink/dispatch.h"
#include "varlink/idl.h"

static const struct idl_type *parameters_of(const char *interface, const char *method)
{
    const struct embedded_file *file = embedded_interfaces;
    struct idl *idl = NULL;
    struct berth_err err = {0};
    while (file->name != NULL && strncmp(file->name, interface, strlen(interface)) != 0)
        file++;
    if (file->name == NULL || idl_parse(file->text, file->length, &idl, &err) != BERTH_OK)
        bench_die("the interface file");
    return idl_find(idl, IDL_METHOD, method)->in;
}

/* The message, checked; the caller ends it. */
static struct dispatch read_call(const struct idl_type *type, const char *text, size_t length)
{
    struct dispatch call;
    struct berth_err err = {0};
    if (dispatch_open(&call, text, length, &err) != BERTH_OK ||
        idl_check(type, json_object_get(call.message, "parameters"), &err) != BERTH_OK)
        bench_die(err.detail);
    return call;
}

static void receive(int fd, void *data, size_t length)
{
    for (char *at = data; length > 0;) {
        ssize_t count = read(fd, at, length);
        if (count <= 0)
            _exit(0); /* the other side has ended */
        at += count;
        length -= (size_t)count;
    }
}

static void deliver(int fd, const void *data, size_t length)
{
    for (const char *at = data; length > 0;) {
        ssize_t count = write(fd, at, length);
        if (count <= 0)
            bench_die("write");
        at += count;
        length -= (size_t)count;
    }
}

static _Noreturn void parse_for_others(int fd, const struct idl_type *type, char *text)
{
    for (;;) {
        size_t length;
        receive(fd, &length, sizeof length);
        receive(fd, text, length);
        struct dispatch call = read_call(type, text, length);
        char *checked = json_dumps(call.message, JSON_COMPACT);
        length = strlen(checked);
        deliver(fd, &length, sizeof length);
        deliver(fd, checked, length);
        free(checked);
        dispatch_done(&call);
    }
}

/* What no other process shares. */
static long memory_kib(pid_t child)
{
    char path[64], line[128];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)child);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Private_", 8) == 0)
            kib += strtol(strchr(line, ':') + 1, NULL, 10);
    if (file != NULL)
        fclose(file);
    return kib;
}

/* The quietest median of a batch. */
static double take(bool away, bool again, int fd, const struct idl_type *type, const char *text,
                   size_t length, char *room, size_t count)
{
    double *took = calloc(count, sizeof *took);
    for (size_t i = 0; took != NULL && i < count; i++) {
        double begin = bench_now_ns();
        size_t size = length;
        if (away) {
            deliver(fd, &length, sizeof length);
            deliver(fd, text, length);
            receive(fd, &size, sizeof size);
            receive(fd, room, size);
        }
        if (!away || again) {
            struct dispatch call = read_call(type, away ? room : text, size);
            dispatch_done(&call);
        }
        took[i] = bench_now_ns() - begin;
    }
    double best = took != NULL ? bench_quietest(took, count) : 0;
    free(took);
    return best;
}

int main(int argc, char **argv)
{
    static const size_t names[] = {0, 8, 1000, 10000, 100000};
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t most = 1u << 20;
    const struct idl_type *type = parameters_of("io.berth.Health", "Check");
    char *text = malloc(most), *room = malloc(most);
    int fds[2];
    if (text == NULL || room == NULL || count < BENCH_BATCHES ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        bench_die("parser MESSAGES");
    double begin = bench_now_ns();
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        parse_for_others(fds[1], type, room);
    }
    double fork_ns = bench_now_ns() - begin;
    long at_rest = 0;
    close(fds[1]);
    printf("%10s %12s %12s %12s\n", "bytes", "here us", "child us", "read again us");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = (size_t)sprintf(
            text, "{\"method\":\"io.berth.Health.Check\",\"parameters\":{\"places\":[");
        for (size_t n = 0; n < names[i]; n++)
            length += (size_t)sprintf(text + length, "%s\"gpu%zu\"", n > 0 ? "," : "", n % 8);
        length += (size_t)sprintf(text + length, "]}}");
        size_t repeats = length > 10000 ? (count + 9) / 10 : count;
        repeats = repeats < BENCH_BATCHES ? BENCH_BATCHES : repeats;
        printf("%10zu %12.1f", length,
               take(false, false, fds[0], type, text, length, room, repeats) / 1e3);
        printf(" %12.1f", take(true, false, fds[0], type, text, length, room, repeats) / 1e3);
        printf(" %12.1f\n", take(true, true, fds[0], type, text, length, room, repeats) / 1e3);
        at_rest = i == 0 ? memory_kib(child) : at_rest;
    }
    printf("the child: begun in %.0f us, %ld KiB of its own at rest, %ld after the largest\n",
           fork_ns / 1e3, at_rest, memory_kib(child));
    close(fds[0]);
    waitpid(child, NULL, 0);
    free(text);
    free(room);
    return 0;
}
