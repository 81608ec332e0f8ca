#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/core.h"
#include "store/file.h"

void run_done(struct run *run)
{
    free(run->conditions);
    values_free(run->values);
    sets_free(run->sets);
    free(run->notes);
}

enum store_state store_state(const struct store *store)
{
    return __atomic_load_n(&store->published.state, __ATOMIC_ACQUIRE);
}

bool store_is_unread(const struct store *store)
{
    return __atomic_load_n(&store->published.is_unread, __ATOMIC_ACQUIRE);
}

uint64_t store_changes(const struct store *store)
{
    return __atomic_load_n(&store->published.changes, __ATOMIC_ACQUIRE);
}

uint64_t store_files(const struct store *store)
{
    return __atomic_load_n(&store->published.files, __ATOMIC_ACQUIRE);
}

bool store_note(struct store *store, struct note *ret_note)
{
    store_core_lock(store);
    bool is_wrong = store->note.code[0] != '\0';
    if (is_wrong)
        *ret_note = store->note;
    store_core_done(store, BERTH_OK);
    return is_wrong;
}

const char *store_state_name(enum store_state state)
{
    static const char *const names[] = {
        [STORE_OK] = "ok", [STORE_MEMORY_ONLY] = "memory_only", [STORE_SET_ASIDE] = "set_aside"};
    return names[state];
}

enum berth_code store_open(const char *directory, const struct clock *clock,
                           struct store **ret_store, struct berth_err *err)
{
    return store_open_as(directory, STORE_JOURNAL_AUTO, clock, ret_store, err);
}

enum berth_code store_open_as(const char *directory, enum store_journal journal,
                              const struct clock *clock, struct store **ret_store,
                              struct berth_err *err)
{
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for the store");
    pthread_mutex_init(&store->lock, NULL); /* cannot fail on Linux */
    store_log_index_init(&store->log_index);
    store->clock = *clock;
    store->journal = journal;
    if (directory != NULL) {
        if (asprintf(&store->path, "%s/berth.db", directory) < 0) {
            store->path = NULL;
            store_close(store);
            return err_set(err, BERTH_NO_MEMORY, "out of memory for the store");
        }
    }
    store_log_index_enter(&store->log_index);
    enum berth_code code = store_file_open(store, NULL, err);
    store_log_index_leave();
    if (code != BERTH_OK) {
        store_close(store);
        return code;
    }
    store->published.bytes[0] = STORE_BYTES_UNKNOWN;
    store_core_publish(store);
    *ret_store = store;
    return BERTH_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    store_log_index_enter(&store->log_index);
    store_file_return(store);
    store_file_close(store);
    store_log_index_leave();
    store_log_index_done(&store->log_index);
    graph_unref(store->graph);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

enum berth_code store_begin(struct store *store, const struct graph *graph, const char *boot_id,
                            struct berth_err *err)
{
    store_core_lock(store);
    graph_unref(store->graph);
    store->graph = graph_ref(graph);
    store->boot = 0;
    snprintf(store->boot_id, sizeof store->boot_id, "%s", boot_id);
    return store_core_done(store, store_core_ready(store, err));
}

void store_check(struct store *store)
{
    store_core_lock(store);
    if (store_file_check(store, NULL) == BERTH_OK)
        store_file_clear_aside(store);
    store_core_done(store, BERTH_OK);
}

bool store_retry(struct store *store, bool waits)
{
    store_core_lock(store);
    store->is_retry = !waits;
    bool is_well = store_file_return(store);
    store->is_retry = false;
    store_core_done(store, BERTH_OK);
    return is_well;
}
