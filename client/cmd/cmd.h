/**
 * Folder client/cmd: the commands of `berth`: a file for each, the table of options, help,
 *   completion, errors.
 *
 * Main types: struct cmd (one run of the command).
 * Uses: all of its program
 * Public headers: cmd.h
 * Shown by: tests/system, `berth --help`
 *
 * One run of the berth command: its command line, and its daemon.
 *
 * Commands return the exit status. They print each error here, as one line on standard error.
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
    char letter;      /* 0 none */
    const char *name; /* name without the dashes */
    const char
        *value;       /* name of its value in the help, NULL for a flag; "[=TIME]" may be omitted */
    const char *help; /* where all of it is too long for a screen, the help has its first clause */
    /* accepted words, ending with NULL; the help lists them last. NULL: any value */
    const char *const *choices;
    bool takes_several; /* true: takes several choices, between commas */
};

#define CMD_NOTES 3

struct cmd;

struct cmd_command {
    const char *name, *operands, *about; /* operands: their text in the help, "" none */
    const struct cmd_option *options;
    size_t option_count;
    size_t most_operands;
    /* true: the operands are a command and its own words. After the first of them, and after --, no
     * word is an option of berth */
    bool takes_command;
    int (*run)(struct cmd *cmd);
    /* takes the line of cmd_usage where standard error may have no reader; the exit status is 0.
     * NULL: standard error, CMD_USAGE */
    void (*on_misuse)(const char *line);
    const char *notes[CMD_NOTES]; /* paragraphs at the end of its help */
    /* words of its first operand, for completion, ending with NULL; NULL: as in operands */
    const char *const *first;
};

struct cmd_given {
    const struct cmd_option *option;
    const char *value;
};

struct cmd {
    const struct cmd_command *commands; /* command table, ending with a NULL name */
    const struct cmd_command *command;
    struct cmd_given *given; /* given options in the order of the command line */
    size_t given_count;
    const char **operand;
    size_t operand_count;
    struct berth *berth;
    struct cmd_node *node; /* the private daemon of --node, or NULL */
    char *reply;           /* text of the last reply */
    /* true during a first pass over the command line that only looks for --json and prints no
     * errors */
    bool is_first_pass;
    bool has_json; /* --json was given, also behind an invalid word */
    int errors;    /* file that keeps the errors of a monitoring plugin, -1 without memory; 0: no
                      plugin */
};

/* cmd/args.c */
/* parses the line; CMD_DONE or CMD_USAGE */
int cmd_parse(struct cmd *cmd, int argc, char **argv);
/* last value given, or NULL */
const char *cmd_value(const struct cmd *cmd, const struct cmd_option *option);
/* true when the next word of the line is its value */
bool cmd_takes_word(const struct cmd_option *option);
/* each value in turn; *position starts at 0 */
const char *cmd_value_next(const struct cmd *cmd, const struct cmd_option *option,
                           size_t *position);
bool cmd_has(const struct cmd *cmd, const struct cmd_option *option);
/* writes "own, all"; cut where it does not fit */
void cmd_choices(const struct cmd_option *option, char *text, size_t size);
void cmd_parse_done(struct cmd *cmd);
extern const struct cmd_option cmd_globals[];
enum { CMD_SOCKET, CMD_NODE, CMD_JSON, CMD_HELP, CMD_VERSION, CMD_GLOBALS };

/* cmd/help.c */
/* prints the help of the whole command */
void cmd_help(struct ui *ui, const struct cmd *cmd);
void cmd_help_command(struct ui *ui, const struct cmd_command *command);

/* cmd/manual.c: prints the commands and options as sections of a manual page. cmd/completion.c:
 * prints them as functions of a shell. */
void cmd_manual(struct ui *ui, const struct cmd *cmd);
void cmd_completion(struct ui *ui, const struct cmd *cmd);

/* cmd/nagios.c */
/* Begins the run of a monitoring plugin: keeps standard error for its end. After 10 s the process
 * ends with status 3 and the line for it. Changes nothing but the time limit when memory is short.
 */
