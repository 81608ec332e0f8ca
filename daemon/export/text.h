/**
 * Text of other tools' formats, put together front to back. Running out of memory is noted in the
 * print and checked once, at the end.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"
#include "node/snapshot.h"

void export_text(struct print *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write text from outside; NULL writes nothing. Control characters and bytes that are no UTF-8
 * become '?' in all of them. */
/* as the value of an attribute in double quotes */
void export_text_xml(struct print *text, const char *value);
/* on one line, and without "--", which ends an XML comment */
void export_text_comment(struct print *text, const char *value);
/* between double quotes, with \" and \\ for DOT and Prometheus */
void export_text_quoted(struct print *text, const char *value);

/* Writes lines about the export, with prefix before and suffix behind each: node, origin, snapshot
 * and time of measurement. */
void export_text_head(struct print *text, const struct snapshot *snap, const char *prefix,
                      const char *suffix);

/* Returns the value of a metric at its default axes, or those given, unless it is nominal. NULL:
 * there is none. */
const struct value *export_text_value(const struct snapshot *snap, enum metric metric,
                                      place_id from, place_id to, const char *axes);

/* Returns the faster of copy engine and kernel from one gpu to another, or from and to a NUMA node;
 * NULL: no value of either. */
const struct value *export_text_rate(const struct snapshot *snap, place_id from, place_id to);
