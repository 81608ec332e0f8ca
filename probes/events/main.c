/* berth-probe-events: prints the errors that the kernel has logged since the boot. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/emit.h"
#include "common/file.h"
#include "common/options.h"
#include "events/kernel_lines.h"

#define EVENTS_MAX 8192  /* printed; the latest ones */
#define LINE_SIZE  65536 /* longer lines are left out; the kernel's have at most 8192 bytes */

enum { OPT_KMSG = PROBE_OPTIONS_KEY, OPT_OUTPUT, OPT_BOOTED };

static const struct probe_option list[] = {
    {"kmsg", "FILE", "read FILE, or dmesg's text, in place of /dev/kmsg", OPT_KMSG},
    {"booted", "SECONDS", "when the system of FILE booted, since 1970", OPT_BOOTED},
    {"output", "FILE", "replace FILE at once, in place of standard output", OPT_OUTPUT},
};

static const struct probe_options command = {
    .program = "berth-probe-events",
    .about = "Prints errors of GPUs, NVSwitches and PCIe that the kernel has logged, one record a "
             "line.",
    .list = list,
    .count = sizeof list / sizeof *list,
};

struct options {
    const char *kmsg, *output;
    int64_t booted_s; /* 0: this machine's */
};

/* The latest errors; the oldest stands at count % EVENTS_MAX once there are more. */
struct found {
    struct kernel_line *line;
    int64_t count;
};

static int take_option(int key, char *text, void *arg)
{
    struct options *options = arg;
    if (key == OPT_KMSG)
        options->kmsg = text;
    else if (key == OPT_OUTPUT)
        options->output = text;
    else if (!probe_options_integer(text, 1, &options->booted_s))
        return probe_options_usage(&command, "no time", text);
    return -1;
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", command.program, what, strerror(errno));
    return 1;
}

static void take_line(struct found *found, const char *line, int64_t number)
{
    struct kernel_line parsed;
    if (!kernel_lines_parse(line, &parsed))
        return;
    if (parsed.sequence < 0)
        parsed.sequence = number;
    found->line[found->count++ % EVENTS_MAX] = parsed;
}

/* Reads to the end of a file, or of the messages that the kernel still has. */
static bool read_lines(int fd, struct found *found)
{
    char *text = malloc(LINE_SIZE);
    size_t used = 0;
    int64_t number = 0;
    bool is_cut = false, ok = text != NULL;
    while (ok) {
        ssize_t got = read(fd, text + used, LINE_SIZE - 1 - used);
        if (got < 0 && (errno == EPIPE || errno == EINTR))
            continue; /* EPIPE: the kernel overwrote some */
        ok = got >= 0 || errno == EAGAIN;
        if (got <= 0)
            break;
        used += (size_t)got;
        char *line = text, *end;
        for (; (end = memchr(line, '\n', used - (size_t)(line - text))) != NULL; line = end + 1) {
            *end = '\0';
            if (!is_cut)
                take_line(found, line, number);
            is_cut = false;
            number++;
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
        if (used == LINE_SIZE - 1) { /* a line without an end */
            is_cut = true;
            used = 0;
        }
    }
    free(text);
    return ok;
}

static int64_t boot_time_s(const struct options *options)
{
    struct timespec now, since;
    if (options->booted_s > 0)
        return options->booted_s;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_MONOTONIC, &since);
    return now.tv_sec - since.tv_sec;
}

static bool print_records(const struct options *options, const struct found *found, int fd)
{
    struct probe_out out = {.fd = fd, .gate = PTHREAD_MUTEX_INITIALIZER};
    struct probe_line line;
    char boot[64] = "";
    int64_t booted_s = boot_time_s(options);
    int64_t i = found->count > EVENTS_MAX ? found->count - EVENTS_MAX : 0;
    probe_file_text("", boot, sizeof boot, "/proc/sys/kernel/random/boot_id");
    probe_line_begin(&line, "boot");
    probe_line_text(&line, "id", boot);
    bool ok = probe_line_write(&line, &out);
    for (; ok && i < found->count; i++) {
        const struct kernel_line *event = &found->line[i % EVENTS_MAX];
        probe_line_begin(&line, "event");
        probe_line_text(&line, "event", kernel_lines_kind(event->kind));
        probe_line_text(&line, "at", event->at);
        probe_line_integer(&line, "number", event->number);
        probe_line_integer(&line, "at_s", booted_s + event->since_us / 1000000);
        probe_line_integer(&line, "sequence", event->sequence);
        probe_line_text(&line, "text", event->text);
        ok = probe_line_write(&line, &out);
    }
    probe_line_begin(&line, "end");
    return ok && probe_line_write(&line, &out);
}

static int replace(const struct options *options, const struct found *found)
{
    char path[4200];
    int length = snprintf(path, sizeof path, "%s.new", options->output);
    if (length >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return fail("the output");
    }
    unlink(path); /* left by one that was killed */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail(path);
    bool ok = print_records(options, found, fd);
    if (close(fd) != 0 || !ok || rename(path, options->output) != 0) {
        int status = fail(options->output);
        unlink(path);
        return status;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {.kmsg = "/dev/kmsg"};
    int status = probe_options_parse(&command, argc, argv, take_option, &options);
    if (status >= 0)
        return status;
    struct found found = {.line = calloc(EVENTS_MAX, sizeof *found.line)};
    int fd = open(options.kmsg, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || found.line == NULL || !read_lines(fd, &found))
        status = fail(options.kmsg);
    else if (options.output != NULL)
        status = replace(&options, &found);
    else
        status = print_records(&options, &found, STDOUT_FILENO) ? 0 : fail("standard output");
    if (fd >= 0)
        close(fd);
    free(found.line);
    return status;
}
