/* Limits of peers: memory, connections, time, and the methods of administrators. */
#include "server_rig.h"

#include <grp.h>
#include <malloc.h>
#include <sys/resource.h>

#define NOBODY 65534

/* Only root can be somebody else for the moment of a connect. */
static struct client *client_as(struct daemon *d, uid_t uid, gid_t gid, gid_t supplementary)
{
    assert_int_equal(setgroups(supplementary != 0, &supplementary), 0);
    assert_int_equal(setegid(gid) | seteuid(uid), 0);
    struct client *client = client_new(d);
    assert_int_equal(seteuid(0) | setegid(0), 0);
    assert_int_equal(setgroups(0, NULL), 0);
    return client;
}

/* Room. */

static void test_unread_stream(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    sem_post(&d->release);
    say(c, "{'method':'io.berth.Fabric.Record','more':true}");
    unsigned before;
    do {
        before = d->pulled;
        for (int i = 0; i < 50; i++)
            turn(d);
    } while (d->pulled != before && d->pulled <= 1000);
    assert_in_range(d->pulled, 10, 1000); /* the socket's buffer, and one reply */
    for (int i = 0; i < 2000; i++)
        hears(c, NULL);
    assert_true(d->pulled >= 2000);
    client_free(c);
    until_clients(d, 0);
}

static void test_unread_replies(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.unsent_bytes = 3 * BIG;
    restart(d, &limits);
    struct client *c = client_new(d);
    for (int i = 0; i < 50; i++)
        say(c, "{'method':'io.berth.Fabric.GetNode'}");
    for (int i = 0; i < 100; i++)
        turn(d);
    assert_in_range(d->calls, 4, 10);
    for (int i = 0; i < 50; i++)
        hears(c, NULL);
    assert_int_equal(d->calls, 50);
    client_free(c);
}

/* Many connections of one user together get hardly more than one may leave unread, and readers are
 * still answered. */
static void test_unread_of_a_user(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.unsent_bytes_per_user = 10 * BIG;
    restart(d, &limits);
    enum { COUNT = 20, CALLS = 20 };
    struct client *lazy[COUNT];
    for (int i = 0; i < COUNT; i++) {
        lazy[i] = client_new(d);
        for (int n = 0; n < CALLS; n++)
            say(lazy[i], "{'method':'io.berth.Fabric.GetNode'}");
    }
    for (int i = 0; i < 100; i++)
        turn(d);
    /* three fit the socket, ten wait, and each may have one that does not fit */
    assert_in_range(d->calls, COUNT, COUNT * 4 + 10);
    struct client *good = client_new(d);
    say(good, STATUS);
    hears(good, NULL);
    client_free(good);
    for (int i = 0; i < COUNT; i++)
        for (int n = 0; n < CALLS; n++)
            hears(lazy[i], NULL);
    assert_int_equal(d->calls, COUNT * CALLS + 1);
    for (int i = 0; i < COUNT; i++)
        client_free(lazy[i]);
}

/* Calls on the thread pool are limited for a user at a time, in their order, and a stream from it
 * counts to its end. */
static void test_large_calls(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.large_calls_per_user = 1;
    restart(d, &limits);
    static const char
        *const work = "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}",
               *const worked = "{'parameters':{'worked':true}}";
    struct client *c[5];
    for (int i = 0; i < 5; i++) {
        c[i] = client_new(d);
        say(c[i], i == 2 ? "{'method':'io.berth.Fabric.Record','more':true}" : work);
        hears_nothing(c[i]);
    }
    for (int i = 0; i < 2; i++) {
        sem_post(&d->release);
        hears(c[i], worked);
        for (int k = i + 1; k < 5; k++)
            hears_nothing(c[k]);
    }
    client_free(c[3]); /* who leaves while it waits is forgotten */
    sem_post(&d->release);
    hears(c[2], NULL);
    sem_post(&d->release);
    hears_nothing(c[4]);
    say(c[0], STATUS);
    hears(c[0], NULL);
    if (geteuid() == 0) { /* others have room of their own */
        struct client *other = client_as(d, NOBODY, NOBODY, 0);
        say(other, work);
        hears(other, worked);
        client_free(other);
        sem_post(&d->release);
    }
    client_free(c[2]);
    hears(c[4], worked);
    client_free(c[0]);
    client_free(c[1]);
    client_free(c[4]);
    until_clients(d, 0);
}

