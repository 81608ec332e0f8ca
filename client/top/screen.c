/* Draws the view with ncurses, and takes its keys. */
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top/top.h"
#include "ui/answer.h"

#define REFRESH_MS 2000
#define SPARKS     12
#define LINE_BYTES 512

enum { COLOUR_GOOD = 1, COLOUR_WARN, COLOUR_BAD, COLOUR_TITLE };

struct screen {
    struct top *top;
    enum top_view view;
    size_t chosen; /* value whose history is shown */
    int row;
    struct ui style; /* utf8 of this terminal */
};

/* ---- lines ---- */

/* Bytes of a text that fit a row, at least one character; the rest would run into the next row. */
static size_t bytes_of_row(const char *text)
{
    size_t bytes = 0;
    for (int columns = 0; text[bytes] != '\0'; bytes++) {
        columns += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (columns > COLS && bytes > 0)
            break;
    }
    return bytes;
}

static void put(struct screen *screen, int attributes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(struct screen *screen, int attributes, const char *format, ...)
{
    char line[LINE_BYTES], clean[LINE_BYTES];
    va_list args;
    if (screen->row >= LINES - 1)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ui_clean(clean, sizeof clean, line);
    attron(attributes);
    mvaddnstr(screen->row++, 0, clean, (int)bytes_of_row(clean));
    attroff(attributes);
}

/* Sentences take as many rows as they need, below the end of the text before them. */
static void put_sentence(struct screen *screen, int attributes, const char *before,
                         const char *text)
{
    struct ui rows = {.utf8 = true, .width = COLS};
    ui_put(&rows, "%s", before);
    ui_paragraph(&rows, (int)strlen(before), text);
    char *rest = NULL;
    for (char *row = rows.text == NULL ? NULL : strtok_r(rows.text, "\n", &rest); row != NULL;
         row = strtok_r(NULL, "\n", &rest))
        put(screen, attributes, "%s", row);
    ui_done(&rows);
}

static int colour_of(const char *word)
{
    static const struct {
        const char *word;
        int colour;
    } colours[] = {{"healthy", COLOUR_GOOD},
                   {"degraded", COLOUR_WARN},
                   {"unhealthy", COLOUR_BAD},
                   {"warning", COLOUR_WARN},
                   {"critical", COLOUR_BAD}};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].word, word) == 0)
            return COLOR_PAIR(colours[i].colour);
    return 0;
}

/* Says what the daemon does: how far it has measured, when it last did, and which claim holds it.
 */
static void put_now(struct screen *screen)
{
    const struct top *top = screen->top;
    const json_t *claim, *last = json_object_get(top->status, "last_probe_at_s");
    const char *held = "";
    char when[UI_NUMBER];
    int clients = (int)json_integer_value(json_object_get(top->status, "clients"));
    size_t i;
    json_array_foreach(json_object_get(top->claims, "claims"), i, claim)
    {
        if (strcmp(ui_member(claim, "purpose"), "compute") == 0)
            held = ui_member(claim, "claim");
    }
    struct ui line = {.utf8 = true};
    if (json_is_number(json_object_get(top->status, "progress")))
        ui_put(&line, "measuring: %.0f %%; ", 100 * ui_member_number(top->status, "progress"));
    else if (*held != '\0')
        ui_put(&line, "measuring waits for claim %.24s; ", held);
    ui_put(&line, "%s%s; store %s; %d client%s",
           json_is_integer(last) ? "measured last " : "never measured",
           json_is_integer(last) ? ui_when(when, json_integer_value(last)) : "",
           strcmp(ui_member(top->status, "store"), "memory_only") == 0
               ? "in memory only"
               : ui_member(top->status, "store"),
           clients, clients == 1 ? "" : "s");
    size_t waiting = json_array_size(json_object_get(top->claims, "waiting"));
    if (waiting > 0)
        ui_put(&line, "; %zu claim%s for profiling wait%s", waiting, waiting == 1 ? "" : "s",
               waiting == 1 ? "s" : "");
    put_sentence(screen, 0, "", line.text == NULL ? "" : line.text);
    ui_done(&line);
}

