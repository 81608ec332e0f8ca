/* Round trips over connections that stay open, in turns, so that every server sees the same moments
 * of the machine. roundtrip CALLS TURNS [NAME SOCKET CALL]... prints a line "NAME ns" each: the
 * median of the quietest tenth. */
#include "bench.h"

struct target {
    const char *name, *call;
    size_t length;
    int fd;
    double *took_ns;
};

int main(int argc, char **argv)
{
    size_t calls = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
           turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    size_t count = argc > 2 ? (size_t)(argc - 3) / 3 : 0;
    if (calls * turns < BENCH_BATCHES || count == 0)
        bench_die("roundtrip CALLS TURNS [NAME SOCKET CALL]...");
    struct target *targets = calloc(count, sizeof *targets);
    char *reply = malloc(BENCH_REPLY_MAX);
    if (targets == NULL || reply == NULL)
        bench_die("no memory");
    for (size_t i = 0; i < count; i++) {
        char **arg = argv + 3 + 3 * i;
        targets[i] = (struct target){
            .name = arg[0], .call = arg[2], .length = strlen(arg[2]), .fd = bench_connect(arg[1])};
        targets[i].took_ns = malloc(calls * turns * sizeof(double));
        if (targets[i].fd < 0 || targets[i].took_ns == NULL)
            bench_die(arg[1]);
        bench_call(targets[i].fd, targets[i].call, targets[i].length, reply);
        if (strstr(reply, "\"error\"") != NULL) {
            fprintf(stderr, "%s answers %.300s\n", targets[i].name, reply);
            exit(1);
        }
    }
    for (size_t turn = 0; turn < turns; turn++) {
        for (size_t i = 0; i < count; i++) {
            for (size_t n = 0; n < calls; n++) {
                double begin = bench_now_ns();
                bench_call(targets[i].fd, targets[i].call, targets[i].length, reply);
                targets[i].took_ns[turn * calls + n] = bench_now_ns() - begin;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        printf("%s %.0f\n", targets[i].name, bench_quietest(targets[i].took_ns, calls * turns));
        free(targets[i].took_ns);
        close(targets[i].fd);
    }
    free(targets);
    free(reply);
    return 0;
}
