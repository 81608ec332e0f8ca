#include "slurm/spank_setting.h"

#include <stdio.h>
#include <string.h>

#include "lib/size.h"

#define TIMEOUT_MS      1000
#define TIMEOUT_MS_MOST 60000

/* Value behind the key; NULL when the word has another key. */
static const char *value_of(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 ? word + length : NULL;
}

/* True when the word is default=, whose error takes precedence. */
static bool take(const char *word, struct spank_setting *setting, char *why, size_t size)
{
    char wrong[256];
    const char *value;
    if ((value = value_of(word, "socket=")) != NULL)
        setting->socket = value;
    else if ((value = value_of(word, "gres_conf=")) != NULL)
        setting->gres_conf = value;
    else if ((value = value_of(word, "default=")) != NULL) {
        spank_options_init(&setting->options);
        setting->is_default_wrong =
            !spank_options_parse(value, &setting->options, wrong, sizeof wrong);
        if (setting->is_default_wrong)
            snprintf(why, size, "plugstack.conf: default=%.60s: %s", value, wrong);
        return true;
    } else if ((value = value_of(word, "timeout_ms=")) == NULL)
        snprintf(why, size,
                 "plugstack.conf: there is no \"%.60s\"; there are socket=, gres_conf=, "
                 "timeout_ms= and default=",
                 word);
    else if (!lib_parse_count(value, 1, TIMEOUT_MS_MOST, &setting->timeout_ms))
        snprintf(why, size, "plugstack.conf: timeout_ms takes 1 to %d, not \"%.60s\"",
                 TIMEOUT_MS_MOST, value);
    return false;
}

void spank_setting_read(int count, char **words, struct spank_setting *ret, char *why, size_t size)
{
    struct spank_setting setting = {.timeout_ms = TIMEOUT_MS};
    char line[512];
    spank_options_init(&setting.options);
    why[0] = '\0';
    for (int i = 0; i < count; i++) {
        line[0] = '\0';
        bool is_default = take(words[i], &setting, line, sizeof line);
        if (line[0] != '\0' && (why[0] == '\0' || is_default))
            snprintf(why, size, "%s", line);
    }
    *ret = setting;
}
