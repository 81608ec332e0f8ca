#include "measure/sched_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "measure/programs.h"

/* a driver without persistent state starts each of its GPUs anew, about a second each */
#define LIMIT_S 10

void sched_facts_text_add(struct sched_facts_text *facts, const char *line, size_t length)
{
    char *more = facts->is_lost || facts->length + length + 2 > SCHED_FACTS_TEXT_MAX
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

char *sched_facts_text_detach(struct sched_facts_text *facts)
{
    char *text = facts->text;
    if (facts->is_lost) {
        free(text);
        text = NULL;
    }
    *facts = (struct sched_facts_text){0};
    return text;
}

void sched_facts_init(struct sched_facts *facts, const struct sched_facts_env *env)
{
    *facts = (struct sched_facts){.env = *env};
}

void sched_facts_done(struct sched_facts *facts)
{
    free(sched_facts_text_detach(&facts->output));
    free(facts->latest);
    *facts = (struct sched_facts){0};
}

void sched_facts_store(struct sched_facts *facts, char *take_text)
{
    if (take_text == NULL)
        return;
    free(facts->latest);
    facts->latest = take_text;
    facts->note = (struct note){0};
    facts->is_new = true;
}

static void line_read(void *arg, const char *line, size_t length)
{
    sched_facts_text_add(&((struct sched_facts *)arg)->output, line, length);
}

__attribute__((format(printf, 3, 4))) static void
note_why_not(struct sched_facts *facts, bool is_logged, const char *format, ...)
{
    char why[192];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    facts->note = (struct note){.severity = NOTE_WARNING, .code = "gpu-facts", .place = "machine0"};
    snprintf(facts->note.text, sizeof facts->note.text,
             "what the drivers say of the gpus is not known: %s", why);
    text_clean(facts->note.text);
    facts->is_new = true;
    if (is_logged)
        log_line(LOG_LEVEL_WARNING, "%s", facts->note.text);
}

/* Ends a query. An incomplete text would lack existing GPUs, so the previous one stays. */
static void ended(void *arg, const struct runner_end *end)
{
    struct sched_facts *facts = arg;
    char why[512];
    char *text = sched_facts_text_detach(&facts->output);
    bool is_whole = end->ending == RUNNER_EXITED && end->code == 0 && text != NULL;
    facts->runner = NULL;
    facts->stuck = end->stuck;
    if (is_whole) {
        sched_facts_store(facts, text);
    } else {
        free(text);
        runner_describe(end, &facts->spec, why, sizeof why);
        note_why_not(facts, end->ending != RUNNER_STOPPED, "%.190s", why);
    }
    facts->env.answered(facts->env.arg);
}

static const struct program *find_program(void)
{
    size_t count;
    const struct program *programs = programs_all(&count);
    for (size_t i = 0; i < count; i++)
        if (programs[i].is_gpu && programs[i].vendor == NULL)
            return &programs[i];
    return NULL;
}

bool sched_facts_query(struct sched_facts *facts, const struct graph *graph)
{
    const struct program *program = find_program();
    struct berth_err err = {0};
    if (facts->runner != NULL)
        return true;
    if (facts->stuck != 0 || program == NULL ||
        !programs_runs(program, facts->env.config, graph, facts->program, sizeof facts->program))
        return false;
    facts->was_queried = true;
    if (access(facts->program, X_OK) != 0) {
        note_why_not(facts, true, "%.150s: %s", facts->program, strerror(errno));
        return false;
    }
    facts->args[0] = facts->program;
    facts->args[1] = "--facts";
    facts->args[2] = NULL;
    int64_t limit_s =
        facts->env.config->probe_silence_s < LIMIT_S ? facts->env.config->probe_silence_s : LIMIT_S;
    facts->spec = (struct runner_spec){
        .program = facts->program,
        .args = facts->args,
        .limit_ms = (uint64_t)limit_s * 1000,
        .silence_ms = (uint64_t)limit_s * 1000,
        .output_max = SCHED_FACTS_TEXT_MAX,
        .line = line_read,
        .ended = ended,
        .arg = facts,
    };
    if (runner_start(facts->env.loop, &facts->spec, &facts->runner, &err) == BERTH_OK)
        return true;
    log_line(LOG_LEVEL_WARNING, "the drivers are not asked about the gpus: %s", err.detail);
    return false;
}

void sched_facts_stop(struct sched_facts *facts)
{
    if (facts->runner != NULL)
        runner_stop(facts->runner);
}

struct snapshot_builder_facts sched_facts_copy(struct sched_facts *facts)
{
    facts->is_new = false;
    return (struct snapshot_builder_facts){
        .text = facts->latest != NULL ? strdup(facts->latest) : NULL, .note = facts->note};
}
