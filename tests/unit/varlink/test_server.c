/* Calls and replies: answers, their order, and peers that leave. */
#include "server_rig.h"

/* Calls and errors. */

static void test_call(void **state)
{
    struct client *c = client_new(*state);
    say(c, STATUS);
    hears(c, "{'parameters':{'calls':1}}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','parameters':null,'more':false,'oneway':null,'"
           "later':[1]}");
    hears(c, "{'parameters':{'calls':2}}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','parameters':{},'more':true}");
    hears(c, "{'parameters':{'calls':3}}");
    assert_int_equal(server_clients(c->d->server), 1);
    client_free(c);
    until_clients(*state, 0);
}

static void test_service(void **state)
{
    struct client *c = client_new(*state);
    say(c, "{'method':'org.varlink.service.GetInfo'}");
    hears(c, "{'parameters':{'vendor':'v','product':'p','version':'0','url':'u','interfaces':['org."
             "varlink.service','io.berth.Fabric',"
             "'io.berth.Health','io.berth.Placement']}}");
    say(c, "{'method':'org.varlink.service.GetInterfaceDescription','parameters':{'interface':'io."
           "berth.Nothing'}}");
    hears(c, "{'error':'org.varlink.service.InterfaceNotFound','parameters':{'interface':'io.berth."
             "Nothing'}}");
    say(c, "{'method':'org.varlink.service.GetInterfaceDescription','parameters':{'interface':'org."
           "varlink.service'}}");
    hears(c, NULL);
    client_free(c);
}

static void test_errors(void **state)
{
    static const struct {
        const char *call, *error, *parameters;
    } cases[] = {
        {"'method':'io.berth.Fabric.Nope'", "org.varlink.service.MethodNotFound",
         "'method':'io.berth.Fabric.Nope'"},
        {"'method':'io.nobody.Fabric.Nope'", "org.varlink.service.InterfaceNotFound",
         "'interface':'io.nobody.Fabric'"},
        {"'method':'io.berth.Fabric.Export','parameters':{'format':'dot'}",
         "org.varlink.service.MethodNotImplemented", "'method':'io.berth.Fabric.Export'"},
        {"'method':'GetStatus'", "org.varlink.service.InvalidParameter",
         "'parameter':'method','detail':'a method's name begins with its interface'"},
        {"'method':''", "org.varlink.service.InvalidParameter",
         "'parameter':'method','detail':'a method's name begins with its interface'"},
        {"'method':7", "org.varlink.service.InvalidParameter",
         "'parameter':'method','detail':'method: a call names its method'"},
        {"'a':1e999", "org.varlink.service.InvalidParameter",
         "'parameter':'method','detail':'method: a call names its method'"},
        {"'no':'method'", "org.varlink.service.InvalidParameter",
         "'parameter':'method','detail':'method: a call names its method'"},
        {"'method':'io.berth.Fabric.GetStatus','parameters':[]",
         "org.varlink.service.InvalidParameter",
         "'parameter':'parameters','detail':'parameters: it must be an object'"},
        {"'method':'io.berth.Fabric.GetStatus','parameters':{'x':1}",
         "org.varlink.service.InvalidParameter",
         "'parameter':'x','detail':'x: there is no such parameter'"},
        {"'method':'io.berth.Fabric.GetStatus','more':1", "org.varlink.service.InvalidParameter",
         "'parameter':'more','detail':'more: it must be true or false'"},
        {"'method':'io.berth.Fabric.GetStatus','oneway':'yes'",
         "org.varlink.service.InvalidParameter",
         "'parameter':'oneway','detail':'oneway: it must be true or false'"},
        {"'method':'io.berth.Fabric.GetStatus','upgrade':true",
         "org.varlink.service.InvalidParameter",
         "'parameter':'upgrade','detail':'upgrade: this service has no other protocol'"},
        {"'method':'io.berth.Fabric.GetMatrix'", "org.varlink.service.InvalidParameter",
         "'parameter':'metric','detail':'metric: it is missing'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m','where':{'a':1}}",
         "org.varlink.service.InvalidParameter",
         "'parameter':'where.a','detail':'where.a: it must be a string'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'none'}",
         "io.berth.Fabric.NoSuchMetric", "'metric':'na\xc3\xafve \\'x\\' ?\\\\','detail':'no'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'fail'}",
         "io.berth.Fabric.Unavailable", "'detail':'as asked'"},
        {"'method':'io.berth.Health.Probe','parameters':{'budget_ns':-1}", "io.berth.Health.Busy",
         "'by':'','detail':'as asked'"},
    };
    struct client *c = client_new(*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char call[300], reply[300];
        snprintf(call, sizeof call, "{%s}", cases[i].call);
        snprintf(reply, sizeof reply, "{'error':'%s','parameters':{%s}}", cases[i].error,
                 cases[i].parameters);
        sem_post(&c->d->release);
        say(c, call);
        hears(c, reply);
    }
    say(c, STATUS);
    hears(c, NULL);
    client_free(c);
}

