/**
 * Good choices without a proof: a greedy start, annealing by what is certain of a choice (times
 * alone, and what goes through each resource), then swaps by its price.
 */
#pragma once
#include "search/work.h"

/* Finds a best where there is none, or a better one. thorough: anneals; else the start and a few
 * swaps. is_exact: all choices are looked at afterwards. False when out of memory. */
bool plan_search_swap(struct search_work *work, bool thorough, bool is_exact);
