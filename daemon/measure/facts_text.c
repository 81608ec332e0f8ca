#include "measure/facts_text.h"

#include <stdlib.h>
#include <string.h>

void facts_text_add(struct facts_text *facts, const char *line, size_t length)
{
    char *more = facts->is_lost || facts->length + length + 2 > FACTS_TEXT_MAX
                     ? NULL
                     : realloc(facts->text, facts->length + length + 2);
    if (more == NULL) {
        facts->is_lost = true;
        return;
    }
    memcpy(more + facts->length, line, length);
    facts->length += length;
    more[facts->length++] = '\n';
    more[facts->length] = '\0';
    facts->text = more;
}

char *facts_text_take(struct facts_text *facts)
{
    char *text = facts->text;
    if (facts->is_lost) {
        free(text);
        text = NULL;
    }
    *facts = (struct facts_text){0};
    return text;
}
