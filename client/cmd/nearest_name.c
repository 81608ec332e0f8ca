/* Corrections of mistyped names. */
#include "cmd/cmd.h"

#include <string.h>

#define LONGEST_NAME 32

/* True for a word that goes on behind a name: topology for topo. */
static bool is_longer(const char *word, const char *name)
{
    return strlen(name) >= 4 && strncmp(word, name, strlen(name)) == 0;
}

/* Insertions, deletions, changes, and exchanges of neighbours: the optimal string alignment
 * distance. LONGEST_NAME when either text is longer. */
static size_t distance(const char *a, const char *b)
{
    size_t d[LONGEST_NAME + 1][LONGEST_NAME + 1], m = strlen(a), n = strlen(b);
    if (m > LONGEST_NAME || n > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t least = d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] + 1 : d[i][j - 1] + 1,
                   change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            bool are_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            d[i][j] = change < least ? change : least;
            if (are_exchanged && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[m][n];
}

const char *cmd_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(word) <= 3 ? 2 : 3; /* this many errors make another word */
    for (size_t i = 0; i < count; i++) {
        size_t slips = strlen(word) >= 2 && strncmp(names[i], word, strlen(word)) == 0 ? 0
                       : is_longer(word, names[i])                                     ? 1
                                                   : distance(word, names[i]);
        bool is_as_long = nearest != NULL && slips == least && slips > 0 &&
                          strlen(names[i]) == strlen(word) && strlen(nearest) != strlen(word);
        if (slips < least || is_as_long) {
            least = slips;
            nearest = names[i];
        }
    }
    return nearest;
}