static void test_no_json(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "[]",
                                        "7",
                                        "null",
                                        "{",
                                        "{'a':1,'a':2}",
                                        "{'a':NaN}",
                                        "{'a':'\xff'}",
                                        "{'a':'\\ud800'}",
                                        "{'a':'\\u0000'}",
                                        STATUS "x",
                                        "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct client *c = client_new(*state);
        say(c, STATUS);
        say(c, texts[i]);
        say(c, STATUS); /* not answered any more */
        hears(c, NULL);
        hears_the_end(c);
        client_free(c);
    }
    assert_int_equal(((struct daemon *)*state)->calls, sizeof texts / sizeof *texts);

    struct client *c = client_new(*state);
    char deep[3000];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    send_bytes(c, "{\"method\":", 10);
    send_bytes(c, deep, sizeof deep);
    hears_the_end(c);
    client_free(c);
}

static unsigned fails_at; /* the allocation of jansson's that fails from now on; 0 none */

static void *scarce(size_t size)
{
    if (fails_at > 0 && --fails_at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(size);
}

/* True when the next reply is that there was no memory to read the call. */
static bool hears_of_no_memory(struct client *c)
{
    while (memchr(c->data, '\0', c->length) == NULL) {
        turn(c->d);
        if (!receive(c))
            fail_msg("closed at allocation %u", fails_at);
    }
    bool is_refused =
        strcmp(c->data, "{\"error\":\"org.varlink.service.Unavailable\",\"parameters\":{\"detail\":"
                        "\"no memory to read the call: ask again in a moment\"}}") == 0;
    hears(c, NULL);
    return is_refused;
}

/* Whichever allocation fails as a call is read, it is answered, and the connection stays; a oneway
 * call is not answered. */
static void test_no_memory_to_read(void **state)
{
    struct client *c = client_new(*state);
    json_set_alloc_funcs(scarce, free);
    unsigned refused = 0, at = 0;
    do {
        fails_at = ++at;
        say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'none','where':{'a':'"
               "a longer text'}}}");
        refused += hears_of_no_memory(c);
    } while (fails_at == 0);
    fails_at = 0;
    assert_true(refused > 10 && refused >= at - 3);
    fails_at = 3;
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true}");
    hears_the_end(c);
    fails_at = 0;
    json_set_alloc_funcs(malloc, free);
    client_free(c);
}

static void test_checked_replies(void **state)
{
    struct daemon *d = *state;
    const struct server_limits limits = default_limits();
    d->config.check_replies = true;
    restart(d, &limits);
    struct client *c = client_new(d);
    say(c, STATUS);
    hears(c, "{'error':'io.berth.Fabric.Unavailable','parameters':{'detail':'our reply to "
             "io.berth.Fabric.GetStatus is not what its "
             "interface declares: state: it is missing'}}");
    say(c, "{'method':'org.varlink.service.GetInfo'}");
    hears(c, NULL);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'none'}}");
    hears(c, "{'error':'io.berth.Fabric.NoSuchMetric','parameters':{'metric':'na\xc3\xafve \\'x\\' "
             "?\\\\','detail':'no'}}");
    client_free(c);
}

/* Order, more, oneway. */

static void test_pipelined(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, STATUS);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(c, STATUS);
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':2},'more':true}");
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':2}}");
    say(c, "{'method':'no.such.Thing'}");
    say(c, STATUS);
    hears(c, "{'parameters':{'calls':1}}");
    hears_nothing(c);
    assert_int_equal(d->calls, 2); /* the work delays the next calls */
    struct client *other = client_new(d);
    say(other, STATUS);
    hears(other, "{'parameters':{'calls':3}}"); /* of this connection only */
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'parameters':{'calls':4}}");
    hears(c, "{'parameters':{'left':2},'continues':true}");
    hears(c, "{'parameters':{'left':1},'continues':true}");
    hears(c, "{'parameters':{'left':0}}");
    hears(c, "{'parameters':{'left':0}}");
    hears(c,
          "{'error':'org.varlink.service.InterfaceNotFound','parameters':{'interface':'no.such'}}");
    hears(c, "{'parameters':{'calls':7}}");
    client_free(c);
    client_free(other);
}

static void test_oneway(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true}");
    say(c, "{'method':'io.berth.Fabric.Nope','oneway':true}");
    say(c, "{'method':7,'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true,'more':3}");
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'},'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'fail'},'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.Watch','oneway':true,'more':true}");
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':5},'oneway':true,'more':"
           "true}");
    say(c, STATUS);
    hears_nothing(c);
    sem_post(&d->release);
    sem_post(&d->release);
    hears(c, "{'parameters':{'calls':5}}");
    assert_int_equal(d->pulled, 0);
    hears_nothing(c);
    client_free(c);

    c = client_new(d); /* a caller that does not even wait */
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true}");
    client_free(c);
    until_clients(d, 0);
    assert_int_equal(d->calls, 6);
}

