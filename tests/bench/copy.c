/*
 * Times copies between the host and the first gpu, one copy beside berth_copy, and checks the
 * bytes.
 *
 * copy [--tries N] [MIB...]: sizes in MiB, 64 256 1024 by default. Asks the daemon of BERTH_SOCKET.
 * The host's memory is pinned, where Allocate puts a buffer that the gpu reads. Each size and
 * direction has one line: medians of interleaved copies by the caller's clock, launch to
 * synchronised, and how berth_copy made its copy. Exit status 1 after wrong bytes, or when
 * berth_copy took over 2 % longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/driver.h"

#define TRIES_MAX   99
#define MOST_SLOWER 0.02

struct bench {
    struct berth *berth;
    struct berth_copier *copier;
    struct lib_driver *driver;
    struct berth_buffer *host, *back;
    void *stream, *device;
    size_t bytes; /* of each buffer */
    int tries;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "copy: %s: %s\n", what, why);
    exit(70);
}

static void must(const struct bench *bench, int code, const char *what)
{
    if (code != 0)
        die(what, lib_driver_text(bench->driver, code));
}

static void must_berth(const struct bench *bench, int status, const char *what)
{
    if (status != BERTH_DONE)
        die(what, berth_error_detail(bench->berth));
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double once(const struct bench *bench, bool advised, void *to, const void *from,
                   size_t bytes)
{
    double start = now_ns();
    if (advised)
        must_berth(bench, berth_copy(bench->copier, to, from, bytes, bench->stream), "berth_copy");
    else
        must(bench, lib_driver_copy(bench->driver, to, from, bytes, bench->stream), "a copy");
    must(bench, bench->driver->stream_wait(bench->stream), "wait");
    return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ns, int count)
{
    qsort(ns, (size_t)count, sizeof *ns, compare);
    return ns[count / 2];
}

/* Copies by berth_copy alone, over bytes that are all zero, and looks at each byte. */
static bool arrives(const struct bench *bench, bool to_device, size_t bytes)
{
    char *back = bench->back->data;
    memset(back, 0, bytes);
    once(bench, false, bench->device, to_device ? back : bench->host->data, bytes);
    once(bench, true, to_device ? bench->device : back,
         to_device ? bench->host->data : bench->device, bytes);
    if (to_device)
        once(bench, false, back, bench->device, bytes);
    return memcmp(back, bench->host->data, bytes) == 0;
}

static bool measure(const struct bench *bench, bool to_device, size_t bytes)
{
    static double ns[2][TRIES_MAX];
    void *host = to_device ? bench->host->data : bench->back->data;
    bool is_right = arrives(bench, to_device, bytes);
    for (int i = 0; i < bench->tries; i++)
        for (int k = 0; k < 2; k++) {
            int advised = (i + k) % 2;
            ns[advised][i] = once(bench, advised, to_device ? bench->device : host,
                                  to_device ? host : bench->device, bytes);
        }
    double one = median(ns[0], bench->tries), advised = median(ns[1], bench->tries);
    printf("%-12s %5zu MiB %9.3f ms %9.3f ms %7.3f  %6.1f %6.1f GB/s  %s  %s\n",
           to_device ? "host to gpu" : "gpu to host", bytes >> 20, one / 1e6, advised / 1e6,
           one / advised, (double)bytes / one, (double)bytes / advised,
           is_right ? "same bytes" : "WRONG BYTES", berth_copy_how(bench->copier));
    fflush(stdout);
    return is_right && advised <= one * (1 + MOST_SLOWER);
}

/* Words that differ from all others, so that a piece in a wrong place is seen. */
static void fill(uint64_t *word, size_t count)
{
    for (size_t i = 0; i < count; i++)
        word[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct berth_buffer *pinned(const struct bench *bench)
{
    struct berth_access access = {
        .by = "gpu0", .reads_bytes = (int64_t)bench->bytes, .writes_bytes = (int64_t)bench->bytes};
    struct berth_allocate_request request;
    struct berth_buffer *buffer = NULL;
    berth_allocate_request_init(&request);
    request.bytes = (int64_t)bench->bytes;
    request.accesses = &access;
    request.access_count = 1;
    request.kinds = 1u << BERTH_KIND_PINNED;
    request.whole_node = 1;
    must_berth(bench, berth_alloc(bench->berth, &request, &buffer), "berth_alloc");
    return buffer;
}

static void start(struct bench *bench)
{
    char why[128];
    bench->berth = berth_new();
    if (bench->berth == NULL)
        die("a handle", "out of memory");
    must_berth(bench, berth_connect(bench->berth, NULL), "berthd");
    bench->driver = lib_driver_open(why, sizeof why);
    if (bench->driver == NULL)
        die("a gpu", why);
    must(bench, lib_driver_enter(bench->driver, 0), "a context");
    must(bench, bench->driver->stream_new(&bench->stream, 1), "a stream");
    must(bench, bench->driver->alloc(&bench->device, bench->bytes), "memory of the gpu");
    bench->host = pinned(bench);
    bench->back = pinned(bench);
    fill(bench->host->data, bench->bytes / sizeof(uint64_t));
    must_berth(bench, berth_copier_new(bench->berth, &bench->copier), "a copier");
    printf("%d gpus; host memory: %s\n", bench->driver->count, bench->host->how);
}

int main(int argc, char **argv)
{
    static const char *const defaults[] = {"64", "256", "1024"};
    struct bench bench = {.tries = 15};
    const char *const *size = defaults;
    int count = 3;
    bool is_fine = true;
    if (argc > 2 && strcmp(argv[1], "--tries") == 0) {
        bench.tries = (int)strtol(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc > 1) {
        size = (const char *const *)(argv + 1);
        count = argc - 1;
    }
    for (int i = 0; i < count; i++) {
        size_t bytes = strtoul(size[i], NULL, 10) << 20;
        bench.bytes = bytes > bench.bytes ? bytes : bench.bytes;
        if (bytes == 0)
            die("usage", "copy [--tries N] [MIB...]");
    }
    if (bench.tries < 1 || bench.tries > TRIES_MAX)
        die("usage", "--tries 1 to 99");
    start(&bench);
    printf("%-12s %9s %12s %12s %7s\n", "direction", "bytes", "one copy", "berth_copy", "ratio");
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < count; i++)
            is_fine = measure(&bench, k == 0, strtoul(size[i], NULL, 10) << 20) && is_fine;
    berth_copier_free(bench.copier);
    berth_buffer_free(bench.back);
    berth_buffer_free(bench.host);
    bench.driver->free(bench.device);
    bench.driver->stream_free(bench.stream);
    lib_driver_free(bench.driver);
    berth_free(bench.berth);
    return is_fine ? 0 : 1;
}