/* Says what was measured last in the background, what it cost, and why the next unit waits. */
static void put_background(struct screen *screen)
{
    const json_t *measuring = json_object_get(screen->top->status, "measuring");
    const char *last = ui_member(measuring, "last"), *waits = ui_member(measuring, "waits"),
               *beside = ui_member(measuring, "beside");
    char time[UI_NUMBER];
    struct ui line = {.utf8 = true};
    if (!json_is_object(measuring))
        return;
    ui_put(&line, "background: ");
    if (*last != '\0')
        ui_put(&line, "%.80s took %s; ", last,
               ui_time(&line, time, ui_member_number(measuring, "last_cost_ns")));
    ui_put(&line, "%.2g %% of the last hour (budget %.2g %%)",
           100 * ui_member_number(measuring, "last_hour"),
           100 * ui_member_number(measuring, "budget"));
    if (*waits != '\0')
        ui_put(&line, "; waits for %.120s", waits);
    if (*beside != '\0')
        ui_put(&line, "; beside %.120s: idle gpus only", beside);
    put_sentence(screen, 0, "", line.text == NULL ? "" : line.text);
    ui_done(&line);
}

static void put_title(struct screen *screen)
{
    const struct top *top = screen->top;
    const char *verdict = ui_member(top->check, "verdict");
    char when[UI_NUMBER];
    ui_when(when, (int64_t)time(NULL));
    put(screen, A_BOLD, "%s  %s  %s", ui_member(top->node, "name"), ui_member(top->status, "state"),
        when);
    put_sentence(screen, colour_of(verdict) | A_BOLD, "", ui_member(top->check, "reason"));
    if (*top->problem != '\0')
        put_sentence(screen, COLOR_PAIR(COLOUR_BAD), "", top->problem);
    put_now(screen);
    put_background(screen);
    screen->row++;
}

/* ---- the node: places, who has them, free memory ---- */

#define DEPTH_MOST 16 /* places in each other; a daemon may lie */

/* True for the place itself, and for what is within it. */
static bool is_within(const struct top *top, const char *name, const char *outer)
{
    for (int depth = 0; depth < DEPTH_MOST && *name != '\0'; depth++) {
        const json_t *place, *found = NULL;
        size_t i;
        if (strcmp(name, outer) == 0)
            return true;
        json_array_foreach(json_object_get(top->node, "places"), i, place)
        {
            if (strcmp(ui_member(place, "name"), name) == 0)
                found = place;
        }
        name = ui_member(found, "parent");
    }
    return false;
}

/* Writes the hour; of another day than the next 24 hours the date. Fits beside the claim's number.
 */
static void put_end(char end[6], int64_t at_s)
{
    time_t at = (time_t)at_s;
    struct tm parts;
    bool is_near = at_s - (int64_t)time(NULL) < 24 * 3600;
    if (at_s <= 0 || localtime_r(&at, &parts) == NULL ||
        (is_near ? strftime(end, 6, "%H:%M", &parts) : strftime(end, 6, "%m-%d", &parts)) == 0)
        strcpy(end, "-");
}

/* "claim c1 until 13:00", with the part that it has of an L3, and how a gpu is profiled; or "". */
static void claim_of(const struct top *top, const json_t *row, char *text, size_t size)
{
    const char *name = ui_member(row, "name");
    bool has_parts = strcmp(ui_member(row, "kind"), "llc") == 0;
    const json_t *claim, *place;
    char end[6], part[40] = "";
    size_t i, p;
    text[0] = '\0';
    json_array_foreach(json_object_get(top->claims, "claims"), i, claim)
    {
        json_array_foreach(json_object_get(claim, "places"), p, place)
        {
            const char *its = json_is_string(place) ? json_string_value(place) : "";
            if (strcmp(its, name) != 0 && !(has_parts && is_within(top, its, name)))
                continue;
            if (strcmp(its, name) != 0)
                snprintf(part, sizeof part, "%.20s: ", its);
            put_end(end, json_integer_value(json_object_get(claim, "expires_at_s")));
            const char *configuration = ui_member(claim, "configuration");
            bool is_profiled = strcmp(ui_member(claim, "purpose"), "profiling") == 0;
            snprintf(text, size, "%s%s %.24s until %s%s%.40s", part,
                     is_profiled ? "profiling" : "claim", ui_member(claim, "claim"), end,
                     *configuration != '\0' ? ": " : "", configuration);
            return;
        }
    }
}

