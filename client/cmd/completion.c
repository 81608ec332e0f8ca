/* Completion as functions of a shell, from the tables of the command line. The scripts in
 * etc/completion call them. */
#include "cmd/cmd.h"

#include <ctype.h>
#include <string.h>

/* Kinds of words for the placeholders of the help, as named in etc/completion/what.sh. */
static const struct {
    const char *placeholder, *kind;
} kinds[] = {
    {"METRIC", "metrics"}, {"PLACE", "places"}, {"PLACES", "places"},
    {"FROM", "places"},    {"TO", "places"},    {"FOLDER", "folders"},
    {"FILE", "files"},     {"PATH", "files"},   {"COMMAND", "commands"},
};

static const char *const metrics[] = {
#define X(id, name, unit, better, axes, about) name,
#include "metrics.def"
#undef X
};

static const char *kind_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].placeholder) == length &&
            strncmp(kinds[i].placeholder, word, length) == 0)
            return kinds[i].kind;
    return NULL;
}

static void put_words(struct ui *ui, const char *const *words)
{
    for (; *words != NULL; words++)
        ui_put(ui, " %s", *words);
}

static void put_value(struct ui *ui, const char *command, const struct cmd_option *option)
{
    if (!cmd_takes_word(option))
        return;
    ui_put(ui, "    ");
    if (option->letter != 0)
        ui_put(ui, "%s:-%c | ", command, option->letter);
    ui_put(ui, "%s:--%s) echo ", command, option->name);
    const char *kind = kind_of(option->value, strlen(option->value));
    if (option->choices == NULL) {
        ui_put(ui, "%s", kind != NULL ? kind : "nothing");
    } else {
        ui_put(ui, "%s", option->takes_several ? "list" : "words");
        put_words(ui, option->choices);
    }
    ui_put(ui, " ;;\n");
}

/* Prints one word of the operands as in the help, such as [PLACE...] or bash|zsh. False when
 * nothing certain follows. */
static bool put_operand(struct ui *ui, const struct cmd_command *command, size_t number,
                        const char *word, size_t length)
{
    while (length > 0 && *word == '[')
        word++, length--;
    while (length > 0 && word[length - 1] == ']')
        length--;
    bool repeats = length > 3 && strncmp(word + length - 3, "...", 3) == 0;
    length -= repeats ? 3 : 0;
    if (length == 0 || *word == '-' || *word == '|')
        return false;
    const char *kind = kind_of(word, length);
    bool is_literal = islower((unsigned char)*word) != 0;
    if (number == 0 && command->first != NULL) {
        ui_put(ui, "    %s:0) echo words", command->name);
        put_words(ui, command->first);
        ui_put(ui, " ;;\n");
    } else if (kind != NULL || is_literal) {
        if (repeats)
            ui_put(ui, "    %s:*) echo ", command->name);
        else
            ui_put(ui, "    %s:%zu) echo ", command->name, number);
        if (kind != NULL)
            ui_put(ui, "%s", kind);
        else
            ui_put(ui, "words ");
        for (size_t i = 0; kind == NULL && i < length; i++)
            ui_put(ui, "%c", word[i] == '|' ? ' ' : word[i]);
        ui_put(ui, " ;;\n");
    }
    return !repeats;
}

static void put_operands(struct ui *ui, const struct cmd_command *command)
{
    const char *word = command->operands;
    for (size_t number = 0; number < command->most_operands; number++) {
        word += strspn(word, " ");
        size_t length = strcspn(word, " ");
        if (length == 0 || !put_operand(ui, command, number, word, length))
            return;
        word += length;
    }
}

/* Prints NAME<tab>description, a line each, within single quotes of a shell. */
static void put_described(struct ui *ui, const char *dashes, const char *name, const char *about)
{
    ui_put(ui, "%s%s\t", dashes, name);
    for (; *about != '\0'; about++)
        ui_put(ui, *about == '\'' ? "'\\%c'" : "%c", *about);
    ui_put(ui, "\n");
}

static void put_options(struct ui *ui, const char *command, const struct cmd_option *options,
                        size_t count)
{
    ui_put(ui, "    %s) echo '", command);
    for (size_t i = 0; i < count; i++) {
        if (options[i].letter != 0)
            put_described(ui, "-", (char[]){options[i].letter, '\0'}, options[i].help);
        put_described(ui, "--", options[i].name, options[i].help);
    }
    ui_put(ui, "' ;;\n");
}

void cmd_completion(struct ui *ui, const struct cmd *cmd)
{
    ui_put(ui, "# shellcheck shell=bash\n# Written by berth help --as "
               "completion.\n_berth_commands() {\n    echo '");
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        put_described(ui, "", command->name, command->about);
    ui_put(ui, "'\n}\n_berth_metrics() {\n    echo '");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        ui_put(ui, "%s\n", metrics[i]);
    ui_put(ui, "'\n}\n# The options of a command, or of every command.\n_berth_options() {\n    "
               "case $1 in\n");
    put_options(ui, "''", cmd_globals, CMD_GLOBALS);
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        if (command->option_count > 0)
            put_options(ui, command->name, command->options, command->option_count);
    ui_put(ui, "    esac\n}\n# What an option takes; nothing is said of one that takes no "
               "value.\n_berth_value() {\n    case $1:$2 in\n");
    for (size_t i = 0; i < CMD_GLOBALS; i++)
        put_value(ui, "*", &cmd_globals[i]);
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        for (size_t i = 0; i < command->option_count; i++)
            put_value(ui, command->name, &command->options[i]);
    ui_put(ui, "    esac\n}\n# What the operand of that number is.\n_berth_operand() {\n    case "
               "$1:$2 in\n");
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        put_operands(ui, command);
    ui_put(ui, "    esac\n}\n");
}
