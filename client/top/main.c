/* berth-top [SOCKET]: the live view of a node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/top.h"

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL;
    struct top top = {.berth = berth_new()};
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fputs("usage: berth-top [SOCKET]; berth top --help has the rest\n", stderr);
        return 64;
    }
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        fputs("berth: top: this is no terminal; berth status and berth health print once\n",
              stderr);
        berth_free(top.berth);
        return 64;
    }
    if (!top_can_draw()) {
        const char *term = getenv("TERM");
        fprintf(stderr, "berth: top: this terminal (TERM=%.40s) cannot move its cursor\n",
                term != NULL ? term : "");
        berth_free(top.berth);
        return 64;
    }
    int status = top.berth != NULL ? berth_connect(top.berth, path) : BERTH_ERROR_OUT_OF_MEMORY;
    bool is_there = status >= 0 && top_refresh(&top);
    if (is_there)
        top_run(&top);
    else
        fprintf(stderr, "berth: top: %s\n",
                top.berth != NULL ? top_error(top.berth) : "out of memory");
    top_done(&top);
    berth_free(top.berth);
    return is_there ? 0 : 69;
}
