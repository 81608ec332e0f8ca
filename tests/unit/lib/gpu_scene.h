/**
 * Tests of GPU calls of libberth: a process that has loaded a stand-in driver, and a daemon whose
 * replies are written in the test. Each test has a process of its own, as the driver has one node
 * for each.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/driver.h"
#define MIB         ((size_t)1 << 20)
#define REPLIES_MAX 64

/* The daemon: a thread that answers each question with the next reply, and then with none. */
struct daemon {
    int fd;
    pthread_t thread;
    char *_Atomic reply[REPLIES_MAX];
    size_t said;
    atomic_int questions, routes;
};

/* What a test has in its process. */
struct scene {
    struct daemon daemon;
    struct berth *berth;
    struct lib_driver *driver;
    /* of tests that copy */
    struct berth_copier *copier;
    void *stream;
    char *host, *back;     /* pinned */
    char *device, *second; /* of gpu0 and of gpu1 */
};

/* Says what was expected, and ends the process. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void *answer(void *data)
{
    struct daemon *daemon = data;
    char text[8192];
    size_t used = 0;
    while (used < sizeof text && read(daemon->fd, text + used, 1) == 1) {
        if (text[used++] != '\0')
            continue;
        used = 0;
        const char *reply = daemon->reply[daemon->questions];
        daemon->routes += strstr(text, "Placement.Route") != NULL;
        daemon->questions++;
        if (reply != NULL)
            CHECK(write(daemon->fd, reply, strlen(reply) + 1) > 0);
    }
    return NULL;
}

static void say(struct scene *scene, const char *parameters)
{
    char *text;
    CHECK(scene->daemon.said < REPLIES_MAX);
    CHECK(asprintf(&text, "{\"parameters\":%s}", parameters) > 0);
    scene->daemon.reply[scene->daemon.said++] = text;
}

/* The gpus of the stand-in's node, whose names begin so. */
static void say_node_of(struct scene *scene, const char *gpu)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"name\":\"n\",\"places\":[");
    for (int i = 0; i < scene->driver->count; i++) {
        const struct lib_pci *pci = &scene->driver->place[i];
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s{\"name\":\"%s%d\",\"kind\":\"gpu\",\"parent\":null,"
                                 "\"pci\":\"%04x:%02x:%02x.%x\",\"details\":{}}",
                                 i > 0 ? "," : "", gpu, i, pci->domain, pci->bus, pci->device,
                                 pci->function);
    }
    snprintf(text + used, sizeof text - used,
             "],\"links\":[],\"resources\":[],\"software\":{},\"disagreements\":[],"
             "\"basis\":{\"snapshot\":\"s\",\"claims\":\"0\",\"origin\":\"standin\"}}");
    say(scene, text);
}

static void say_node(struct scene *scene) { say_node_of(scene, "gpu"); }

static void open_scene(struct scene *scene)
{
    char why[128];
    int fds[2];
    scene->driver = lib_driver_open(why, sizeof why);
    CHECK(scene->driver != NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    scene->daemon.fd = fds[1];
    CHECK(pthread_create(&scene->daemon.thread, NULL, answer, &scene->daemon) == 0);
    scene->berth = berth_new();
    CHECK(berth_connect_fd(scene->berth, fds[0]) == BERTH_DONE);
}

static void close_scene(struct scene *scene)
{
    berth_free(scene->berth);
    lib_driver_free(scene->driver);
    pthread_join(scene->daemon.thread, NULL);
    for (size_t i = 0; i < scene->daemon.said; i++)
        free(scene->daemon.reply[i]);
    close(scene->daemon.fd);
}

/* Runs a test in a process that has loaded the stand-in of that api, over its node with more lines.
 */
static void run(const char *api, const char *node, const char *lines, void (*test)(struct scene *))
{
    char path[] = "/tmp/berth-copy-XXXXXX", folder[4096], text[8192];
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    assert_non_null(getcwd(folder, sizeof folder));
    int length = snprintf(text, sizeof text,
                          "include %s/tests/standin/nodes/%s.node\n%s"
                          "bytes 1000000000000\n",
                          folder, node, lines);
    assert_int_equal(write(fd, text, (size_t)length), length);
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        struct scene scene = {0};
        snprintf(text, sizeof text, STANDIN_DIR "/%s/%s", api,
                 strcmp(api, "cuda") == 0 ? "libcuda.so.1" : "libamdhip64.so.5");
        setenv("BERTH_STANDIN", path, 1);
        CHECK(dlopen(text, RTLD_NOW | RTLD_GLOBAL) != NULL);
        alarm(100);
        open_scene(&scene);
        test(&scene);
        close_scene(&scene);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
