/* Asks terminfo about the terminal. <term.h> defines macros such as columns, so that this file is
 * alone with it. */
#include "top/top.h"

#include <ncurses.h>
#include <term.h>
#include <unistd.h>

bool top_can_draw(void)
{
    int result;
    return setupterm(NULL, STDOUT_FILENO, &result) == OK && cursor_address != NULL;
}