static void test_odd_sizes(void **state)
{
    struct client *c = client_new(*state);
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}\0{\"method\":\"io.berth.Fabric."
                        "GetStatus\",\"more\":false}";
    unsigned calls = 0;
    for (size_t piece = 1; piece <= sizeof text; piece += 1 + piece / 4) {
        for (size_t i = 0; i < sizeof text; i += piece) {
            send_bytes(c, text + i, sizeof text - i < piece ? sizeof text - i : piece);
            turn(c->d);
        }
        for (int i = 0; i < 2; i++) {
            char expected[64];
            snprintf(expected, sizeof expected, "{'parameters':{'calls':%u}}", ++calls);
            hears(c, expected);
        }
    }
    client_free(c);
}

static void test_watch(void **state)
{
    struct daemon *d = *state;
    struct client *w = client_new(d), *once = client_new(d);
    say(w, "{'method':'io.berth.Fabric.Watch','more':true}");
    hears(w, "{'parameters':{'calls':0},'continues':true}");
    say(once, "{'method':'io.berth.Fabric.Watch'}");
    hears(once, "{'parameters':{'calls':0}}");
    notifier_wake(&d->notifier);
    hears_nothing(w);
    say(once, STATUS);
    hears(once, NULL);
    notifier_wake(&d->notifier);
    notifier_wake(&d->notifier);
    hears(w, "{'parameters':{'calls':1},'continues':true}");
    hears_nothing(w);
    say(w, STATUS); /* waits behind the stream */
    hears_nothing(w);
    client_free(w);
    until_clients(d, 1);
    assert_int_equal(d->calls, 1);
    assert_int_equal(d->states, 0);
    client_free(once);
}

/* A peer that said all it has to say, and still reads. */
static void test_half_closed(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(c, STATUS);
    shutdown(c->fd, SHUT_WR);
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'parameters':{'calls':2}}");
    hears_the_end(c);
    client_free(c);

    c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.Watch','more':true}");
    shutdown(c->fd, SHUT_WR);
    hears(c, "{'parameters':{'calls':2},'continues':true}");
    until_clients(d, 1);
    client_free(c);
    until_clients(d, 0); /* noticed by looking, as nothing is read any more */
}

/* Peers that leave. */

static void test_gone_during_work(void **state)
{
    struct daemon *d = *state;
    for (unsigned half = 0; half < 2; half++) {
        struct client *c = client_new(d);
        say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
        say(c, STATUS);
        hears_nothing(c);
        until_begun(d, half + 1);
        client_free(c);
        for (int i = 0; i < 20; i++)
            turn(d);
        assert_int_equal(d->states, 1); /* the work has it */
        assert_int_equal(server_clients(d->server), 1);
        sem_post(&d->release);
        until_clients(d, 0);
        assert_int_equal(d->states, 0);
    }
}

/* A call and the end of its peer that arrive together: no work is begun that nobody waits for. */
static void test_gone_before_work(void **state)
{
    struct daemon *d = *state;
    const char *const calls[] = {
        "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}",
        "{'method':'io.berth.Fabric.Record','more':true}"};
    for (int i = 0; i < 2; i++) {
        struct client *c = client_new(d);
        say(c, calls[i]);
        client_free(c);
        for (int k = 0; k < 30; k++)
            turn(d);
        until_clients(d, 0);
        assert_int_equal(d->states, 0);
    }
    assert_int_equal(d->calls, 1); /* of GetMatrix, as Record counts none */
}

static void test_gone_during_stream(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.Record','more':true}");
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, NULL);
    client_free(c);
    until_clients(d, 0);
    assert_int_equal(d->states, 0);
}

static void test_close_during_everything(void **state)
{
    struct daemon *d = *state;
    const struct server_limits limits = default_limits();
    struct client *work = client_new(d), *streaming = client_new(d), *unread = client_new(d),
                  *half = client_new(d), *late = client_new(d);
    say(work, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(streaming, "{'method':'io.berth.Fabric.Watch','more':true}");
    for (int i = 0; i < 20; i++)
        say(unread, "{'method':'io.berth.Fabric.GetNode'}");
    send_bytes(half, "{", 1);
    hears(streaming, NULL);
    say(late, "{'method':'io.berth.Fabric.GetNode'}"); /* a reply of the stream is due */
    hears(late, NULL);
    /* a race between its end and the begin of the closing, with either result */
    sem_post(&d->release);
    restart(d, &limits);
    hears_the_last(streaming); /* the reply that was due, or one before it and that */
    hears_the_end(half);
    client_free(work);
    client_free(streaming);
    client_free(unread);
    client_free(half);
    client_free(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_call),
        TEST(test_service),
        TEST(test_errors),
        TEST(test_no_json),
        TEST(test_checked_replies),
        TEST(test_no_memory_to_read),
        TEST(test_pipelined),
        TEST(test_oneway),
        TEST(test_odd_sizes),
        TEST(test_watch),
        TEST(test_half_closed),
        TEST(test_gone_during_work),
        TEST(test_gone_before_work),
        TEST(test_gone_during_stream),
        TEST(test_close_during_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
