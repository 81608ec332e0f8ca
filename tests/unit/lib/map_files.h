/* A daemon's side of berth_map: a reply with files, sent before the call that it answers. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <map_layout.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sealed.h"
#include "lib/berth.h"

#define MAP_REPLY "{\"parameters\":{\"layout\":1,\"map\":0,\"page\":1}}"

/* Sends bytes with so many files. */
static inline void map_files_say(int peer, const char *text, size_t length, const int *fd,
                                 size_t count)
{
    char control[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {0};
    struct iovec part = {(void *)(uintptr_t)text, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fd, count * sizeof(int));
    }
    assert_int_equal(sendmsg(peer, &message, 0), (ssize_t)length);
}

/* A handle, and the other end of its connection. */
static inline struct berth *map_files_connect(int *ret_peer)
{
    int fds[2];
    struct berth *berth = berth_new();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(berth_connect_fd(berth, fds[0]), BERTH_DONE);
    *ret_peer = fds[1];
    return berth;
}

/* A page of that generation whose owner lives. */
static inline struct map_page *map_files_page(uint64_t generation, int *ret_fd)
{
    struct berth_err err = {0};
    void *page = NULL;
    assert_int_equal(sealed_page("page", MAP_PAGE_BYTES, &page, ret_fd, &err), BERTH_OK);
    *(struct map_page *)page = (struct map_page){.generation = generation, .owner = 1};
    memcpy(page, MAP_MAGIC, 8);
    return page;
}

/* Opens what plan_map or a test has made; NULL when the library refuses it. */
static inline struct berth_map *map_files_open(const char *data, size_t size)
{
    struct berth_err err = {0};
    int fd[2], peer;
    struct berth *berth = map_files_connect(&peer);
    struct berth_map *map = NULL;
    struct map_page *page = map_files_page(1, &fd[1]);
    assert_int_equal(sealed_copy("map", data, size, &fd[0], &err), BERTH_OK);
    map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, fd, 2);
    int status = berth_map(berth, &map);
    assert_int_equal(status, map != NULL ? BERTH_DONE : BERTH_ERROR_PROTOCOL);
    munmap(page, MAP_PAGE_BYTES);
    for (int i = 0; i < 2; i++)
        close(fd[i]);
    close(peer);
    berth_free(berth);
    return map;
}
