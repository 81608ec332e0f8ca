/*
 * How a program asks berth: the best berths for its tasks, and what a change of the node does to
 * them. Built with
 *
 *     cc -o bind bind.c $(pkg-config --cflags --libs libberth)
 *
 * usage: bind TASKS [SECONDS]: prints a line for each task; then, for that many seconds, again
 * whenever the node has changed.
 */
#include <berth.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A blocking call: a request in, a result out, one function to free it. */
static int print_berths(struct berth *berth, int tasks)
{
    struct berth_bind_request request;
    struct berth_binding *binding;
    berth_bind_request_init(&request);
    request.tasks = tasks;
    int status = berth_bind(berth, &request, &binding);
    if (status < 0) {
        fprintf(stderr, "bind: %s\n", berth_error_detail(berth));
        return status;
    }
    for (size_t i = 0; i < binding->task_count; i++) {
        const struct berth_task *task = &binding->tasks[i];
        printf("task %d: cpus %s", task->task, task->cpus);
        for (size_t j = 0; j < task->memory.count; j++)
            printf(" %s", task->memory.item[j]);
        for (size_t j = 0; j < task->gpus.count; j++)
            printf(" %s", task->gpus.item[j]);
        printf("\n");
    }
    for (size_t i = 0; i < binding->warnings.count; i++)
        printf("note: %s\n", binding->warnings.item[i].text);
    berth_binding_free(binding);
    return BERTH_DONE;
}

struct watch {
    int changes; /* snapshots seen; the first is the present one */
    int has_ended;
};

static void note_change(struct berth *berth, int status, const char *parameters, int continues,
                        void *arg)
{
    struct watch *watch = arg;
    (void)berth;
    (void)parameters;
    if (status == BERTH_DONE)
        watch->changes++;
    watch->has_ended = !continues;
}

/* A stream on a second connection. berth_wait polls; a program with an event loop of its own polls
 * berth_fd() for berth_events() and calls berth_process(). */
static int follow(struct berth *berth, struct berth *stream, int tasks, int seconds)
{
    struct watch watch = {0};
    int seen = 1;
    time_t end = time(NULL) + seconds;
    int status = berth_connect(stream, NULL);
    if (status == BERTH_DONE)
        status = berth_call_async(stream, "io.berth.Fabric.Watch", NULL, BERTH_MORE, note_change,
                                  &watch);
    while (status >= 0 && !watch.has_ended && time(NULL) < end) {
        status = berth_wait(stream, 200);
        if (watch.changes > seen) {
            seen = watch.changes;
            status = print_berths(berth, tasks);
        }
    }
    if (status < 0)
        fprintf(stderr, "bind: %s\n", berth_error_detail(stream));
    return status < 0 ? status : BERTH_DONE;
}

int main(int argc, char **argv)
{
    int tasks = argc > 1 ? atoi(argv[1]) : 1, seconds = argc > 2 ? atoi(argv[2]) : 0;
    struct berth *berth = berth_new(), *stream = berth_new();
    int status = BERTH_ERROR_OUT_OF_MEMORY;
    if (berth != NULL && stream != NULL) {
        status = berth_connect(berth, NULL);
        if (status < 0)
            fprintf(stderr, "bind: %s\n", berth_error_detail(berth));
        else
            status = print_berths(berth, tasks);
        if (status == BERTH_DONE && seconds > 0)
            status = follow(berth, stream, tasks, seconds);
    }
    berth_free(stream);
    berth_free(berth);
    return status < 0 ? 1 : 0;
}
