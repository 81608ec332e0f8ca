/* Tables: cells stay text until the last one is there and the widths are known. */
#include "ui/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 80
#define NARROW      24 /* least columns for wrapped words */

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

static void print_row(struct ui_table *table, size_t row, const int *width, int indent)
{
    struct ui *ui = table->ui;
    const char *begin = ""; /* start of the row's later lines */
    int used = indent;
    ui_pad(ui, indent);
    for (int c = 0; c < table->columns; c++) {
        const char *text = table->cell[row * (size_t)table->columns + (size_t)c];
        int missing = width[c] - ui_columns(text);
        if (table->align[c] == 'c')
            begin = text;
        if (table->align[c] == 'c' || width[c] == 0)
            continue; /* not shown, or an empty column */
        if (table->align[c] == 'r')
            ui_pad(ui, missing);
        if (c == table->columns - 1 && table->align[c] == 'l') {
            int left = ui->width - used;
            bool is_narrow = left < NARROW || longest_word(text) > left;
            if (is_narrow && ui_columns(text) > left && *begin == '\0') {
                used = indent + 4; /* on lines of its own */
                left = ui->width - used;
                ui_put(ui, "\n");
                ui_pad(ui, used);
            }
            struct ui rest = {.utf8 = ui->utf8, .width = left > NARROW ? left : NARROW};
            ui_paragraph(&rest, 0, text);
            /* Later lines of the paragraph start below its first line. */
            for (char *line = rest.text; line != NULL && *line != '\0';) {
                size_t length = strcspn(line, "\n");
                if (line != rest.text) {
                    ui_pad(ui, indent);
                    ui_put(ui, "%s", begin);
                    ui_pad(ui, used - indent - ui_columns(begin));
                }
                ui_put(ui, "%.*s\n", (int)length, line);
                line += length + 1;
            }
            ui->failed = ui->failed || rest.failed;
            ui_done(&rest);
            return;
        }
        ui_put(ui, "%s", text);
        if (table->align[c] == 'l')
            ui_pad(ui, missing);
        if (c < table->columns - 1)
            ui_pad(ui, table->gap);
        used += width[c] + table->gap;
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