static int64_t free_of(const struct top *top, const char *place)
{
    const json_t *option, *bytes;
    size_t i;
    json_array_foreach(json_object_get(top->memory, "options"), i, option)
    {
        bytes = json_object_get(option, "free_bytes");
        if (strcmp(ui_member(option, "memory"), place) == 0 && json_is_integer(bytes))
            return json_integer_value(bytes);
    }
    return -1;
}

/* The model without the words that all of its vendor have. */
static const char *model_of(const json_t *place)
{
    static const char *const prefixes[] = {"AMD Instinct ", "NVIDIA "};
    const char *model = ui_member(place, "model");
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(model, prefixes[i], strlen(prefixes[i])) == 0)
            return model + strlen(prefixes[i]);
    return model;
}

static void draw_node(struct screen *screen)
{
    static const char *const kinds[] = {"gpu", "numa", "nic", "llc"};
    const struct top *top = screen->top;
    const json_t *place;
    size_t i;
    bool is_free_known = false;
    json_array_foreach(json_object_get(top->node, "places"), i, place) is_free_known =
        is_free_known || free_of(top, ui_member(place, "name")) >= 0;
    put(screen, COLOR_PAIR(COLOUR_TITLE) | A_BOLD, "%-7s %-17s %-18s %s", "place", "what",
        is_free_known ? "free memory" : "memory", "claim");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        json_array_foreach(json_object_get(top->node, "places"), i, place)
        {
            const char *kind = ui_member(place, "kind"), *name = ui_member(place, "name");
            int64_t bytes = json_integer_value(json_object_get(place, "capacity_bytes"));
            char memory[UI_NUMBER], claim[LINE_BYTES / 2], what[32];
            bool has_cpus = strcmp(kind, "llc") == 0 || strcmp(kind, "numa") == 0;
            const char *interface = ui_member(json_object_get(place, "details"), "interface");
            if (strcmp(kind, kinds[k]) != 0)
                continue;
            claim_of(top, place, claim, sizeof claim);
            snprintf(
                what, sizeof what, "%s%.20s",
                strcmp(kind, "llc") == 0 ? "L3 " : has_cpus ? "cpus " : "",
                *interface != '\0' ? interface
                : has_cpus         ? ui_member(place, "cpus")
                                   : model_of(place));
            if (free_of(top, name) >= 0)
                ui_bytes_of(memory, free_of(top, name), bytes);
            else
                ui_bytes(memory, bytes);
            put(screen, 0, "%-7.7s %-17.17s %-18.18s %s", name, what, bytes > 0 ? memory : "",
                claim);
        }
}

/* ---- health ---- */

static void draw_health(struct screen *screen)
{
    const json_t *finding, *command;
    size_t i, k;
    char one[UI_NUMBER], other[UI_NUMBER], when[UI_NUMBER], before[16];
    json_array_foreach(json_object_get(screen->top->check, "findings"), i, finding)
    {
        const char *severity = ui_member(finding, "severity"), *unit = ui_member(finding, "unit");
        double value = ui_member_number(finding, "value"),
               expected = ui_member_number(finding, "expected");
        struct ui line = {.utf8 = true};
        ui_text(&line, ui_member(finding, "place"));
        ui_put(&line, ": ");
        ui_text(&line, ui_member(finding, "text"));
        snprintf(before, sizeof before, "%-8.8s  ", severity);
        put_sentence(screen, colour_of(severity), before, line.text == NULL ? "" : line.text);
        ui_done(&line);
        if (!json_is_object(json_object_get(finding, "cell")) && !isnan(value) && !isnan(expected))
            put(screen, 0, "          %s, expected %s", ui_value(&screen->style, one, value, unit),
                ui_value(&screen->style, other, expected, unit));
        if (json_integer_value(json_object_get(finding, "since_s")) > 0)
            put(screen, 0, "          since %s",
                ui_when(when, json_integer_value(json_object_get(finding, "since_s"))));
        if (*ui_member(finding, "action") != '\0')
            put_sentence(screen, A_BOLD, "          do: ", ui_member(finding, "action"));
        json_array_foreach(json_object_get(finding, "commands"), k, command)
        {
            put(screen, A_BOLD, "          %s",
                json_is_string(command) ? json_string_value(command) : "");
        }
    }
    const json_t *unconfirmed = json_object_get(screen->top->check, "unconfirmed");
    json_array_foreach(unconfirmed, i, finding)
    {
        struct ui line = {.utf8 = true};
        ui_text(&line, ui_member(finding, "place"));
        ui_put(&line, ": ");
        ui_text(&line, ui_member(finding, "text"));
        ui_put(&line, "; no finding yet, it is measured again");
        put_sentence(screen, 0, "seen once ", line.text == NULL ? "" : line.text);
        ui_done(&line);
    }
    if (json_array_size(json_object_get(screen->top->check, "findings")) == 0 &&
        json_array_size(unconfirmed) == 0)
        put(screen, 0, "no findings");
}

