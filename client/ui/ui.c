#include "ui/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 100
#define LEAST_WIDTH   60
#define MOST_WIDTH    1000

/* Reads the locale's name without setting it: setlocale reads files and would change the format of
 * numbers. */
static bool is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

/* Keeps a width within what tables are laid out for. */
static int clamp_width(long columns)
{
    return (int)(columns < LEAST_WIDTH ? LEAST_WIDTH : columns > MOST_WIDTH ? MOST_WIDTH : columns);
}

/* Width where there is no terminal: COLUMNS, else the default. */
static int piped_width(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    long columns = text == NULL ? 0 : strtol(text, &end, 10);
    return columns > 0 && *end == '\0' ? clamp_width(columns) : DEFAULT_WIDTH;
}

void ui_init(struct ui *ui, int fd)
{
    *ui = (struct ui){.utf8 = is_utf8(), .width = piped_width()};
    ui->is_terminal = isatty(fd) != 0;
    if (!ui->is_terminal)
        return;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    ui->can_redraw = term != NULL && strcmp(term, "dumb") != 0;
    ui->colour = ui->can_redraw && (no_color == NULL || *no_color == '\0');
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        ui->width = clamp_width(size.ws_col);
}

void ui_done(struct ui *ui)
{
    free(ui->text);
    ui->text = NULL;
    ui->length = ui->size = 0;
}

static char *reserve(struct ui *ui, size_t extra)
{
    if (ui->failed)
        return NULL;
    if (ui->size - ui->length <= extra) {
        size_t size = ui->size < 4096 ? 4096 : ui->size;
        while (size - ui->length <= extra)
            size *= 2;
        char *text = realloc(ui->text, size);
        if (text == NULL) {
            ui->failed = true;
            return NULL;
        }
        ui->text = text;
        ui->size = size;
    }
    return ui->text + ui->length;
}

void ui_put(struct ui *ui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *at = length < 0 ? NULL : reserve(ui, (size_t)length);
    if (at == NULL)
        return;
    va_start(args, format);
    vsnprintf(at, (size_t)length + 1, format, args);
    va_end(args);
    ui->length += (size_t)length;
}

static bool is_hidden(unsigned long point)
{
    static const struct {
        unsigned long first, last;
    } hidden[] = {
#define HIDDEN(first, last) {first, last},
#include "hidden.def"
#undef HIDDEN
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (point >= hidden[i].first && point <= hidden[i].last)
            return true;
    return false;
}

/* Bytes of the character at c, 1 for an invalid byte. */
static size_t character(const unsigned char *c, bool *ret_is_shown)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000}; /* by length */
    size_t length = *c < 0xc0 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    unsigned long point = length == 1 ? *c : *c & (0x7fu >> length);
    *ret_is_shown = false;
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 1;
        point = point << 6 | (c[i] & 0x3fu);
    }
    if (*c > 0xf4 || point < least[length] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff))
        return 1;
    *ret_is_shown = !is_hidden(point) && (*c < 0x80 || *c >= 0xc0);
    return length;
}

void ui_clean(char *buffer, size_t size, const char *text)
{
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)(text == NULL ? "" : text); *c != '\0';) {
        bool is_shown;
        size_t length = character(c, &is_shown);
        if (used + (is_shown ? length : 1) >= size)
            break;
        if (!is_shown)
            buffer[used++] = '?';
        for (size_t i = 0; is_shown && i < length; i++)
            buffer[used++] = (char)c[i];
        c += length;
    }
    buffer[used] = '\0';
}

/* Replaces U+00B5 for millionths in the daemon's sentences. */
static void spell_micro(char *text)
{
    for (char *at = strstr(text, "\u00b5"); at != NULL; at = strstr(at, "\u00b5")) {
        *at = 'u';
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    }
}

void ui_text(struct ui *ui, const char *text)
{
    if (text == NULL)
        return;
    size_t size = strlen(text) + 1;
    char *at = reserve(ui, size);
    if (at == NULL)
        return;
    ui_clean(at, size, text);
    if (!ui->utf8)
        spell_micro(at);
    ui->length += strlen(at);
}

void ui_style(struct ui *ui, enum ui_style style)
{
    static const char *const codes[] = {"0", "1", "2", "32", "33", "1;31"};
    if (ui->colour)
        ui_put(ui, "\033[%sm", codes[style]);
}

/* Colours from green over yellow to red in the 256-colour cube, with ends dark enough for white
 * text. */
void ui_background(struct ui *ui, int shade)
{
    static const unsigned char colours[UI_SHADES] = {22,  28,  34,  70,  106, 142,
                                                     178, 172, 166, 160, 124, 88};
    if (ui->colour && shade >= 0 && shade < UI_SHADES)
        ui_put(ui, "\033[48;5;%d;38;5;%dm", colours[shade], shade >= 2 && shade <= 7 ? 16 : 231);
}

void ui_pad(struct ui *ui, int columns)
{
    if (columns > 0)
        ui_put(ui, "%*s", columns, "");
}

int ui_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* Bytes of the next word; a number stays with its unit. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " \n\t"), unit = 0;
    if (length > 0 && strspn(text, "0123456789.") == length && text[length] == ' ')
        unit = strcspn(text + length + 1, " \n\t");
    return unit > 0 ? length + 1 + unit : length;
}

void ui_paragraph(struct ui *ui, int indent, const char *text)
{
    int column = 0;
    while (*text != '\0') {
        size_t length = word_length(text);
        char word[512];
        size_t kept = length < sizeof word - 1 ? length : sizeof word - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        int columns = ui_columns(word);
        if (column > 0 && column + 1 + columns > ui->width) {
            ui_put(ui, "\n");
            ui_pad(ui, indent);
            column = indent;
        } else if (column > 0 && kept > 0) {
            ui_put(ui, " ");
            column++;
        } else if (column == 0) {
            column = indent;
        }
        ui_text(ui, word);
        column += columns;
        text += kept;
        text += strspn(text, " \n\t");
    }
    ui_put(ui, "\n");
}

void ui_line(struct ui *ui, int indent, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    bool is_written = vasprintf(&text, format, args) >= 0;
    va_end(args);
    ui->failed = ui->failed || !is_written;
    if (is_written) {
        ui_paragraph(ui, indent, text);
        free(text);
    }
}

size_t ui_rows(const struct ui *ui)
{
    size_t rows = 0;
    for (size_t i = 0; i < ui->length; i++)
        rows += ui->text[i] == '\n';
    return rows;
}

const char *ui_place(const char *name, char buffer[UI_NUMBER])
{
    if (strncmp(name, "llc", 3) != 0 || strlen(name) + 4 > UI_NUMBER)
        return name;
    snprintf(buffer, UI_NUMBER, "L3 %s", name);
    return buffer;
}
