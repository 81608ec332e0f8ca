/**
 * Words that the text and the page share.
 */
#pragma once
#include "fleet/fleet.h"

#define FLEET_WORD 160

/* Write into a buffer and return it. */
const char *fleet_count(char buffer[FLEET_WORD], json_int_t count); /* 2,000 */
const char *fleet_percent(char buffer[FLEET_WORD], double loss);    /* -8.1 % for 0.081 */

/* Write where an item of the answer is, gpu2>gpu3, and which series it is of. */
void fleet_where(char buffer[FLEET_WORD], const json_t *item);
void fleet_what(char buffer[FLEET_WORD], const json_t *item);

/* Writes the condition by which a class was divided, after a comma; "" none. */
void fleet_part(char buffer[FLEET_WORD], const json_t *class);

/* Write the answer in one sentence, and a shared condition. */
void fleet_first_line(struct ui *ui, const json_t *answer);
void fleet_shared_line(struct ui *ui, const json_t *shared);
