/**
 * Folder client/cmd: the commands of `berth`: a file for each, the table of options, help,
 *   completion, errors.
 *
 * Main types: struct cmd (one run of the command).
 * Uses: all of its program
 * Public headers: cmd.h
 * Shown by: tests/system, `berth --help`
 *
 * One run of the berth command: what was asked on the command line, and the daemon it is asked of.
 *
 * Commands return the exit status. Everything that goes wrong is one line on standard error,
 * written here.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/berth.h"
#include "lib/size.h"
#include "ui/ui.h"

enum cmd_exit {
    CMD_DONE = 0,
    CMD_USAGE = 64,
    CMD_DATA = 65,
    CMD_NO_DAEMON = 69,
    CMD_BUG = 70,
    CMD_SYSTEM = 71,
    CMD_IO = 74,
    CMD_AGAIN = 75
};

struct cmd_option {
    char letter;       /* 0 none */
    const char *name;  /* without the dashes */
    const char *value; /* what its value is called in the help, NULL for a flag */
    const char *help;
    /* the words that it takes, ends with NULL; the help ends with them. NULL: any value */
    const char *const *choices;
    bool takes_several; /* choices between commas */
};

#define CMD_NOTES 3

struct cmd;

struct cmd_command {
    const char *name, *operands, *about; /* operands: as the help shows them, "" none */
    const struct cmd_option *options;
    size_t option_count;
    size_t most_operands;
    /* the operands are a command and its own words: behind the first of them, and behind --,
     * nothing is an option of ours */
    bool takes_command;
    int (*run)(struct cmd *cmd);
    /* takes the line of cmd_usage where nobody may be there to read it, and the exit status is 0;
     * NULL: standard error, CMD_USAGE */
    void (*misused)(const char *line);
    const char *notes[CMD_NOTES]; /* paragraphs at the end of its help */
    /* the words that its first operand may be, for completion, ends with NULL; NULL: as operands
     * says */
    const char *const *first;
};

struct cmd_given {
    const struct cmd_option *option;
    const char *value;
};

struct cmd {
    const struct cmd_command *commands; /* the table, ends with a NULL name */
    const struct cmd_command *command;
    struct cmd_given *given; /* in the order of the command line */
    size_t given_count;
    const char **operand;
    size_t operand_count;
    struct berth *berth;
    struct cmd_node *node; /* the private daemon of --node, or NULL */
    char *reply;           /* the text of the last reply */
    /* the command line is only looked at for --json: nothing is said of what is wrong */
    bool is_ahead;
    bool has_json; /* --json was given, maybe behind what is wrong */
};

/* cmd/args.c */
/* CMD_DONE or CMD_USAGE */
int cmd_parse(struct cmd *cmd, int argc, char **argv);
/* the last one given, or NULL */
const char *cmd_value(const struct cmd *cmd, const struct cmd_option *option);
/* each one; *position starts at 0 */
const char *cmd_value_next(const struct cmd *cmd, const struct cmd_option *option,
                           size_t *position);
bool cmd_has(const struct cmd *cmd, const struct cmd_option *option);
/* "own, all"; cut where it does not fit */
void cmd_choices(const struct cmd_option *option, char *text, size_t size);
void cmd_parse_done(struct cmd *cmd);
extern const struct cmd_option cmd_globals[];
enum { CMD_SOCKET, CMD_NODE, CMD_JSON, CMD_HELP, CMD_VERSION, CMD_GLOBALS };

/* cmd/help.c */
/* the whole command */
void cmd_help(struct ui *ui, const struct cmd *cmd);
void cmd_help_command(struct ui *ui, const struct cmd_command *command);

/* cmd/manual.c: the commands and options as sections of a manual page. cmd/completion.c: as
 * functions of a shell. */
void cmd_manual(struct ui *ui, const struct cmd *cmd);
void cmd_completion(struct ui *ui, const struct cmd *cmd);

/* cmd/nearest_name.c */
/* a name that was probably meant, or NULL */
const char *cmd_nearest(const char *word, const char *const *names, size_t count);

/* cmd/error.c: print one line and return the exit status. With --json cmd_usage also prints the
 * error as JSON. */
