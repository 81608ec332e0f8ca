/* io.berth.Fabric.Record: the node as a node folder, one file a reply. */
#include <stdlib.h>
#include <string.h>

#include "discover/discover.h"
#include "node/jsonify.h"
#include "serve/daemon.h"
#include "serve/serve.h"

/* A Record in progress. The thread pool makes all files; then each reply sends one. */
struct recording {
    const struct snapshot *snap;
    struct files io;
    char *folder;  /* NULL this machine */
    json_t *files; /* array of replies */
    size_t next;
};

static void recording_free(void *state)
{
    struct recording *recording = state;
    snapshot_unref(recording->snap);
    free(recording->folder);
    json_decref(recording->files);
    free(recording);
}

static bool add_file(void *arg, const char *file, const char *text, size_t length)
{
    struct recording *recording = arg;
    json_t *content = json_stringn(text, length);
    if (content == NULL)
        return true; /* not UTF-8: no file of a node folder */
    return json_array_append_new(recording->files,
                                 json_pack("{s:s,s:o}", "file", file, "text", content)) == 0;
}

static enum berth_code make_files(void *state, json_t **ret_result, struct berth_err *err)
{
    struct recording *recording = state;
    (void)ret_result;
    recording->files = json_array();
    if (recording->files == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    const struct snapshot *snap = recording->snap;
    const struct folder_contents contents = {snap->graph, snapshot_origin(snap), snap->values,
                                             snap->sets,  &snap->counters,       snap->shapes};
    return discover_write_folder(&recording->io, recording->folder, &contents, add_file, recording,
                                 err);
}

static enum stream_step next_file(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct recording *recording = state;
    size_t count = json_array_size(recording->files);
    if (recording->next >= count) {
        err_set(err, BERTH_UNAVAILABLE, "there is nothing to record");
        return STREAM_ERROR;
    }
    *ret_reply = json_incref(json_array_get(recording->files, recording->next));
    /* the stream frees it when it is sent */
    json_array_set_new(recording->files, recording->next++, json_null());
    return recording->next == count ? STREAM_LAST : STREAM_REPLY;
}

enum berth_code query_record(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    if (!call->more)
        return err_set(err, BERTH_EXPECTED_MORE, "a node folder is several files: call with more");
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    recording->snap = snapshot_ref(call->snap);
    recording->io = call->daemon->io;
    if (call->daemon->config.node != NULL &&
        (recording->folder = strdup(call->daemon->config.node)) == NULL) {
        recording_free(recording);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = recording,
                            .work = make_files,
                            .next = next_file,
                            .free_state = recording_free};
    return BERTH_OK;
}
