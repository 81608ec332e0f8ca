#include "node/allowed.h"

#include <stdlib.h>

void allowed_done(struct allowed *allowed)
{
    free(allowed->memory);
    free(allowed->gpus);
    allowed->memory = allowed->gpus = NULL;
}
