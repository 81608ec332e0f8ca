/* io.berth.Fabric.Map: plan_map in a sealed file, and the page, for programs to map. */
#include <map_layout.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sealed.h"
#include "node/jsonify.h"
#include "plan/map/map.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"

enum { MAP_FILE, PAGE_FILE, FILES };

/* A request, until it is answered. */
struct asked {
    struct daemon *daemon;
    const struct snapshot *snap;
    uint64_t claims;
    int fd[FILES]; /* borrowed, except for a map that was made for this request */
    size_t bytes;
    bool is_new, is_made;
};

static void asked_free(void *state)
{
    struct asked *asked = state;
    if (asked->is_made)
        map_keep_take(&asked->daemon->maps, asked->snap->generation, asked->fd[MAP_FILE],
                      asked->bytes);
    snapshot_unref(asked->snap);
    free(asked);
}

static enum berth_code make_map(struct asked *asked, struct berth_err *err)
{
    char *data = NULL;
    enum berth_code code = plan_map(asked->snap, &data, &asked->bytes, err);
    if (code != BERTH_OK)
        return code;
    code = sealed_copy("berth-map", data, asked->bytes, &asked->fd[MAP_FILE], err);
    free(data);
    asked->is_made = code == BERTH_OK;
    return code;
}

static enum berth_code print_answer(void *state, struct print *reply, struct berth_err *err)
{
    struct asked *asked = state;
    enum berth_code code = asked->is_new ? make_map(asked, err) : BERTH_OK;
    if (code != BERTH_OK)
        return code;
    print_open(reply, '{');
    print_key(reply, "layout");
    print_integer(reply, MAP_LAYOUT);
    print_key(reply, "bytes");
    print_integer(reply, (int64_t)asked->bytes);
    print_key(reply, "generation");
    print_integer(reply, (int64_t)asked->snap->generation);
    print_key(reply, "map");
    print_integer(reply, MAP_FILE);
    print_key(reply, "page");
    print_integer(reply, PAGE_FILE);
    print_key(reply, "basis");
    jsonify_print_basis(reply, asked->snap, asked->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

enum berth_code query_map(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct daemon *daemon = call->daemon;
    struct map_keep *maps = &daemon->maps;
    enum berth_code code = map_keep_begin(maps, &daemon->notifier, daemon->sched, err);
    if (code != BERTH_OK)
        return code;
    struct asked *asked = calloc(1, sizeof *asked);
    if (asked == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *asked = (struct asked){.daemon = daemon,
                            .snap = snapshot_ref(call->snap),
                            .claims = claim_keep_generation(daemon->claims),
                            .fd = {maps->map_fd, maps->page_fd},
                            .bytes = maps->bytes,
                            .is_new = maps->generation != call->snap->generation};
    *ret = (struct outcome){.kind = asked->is_new ? OUTCOME_WORK : OUTCOME_RESULT,
                            .state = asked,
                            .write = print_answer,
                            .descriptor = asked->fd,
                            .descriptor_count = FILES,
                            .free_state = asked_free};
    return BERTH_OK;
}
