/**
 * Folder client/ui: answers as text for a person: tables, matrices, pictures of the node, colours.
 *
 * Main types: struct ui (text that grows).
 * Uses: lib lib/task
 * Public headers: answer.h axes.h cells.h ends.h matrix.h node.h topo.h ui.h
 * Shown by: tests/unit/ui
 *
 * Text for a person: a growing buffer, the abilities of the terminal, and tables. A failed
 * allocation is noted once; every later call then does nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui {
    char *text;
    size_t length, size;
    bool failed; /* out of memory */
    bool utf8, colour, is_terminal;
    bool can_redraw; /* a terminal that moves its cursor */
    int width;       /* columns to use where possible */
    bool why;        /* evidence, alternatives and notes too */
};

enum ui_style { UI_PLAIN, UI_BOLD, UI_DIM, UI_GOOD, UI_WARN, UI_BAD };

/* Reads the abilities of the terminal behind fd. UTF-8 comes from LC_ALL, LC_CTYPE, LANG. Redrawing
 * needs a terminal with TERM other than dumb, and colour no NO_COLOR besides. Width: the
 * terminal's; without one COLUMNS, else 100; 60 to 1000. */
void ui_init(struct ui *ui, int fd);
void ui_done(struct ui *ui);

/* Rows of a screen that an answer fits, and rows of the text so far. */
#define UI_ROWS 40
size_t ui_rows(const struct ui *ui);

void ui_put(struct ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends untrusted text. Each control character, each that changes the direction of text or ends a
 * line (U+202E, U+2028), and each invalid byte becomes ?. NULL prints nothing. */
void ui_text(struct ui *ui, const char *text);
/* Writes such text into a buffer of size bytes, cut at a character where it does not fit. */
void ui_clean(char *buffer, size_t size, const char *text);
void ui_style(struct ui *ui, enum ui_style style); /* does nothing without colour */
/* 0 best .. UI_SHADES - 1 worst; UI_PLAIN style ends it */
void ui_background(struct ui *ui, int shade);
#define UI_SHADES 12
void ui_pad(struct ui *ui, int columns); /* appends spaces; none when negative */
int ui_columns(const char *text);        /* columns of UTF-8 text, one per character */

/* A table: takes cells row by row, and aligns them at the end. A column is right-aligned with the
 * letter r, left-aligned with l. The cell of a column with the letter c is not shown: it begins the
 * continuation lines of its row. */
struct ui_table {
    struct ui *ui;
    const char *align;
    int columns, gap; /* spaces between columns, 2 unless changed before the end */
    char **cell;
    size_t count, room;
};
void ui_table_begin(struct ui_table *table, struct ui *ui, const char *align);
/* cleans like ui_text */
void ui_cell(struct ui_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* prints and frees; rows are wrapped at columns, the last column at words, at the ui's width */
void ui_table_end(struct ui_table *table, int indent, bool has_header);

/* Wraps words at the ui's width; later lines are indented. */
void ui_paragraph(struct ui *ui, int indent, const char *text);
void ui_line(struct ui *ui, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ui/units.c: numbers with three digits for a person. The functions write to a buffer of UI_NUMBER
 * bytes and return it; "-" for an unknown number. */
#define UI_NUMBER 32
const char *ui_bytes(char *buffer, int64_t bytes); /* 64 GiB; unknown when negative */
const char *ui_bytes_of(char *buffer, int64_t some, int64_t all); /* 63.9 of 64 GiB */
/* exact where possible: 4 KiB, 4097 B */
const char *ui_count_bytes(char *buffer, int64_t bytes);
const char *ui_rate(char *buffer, double bytes_per_s);             /* 151 GB/s */
const char *ui_time(const struct ui *ui, char *buffer, double ns); /* 91.5 ns, 4.61 us */
/* 151, 25.3, 0.312; whole numbers without a fraction */
const char *ui_digits(char *buffer, double value);
const char *ui_value(const struct ui *ui, char *buffer, double value, const char *unit);
const char *ui_when(char *buffer, int64_t at_s); /* local: 2026-11-20 11:12:13 CET */

/* Returns a place's name for a person: "L3 llc0" of llc0, else the name. */
const char *ui_place(const char *name, char buffer[UI_NUMBER]);

/* A sign as high as the share, from 0 to 1. */
const char *ui_spark(const struct ui *ui, double share);

/* ui/status.c: a bar at the begin of the terminal's line, without a line end. */
void ui_bar(struct ui *ui, long long done, long long total);

/* Writes numbers in ascending order as ranges: "0-7,64-71"; cut where it does not fit. */
void ui_ranges(char *buffer, size_t size, const int *number, size_t count);
/* Count of the numbers in a list such as "0-3,8"; 0 for any other text. */
size_t ui_list_count(const char *list);
