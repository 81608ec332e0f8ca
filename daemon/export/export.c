#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "discover/backend_hwloc_measured.h"
#include "export/formats.h"

const char *const export_names[] = {"hwloc",      "nccl", "rccl", "gres", "dot",
                                    "prometheus", "nfd",  "dra",  "ucx",  NULL};

bool export_needs_view(enum export_format format)
{
    return format == EXPORT_NCCL || format == EXPORT_RCCL || format == EXPORT_GRES;
}

bool export_needs_assessment(enum export_format format)
{
    return format == EXPORT_PROMETHEUS || format == EXPORT_NFD;
}

static enum berth_code write_hwloc(const struct export_input *input, struct print *text,
                                   struct berth_err *err)
{
    char *xml = NULL;
    enum berth_code code =
        backend_hwloc_measured(input->xml, input->xml_name, input->snap, &xml, err);
    if (code == BERTH_OK)
        print_bytes(text, xml, strlen(xml));
    free(xml);
    return code;
}

enum berth_code export_write(enum export_format format, const struct export_input *input,
                             struct print *text, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    if (format == EXPORT_HWLOC && input->xml == NULL)
        return err_set(err, BERTH_ABSENT, "this node is known without an hwloc XML");
    switch (format) {
    case EXPORT_HWLOC:
        code = write_hwloc(input, text, err);
        break;
    case EXPORT_NCCL:
        code = export_nccl(input, false, text, err);
        break;
    case EXPORT_RCCL:
        code = export_nccl(input, true, text, err);
        break;
    case EXPORT_GRES:
        export_gres(input, text);
        break;
    case EXPORT_DOT:
        export_dot(input, text);
        break;
    case EXPORT_PROMETHEUS:
        export_prometheus(input, text);
        break;
    case EXPORT_NFD:
        text->failed = !export_nfd(input, text) || text->failed;
        break;
    case EXPORT_DRA:
        code = export_dra(input, text, err);
        break;
    case EXPORT_UCX:
        code = export_ucx(input, text, err);
        break;
    }
    if (code == BERTH_OK && text->failed)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    return code;
}