/* Who reads nothing while replies wait is let go; who reads slowly is not. */
static void test_unread_timeout(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.unread_ms = 2000;
    restart(d, &limits);
    struct client *lazy = client_new(d), *slow = client_new(d), *content = client_new(d),
                  *leaving = client_new(d);
    say(content, STATUS);
    hears(content, NULL);
    for (int i = 0; i < 20; i++) {
        say(lazy, "{'method':'io.berth.Fabric.GetNode'}");
        say(slow, "{'method':'io.berth.Fabric.GetNode'}");
        say(leaving, "{'method':'io.berth.Fabric.GetNode'}");
    }
    shutdown(leaving->fd, SHUT_WR);
    uint64_t end = patience_end();
    for (int heard = 0; heard < 15 && uv_hrtime() < end; heard++) {
        hears(slow, NULL);
        for (uint64_t until = uv_hrtime() + 250 * UINT64_C(1000000); uv_hrtime() < until;)
            turn(d);
    }
    until_clients(d, 2);
    for (int i = 15; i < 20; i++)
        hears(slow, NULL);
    say(content, STATUS);
    hears(content, NULL);
    client_free(lazy);
    client_free(slow);
    client_free(content);
    client_free(leaving);
}

/* A stream keeps nothing of its call, whose text can be as long as a message and a hundred times
 * that when it is parsed. */
static void test_stream_keeps_no_message(void **state)
{
    struct daemon *d = *state;
    size_t room = 100 * 1000;
    char *text = malloc(room);
    size_t length = (size_t)sprintf(
        text, "{\"method\":\"io.berth.Fabric.Watch\",\"more\":true,\"ignored\":[{}");
    while (length < room - 10)
        length += (size_t)sprintf(text + length, ",{}");
    length += (size_t)sprintf(text + length, "]}") + 1;
    struct client *c = client_new(d);
    size_t before = mallinfo2().uordblks;
    send_bytes(c, text, length);
    hears(c, NULL);
    for (uint64_t end = patience_end();
         mallinfo2().uordblks >= before + 2 * room && uv_hrtime() < end;)
        turn(d); /* it is freed on the thread pool */
    /* the sanitizers' malloc counts nothing */
    assert_true(mallinfo2().uordblks < before + 2 * room);
    client_free(c);
    until_clients(d, 0);
    free(text);
}

/* Returns the number of calls that a peer sends while the first one works: those read, and those in
 * the kernel's buffer. All are answered then. */
static unsigned calls_taken(struct daemon *d, unsigned queued_calls)
{
    struct server_limits limits = default_limits();
    limits.queued_calls = queued_calls;
    restart(d, &limits);
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    hears_nothing(c);
    unsigned before = d->calls, said = 0;
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}";
    for (int refusals = 0; refusals < 200;) {
        ssize_t sent = send(c->fd, text, sizeof text, MSG_NOSIGNAL);
        if (sent == (ssize_t)sizeof text) {
            said++;
            continue;
        }
        assert_true(sent < 0); /* a small message is taken whole or not at all */
        assert_int_equal(errno, EAGAIN);
        refusals++;
        turn(d);
    }
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    for (unsigned i = 0; i < said; i++)
        hears(c, NULL);
    assert_int_equal(d->calls, before + said);
    client_free(c);
    return said;
}

/* While a call works nothing is read beyond the limit. What the kernel keeps is the same for both
 * limits, so the difference is that of the limits, give or take one read. */
static void test_queue(void **state)
{
    struct daemon *d = *state;
    unsigned few = calls_taken(d, 8), many = calls_taken(d, 2008);
    assert_true(few > 8);
    assert_in_range(many - few, 1500, 2500);
}

static void test_long_message(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.message_bytes = 10000;
    restart(d, &limits);
    char *text = malloc(20000);
    memset(text, ' ', 20000);
    memcpy(text, "{\"method\":\"io.berth.Fabric.GetStatus\"", 37);
    for (size_t length = 9998; length < 10003; length++) {
        struct client *c = client_new(d);
        text[length - 2] = '}';
        text[length - 1] = '\0';
        say(c, STATUS);
        send_bytes(c, text, length); /* NUL included */
        hears(c, NULL);
        if (length <= 10000) {
            hears(c, NULL);
        } else {
            hears(c, "{'error':'org.varlink.service.InvalidParameter','parameters':{'parameter':'"
                     "message','detail':'a message of more than 10000 bytes, its NUL included'}}");
            hears_the_end(c);
        }
        text[length - 2] = text[length - 1] = ' ';
        client_free(c);
    }
    assert_int_equal(d->calls, 5 + 3);

    struct client *c = client_new(d); /* no more is read of it than the limit, work or not */
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    send_bytes(c, text, 20000);
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'error':'org.varlink.service.InvalidParameter','parameters':{'parameter':'message','"
             "detail':'a message of more than 10000 bytes, its NUL included'}}");
    hears_the_end(c);
    client_free(c);
    free(text);
}

