#!/bin/bash
# The declarations of CUPTI in probes/gpu/driver/sampling.c beside CUDA's own header, where this
# machine has it. CUDA_HOME is CUDA's folder.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
include=${CUDA_HOME:-/usr/local/cuda}/include
[ -e "$include/cupti_pcsampling.h" ] || include=${include%/include}/extras/CUPTI/include
if [ ! -e "$include/cupti_pcsampling.h" ]; then
    echo "there is no cupti_pcsampling.h in $include"
    exit 77
fi
program=$(mktemp --suffix=.c)
trap 'rm -f "$program"' EXIT
cat >"$program" <<'END'
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti_result.h>

#include <cupti_pcsampling.h>

#include "gpu/driver/sampling.c"

#define SAME(a, b) _Static_assert((unsigned long)(a) == (unsigned long)(b), #a)
#define AT(ours, our_member, theirs, their_member)                                                 \
    SAME(offsetof(struct ours, our_member), offsetof(theirs, their_member))

SAME(sizeof(struct params), CUpti_PCSamplingEnableParamsSize);
SAME(sizeof(struct params), CUpti_PCSamplingDisableParamsSize);
SAME(sizeof(struct params), CUpti_PCSamplingStartParamsSize);
SAME(sizeof(struct params), CUpti_PCSamplingStopParamsSize);
SAME(sizeof(struct count_params), CUpti_PCSamplingGetNumStallReasonsParamsSize);
SAME(sizeof(struct names_params), CUpti_PCSamplingGetStallReasonsParamsSize);
AT(names_params, index, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
AT(names_params, name, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(sizeof(struct stall), sizeof(CUpti_PCSamplingStallReason));
AT(stall, samples, CUpti_PCSamplingStallReason, samples);
AT(instruction, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
AT(instruction, stall, CUpti_PCSamplingPCData, stallReason);
SAME(sizeof(struct data), sizeof(CUpti_PCSamplingData));
AT(data, most, CUpti_PCSamplingData, collectNumPcs);
AT(data, dropped, CUpti_PCSamplingData, droppedSamples);
AT(data, count, CUpti_PCSamplingData, totalNumPcs);
AT(data, remaining, CUpti_PCSamplingData, remainingNumPcs);
AT(data, instruction, CUpti_PCSamplingData, pPcData);
SAME(sizeof(struct data_params), CUpti_PCSamplingGetDataParamsSize);
SAME(sizeof(struct setting), sizeof(CUpti_PCSamplingConfigurationInfo));
AT(setting, value, CUpti_PCSamplingConfigurationInfo, attributeData);
SAME(sizeof(struct settings_params), CUpti_PCSamplingConfigurationInfoParamsSize);
AT(settings_params, setting, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
SAME(STALL_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON);
SAME(MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
SAME(START_AND_STOP, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL);
SAME(FORMAT, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT);
SAME(BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
SAME(CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
SAME(NO_PRIVILEGE, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(NO_PRIVILEGE_VIRTUAL, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(GPU_STALL_NAME, CUPTI_STALL_REASON_STRING_SIZE);
END
"${CC:-cc}" -std=c17 -D_GNU_SOURCE -fsyntax-only -isystem "$include" -I"$root/schema" \
    -iquote "$root/probes" "$program"
echo "1..1"
echo "ok 1 - CUPTI is declared as its header does"
