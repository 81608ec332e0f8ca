/*
 * A program that takes its berth by itself, as `berth exec` does it for programs that do not:
 * before it starts threads, touches memory or loads a GPU runtime. Built with
 *
 *     cc -o take take.c $(pkg-config --cflags --libs libberth)
 *
 * usage: mpiexec -n 4 ./take: each task prints "task 1 of 4: cpus 2-3 gpus gpu1", or why it goes on
 * without a berth; exit status 0 in both cases.
 */
#include <berth.h>
#include <stdio.h>

int main(void)
{
    struct berth *berth = berth_new();
    struct berth_taken *taken = NULL;
    if (berth == NULL)
        return 71;
    if (berth_take(berth, NULL, &taken) < 0) {
        /* the program runs, where the kernel puts it */
        printf("no berth: %s\n", berth_error_detail(berth));
    } else {
        printf("task %d of %d: cpus %s gpus", taken->task, taken->tasks, taken->cpus);
        for (size_t i = 0; i < taken->gpus.count; i++)
            printf(" %s", taken->gpus.item[i]);
        printf("\n");
    }
    berth_taken_free(taken);
    berth_free(berth);
    return 0;
}
