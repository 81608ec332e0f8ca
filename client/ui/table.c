/* Tables: cells stay text until the last one is there and the widths are known. */
#include "ui/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 80
#define NARROW      24 /* least columns for wrapped words */
#define CONTINUED   4  /* more indentation of a row's later lines */

void ui_table_begin(struct ui_table *table, struct ui *ui, const char *align)
{
    *table = (struct ui_table){.ui = ui, .align = align, .columns = (int)strlen(align), .gap = 2};
}

void ui_cell(struct ui_table *table, const char *format, ...)
{
    if (table->ui->failed)
        return;
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : table->room * 2;
        char **cell = realloc(table->cell, room * sizeof *cell);
        if (cell == NULL) {
            table->ui->failed = true;
            return;
        }
        table->cell = cell;
        table->room = room;
    }
    va_list args;
    char *text;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        table->ui->failed = true;
        return;
    }
    ui_clean(text, (size_t)length + 1, text); /* the result is never longer than the source */
    table->cell[table->count++] = text;
}

static int longest_word(const char *text)
{
    int longest = 0;
    for (int length; (length = (int)strcspn(text, " ")) > 0 || *text == ' ';
         text += length + (text[length] != '\0'))
        longest = length > longest ? length : longest;
    return longest;
}

/* A row while it is printed. */
struct line {
    struct ui *ui;
    int indent;
    const char *begin; /* start of the row's later lines */
    int used;          /* columns of the line that are taken */
    int spaces;        /* in front of the next cell */
};

/* Starts a line of the row with room for that many columns, unless the current line has it. */
static void make_room(struct line *line, int columns)
{
    int later = line->indent + CONTINUED;
    if (line->used <= later || line->used + columns <= line->ui->width || *line->begin != '\0')
        return;
    ui_put(line->ui, "\n");
    ui_pad(line->ui, later);
    line->used = later;
    line->spaces = 0;
}

/* Prints text in wrapped lines that all start at the same column, and the end of the last one. */
static void print_wrapped(struct line *line, const char *text)
{
    struct ui *ui = line->ui;
    int left = ui->width - line->used;
    struct ui rest = {.utf8 = ui->utf8, .width = left > NARROW ? left : NARROW};
    ui_pad(ui, line->spaces);
    ui_paragraph(&rest, 0, text);
    for (char *part = rest.text; part != NULL && *part != '\0';) {
        size_t length = strcspn(part, "\n");
        if (part != rest.text) {
            ui_pad(ui, line->indent);
            ui_put(ui, "%s", line->begin);
            ui_pad(ui, line->used - line->indent - ui_columns(line->begin));
        }
        ui_put(ui, "%.*s\n", (int)length, part);
        part += length + 1;
    }
    ui->failed = ui->failed || rest.failed;
    ui_done(&rest);
}

static void print_cell(struct line *line, const char *text, int width, char align)
{
    int missing = width - ui_columns(text);
    ui_pad(line->ui, line->spaces + (align == 'r' ? missing : 0));
    ui_put(line->ui, "%s", text);
    line->spaces = align == 'l' ? missing : 0;
    line->used += width;
}

/* Wraps a row at its columns. A cell that is wider than a line is wrapped at its words. */
static void print_row(struct ui_table *table, size_t row, const int *width, int indent)
{
    struct ui *ui = table->ui;
    struct line line = {.ui = ui, .indent = indent, .begin = "", .used = indent, .spaces = indent};
    for (int c = 0; c < table->columns; c++) {
        const char *text = table->cell[row * (size_t)table->columns + (size_t)c];
        bool is_last = c == table->columns - 1 && table->align[c] == 'l';
        int columns = ui_columns(text);
        if (table->align[c] == 'c')
            line.begin = text;
        if (table->align[c] == 'c' || width[c] == 0)
            continue; /* not shown, or an empty column */
        if (is_last && *text == '\0')
            break;
        if (is_last) {
            int left = ui->width - line.used;
            bool is_narrow = left < NARROW || longest_word(text) > left;
            make_room(&line, is_narrow ? columns : 0);
            print_wrapped(&line, text);
            return;
        }
        make_room(&line, width[c]);
        if (columns > ui->width - line.used && *line.begin == '\0') {
            print_wrapped(&line, text);
            line.used = line.spaces = indent + CONTINUED;
            continue;
        }
        print_cell(&line, text, width[c], table->align[c]);
        line.spaces += table->gap;
        line.used += table->gap;
    }
    ui_put(ui, "\n");
}

void ui_table_end(struct ui_table *table, int indent, bool has_header)
{
    int width[COLUMNS_MAX] = {0};
    size_t rows = table->count / (size_t)table->columns;
    for (size_t i = 0; i < rows * (size_t)table->columns; i++) {
        int columns = ui_columns(table->cell[i]);
        if (columns > width[i % (size_t)table->columns])
            width[i % (size_t)table->columns] = columns;
    }
    for (size_t row = 0; row < rows && !table->ui->failed; row++) {
        if (row == 0 && has_header)
            ui_style(table->ui, UI_BOLD);
        print_row(table, row, width, indent);
        if (row == 0 && has_header)
            ui_style(table->ui, UI_PLAIN);
    }
    for (size_t i = 0; i < table->count; i++)
        free(table->cell[i]);
    free(table->cell);
}
