#include "lib/cpus.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_BITS (CHAR_BIT * (unsigned)sizeof(unsigned long))

bool lib_cpus_has(const struct lib_cpus *cpus, unsigned n)
{
    return cpus->word[n / WORD_BITS] >> n % WORD_BITS & 1;
}

bool lib_cpus_parse(const char *list, struct lib_cpus *ret_cpus)
{
    struct lib_cpus cpus = {0};
    const char *c = list;
    while (isdigit((unsigned char)*c)) {
        char *end;
        unsigned long first = strtoul(c, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last >= LIB_CPUS_MAX || first > last)
            return false;
        for (unsigned long n = first; n <= last; n++)
            cpus.word[n / WORD_BITS] |= 1ul << n % WORD_BITS;
        c = *end == ',' ? end + 1 : end;
    }
    if (*c != '\0' && *c != '\n')
        return false;
    *ret_cpus = cpus;
    return true;
}

size_t lib_cpus_format(const struct lib_cpus *cpus, char *text, size_t size)
{
    size_t used = 0;
    if (size > 0)
        text[0] = '\0';
    for (unsigned n = 0; n < LIB_CPUS_MAX; n++) {
        if (!lib_cpus_has(cpus, n))
            continue;
        unsigned last = n;
        while (last + 1 < LIB_CPUS_MAX && lib_cpus_has(cpus, last + 1))
            last++;
        size_t room = used < size ? size - used : 0;
        char *at = room > 0 ? text + used : NULL;
        int length = last == n ? snprintf(at, room, "%s%u", used > 0 ? "," : "", n)
                               : snprintf(at, room, "%s%u-%u", used > 0 ? "," : "", n, last);
        used += (size_t)length;
        n = last;
    }
    return used + 1;
}

bool lib_cpus_of(pid_t thread, struct lib_cpus *ret_cpus)
{
    struct lib_cpus cpus = {0};
    if (sched_getaffinity(thread, sizeof cpus.word, (cpu_set_t *)(void *)cpus.word) != 0)
        return false;
    *ret_cpus = cpus;
    return true;
}
