/* Asks terminfo about the terminal. <term.h> defines macros such as columns, so that this file is
 * alone with it. */
#include "top/top.h"

#include <ncurses.h>
#include <term.h>
#include <unistd.h>

bool top_can_draw(void)
{
    int result;
    if (setupterm(NULL, STDOUT_FILENO, &result) != OK)
        return false;
    bool can = cursor_address != NULL;
    del_curterm(cur_term);
    return can;
}
