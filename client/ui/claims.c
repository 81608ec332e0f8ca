/* Text of replies of Claim, Release and ListClaims. */

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define PLACES_SHOWN 8

/* Joins names as "gpu0, gpu1, numa3" in a new string; NULL when out of memory. */
static char *join(const json_t *places)
{
    const json_t *place;
    size_t size = 1, i;
    json_array_foreach(places, i, place) { size += json_string_length(place) + 2; }
    char *text = calloc(size, 1), *end = text;
    json_array_foreach(places, i, place)
    {
        if (text != NULL && json_is_string(place))
            end = stpcpy(stpcpy(end, i > 0 ? ", " : ""), json_string_value(place));
    }
    return text;
}

/* Name of the user on this machine, else the number. */
static const char *user(char *buffer, size_t size, int64_t uid)
{
    const struct passwd *entry = getpwuid((uid_t)uid);
    if (entry != NULL)
        snprintf(buffer, size, "%s", entry->pw_name);
    else
        snprintf(buffer, size, "%" PRId64, uid);
    return buffer;
}

static const char *owner(char *buffer, size_t size, const json_t *claim)
{
    int64_t pid = json_integer_value(json_object_get(claim, "owner_pid"));
    const char *cgroup = ui_member(claim, "owner_cgroup");
    if (pid > 0)
        snprintf(buffer, size, "process %" PRId64, pid);
    else
        snprintf(buffer, size, "%s", *cgroup != '\0' ? cgroup : "-");
    return buffer;
}

static void put_row(struct ui_table *table, const json_t *claim)
{
    char name[64], what[256], until[UI_NUMBER];
    const char *key = ui_member(claim, "key"), *configuration = ui_member(claim, "configuration");
    char *places = join(json_object_get(claim, "places"));
    if (places == NULL) {
        table->ui->failed = true;
        return;
    }
    ui_cell(table, "%s", ui_member(claim, "claim"));
    ui_cell(table, "%s",
            user(name, sizeof name, json_integer_value(json_object_get(claim, "uid"))));
    ui_cell(table, "%s", *key != '\0' ? key : "-");
    ui_cell(table, "%s%s%s", ui_member(claim, "purpose"), *configuration != '\0' ? ": " : "",
            configuration);
    ui_cell(table, "%s",
            ui_when(until, json_integer_value(json_object_get(claim, "expires_at_s"))));
    ui_cell(table, "%s", owner(what, sizeof what, claim));
    ui_cell(table, "%s", places);
    free(places);
}

void ui_claim_holding(struct ui *ui, const json_t *claim)
{
    char name[64], *places = join(json_object_get(claim, "places"));
    ui->failed = ui->failed || places == NULL;
    ui_text(ui, user(name, sizeof name, json_integer_value(json_object_get(claim, "uid"))));
    ui_put(ui, " has ");
    ui_text(ui, places);
    ui_put(ui, " (");
    ui_text(ui, ui_member(claim, "purpose"));
    ui_put(ui, ")");
    free(places);
}

static void put_table(struct ui *ui, const json_t *claims)
{
    static const char *const titles[] = {"CLAIM", "USER",      "KEY",   "FOR",
                                         "UNTIL", "OR END OF", "PLACES"};
    const json_t *claim;
    struct ui_table table;
    size_t i;
    ui_table_begin(&table, ui, "lllllll");
    for (size_t t = 0; t < sizeof titles / sizeof titles[0]; t++)
        ui_cell(&table, "%s", titles[t]);
    json_array_foreach(claims, i, claim) { put_row(&table, claim); }
    ui_table_end(&table, 0, true);
}

/* The first line: how many claims, on which places. */
static void put_claimed(struct ui *ui, const json_t *claims)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    json_t *all = json_object(), *unused;
    const json_t *claim, *place;
    const char *name, *separator = "";
    size_t i, k, shown = 0;
    json_array_foreach(claims, i, claim)
    {
        json_array_foreach(json_object_get(claim, "places"), k, place)
        {
            if (json_is_string(place))
                json_object_set_new(all, json_string_value(place), json_true());
        }
    }
    ui_put(&line, "%zu claim%s on ", i, i == 1 ? "" : "s");
    json_object_foreach(all, name, unused)
    {
        if (shown++ == PLACES_SHOWN)
            break;
        ui_put(&line, "%s", separator);
        ui_text(&line, name);
        separator = ", ";
    }
    if (json_object_size(all) > PLACES_SHOWN)
        ui_put(&line, " and %zu more", json_object_size(all) - PLACES_SHOWN);
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed;
    json_decref(all);
    ui_done(&line);
}

void ui_claims(struct ui *ui, const json_t *reply)
{
    const json_t *claims = json_object_get(reply, "claims"),
                 *waiting = json_object_get(reply, "waiting");
    if (json_array_size(claims) > 0) {
        put_claimed(ui, claims);
        put_table(ui, claims);
    } else {
        ui_put(ui, "nothing is claimed\n");
    }
    if (json_array_size(waiting) == 0)
        return;
    ui_put(ui, "\nwaiting, in the order of arrival\n");
    put_table(ui, waiting);
}

void ui_claim_waits(struct ui *ui, const json_t *by)
{
    char name[64], until[UI_NUMBER];
    const char *configuration = ui_member(by, "configuration");
    bool is_waiting = json_is_true(json_object_get(by, "is_waiting"));
    ui_put(ui, is_waiting ? "waits behind the earlier request " : "waits for claim ");
    ui_text(ui, ui_member(by, "claim"));
    ui_put(ui, " of user ");
    ui_text(ui, user(name, sizeof name, json_integer_value(json_object_get(by, "uid"))));
    ui_put(ui, is_waiting ? " for " : " on ");
    ui_text(ui, ui_member(by, "place"));
    if (!is_waiting)
        ui_put(ui, ", until %s",
               ui_when(until, json_integer_value(json_object_get(by, "expires_at_s"))));
    if (*configuration != '\0') {
        ui_put(ui, "; configuration ");
        ui_text(ui, configuration);
    }
    ui_put(ui, "\n");
}

void ui_claim(struct ui *ui, const json_t *reply)
{
    const json_t *claim = json_object_get(reply, "claim");
    char until[UI_NUMBER];
    ui_text(ui, ui_member(claim, "claim"));
    ui_put(ui, " until %s\n",
           ui_when(until, json_integer_value(json_object_get(claim, "expires_at_s"))));
}

void ui_released(struct ui *ui, const json_t *reply)
{
    ui_put(ui, json_integer_value(json_object_get(reply, "released")) > 0
                   ? "released\n"
                   : "you have no claim under that key\n");
}