/* ---- values ---- */

/* Bytes of a text in a field of so many columns. */
static int field(int columns, const char *text)
{
    return columns + (int)strlen(text) - ui_columns(text);
}

/* Height of a value from 0 to 1; 0.5 where the span is 0, or more than a double holds. */
static double share_of(double value, double least, double most)
{
    double share = (value - least) / (most - least);
    return share >= 0 && share <= 1 ? share : 0.5;
}

/* One sign a point, the latest on the right. */
static void spark(const struct screen *screen, const struct top_value *value, char *text)
{
    double least = INFINITY, most = -INFINITY;
    size_t first = value->points > SPARKS ? value->points - SPARKS : 0;
    text[0] = '\0';
    for (size_t i = first; i < value->points; i++) {
        least = fmin(least, value->point[i]);
        most = fmax(most, value->point[i]);
    }
    for (size_t i = first; i < value->points; i++)
        strcat(text, ui_spark(&screen->style, share_of(value->point[i], least, most)));
}

/* "!" where health calls the value worse than it should be, "?" where it has seen that once. */
static char mark_of(const struct top_value *value)
{
    bool is_worse = *value->code != '\0' && strcmp(value->severity, "info") != 0;
    return !is_worse ? ' ' : value->is_unconfirmed ? '?' : '!';
}

static void draw_values(struct screen *screen)
{
    const struct top *top = screen->top;
    put(screen, COLOR_PAIR(COLOUR_TITLE) | A_BOLD, "  %-27s %-17s %-10s %-10s %s",
        "metric, its worst cell", "from, to", "now", "expected", "history");
    if (top->values == 0)
        put(screen, 0, "nothing is measured");
    size_t room = (size_t)(LINES > screen->row + 2 ? LINES - screen->row - 2 : 1),
           first = screen->chosen >= room ? screen->chosen - room + 1 : 0;
    for (size_t i = first; i < top->values; i++) {
        const struct top_value *value = &top->value[i];
        char now[UI_NUMBER], expected[UI_NUMBER], history[4 * SPARKS + 1], ends[2 * TOP_NAME + 2];
        spark(screen, value, history);
        snprintf(ends, sizeof ends, "%s %s", value->from, value->to);
        ui_value(&screen->style, now, value->now, value->unit);
        ui_value(&screen->style, expected, value->expected, value->unit);
        put(screen, colour_of(value->severity) | (i == screen->chosen ? A_REVERSE : 0),
            "%c%c%-27.27s %-17.17s %-*s %-*s %s", i == screen->chosen ? '>' : ' ', mark_of(value),
            value->metric, ends, field(10, now), now, field(10, expected), expected, history);
    }
}

/* ---- one history ---- */

