#include "events/kernel_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 99999

const char *kernel_lines_kind(enum kernel_line_kind kind)
{
    static const char *const names[] = {
#define EVENT(id, name, finding, severity, drains, per_hour, about) name,
#include "kernel_events.def"
#undef EVENT
    };
    return names[kind];
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Reads "65:00.0" with or without domain and function. Returns the text behind it; NULL: none. */
static const char *read_pci(const char *text, char at[16])
{
    unsigned domain, bus, device, function = 0;
    int used = 0, more = 0;
    if (sscanf(text, "%5x:%2x:%2x%n", &domain, &bus, &device, &used) != 3 || used == 0)
        return NULL;
    if (text[used] == '.' && sscanf(text + used, ".%1x%n", &function, &more) == 1)
        used += more;
    snprintf(at, 16, "%04x:%02x:%02x.%x", domain & 0xfffff, bus & 0xff, device & 0x1f,
             function & 7);
    return text + used;
}

/* Removes the head of a line. Returns the message; NULL when the kernel did not write it. */
static const char *read_head(const char *line, struct kernel_line *ret)
{
    unsigned priority;
    long long sequence = -1, us = 0;
    unsigned long seconds, fraction;
    int used = 0;
    if (sscanf(line, "%u,%lld,%lld,%*[^;\n];%n", &priority, &sequence, &us, &used) == 3 &&
        used > 0) {
        if (priority >= 8 || sequence < 0 || us < 0)
            return NULL; /* a facility: a program wrote it */
    } else if (sscanf(line, "[%lu.%6lu] %n", &seconds, &fraction, &used) == 2 && used > 0 &&
               seconds < 10000000000) {
        us = (long long)seconds * 1000000 + (long long)fraction;
    } else {
        return NULL;
    }
    ret->sequence = sequence;
    ret->since_us = us;
    return line + used;
}

static bool read_number(const char *text, struct kernel_line *ret)
{
    char *end;
    long number = strtol(text, &end, 10);
    ret->number = (int)number;
    return end != text && number > 0 && number <= NUMBER_MAX && *end == ',';
}

/* "NVRM: Xid (PCI:0000:65:00): 79, ...", also "(0000:65:00)" and "(PCI:0000:65:00 GPU-I:01)" */
static bool is_xid(const char *text, struct kernel_line *ret)
{
    static const char head[] = "NVRM: Xid (";
    if (!starts(text, head))
        return false;
    text += sizeof head - 1;
    text += starts(text, "PCI:") ? 4 : 0;
    text = read_pci(text, ret->at);
    text = text != NULL ? strstr(text, "): ") : NULL;
    ret->kind = KERNEL_LINE_XID;
    return text != NULL && read_number(text + 3, ret);
}

/* "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 ..."; further lines of the
 * same error have data in place of the severity. */
static bool is_sxid(const char *text, struct kernel_line *ret)
{
    const char *found = starts(text, "nvidia-nvswitch") ? strstr(text, ": SXid (PCI:") : NULL;
    found = found != NULL ? read_pci(found + 12, ret->at) : NULL;
    if (found == NULL || !starts(found, "): ") || !read_number(found + 3, ret))
        return false;
    const char *severity = strchr(found + 3, ',');
    bool is_fatal = starts(severity, ", Fatal,");
    ret->kind = is_fatal ? KERNEL_LINE_SXID_FATAL : KERNEL_LINE_SXID;
    return is_fatal || starts(severity, ", Non-fatal,");
}

/* "socket: 0, die: 0 2 uncorrectable hardware errors detected in umc block". A total repeats
 * earlier ones, and "no" or 0 is no error. */
static bool has_ras_errors(const char *text)
{
    static const char found[] = "uncorrectable hardware errors detected in ";
    const char *at = strstr(text, found), *word = at;
    if (at == NULL || starts(at + sizeof found - 1, "total"))
        return false;
    if (word - text >= 4 && starts(word - 4, "new "))
        word -= 4;
    while (word > text && word[-1] == ' ')
        word--;
    while (word > text && word[-1] >= '0' && word[-1] <= '9')
        word--;
    return strtol(word, NULL, 10) > 0;
}

/* "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!"; older drivers name no address:
 * "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1, emitted seq=2" */
static bool is_amdgpu(const char *text, struct kernel_line *ret)
{
    const char *end = strstr(text, "GPU reset end with ret = ");
    if (starts(text, "amdgpu ")) {
        if (read_pci(text + 7, ret->at) == NULL)
            return false;
    } else if (!starts(text, "[drm:amdgpu_")) {
        return false;
    }
    if (strstr(text, " timeout, signaled seq=") != NULL)
        ret->kind = KERNEL_LINE_GPU_HANG;
    else if (strstr(text, ": GPU reset begin!") != NULL)
        ret->kind = KERNEL_LINE_GPU_RESET;
    else if (end != NULL && strchr(end, '-') != NULL)
        ret->kind = KERNEL_LINE_GPU_RESET_FAILED;
    else if (has_ras_errors(text))
        ret->kind = KERNEL_LINE_GPU_RAS;
    else
        return false;
    return true;
}

/* "nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", also
 * behind "AER: ", with "Correctable", "Uncorrected (Fatal)" and "Uncorrectable (Non-Fatal)" */
static bool is_aer(const char *text, struct kernel_line *ret)
{
    const char *word = strchr(text, ' '), *rest = word != NULL ? read_pci(word + 1, ret->at) : NULL;
    if (rest == NULL || !starts(rest, ": "))
        return false;
    rest += starts(rest, ": AER: ") ? 7 : 2;
    static const char head[] = "PCIe Bus Error: severity=";
    if (!starts(rest, head))
        return false;
    rest += sizeof head - 1;
    if (starts(rest, "Correct"))
        ret->kind = KERNEL_LINE_AER_CORRECTABLE;
    else if (starts(rest, "Uncorrected (Fatal)") || starts(rest, "Uncorrectable (Fatal)"))
        ret->kind = KERNEL_LINE_AER_FATAL;
    else if (starts(rest, "Uncorrect"))
        ret->kind = KERNEL_LINE_AER_NONFATAL;
    else
        return false;
    return true;
}

bool kernel_lines_parse(const char *line, struct kernel_line *ret)
{
    *ret = (struct kernel_line){0};
    const char *text = read_head(line, ret);
    if (text == NULL ||
        (!is_xid(text, ret) && !is_sxid(text, ret) && !is_amdgpu(text, ret) && !is_aer(text, ret)))
        return false;
    snprintf(ret->text, sizeof ret->text, "%s", text);
    return true;
}
