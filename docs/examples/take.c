/*
 * A program that takes its berth by itself, as `berth exec` does it for programs that do not: it
 * finds out which task of its step it is, asks for one plan for all of them, and takes its own
 * berth before it starts threads, touches memory or loads a GPU runtime. Built with
 *
 *     cc -o take take.c $(pkg-config --cflags --libs libberth)
 *
 * usage: mpiexec -n 4 ./take: each task prints "task 1 of 4: cpus 2-3 gpus gpu1", or why it goes on
 * without a berth; exit status 0 in both cases.
 */
#include <berth.h>
#include <stdio.h>

/* Returns DONE or the first error, which the handle can tell. */
static int take_berth(struct berth *berth)
{
    struct berth_launcher *launcher = NULL;
    struct berth_step *step = NULL;
    struct berth_binding *binding = NULL;
    int status = berth_launcher_here(berth, NULL, NULL, &launcher);
    if (status == BERTH_DONE && launcher->missing != NULL) {
        printf("no berth: %s\n", launcher->missing);
        berth_launcher_free(launcher);
        return BERTH_DONE;
    }
    berth_set_timeout(berth, 2000); /* a program's start does not wait for a daemon that hangs */
    if (status == BERTH_DONE)
        status = berth_connect(berth, NULL);
    if (status == BERTH_DONE)
        status = berth_step_here(berth, launcher, NULL, NULL, NULL, &step);
    if (status == BERTH_DONE) {
        struct berth_bind_request request;
        berth_bind_request_init(&request);
        request.tasks = launcher->tasks;
        request.allowed = &step->allowed; /* the same in every task, and so is the plan */
        request.key = step->key;
        status = berth_bind(berth, &request, &binding);
    }
    if (status == BERTH_DONE) {
        unsigned parts = 0;
        const struct berth_task *task = berth_step_berth(step, launcher->task, binding, &parts);
        if (task != NULL)
            status = berth_apply(berth, task, parts);
        if (task != NULL && status == BERTH_DONE) {
            printf("task %d of %d: cpus %s gpus", launcher->task, launcher->tasks,
                   parts & BERTH_PART_CPUS ? task->cpus : step->cpus);
            for (size_t i = 0; i < task->gpus.count; i++)
                printf(" %s", task->gpus.item[i]);
            printf("\n");
        }
    }
    berth_binding_free(binding);
    berth_step_free(step);
    berth_launcher_free(launcher);
    return status;
}

int main(void)
{
    struct berth *berth = berth_new();
    if (berth == NULL)
        return 71;
    if (take_berth(berth) < 0)
        /* the program runs, where the kernel puts it */
        printf("no berth: %s\n", berth_error_detail(berth));
    berth_free(berth);
    return 0;
}
