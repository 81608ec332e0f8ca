#include "base/cpuset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (CPUSET_MAX / 64)

static bool parse_number(const char **text, unsigned *ret_number)
{
    const char *c = *text;
    if (!isdigit((unsigned char)*c))
        return false;
    unsigned long value = 0;
    for (; isdigit((unsigned char)*c); c++) {
        value = value * 10 + (unsigned long)(*c - '0');
        if (value >= CPUSET_MAX)
            return false;
    }
    *text = c;
    *ret_number = (unsigned)value;
    return true;
}

static const char *skip_spaces(const char *c)
{
    while (isspace((unsigned char)*c))
        c++;
    return c;
}

/* Word by word: a message has room for a hundred thousand ranges of all cpus. */
static void add_range(struct cpuset *set, unsigned first, unsigned last)
{
    for (unsigned i = first / 64; i <= last / 64; i++) {
        unsigned low = i == first / 64 ? first % 64 : 0, high = i == last / 64 ? last % 64 : 63;
        set->word[i] |= ~UINT64_C(0) << low & ~UINT64_C(0) >> (63 - high);
    }
}

enum berth_code cpuset_parse(const char *text, struct cpuset *ret_set, struct berth_err *err)
{
    struct cpuset set = {0};
    const char *c = skip_spaces(text);
    while (*c != '\0') {
        unsigned first, last;
        if (!parse_number(&c, &first))
            goto bad;
        last = first;
        if (*c == '-') {
            c++;
            if (!parse_number(&c, &last) || last < first)
                goto bad;
        }
        add_range(&set, first, last);
        c = skip_spaces(c);
        if (*c == ',') {
            c = skip_spaces(c + 1);
            if (*c == '\0')
                goto bad;
        } else if (*c != '\0') {
            goto bad;
        }
    }
    *ret_set = set;
    return BERTH_OK;
bad:
    return err_set(err, BERTH_BAD_DATA,
                   "\"%.60s\" is not a list of cpus like 0-3,8 with numbers under %d", text,
                   CPUSET_MAX);
}

size_t cpuset_format_list(const struct cpuset *set, char *buffer, size_t size)
{
    size_t used = 0;
    if (size > 0)
        buffer[0] = '\0';
    int first = cpuset_next(set, 0);
    while (first >= 0) {
        int last = first;
        while (last + 1 < CPUSET_MAX && cpuset_has(set, (unsigned)last + 1))
            last++;
        char range[32];
        int length = first == last
                         ? snprintf(range, sizeof range, "%s%d", used ? "," : "", first)
                         : snprintf(range, sizeof range, "%s%d-%d", used ? "," : "", first, last);
        if (used < size)
            snprintf(buffer + used, size - used, "%s", range);
        used += (size_t)length;
        first = cpuset_next(set, (unsigned)last + 1);
    }
    return used;
}

size_t cpuset_format_mask(const struct cpuset *set, char *buffer, size_t size)
{
    int top = WORDS - 1;
    while (top > 0 && set->word[top] == 0)
        top--;
    char digits[WORDS * 16 + 3];
    size_t used =
        (size_t)snprintf(digits, sizeof digits, "0x%llx", (unsigned long long)set->word[top]);
    for (int i = top - 1; i >= 0; i--)
        used += (size_t)snprintf(digits + used, sizeof digits - used, "%016llx",
                                 (unsigned long long)set->word[i]);
    if (size > 0)
        snprintf(buffer, size, "%s", digits);
    return used;
}

static char *format_new(const struct cpuset *set,
                        size_t (*format)(const struct cpuset *, char *, size_t))
{
    size_t size = format(set, NULL, 0) + 1;
    char *text = malloc(size);
    if (text != NULL)
        format(set, text, size);
    return text;
}

char *cpuset_list_new(const struct cpuset *set) { return format_new(set, cpuset_format_list); }
char *cpuset_mask_new(const struct cpuset *set) { return format_new(set, cpuset_format_mask); }

void cpuset_add(struct cpuset *set, unsigned cpu)
{
    if (cpu < CPUSET_MAX)
        set->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

void cpuset_remove(struct cpuset *set, unsigned cpu)
{
    if (cpu < CPUSET_MAX)
        set->word[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
}

bool cpuset_has(const struct cpuset *set, unsigned cpu)
{
    return cpu < CPUSET_MAX && (set->word[cpu / 64] >> cpu % 64 & 1);
}

size_t cpuset_count(const struct cpuset *set)
{
    size_t count = 0;
    for (int i = 0; i < WORDS; i++)
        count += (size_t)__builtin_popcountll(set->word[i]);
    return count;
}

bool cpuset_is_empty(const struct cpuset *set) { return cpuset_next(set, 0) < 0; }

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool cpuset_intersects(const struct cpuset *a, const struct cpuset *b)
{
    for (int i = 0; i < WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

bool cpuset_contains(const struct cpuset *outer, const struct cpuset *inner)
{
    for (int i = 0; i < WORDS; i++)
        if (inner->word[i] & ~outer->word[i])
            return false;
    return true;
}

void cpuset_or(struct cpuset *set, const struct cpuset *other)
{
    for (int i = 0; i < WORDS; i++)
        set->word[i] |= other->word[i];
}

void cpuset_and(struct cpuset *set, const struct cpuset *other)
{
    for (int i = 0; i < WORDS; i++)
        set->word[i] &= other->word[i];
}

int cpuset_next(const struct cpuset *set, unsigned from)
{
    for (unsigned i = from / 64; i < WORDS; i++) {
        uint64_t word = set->word[i];
        if (i == from / 64)
            word &= ~UINT64_C(0) << from % 64;
        if (word != 0)
            return (int)(i * 64 + (unsigned)__builtin_ctzll(word));
    }
    return -1;
}
