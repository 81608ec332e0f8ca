/* The command line: one table of global options and one per command, accepted anywhere on the line.
 */
#include "cmd/cmd.h"
#include "lib/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cmd_option cmd_globals[] = {
    [CMD_SOCKET] = {.name = "socket",
                    .value = "PATH",
                    .help = "the daemon; default $BERTH_SOCKET or /run/berth/berth.sock"},
    [CMD_NODE] = {.name = "node",
                  .value = "FOLDER",
                  .help = "the recorded node in FOLDER, through a private daemon"},
    [CMD_JSON] = {.name = "json",
                  .help = "print each reply or error as it came: JSON, a line each"},
    [CMD_HELP] = {.letter = 'h',
                  .name = "help",
                  .help = "show this help; with COMMAND its own; man berth has all"},
    [CMD_VERSION] = {.name = "version", .help = "show the version"},
};

static const struct cmd_option *find(const struct cmd *cmd, const char *name, size_t length)
{
    const struct cmd_option *tables[] = {cmd_globals,
                                         cmd->command == NULL ? NULL : cmd->command->options};
    const size_t counts[] = {CMD_GLOBALS, cmd->command == NULL ? 0 : cmd->command->option_count};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < counts[t]; i++)
            if (strlen(tables[t][i].name) == length &&
                strncmp(tables[t][i].name, name, length) == 0)
                return &tables[t][i];
    return NULL;
}

static const struct cmd_option *find_letter(const struct cmd *cmd, char letter)
{
    for (size_t i = 0; i < CMD_GLOBALS; i++)
        if (cmd_globals[i].letter == letter)
            return &cmd_globals[i];
    for (size_t i = 0; cmd->command != NULL && i < cmd->command->option_count; i++)
        if (cmd->command->options[i].letter == letter)
            return &cmd->command->options[i];
    return NULL;
}

static int unknown_option(const struct cmd *cmd, const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < CMD_GLOBALS; i++)
        names[count++] = cmd_globals[i].name;
    for (size_t i = 0; cmd->command != NULL && i < cmd->command->option_count && count < 64; i++)
        names[count++] = cmd->command->options[i].name;
    char name[64];
    ui_clean(name, sizeof name, word);
    name[strcspn(name, "=")] = '\0';
    const char *nearest = strncmp(name, "--", 2) == 0 ? cmd_nearest(name + 2, names, count) : NULL;
    if (nearest != NULL)
        return cmd_usage(cmd, "no option %s; did you mean --%s?", name, nearest);
    return cmd_usage(cmd, "no option %s", name);
}

static bool is_choice(const char *const *choices, const char *word, size_t length)
{
    for (; *choices != NULL; choices++)
        if (strlen(*choices) == length && strncmp(*choices, word, length) == 0)
            return true;
    return false;
}

static int check_choice(const struct cmd *cmd, const struct cmd_option *option, const char *value)
{
    if (option->choices == NULL || value == NULL)
        return CMD_DONE;
    for (const char *word = value;; word++) {
        size_t length = option->takes_several ? strcspn(word, ",") : strlen(word);
        if (!is_choice(option->choices, word, length)) {
            char choices[256], given[41];
            size_t count = 0;
            cmd_choices(option, choices, sizeof choices);
            snprintf(given, sizeof given, "%.*s", length > 40 ? 40 : (int)length, word);
            while (option->choices[count] != NULL)
                count++;
            const char *nearest = cmd_nearest(given, option->choices, count);
            if (nearest != NULL)
                return cmd_usage(cmd, "--%s takes %s; not \"%s\", did you mean %s?", option->name,
                                 choices, given, nearest);
            return cmd_usage(cmd, "--%s takes %s; not \"%s\"", option->name, choices, given);
        }
        word += length;
        if (*word == '\0')
            return CMD_DONE;
    }
}

/* Rejects a word that is not UTF-8. After this check only a lack of memory prevents a word from
 * becoming JSON. A path never becomes JSON and may hold any bytes. */
static int not_utf8(const struct cmd *cmd, int word)
{
    return cmd_usage(cmd, "word %d of the command line is not UTF-8", word);
}

static bool is_path(const struct cmd_option *option)
{
    return strcmp(option->value, "PATH") == 0 || strcmp(option->value, "FOLDER") == 0 ||
           strcmp(option->value, "FILE") == 0;
}

