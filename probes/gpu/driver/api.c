#include "gpu/driver/api.h"

#include <stdlib.h>

enum gpu_fault gpu_api_fault(int code)
{
    switch (code) {
    case 0:
        return GPU_FAULT_NONE;
    case 2:    /* out of memory */
    case 1052: /* HIP: a call of HSA's for memory failed */
        return GPU_FAULT_MEMORY;
    case GPU_MISSING:
    case 801: /* not supported */
        return GPU_FAULT_UNSUPPORTED;
    case 217: /* peer access unsupported */
    case 705: /* ... not enabled */
    case 711: /* too many peers */
        return GPU_FAULT_PEER;
    case 4:   /* the runtime is being shut down */
    case 46:  /* device unavailable */
    case 214: /* uncorrectable error of memory */
    case 220: /* ... of NVLink */
    case 226: /* contained error */
    case 700: /* illegal address */
    case 702: /* a kernel ran too long */
    case 709: /* context is destroyed */
    case 710: /* device-side assertion */
    case 714: /* hardware stack error, */
    case 715: /* illegal instruction, */
    case 716: /* misaligned address, */
    case 717: /* invalid address space, */
    case 718: /* invalid program counter: */
    case 719: /* launch failed: all stay with the context */
        return GPU_FAULT_LOST;
    default:
        return GPU_FAULT_OTHER;
    }
}

void gpu_api_free(struct gpu_api *api)
{
    if (api == NULL)
        return;
    free(api->calls);
    free(api);
}