/* Connections and time. */

static void test_connection_limit(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.connections = 1; /* and the reserve for the daemon's user, which this is */
    restart(d, &limits);
    enum { ALL = 1 + SERVER_RESERVE };
    struct client *first[ALL];
    for (int i = 0; i < ALL; i++) {
        first[i] = client_new(d);
        say(first[i], STATUS);
        hears(first[i], NULL);
    }
    for (int i = 0; i < 1000; i++) {
        struct client *c = client_new(d);
        hears_the_end(c);
        client_free(c);
    }
    say(first[4], STATUS);
    hears(first[4], "{'parameters':{'calls':18}}");
    client_free(first[0]);
    until_clients(d, ALL - 1);
    first[0] = client_new(d);
    say(first[0], STATUS);
    hears(first[0], NULL);
    for (int i = 0; i < ALL; i++)
        client_free(first[i]);
}

static void test_room_is_kept_for_root(void **state)
{
    if (geteuid() != 0)
        skip();
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.connections = 3;
    restart(d, &limits);
    struct client *clients[6];
    for (int i = 0; i < 6; i++) {
        clients[i] = i == 5 ? client_new(d) : client_as(d, i % 2 == 0 ? NOBODY : 4711, NOBODY, 0);
        say(clients[i], STATUS);
        i == 3 || i == 4 ? hears_the_end(clients[i]) : hears(clients[i], NULL);
    }
    for (int i = 0; i < 6; i++)
        client_free(clients[i]);
}

static void test_no_descriptors(void **state)
{
    struct daemon *d = *state;
    struct client *good = client_new(d);
    say(good, STATUS);
    hears(good, NULL);
    int waiting[3];
    for (int i = 0; i < 3; i++)
        waiting[i] = connect_fd(d);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)waiting[2] + 1;
    int fill;
    setrlimit(RLIMIT_NOFILE, &none);
    while ((fill = dup(waiting[0])) >= 0) /* the low numbers that are free */
        assert_true(fill <= waiting[2]);
    for (int i = 0; i < 30; i++)
        turn(d);
    say(good, STATUS);
    hears(good, NULL);
    for (int i = 0; i < 3; i++) {
        char byte;
        assert_int_equal(recv(waiting[i], &byte, 1, 0), 0); /* let go, not left to wait */
    }
    setrlimit(RLIMIT_NOFILE, &before);
    struct stat wanted, status;
    fstat(waiting[0], &wanted);
    for (int fd = 3; fd <= waiting[2]; fd++) /* the copies, and the three themselves */
        if (fd != waiting[1] && fd != waiting[2] && fstat(fd, &status) == 0 &&
            status.st_ino == wanted.st_ino)
            close(fd);
    close(waiting[1]);
    close(waiting[2]);
    client_free(good);
    good = client_new(d);
    say(good, STATUS);
    hears(good, NULL);
    client_free(good);
}

