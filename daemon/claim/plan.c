#include "claim/plan.h"

#include <string.h>

#include "base/print.h"

char *claim_plan_text(const json_t *params)
{
    const char *name;
    json_t *value, *asked = json_object();
    bool ok = asked != NULL;
    json_object_foreach((json_t *)params, name, value)
    {
        if (ok && strcmp(name, "key") != 0 && !json_is_null(value))
            ok = json_object_set(asked, name, value) == 0;
    }
    char *text = ok ? print_tree(asked, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(asked);
    return text;
}

/* Returns a member of one that the other lacks or has with another value; NULL none. */
static const char *differing(const json_t *one, const json_t *other)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)one, name, value)
    {
        if (!json_equal(value, json_object_get(other, name)))
            return name;
    }
    return NULL;
}

static enum berth_code mismatch(const struct claim *claim, const char *asked, struct berth_err *err)
{
    json_t *before = json_loads(claim->plan_asked, 0, NULL), *now = json_loads(asked, 0, NULL);
    const char *field = differing(now, before);
    if (field == NULL)
        field = differing(before, now);
    err_text(err, 0, claim->key);
    err_text(err, 1, field != NULL ? field : "parameters");
    enum berth_code code = before == NULL || now == NULL
                               ? err_set(err, BERTH_NO_MEMORY, "no memory to compare requests")
                               : err_set(err, BERTH_KEY_MISMATCH,
                                         "the plan under the key %.60s was made for other %s; it "
                                         "stands until the claim is released",
                                         claim->key, field != NULL ? field : "parameters");
    json_decref(before);
    json_decref(now);
    return code;
}

enum berth_code claim_plan_recall(const struct claim *claim, const char *asked, json_t **ret_answer,
                                  struct berth_err *err)
{
    if (claim->plan_asked == NULL || claim->plan_answered == NULL)
        return BERTH_OK;
    if (strcmp(claim->plan_asked, asked) != 0)
        return mismatch(claim, asked, err);
    json_t *answer = json_loads(claim->plan_answered, 0, NULL);
    if (answer == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the plan that stands");
    *ret_answer = answer;
    return BERTH_OK;
}
