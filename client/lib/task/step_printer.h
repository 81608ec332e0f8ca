/**
 * Printer of a line that all tasks of a step on this node would print: one of these tasks.
 */
#pragma once

enum lib_step_printer {
    LIB_PRINTER_SELF,   /* this task prints the line; the other tasks will not */
    LIB_PRINTER_OTHER,  /* another task has printed the line */
    LIB_PRINTER_UNKNOWN /* no common ancestor or page found: this task prints it, others may too */
};

/* Decides which task prints the line: the first one within a minute. All tasks are
 * descendants of one process; name and value identify it as for lib_ancestor_find. step: the
 * launcher's name of the step, NULL none. The tasks share a page of memory below folder, normally
 * /dev/shm, that belongs to this user alone. */
enum lib_step_printer lib_step_printer(const char *folder, const char *name, const char *value,
                                       const char *step, const char *line);
