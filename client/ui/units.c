/* Numbers for people. */
#include "ui/ui.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *ui_digits(char *buffer, double value)
{
    double size = fabs(value);
    if (isnan(value))
        snprintf(buffer, UI_NUMBER, "-");
    else if (value == floor(value) && size < 1e6)
        snprintf(buffer, UI_NUMBER, "%.0f", value);
    else if (size >= 1e6)
        snprintf(buffer, UI_NUMBER, "%.3g", value);
    else
        snprintf(buffer, UI_NUMBER, "%.*f",
                 size >= 99.95    ? 0
                 : size >= 9.995  ? 1
                 : size >= 0.9995 ? 2
                                  : 3,
                 value);
    return buffer;
}

static const char *scaled(char *buffer, double value, double step, const char *const *units,
                          size_t count)
{
    size_t i = 0;
    while (i + 1 < count && fabs(value) >= step * 0.9995) {
        value /= step;
        i++;
    }
    char digits[UI_NUMBER];
    ui_digits(digits, value);
    snprintf(buffer, UI_NUMBER, "%.20s %s", digits, units[i]);
    return buffer;
}

static const char *const byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

const char *ui_bytes(char *buffer, int64_t bytes)
{
    if (bytes < 0)
        return strcpy(buffer, "-");
    return scaled(buffer, (double)bytes, 1024, byte_units,
                  sizeof byte_units / sizeof byte_units[0]);
}

const char *ui_bytes_of(char *buffer, int64_t some, int64_t all)
{
    char part[UI_NUMBER], whole[UI_NUMBER];
    ui_bytes(part, some);
    ui_bytes(whole, all);
    if (strcmp(part + strcspn(part, " "), whole + strcspn(whole, " ")) == 0)
        part[strcspn(part, " ")] = '\0';
    snprintf(buffer, UI_NUMBER, "%.13s of %.13s", part, whole);
    return buffer;
}

const char *ui_count_bytes(char *buffer, int64_t bytes)
{
    size_t i = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && i + 1 < sizeof byte_units / sizeof byte_units[0]) {
        bytes /= 1024;
        i++;
    }
    snprintf(buffer, UI_NUMBER, "%lld %s", (long long)bytes, byte_units[i]);
    return buffer;
}

const char *ui_rate(char *buffer, double bytes_per_s)
{
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
    if (isnan(bytes_per_s))
        return strcpy(buffer, "-");
    return scaled(buffer, bytes_per_s, 1000, units, sizeof units / sizeof units[0]);
}

const char *ui_time(const struct ui *ui, char *buffer, double ns)
{
    if (isnan(ns))
        return strcpy(buffer, "-");
    const char *const units[] = {"ns", ui->utf8 ? "\u00b5s" : "us", "ms", "s"};
    return scaled(buffer, ns, 1000, units, sizeof units / sizeof units[0]);
}

static const char *const flop_units[] = {"flop/s", "Kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"};

const char *ui_value(const struct ui *ui, char *buffer, double value, const char *unit)
{
    if (strcmp(unit, "bytes_per_s") == 0)
        return ui_rate(buffer, value);
    if (strcmp(unit, "ns") == 0)
        return ui_time(ui, buffer, value);
    if (strcmp(unit, "flop_per_s") == 0)
        return scaled(buffer, value, 1000, flop_units, sizeof flop_units / sizeof flop_units[0]);
    char digits[UI_NUMBER], word[13];
    size_t length = 0;
    ui_digits(digits, value);
    for (; unit[length] != '\0' && length + 1 < sizeof word; length++)
        word[length] = isalnum((unsigned char)unit[length]) || strchr("_/%", unit[length]) != NULL
                           ? unit[length]
                           : '?'; /* replies are not trusted, and pages take this as it is */
    word[length] = '\0';
    snprintf(buffer, UI_NUMBER, "%.15s%s%s", digits, strcmp(unit, "ratio") == 0 ? "" : " ",
             strcmp(unit, "ratio") == 0 ? "" : word);
    return buffer;
}

const char *ui_when(char *buffer, int64_t at_s)
{
    time_t at = (time_t)at_s;
    struct tm parts;
    if (at_s <= 0 || localtime_r(&at, &parts) == NULL ||
        strftime(buffer, UI_NUMBER, "%Y-%m-%d %H:%M:%S %Z", &parts) == 0)
        return strcpy(buffer, "-");
    return buffer;
}

void ui_ranges(char *buffer, size_t size, const int *number, size_t count)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count && used < size;) {
        size_t last = i;
        while (last + 1 < count && number[last + 1] == number[last] + 1)
            last++;
        int n = last == i
                    ? snprintf(buffer + used, size - used, "%s%d", i > 0 ? "," : "", number[i])
                    : snprintf(buffer + used, size - used, "%s%d-%d", i > 0 ? "," : "", number[i],
                               number[last]);
        used += (size_t)n;
        i = last + 1;
    }
}

size_t ui_list_count(const char *list)
{
    size_t count = 0;
    while (*list != '\0') {
        unsigned first, last;
        int length = 0;
        if (sscanf(list, "%6u-%6u%n", &first, &last, &length) == 2 && last >= first) {
            count += last - first + 1;
        } else if (sscanf(list, "%6u%n", &first, &length) == 1) {
            count++;
        } else {
            return 0;
        }
        list += length;
        list += *list == ',';
    }
    return count;
}

const char *ui_spark(const struct ui *ui, double share)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    int level = (int)(7.99 * (share >= 0 && share <= 1 ? share : share > 1));
    return ui->utf8 ? blocks[level] : plain[level];
}
