/* A program as a user of libberth would write it: asks where 1 MiB is best put and prints the answer. */
#include <berth.h>
#include <stdio.h>

int main(void)
{
    struct berth *berth = berth_new();
    struct berth_allocate_request request;
    struct berth_allocation *allocation = NULL;
    berth_allocate_request_init(&request);
    request.bytes = 1 << 20;
    request.whole_node = 1;
    int status = berth == NULL ? BERTH_ERROR_OUT_OF_MEMORY : berth_connect(berth, NULL);
    if (status == BERTH_DONE)
        status = berth_allocate(berth, &request, &allocation);
    if (status == BERTH_DONE && allocation->option_count > 0)
        printf("best: %s by %s\n", allocation->options[0].memory, allocation->options[0].call);
    else
        fprintf(stderr, "%s\n", berth == NULL ? "out of memory" : berth_error_detail(berth));
    int found = status == BERTH_DONE && allocation->option_count > 0;
    berth_allocation_free(allocation);
    berth_free(berth);
    return found ? 0 : 1;
}
