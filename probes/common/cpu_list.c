#include "common/cpu_list.h"

#include <ctype.h>
#include <stdlib.h>

/* A number at *text, which moves behind it; -1 when there is none or it is too large. */
static int parse_number(const char **text)
{
    if (!isdigit((unsigned char)**text))
        return -1;
    int number = 0;
    for (; isdigit((unsigned char)**text); (*text)++)
        if ((number = number * 10 + (**text - '0')) >= CPU_LIST_MAX)
            return -1;
    return number;
}

bool cpu_list_parse(const char *text, struct cpu_list *ret_list)
{
    struct cpu_list list = {0};
    while (isspace((unsigned char)*text))
        text++;
    while (*text != '\0') {
        int first = parse_number(&text), last = first;
        if (*text == '-') {
            text++;
            last = parse_number(&text);
        }
        if (first < 0 || last < first)
            return false;
        for (int number = first; number <= last; number++)
            cpu_list_add(&list, number);
        while (isspace((unsigned char)*text))
            text++;
        if (*text == ',' && text[1] != '\0')
            text++;
        else if (*text != '\0')
            return false;
    }
    *ret_list = list;
    return true;
}

int cpu_list_next(const struct cpu_list *list, int from)
{
    for (int number = from < 0 ? 0 : from; number < CPU_LIST_MAX; number++) {
        uint64_t rest = list->word[number / 64] >> (number % 64);
        if (rest != 0)
            return number + __builtin_ctzll(rest);
        number |= 63;
    }
    return -1;
}