static void test_idle(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.idle_ms = 500; /* more than passes between a connect and a call on a loaded machine */
    restart(d, &limits);
    turn(d);
    assert_int_equal(uv_backend_timeout(&d->loop), -1); /* no timer without a peer */
    struct client *silent = client_new(d), *working = client_new(d), *watching = client_new(d);
    say(working, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(watching, "{'method':'io.berth.Fabric.Watch','more':true}");
    hears(watching, NULL);
    hears_the_end(silent);
    for (int i = 0; i < 300; i++)
        turn(d);
    until_clients(d, 2);
    sem_post(&d->release);
    hears(working, "{'parameters':{'worked':true}}");
    hears_the_end(working);
    hears_nothing(watching);
    assert_int_equal(uv_backend_timeout(&d->loop), -1); /* and none for a stream that waits */
    client_free(silent);
    client_free(working);
    client_free(watching);
}

/* A limit that is shorter from now on holds for who is there already. */
static void test_idle_is_shortened(void **state)
{
    struct daemon *d = *state;
    struct client *silent = client_new(d);
    say(silent, STATUS);
    hears(silent, NULL);
    hears_nothing(silent);
    struct server_limits limits = default_limits();
    limits.idle_ms = 100;
    server_configure(d->server, &limits, NULL);
    hears_the_end(silent);
    client_free(silent);
}

static void test_half_message(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.half_message_ms = 100;
    restart(d, &limits);
    struct client *slow = client_new(d), *quiet = client_new(d);
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}";
    bool open = true;
    size_t sent = 0;
    uint64_t end = patience_end();
    for (int i = 0; open && uv_hrtime() < end; i++) { /* a byte now and then does not help */
        if (i % 100 == 0 && sent < sizeof text - 1)
            open = send(slow->fd, text + sent++, 1, MSG_NOSIGNAL) == 1;
        turn(d);
        open = open && receive(slow);
    }
    assert_false(open);
    assert_true(sent < sizeof text - 1);
    say(quiet, STATUS);
    hears(quiet, "{'parameters':{'calls':1}}");
    client_free(slow);
    client_free(quiet);
}

/* Access. */

static void test_access(void **state)
{
    if (geteuid() != 0)
        skip();
    struct daemon *d = *state;
    const struct server_limits limits = default_limits();
    static const char *const probe_call = "{'method':'io.berth.Health.Probe'}";
    static const char *const denied =
        "{'error':'org.varlink.service.PermissionDenied','parameters':{'detail':'io.berth.Health."
        "Probe is for administrators: "
        "root, the user that berthd runs as, and the group in its configuration'}}";
    struct client *root = client_new(d), *nobody = client_as(d, NOBODY, 4711, 0);
    say(root, probe_call);
    hears(root, "{'parameters':{'left':0}}");
    say(nobody, probe_call);
    hears(nobody, denied);
    /* who may not call learns no more */
    say(nobody, "{'method':'io.berth.Health.Probe','parameters':{'no':'such'}}");
    hears(nobody, denied);
    say(nobody, STATUS);
    hears(nobody, "{'parameters':{'calls':2}}");

    struct client *member = client_as(d, 4711, 4711, NOBODY);
    say(member, probe_call);
    hears(member, denied);
    /* holds for who is there, too */
    server_configure(d->server, &limits, "nogroup");
    say(member, probe_call);
    hears(member, "{'parameters':{'left':0}}");
    struct client *primary = client_as(d, 4711, NOBODY, 0);
    say(primary, probe_call);
    hears(primary, "{'parameters':{'left':0}}");
    say(nobody, probe_call);
    hears(nobody, denied);
    server_configure(d->server, &limits, "no-such-group");
    say(primary, probe_call);
    hears(primary, denied);
    client_free(root);
    client_free(nobody);
    client_free(member);
    client_free(primary);
}

static void test_user_limit(void **state)
{
    if (geteuid() != 0)
        skip();
    struct daemon *d = *state;
    struct server_limits limits = default_limits();
    limits.connections_per_user = 2;
    restart(d, &limits);
    struct client *mine[3], *own[3];
    for (int i = 0; i < 3; i++) {
        mine[i] = client_as(d, NOBODY, NOBODY, 0);
        own[i] = client_new(d);
        say(own[i], STATUS);
        hears(own[i], NULL);
    }
    hears_the_end(mine[2]);
    say(mine[1], STATUS);
    hears(mine[1], NULL);
    struct client *other = client_as(d, 4711, NOBODY, 0);
    say(other, STATUS);
    hears(other, NULL);
    for (int i = 0; i < 3; i++) {
        client_free(mine[i]);
        client_free(own[i]);
    }
    client_free(other);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unread_stream),
        TEST(test_unread_replies),
        TEST(test_unread_of_a_user),
        TEST(test_large_calls),
        TEST(test_unread_timeout),
        TEST(test_stream_keeps_no_message),
        TEST(test_queue),
        TEST(test_long_message),
        TEST(test_connection_limit),
        TEST(test_room_is_kept_for_root),
        TEST(test_no_descriptors),
        TEST(test_idle),
        TEST(test_idle_is_shortened),
        TEST(test_half_message),
        TEST(test_access),
        TEST(test_user_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