int cmd_usage(const struct cmd *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cmd_fail(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cmd_fail_memory(void);
/* The line of cmd_usage alone: the error was printed as JSON already. */
int cmd_usage_line(const struct cmd *cmd, const char *line);
/* With --json: {"error": name, "parameters": parameters} on standard output; else nothing. Takes
 * the parameters. Where memory is short or the write fails nothing is printed: the line on standard
 * error has to do. */
void cmd_print_error(const struct cmd *cmd, const char *name, json_t *take_parameters);

/* The same for what goes on: what is to be known, and a warning. */
void cmd_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cmd_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cmd/call_error.c: what a failed call means as an exit status; without a word. */
int cmd_daemon_exit(const struct cmd *cmd, int status);
/* cmd/call_error.c: cmd_fail for the handle's last error, or for how the private daemon ended. */
int cmd_fail_daemon(struct cmd *cmd, int status);

/* cmd/ask.c: connecting when needed, asking, printing. */
int cmd_connect(struct cmd *cmd);
/* Takes the parameters (NULL: out of memory). ret_reply: a new reference; its text is cmd->reply.
 */
int cmd_ask(struct cmd *cmd, const char *method, json_t *take_parameters, json_t **ret_reply);
/* The same with parameters that fill sets, CMD_DONE or the exit status; NULL: there are none. */
int cmd_ask_filled(struct cmd *cmd, const char *method,
                   int (*fill)(struct cmd *cmd, json_t *parameters), json_t **ret_reply);
/* All that most commands do: asks so and shows the reply. */
int cmd_answer(struct cmd *cmd, const char *method,
               int (*fill)(struct cmd *cmd, json_t *parameters),
               void (*draw)(struct ui *ui, const json_t *reply));
/* either, by --json */
int cmd_show(struct cmd *cmd, const json_t *reply,
             void (*draw)(struct ui *ui, const json_t *reply));

/* cmd/print.c */
bool cmd_wants_json(const struct cmd *cmd);
int cmd_print(struct ui *ui);         /* to standard output; frees the ui */
int cmd_print_json(const char *text); /* one line */

/* cmd/number.c */
int cmd_set_count(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option,
                  long least, long most);
int cmd_set_size(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
int cmd_set_text(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
/* an array of what stands between commas; NULL when out of memory */
json_t *cmd_list(const char *text);
int cmd_set_list(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
/* an array of all operands */
int cmd_set_operands(struct cmd *cmd, json_t *object, const char *key);

/* cmd/axes.c: the member "where" of what these two options give (--where AXIS=VALUE, --size BYTES
 * as the axis bytes), if any. */
int cmd_set_where(struct cmd *cmd, json_t *object, const struct cmd_option *option,
                  const struct cmd_option *size_option);

/* cmd/allowed.c: the member "allowed": from where the command runs, or from --cpus and --gpus alone
 * for a recorded node. */
int cmd_set_allowed(struct cmd *cmd, json_t *object, bool with_gpus, const char *cpus,
                    const char *gpus);
/* that it is a list; NULL is fine */
int cmd_check_cpus(const struct cmd *cmd, const char *cpus);
/* connected: that this node has each of them; NULL is fine */
int cmd_check_cpus_there(struct cmd *cmd, const char *cpus);
/* 0-3 and 5 as gpu0..gpu3 and gpu5, an array of names */
int cmd_parse_gpus(struct cmd *cmd, const char *text, json_t **ret_gpus);

/* cmd/recorded_node.c: a private daemon over a node folder; it dies with this process. */
int cmd_node_start(const char *folder, struct cmd_node **ret_node, int *ret_fd);
/* the connection broke: say why, as NoDaemon with --json, return the exit status */
int cmd_node_failed(struct cmd *cmd);
void cmd_node_stop(struct cmd_node *node); /* NULL is fine */

/* The commands. */
extern const struct cmd_command cmd_topo, cmd_matrix, cmd_curves, cmd_sets, cmd_bind, cmd_alloc,
    cmd_route, cmd_health, cmd_history, cmd_accept, cmd_probe, cmd_cancel, cmd_record, cmd_export,
    cmd_report, cmd_watch, cmd_claim, cmd_release, cmd_claims, cmd_exec, cmd_slurm, cmd_status;
