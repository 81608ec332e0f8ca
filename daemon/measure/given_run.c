#include "measure/given_run.h"

#include <string.h>

#include "measure/programs.h"

#define PARAMETER "records"
#define AHEAD_S   60 /* of a clock that runs ahead */

static bool has_shapes(const struct run *run)
{
    json_t *conditions = run->conditions != NULL ? json_loads(run->conditions, 0, NULL) : NULL;
    bool has = json_object_get(conditions, "shapes") != NULL;
    json_decref(conditions);
    return has;
}

static enum berth_code check(const struct run_parser *parser, struct berth_err *err)
{
    const struct run *run = &parser->run;
    if (parser->bad_lines > 0)
        return err_invalid(err, PARAMETER, "a line is no record: %s", parser->first_bad);
    if (!parser->begun || !parser->ended)
        return err_invalid(err, PARAMETER, "there is no %s record", parser->begun ? "end" : "run");
    if (parser->begun_at_s - AHEAD_S > parser->now_s)
        return err_invalid(err, PARAMETER, "started_at is %lld s in the future",
                           (long long)(parser->begun_at_s - parser->now_s));
    if (parser->fault_count > 0 || run->sets->count > 0 || has_shapes(run))
        return err_invalid(err, PARAMETER,
                           "findings, sets and launch shapes are taken from berthd's own probes");
    for (size_t i = 0; i < run->values->count; i++) {
        enum metric metric = run->values->item[i].metric;
        if (!programs_is_given(metric))
            return err_invalid(err, PARAMETER,
                               "%s is measured by berthd's own probes (berth probe)",
                               metric_info(metric)->name);
    }
    return BERTH_OK;
}

enum berth_code given_run_parse(const struct graph *graph, const char *records, int64_t now_s,
                                struct run_parser *ret_parser, struct berth_err *err)
{
    struct run_parser parser;
    enum berth_code code = run_parser_init(&parser, graph, "mpi", "full", now_s, err);
    if (code != BERTH_OK)
        return code;
    parser.run.is_partial = true;
    for (const char *line = records; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > 0 && !run_parser_line(&parser, line, length))
            break;
        line += length + (line[length] == '\n');
    }
    code = check(&parser, err);
    if (code != BERTH_OK) {
        run_parser_done(&parser);
        return code;
    }
    run_parser_finish(&parser, "", "", 0);
    *ret_parser = parser;
    return BERTH_OK;
}