void cmd_nagios_begin(struct cmd *cmd);
/* Ends it: prints the first kept error as the line of an unknown state. Returns the exit status,
 * 3 for all errors and for help. */
int cmd_nagios_end(const struct cmd *cmd, int status);

/* cmd/nearest_name.c */
/* most similar name, or NULL */
const char *cmd_nearest(const char *word, const char *const *names, size_t count);

/* cmd/error.c: print one line and return the exit status. With --json cmd_usage also prints the
 * error as JSON. */
int cmd_usage(const struct cmd *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cmd_fail(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cmd_fail_memory(void);
/* Prints the line of cmd_usage alone, after the error was printed as JSON. */
int cmd_usage_line(const struct cmd *cmd, const char *line);
/* Prints {"error": name, "parameters": parameters} on standard output with --json; else nothing.
 * Takes the parameters. Prints nothing when memory is short or the write fails: the line on
 * standard error then suffices. */
void cmd_print_error(const struct cmd *cmd, const char *name, json_t *take_parameters);

/* Print a note, and a warning, without ending the command. */
void cmd_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cmd_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cmd/call_error.c: exit status of a failed call; prints nothing. */
int cmd_daemon_exit(const struct cmd *cmd, int status);
/* cmd/call_error.c: calls cmd_fail for the handle's last error, or for the end of the private
 * daemon. */
int cmd_fail_daemon(struct cmd *cmd, int status);

/* cmd/ask.c: connects when needed, asks, prints. */
int cmd_connect(struct cmd *cmd);
/* Takes the parameters (NULL: out of memory). ret_reply receives a new reference; cmd->reply holds
 * its text. */
int cmd_ask(struct cmd *cmd, const char *method, json_t *take_parameters, json_t **ret_reply);
/* Asks for a reply that the command can do without, on any connection (NULL none). Takes the
 * parameters. Returns a new reference; NULL where there is no answer, and prints nothing. */
json_t *cmd_try(struct berth *berth, const char *method, json_t *take_parameters);
/* Asks with parameters that fill sets; it returns CMD_DONE or the exit status. fill NULL: no
 * parameters. */
int cmd_ask_filled(struct cmd *cmd, const char *method,
                   int (*fill)(struct cmd *cmd, json_t *parameters), json_t **ret_reply);
/* Asks for the node to draw; its links to switches have the rate of pairs (ui_node_add_pairs). */
int cmd_ask_node(struct cmd *cmd, json_t **ret_node);
/* Whole work of most commands: asks like cmd_ask_filled and shows the reply. */
int cmd_answer(struct cmd *cmd, const char *method,
               int (*fill)(struct cmd *cmd, json_t *parameters),
               void (*draw)(struct ui *ui, const json_t *reply));
/* The option --why of commands whose answer has more behind it. */
#define CMD_WHY                                                                                    \
    {                                                                                              \
        .name = "why", .help = "show evidence, alternatives and notes, too"                        \
    }

/* cmd/picture.c: the option -o of commands that draw a node into a file. */
#define CMD_OUTPUT(subject)                                                                        \
    {                                                                                              \
        .letter = 'o', .name = "output", .value = "FILE",                                          \
        .help = "draw " subject " into a .svg, .png or .pdf; - is SVG on standard "                \
                "output"                                                                           \
    }
bool cmd_is_picture(const char *path);
/* node: reply of GetNode; plan: reply of Bind, NULL none. Returns CMD_DONE or the exit status. */
int cmd_picture(const char *path, const json_t *node, const json_t *plan);

/* JSON with --json, else the text */
int cmd_show(struct cmd *cmd, const json_t *reply,
             void (*draw)(struct ui *ui, const json_t *reply));

/* cmd/print.c */
bool cmd_wants_json(const struct cmd *cmd);
int cmd_print(struct ui *ui);         /* writes to standard output; frees the ui */
int cmd_print_json(const char *text); /* writes one line */

/* cmd/number.c */
int cmd_set_count(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option,
                  long least, long most);
int cmd_set_size(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
int cmd_set_text(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
/* Parses seconds above 0, or a number and one of s m h d. */
bool cmd_parse_time(const char *text, int64_t *ret_s);
/* array of the words between commas; NULL when out of memory */
json_t *cmd_list(const char *text);
int cmd_set_list(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option);
/* writes an array of all operands */
int cmd_set_operands(struct cmd *cmd, json_t *object, const char *key);

/* cmd/axes.c: writes the member "where" from two options, if given: --where AXIS=VALUE, and --size
 * BYTES as the axis bytes. */
int cmd_set_where(struct cmd *cmd, json_t *object, const struct cmd_option *option,
                  const struct cmd_option *size_option);

/* cmd/matrix.c: finds a metric in ListMetrics; needs a connection. Returns its better direction: 1
 * higher, -1 lower, 0 unknown. ret_defaults: a new reference to the defaults of its axes, or NULL.
 */
int cmd_find_metric(struct cmd *cmd, const char *metric, json_t **ret_defaults);

/* cmd/allowed.c: writes the member "allowed": the resources of this process, or only --cpus and
 * --gpus for a recorded node. */
int cmd_set_allowed(struct cmd *cmd, json_t *object, bool with_gpus, const char *cpus,
                    const char *gpus);
/* checks that cpus is a list; accepts NULL */
int cmd_check_cpus(const struct cmd *cmd, const char *cpus);
/* needs a connection: checks that this node has each of them; accepts NULL */
int cmd_check_cpus_there(struct cmd *cmd, const char *cpus);
/* parses 0-3 and 5 as gpu0..gpu3 and gpu5, an array of names */
int cmd_parse_gpus(struct cmd *cmd, const char *text, json_t **ret_gpus);

/* cmd/recorded_node.c: starts a private daemon over a node folder; it dies with this process. */
int cmd_node_start(const char *folder, struct cmd_node **ret_node, int *ret_fd);
/* after a broken connection: prints the reason, as NoDaemon with --json; returns the exit status */
int cmd_node_failed(struct cmd *cmd);
void cmd_node_stop(struct cmd_node *node); /* accepts NULL */

/* cmd/explain.c: says what the kernels between the two operands wait for. */
int cmd_explain(struct cmd *cmd);

/* cmd/file.c */
/* Writes the whole text, in as many calls as needed. False with errno on failure. */
bool cmd_file_write_all(int fd, const char *text, size_t length);

/* Replaces a file: readers see the old one or the new one, and a failed write leaves no rest.
 * Returns CMD_DONE, or the exit status after printing the error. */
int cmd_file_replace(const char *path, const char *text, size_t length);
/* Ends a command whose answer is the file at path: "wrote node.html, 312 KiB"; nothing for a device
 * or with --json. Returns status, or the exit status of a failed write. */
int cmd_file_report(const struct cmd *cmd, const char *path, int status);

/* cmd/closed_gpus.c */
/* Appends why no gpu may be used to a text of the daemon: the first gpu's device file that is
 * missing or may not be opened, or the variables that hide all gpus. The text stays when a recorded
 * node is asked or no reason is found. Asks the daemon for the node, and so ends the texts of
 * berth_error_detail. ret_text: cut where it does not fit. */
void cmd_closed_explain(struct cmd *cmd, const char *text, char *ret_text, size_t size);

/* Explains the last error's detail likewise, if it is that no gpu is allowed; else copies it. */
void cmd_closed_explain_error(struct cmd *cmd, int status, char *ret_text, size_t size);

#define CMD_CLOSED_CODE "gpus-not-allowed" /* of a warning that no gpu is allowed */

/* Does the same for the warnings of a reply with that code. */
void cmd_closed_explain_all(struct cmd *cmd, json_t *reply);

/* The commands. */
extern const struct cmd_command cmd_topo, cmd_matrix, cmd_curves, cmd_contention, cmd_tuning,
    cmd_kernel, cmd_bind, cmd_alloc, cmd_route, cmd_health, cmd_history, cmd_accept, cmd_probe,
    cmd_cancel, cmd_record, cmd_export, cmd_report, cmd_watch, cmd_top, cmd_claim, cmd_release,
    cmd_claims, cmd_exec, cmd_slurm, cmd_status, cmd_report_time, cmd_fleet;
