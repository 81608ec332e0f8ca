/* Large messages: opened on the thread pool, refused before they are parsed where no method takes
 * so much, kept within a budget. */
#include "server_rig.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "varlink/message.h"

#define REFUSED                                                                                    \
    "{'error':'org.varlink.service.InvalidParameter','parameters':{'parameter':'message','detail'" \
    ":'a message of more items than any method takes'}}"

/* GetStatus with an array of so many items that it ignores; size with the NUL. The caller frees it.
 */
static char *with_items(size_t items, const char *item, size_t *ret_size)
{
    size_t length = strlen(item), at;
    char *text = malloc(100 + items * (length + 1));
    at = (size_t)sprintf(text, "{\"method\":\"io.berth.Fabric.GetStatus\",\"ignored\":[");
    for (size_t i = 0; i < items; i++)
        at += (size_t)sprintf(text + at, "%s%s", i > 0 ? "," : "", item);
    *ret_size = at + (size_t)sprintf(text + at, "]}") + 1;
    return text;
}

/* Messages at the limit are answered, in the order of the calls. Those beyond, or far beyond, are
 * refused, and the connection ends. */
static void test_items(void **state)
{
    struct daemon *d = *state;
    size_t fixed = 2 * MESSAGE_ITEMS_NEST + 1, most = MESSAGE_ITEMS_MAX - fixed + 1;
    const size_t items[] = {0, 1, 200, 1000, 40000, most, most + 1, 520000};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        size_t size;
        char *text = with_items(items[i], "0", &size), expected[64];
        struct client *c = client_new(d);
        unsigned calls = d->calls;
        say(c, STATUS);
        send_bytes(c, text, size);
        say(c, STATUS);
        for (unsigned k = 1; k <= (items[i] <= most ? 3 : 1); k++) {
            sprintf(expected, "{'parameters':{'calls':%u}}", calls + k);
            hears(c, expected);
        }
        if (items[i] > most) {
            hears(c, REFUSED);
            hears_the_end(c);
        }
        client_free(c);
        free(text);
    }
    until_clients(d, 0);
}

