/**
 * Action for a finding, from schema/findings.def: what an administrator does first, and commands
 * that can be copied. Pure; any thread.
 */
#pragma once
#include "health/assessment.h"

#define ACTION_SIZE 512

struct action {
    char text[ACTION_SIZE];     /* "" for an unknown code */
    char commands[ACTION_SIZE]; /* a line each; "" none */
};

/* Writes the action with the finding's metric and places, and the commands of the place's vendor
 * with its PCI address. values: those that findings are about, NULL where they are about none. */
void action_write(const struct graph *graph, const struct values *values,
                  const struct finding *finding, struct action *ret_action);
