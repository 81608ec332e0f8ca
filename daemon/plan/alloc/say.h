/**
 * What an answer of Allocate says in words: what is not known of its options, and the numbers that
 * decided, a sentence each that a person can check against the options' times.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/alloc/work.h"

/* Of priced options in order; into the answer's warnings and reasons. */
void plan_alloc_say(struct alloc_work *work);