static void draw_history(struct screen *screen)
{
    const struct top *top = screen->top;
    if (screen->chosen >= top->values) {
        put(screen, 0, "nothing is measured");
        return;
    }
    const struct top_value *value = &top->value[screen->chosen];
    char low[UI_NUMBER], high[UI_NUMBER], expected[UI_NUMBER], from[UI_NUMBER], to[UI_NUMBER];
    double least = isnan(value->expected) ? INFINITY : value->expected,
           most = isnan(value->expected) ? -INFINITY : value->expected;
    for (size_t i = 0; i < value->points; i++) {
        least = fmin(least, value->point[i]);
        most = fmax(most, value->point[i]);
    }
    put(screen, A_BOLD, "%s %s to %s", value->metric, value->from, value->to);
    put(screen, colour_of(value->severity), "%s: %s%s%s%s", ui_reference(value->code),
        ui_value(&screen->style, expected, value->expected, value->unit),
        *value->code != '\0' ? "; " : "", value->code, value->is_unconfirmed ? ", seen once" : "");
    if (value->points == 0)
        return;
    int top_row = screen->row + 1, rows = LINES - top_row - 4;
    put(screen, 0, "%s", ui_value(&screen->style, high, most, value->unit));
    for (size_t i = 0; i < value->points && rows > 1; i++) {
        double share = share_of(value->point[i], least, most);
        int column = (int)(i * (size_t)(COLS - 2) / (value->points > 1 ? value->points - 1 : 1));
        mvaddch(top_row + (int)lround((1 - share) * (rows - 1)), column, '*');
    }
    if (rows > 1 && !isnan(value->expected) && most > least)
        mvaddstr(top_row + (int)lround((1 - share_of(value->expected, least, most)) * (rows - 1)),
                 COLS - 10, "expected");
    screen->row = top_row + (rows > 1 ? rows : 0);
    put(screen, 0, "%s", ui_value(&screen->style, low, least, value->unit));
    put(screen, 0, "%s to %s, %zu point%s", ui_when(from, (int64_t)value->first_s),
        ui_when(to, (int64_t)value->last_s), value->points, value->points == 1 ? "" : "s");
}

/* ---- the loop ---- */

static void draw(struct screen *screen)
{
    static void (*const views[TOP_VIEWS])(struct screen *) = {[TOP_NODE] = draw_node,
                                                              [TOP_HEALTH] = draw_health,
                                                              [TOP_VALUES_VIEW] = draw_values,
                                                              [TOP_HISTORY] = draw_history};
    erase();
    screen->row = 0;
    put_title(screen);
    views[screen->view](screen);
    screen->row = LINES - 2;
    put(screen, A_DIM, "n node  h health  v values  arrows and enter: history of a value  q quit");
    refresh();
}

/* False: quit. */
static bool take_key(struct screen *screen, int key)
{
    size_t values = screen->top->values;
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case 'n':
        screen->view = TOP_NODE;
        break;
    case 'h':
        screen->view = TOP_HEALTH;
        break;
    case 'v':
        screen->view = TOP_VALUES_VIEW;
        break;
    case KEY_DOWN:
        screen->view = screen->view == TOP_HISTORY ? TOP_HISTORY : TOP_VALUES_VIEW;
        screen->chosen += screen->chosen + 1 < values;
        break;
    case KEY_UP:
        screen->view = screen->view == TOP_HISTORY ? TOP_HISTORY : TOP_VALUES_VIEW;
        screen->chosen -= screen->chosen > 0;
        break;
    case '\n':
    case KEY_ENTER:
        screen->view = screen->view == TOP_VALUES_VIEW ? TOP_HISTORY : TOP_VALUES_VIEW;
        break;
    default:
        break;
    }
    return true;
}

/* Takes a key, or the news where nobody presses any for a while. False: quit, or no terminal. */
static bool wait_for_key(struct screen *screen)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&input, 1, REFRESH_MS), key = getch();
    if (ready == 0)
        top_refresh(screen->top);
    /* a terminal that is gone is always ready, and has no key */
    return !(ready > 0 && key == ERR) && take_key(screen, key);
}

void top_run(struct top *top)
{
    struct screen screen = {.top = top};
    bool is_on = true;
    setlocale(LC_ALL, "");
    ui_init(&screen.style, STDOUT_FILENO);
    initscr();
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    timeout(0);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(COLOUR_GOOD, COLOR_GREEN, -1);
        init_pair(COLOUR_WARN, COLOR_YELLOW, -1);
        init_pair(COLOUR_BAD, COLOR_RED, -1);
        init_pair(COLOUR_TITLE, COLOR_CYAN, -1);
    }
    while (is_on) {
        draw(&screen);
        is_on = wait_for_key(&screen);
    }
    endwin();
    ui_done(&screen.style);
}