/* Takes a word that begins with a dash; *i moves on when the next word is its value. */
static int take_option(struct cmd *cmd, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL;
    const struct cmd_option *option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find(cmd, word + 2, length);
        value = word[2 + length] == '=' ? word + 3 + length : NULL;
    } else {
        option = find_letter(cmd, word[1]);
        value = word[2] != '\0' ? word + 2 : NULL;
        if (option != NULL && option->value == NULL && value != NULL)
            return unknown_option(cmd, word);
    }
    if (option == NULL)
        return unknown_option(cmd, word);
    if (option->value == NULL && value != NULL)
        return cmd_usage(cmd, "--%s takes no value", option->name);
    if (cmd_takes_word(option) && value == NULL) {
        if (*i + 1 >= argc)
            return cmd_usage(cmd, "--%s needs a value: %s", option->name, option->value);
        value = argv[++*i];
        if (!is_path(option) && !lib_utf8_is_valid(value))
            return not_utf8(cmd, *i);
    }
    /* usually an unset variable of a script */
    if (value != NULL && *value == '\0' && is_path(option))
        return cmd_usage(cmd, "--%s takes a %s, not \"\"", option->name,
                         strcmp(option->value, "PATH") == 0   ? "path"
                         : strcmp(option->value, "FILE") == 0 ? "file"
                                                              : "folder");
    int status = check_choice(cmd, option, value);
    if (status != CMD_DONE)
        return status;
    if (strcmp(option->name, "nagios") == 0 && cmd->errors == 0)
        cmd_nagios_begin(cmd); /* during the first pass: the second may fail before this word */
    cmd->given[cmd->given_count++] = (struct cmd_given){.option = option, .value = value};
    return CMD_DONE;
}

static int take_command(struct cmd *cmd, const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (const struct cmd_command *command = cmd->commands; command->name != NULL && count < 63;
         command++) {
        names[count++] = command->name;
        if (strcmp(command->name, word) == 0) {
            cmd->command = command;
            return CMD_DONE;
        }
    }
    char name[64];
    ui_clean(name, sizeof name, word);
    const char *nearest = cmd_nearest(name, names, count);
    if (nearest != NULL)
        return cmd_usage(cmd, "no command %s; did you mean %s?", name, nearest);
    return cmd_usage(cmd, "no command %s", name);
}

/* Continues after an invalid word during the first pass (is_first_pass). */
static int parse(struct cmd *cmd, int argc, char **argv)
{
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        int status = CMD_DONE;
        bool is_theirs = cmd->command != NULL && cmd->command->takes_command &&
                         (only_operands || cmd->operand_count > 0);
        if (!is_theirs && !lib_utf8_is_valid(argv[i]))
            status = not_utf8(cmd, i);
        else if (argv[i][0] == '\0' && (!is_theirs || cmd->operand_count == 0))
            status = cmd_usage(cmd, "word %d of the command line is empty", i);
        else if (is_theirs)
            cmd->operand[cmd->operand_count++] = argv[i];
        else if (!only_operands && strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0')
            status = take_option(cmd, argc, argv, &i);
        else if (cmd->command == NULL)
            status = take_command(cmd, argv[i]);
        else
            cmd->operand[cmd->operand_count++] = argv[i];
        if (status != CMD_DONE && !cmd->is_first_pass)
            return status;
    }
    if (cmd->command != NULL && cmd->operand_count > cmd->command->most_operands) {
        char extra[64];
        ui_clean(extra, sizeof extra, cmd->operand[cmd->command->most_operands]);
        return cmd_usage(cmd, "does not take %s; usage: berth %s%s%s%s", extra, cmd->command->name,
                         cmd->command->option_count > 0 ? " [options]" : "",
                         *cmd->command->operands != '\0' ? " " : "", cmd->command->operands);
    }
    return CMD_DONE;
}

int cmd_parse(struct cmd *cmd, int argc, char **argv)
{
    cmd->given = calloc((size_t)argc + 1, sizeof *cmd->given);
    cmd->operand = calloc((size_t)argc + 1, sizeof *cmd->operand);
    if (cmd->given == NULL || cmd->operand == NULL)
        return cmd_fail_memory();
    cmd->is_first_pass = true;
    parse(cmd, argc, argv);
    cmd->has_json = cmd->errors == 0 && cmd_has(cmd, &cmd_globals[CMD_JSON]);
    cmd->is_first_pass = false;
    cmd->command = NULL;
    cmd->given_count = cmd->operand_count = 0;
    return parse(cmd, argc, argv);
}

void cmd_choices(const struct cmd_option *option, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (const char *const *choice = option->choices; *choice != NULL && used < size; choice++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", *choice);
}

bool cmd_takes_word(const struct cmd_option *option)
{
    return option->value != NULL && option->value[0] != '[';
}

const char *cmd_value(const struct cmd *cmd, const struct cmd_option *option)
{
    for (size_t i = cmd->given_count; i > 0; i--)
        if (cmd->given[i - 1].option == option)
            return cmd->given[i - 1].value;
    return NULL;
}

const char *cmd_value_next(const struct cmd *cmd, const struct cmd_option *option, size_t *position)
{
    while (*position < cmd->given_count) {
        const struct cmd_given *given = &cmd->given[(*position)++];
        if (given->option == option)
            return given->value;
    }
    return NULL;
}

bool cmd_has(const struct cmd *cmd, const struct cmd_option *option)
{
    for (size_t i = 0; i < cmd->given_count; i++)
        if (cmd->given[i].option == option)
            return true;
    return false;
}

void cmd_parse_done(struct cmd *cmd)
{
    free(cmd->given);
    free(cmd->operand);
}
