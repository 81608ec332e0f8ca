/* Slips of the finger. */
#include "cmd.h"

#include <string.h>

#define LONGEST_NAME 32

/* Levenshtein distance, rows of at most LONGEST_NAME. */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST_NAME + 1], length = strlen(b);
    if (length > LONGEST_NAME || strlen(a) > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j - 1] < row[j] ? row[j - 1] : row[j];
            row[j] = change < least + 1 ? change : least + 1;
        }
    }
    return row[length];
}

const char *cmd_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(word) <= 3 ? 2 : 3; /* as many slips are not a slip any more */
    for (size_t i = 0; i < count; i++) {
        size_t slips = strlen(word) >= 2 && strncmp(names[i], word, strlen(word)) == 0 ? 0 : distance(word, names[i]);
        if (slips < least) {
            least = slips;
            nearest = names[i];
        }
    }
    return nearest;
}
