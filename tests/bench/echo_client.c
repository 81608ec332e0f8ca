/* The reference for a command: the least that a client on jansson can do as a process. It connects,
 * sends one message made with jansson, parses the reply. echo_client SOCKET */
#include <jansson.h>

#include "bench.h"

int main(int argc, char **argv)
{
    int fd = argc == 2 ? bench_connect(argv[1]) : -1;
    char *reply = malloc(BENCH_REPLY_MAX);
    if (fd < 0 || reply == NULL)
        bench_die("echo_client SOCKET");
    json_t *call =
        json_pack("{s:s,s:{s:i}}", "method", "io.berth.Bench.Echo", "parameters", "number", 1);
    char *text = json_dumps(call, JSON_COMPACT);
    if (text == NULL)
        bench_die("json_dumps");
    bench_call(fd, text, strlen(text), reply);
    json_t *answer = json_loads(reply, 0, NULL);
    int status = json_equal(call, answer) ? 0 : 1;
    json_decref(answer);
    json_decref(call);
    free(text);
    free(reply);
    close(fd);
    return status;
}