/* A message too heavy to be parsed gets no answer when it is oneway, and one when it is not. */
static void test_oneway_items(void **state)
{
    struct daemon *d = *state;
    static const struct {
        const char *flag;
        bool answered;
    } cases[] = {
        {"\"oneway\":true", false},
        {"\"oneway\" \n:\t true", false},
        {"\"x\":\"oneway\",\"oneway\":true", false},
        {"\"y\":{\"a\":\"}\\\"\"},\"oneway\":true", false},
        {"\"oneway\":false", true},
        {"\"parameters\":{\"oneway\":true}", true},
        {"\"x\":\"{\\\"oneway\\\":true\"", true},
        {"\"x\":\"oneway\"", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        char *items = with_items(MESSAGE_ITEMS_MAX, "0", &size), *text = malloc(size + 64);
        int length = sprintf(text, "{%s,%s", cases[i].flag, items + 1);
        struct client *c = client_new(d);
        send_bytes(c, text, (size_t)length + 1);
        if (cases[i].answered)
            hears(c, REFUSED);
        hears_the_end(c);
        client_free(c);
        free(items);
        free(text);
    }
    until_clients(d, 0);
}

/* A message that is too long is answered if it is not oneway, or its flag comes too late. */
static void test_oneway_long(void **state)
{
    struct daemon *d = *state;
    static const struct {
        const char *early, *late;
        bool answered;
    } cases[] = {
        {"", "", true},
        {",\"oneway\":true", "", false},
        {",\"parameters\":{\"oneway\":true}", "", true},
        {"", ",\"oneway\":true", true},
    };
    size_t limit = default_limits().message_bytes;
    char *text = malloc(limit + 100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int head = sprintf(text, "{\"method\":\"io.berth.Fabric.GetStatus\"%s", cases[i].early);
        memset(text + head, ' ', limit - (size_t)head);
        int tail = sprintf(text + limit, "%s}", cases[i].late);
        struct client *c = client_new(d);
        send_bytes(c, text, limit + (size_t)tail + 1);
        if (cases[i].answered)
            hears(c, "{'error':'org.varlink.service.InvalidParameter','parameters':{"
                     "'parameter':'message','detail':'a message of more than 1048576 bytes, its "
                     "NUL included'}}");
        hears_the_end(c);
        client_free(c);
    }
    free(text);
}

/* A parameter that is wrong, and JSON that is none, are found there as well. */
static void test_wrong(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    char *wrong = malloc(300000);
    size_t length = (size_t)sprintf(wrong, "{\"method\":\"io.berth.Fabric.GetMatrix\","
                                           "\"parameters\":{\"metric\":\"m\",\"from\":[\"a\"");
    for (int i = 0; i < 40000; i++)
        length += (size_t)sprintf(wrong + length, ",\"a\"");
    length += (size_t)sprintf(wrong + length, ",7]}}");
    send_bytes(c, wrong, length + 1);
    hears(c, NULL);
    say(c, STATUS);
    hears(c, "{'parameters':{'calls':1}}");
    *strrchr(wrong, '}') = ']';
    send_bytes(c, wrong, length + 1);
    hears_the_end(c);
    free(wrong);
    client_free(c);
    until_clients(d, 0);
}

/* Who hangs up meanwhile is forgotten. */
static void test_leaves(void **state)
{
    struct daemon *d = *state;
    size_t size;
    char *text = with_items(200000, "0", &size);
    for (int turns = 0; turns < 30; turns++) {
        struct client *c[3];
        for (int i = 0; i < 3; i++) {
            c[i] = client_new(d);
            send_bytes(c[i], text, size);
        }
        for (int i = 0; i < turns; i++)
            turn(d);
        for (int i = 0; i < 3; i++)
            client_free(c[i]);
    }
    until_clients(d, 0);
    free(text);
}

/* A message that was sent whole is opened and its call made, though its peer left while it waited
 * for a thread. */
static void test_left_unopened(void **state)
{
    struct daemon *d = *state;
    struct client *working[2], *c;
    size_t size;
    char *text = with_items(2000, "0", &size);
    for (int i = 0; i < 2; i++) {
        working[i] = client_new(d);
        say(working[i], "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
        hears_nothing(working[i]);
    }
    c = client_new(d);
    send_bytes(c, text, size);
    for (int i = 0; i < 20; i++)
        turn(d);
    client_free(c);
    /* peers are looked at once a second */
    for (uint64_t end = uv_hrtime() + 1300000000; uv_hrtime() < end;)
        turn(d);
    assert_int_equal(d->calls, 2);
    for (int i = 0; i < 2; i++)
        sem_post(&d->release);
    until_clients(d, 2);
    assert_int_equal(d->calls, 3);
    for (int i = 0; i < 2; i++)
        client_free(working[i]);
    free(text);
}

/* Returns how many of count unfinished messages of 100 KB are read completely. */
static unsigned taken(struct daemon *d, struct client **c, unsigned count, const char *text,
                      size_t size)
{
    size_t sent[16] = {0};
    for (int idle = 0; idle < 100; idle++) {
        for (unsigned i = 0; i < count; i++) {
            ssize_t got = send(c[i]->fd, text + sent[i], size - 1 - sent[i], MSG_NOSIGNAL);
            if (got > 0) {
                sent[i] += (size_t)got;
                idle = 0;
            }
        }
        turn(d);
    }
    unsigned whole = 0;
    for (unsigned i = 0; i < count; i++) {
        int unread = 0;
        whole += sent[i] == size - 1 && ioctl(c[i]->fd, SIOCOUTQ, &unread) == 0 && unread == 0;
    }
    return whole;
}

/* Unfinished messages are read up to a user's budget, and one more. Small calls go on, and as soon
 * as one message is complete another is read. */
static void test_budget(void **state)
{
    struct daemon *d = *state;
    enum { COUNT = 12 };
    struct server_limits limits = default_limits();
    limits.input_bytes_per_user = 4 * 128 * 1024;
    restart(d, &limits);
    enum { SIZE = 100 * 1000 };
    char *text = malloc(SIZE);
    memset(text, ' ', SIZE);
    memcpy(text, STATUS, strlen(STATUS));
    for (char *at = text; *at != '}'; at++)
        *at = *at == '\'' ? '"' : *at;
    text[SIZE - 1] = '\0';
    struct client *c[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        c[i] = client_new(d);
    unsigned whole = taken(d, c, COUNT, text, SIZE);
    assert_in_range(whole, 1, 5);
    struct client *small = client_new(d);
    say(small, STATUS);
    hears(small, "{'parameters':{'calls':1}}");
    client_free(small);
    for (unsigned i = 0; i < COUNT; i++)
        client_free(c[i]);
    until_clients(d, 0);

    limits.input_bytes_per_user = 64 * 1024 * 1024;
    limits.input_bytes_in_all = 8 * 128 * 1024; /* half of it is left for others */
    server_configure(d->server, &limits, NULL);
    for (unsigned i = 0; i < COUNT; i++)
        c[i] = client_new(d);
    assert_in_range(taken(d, c, COUNT, text, SIZE), 1, 6);
    for (unsigned i = 0; i < COUNT; i++)
        client_free(c[i]);
    until_clients(d, 0);

    for (unsigned i = 0; i < COUNT; i++)
        c[i] = client_new(d);
    limits.input_bytes_in_all = 64 * 1024 * 1024;
    server_configure(d->server, &limits, NULL);
    assert_int_equal(taken(d, c, COUNT, text, SIZE), COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        send_bytes(c[i], "", 1);
        hears(c[i], NULL);
        client_free(c[i]);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_items),  TEST(test_oneway_items),  TEST(test_oneway_long), TEST(test_wrong),
        TEST(test_leaves), TEST(test_left_unopened), TEST(test_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
