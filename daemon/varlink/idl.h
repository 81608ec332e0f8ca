/**
 * Varlink interface descriptions: text to a tree of types, methods and errors. The tree is constant
 * once parsed and may be read from any thread.
 *
 * Source of the grammar: varlink.org/Interface-Definition. A comment runs from # to the end of the
 * line.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define IDL_TEXT_MAX  (256 * 1024) /* bytes of a description */
#define IDL_DEPTH_MAX 32           /* types within types */
/* members of an interface, fields of a struct, values of an enum */
#define IDL_NAMES_MAX 1024

enum idl_kind {
    IDL_BOOL,
    IDL_INT,
    IDL_FLOAT,
    IDL_STRING,
    IDL_OBJECT, /* any JSON object */
    IDL_ENUM,
    IDL_STRUCT,
    IDL_ARRAY,
    IDL_MAP,   /* [string]element */
    IDL_NAMED, /* a type of the interface; element is the named type, an ENUM or STRUCT */
};

struct idl_type {
    enum idl_kind kind;
    bool nullable;
    const struct idl_type *element; /* ARRAY, MAP, NAMED; else NULL */
    /* fields of a STRUCT, values of an ENUM, as written; else NULL */
    const struct idl_name *names;
};

struct idl_name {
    const char *name;
    const struct idl_type *type; /* NULL for a value of an enum */
    const struct idl_name *next;
};

enum idl_member_kind { IDL_TYPE, IDL_METHOD, IDL_ERROR };

struct idl_member {
    enum idl_member_kind kind;
    const char *name;           /* "GetNode" */
    const struct idl_type *in;  /* METHOD: parameters; TYPE: the type; ERROR: its parameters */
    const struct idl_type *out; /* METHOD only */
    const struct idl_member *next;
};

struct idl {
    const char *name; /* "io.berth.Fabric" */
    const struct idl_member *members;
    struct idl_chunk *memory; /* private: everything above lives here */
};

/* Parses length bytes of text (no NUL needed, none allowed). Fails with BAD_DATA on text that is no
 * interface description or is past the limits above; the detail begins "line 3, column 7:". Fails
 * with NO_MEMORY. Keeps no pointer into text. */
enum berth_code idl_parse(const char *text, size_t length, struct idl **ret_idl,
                          struct berth_err *err);
void idl_free(struct idl *idl); /* NULL is fine */

/* NULL when there is none. */
const struct idl_member *idl_find(const struct idl *idl, enum idl_member_kind kind,
                                  const char *name);

/* varlink/idl_check.c: checks a JSON value against a type: names and types, at all levels. A null
 * counts as absent, and only nullable fields may be absent. A float accepts an integer; an int
 * accepts JSON integers only, not 4.0. Fields that the type does not have are refused.
 *
 * Fails with INVALID_PARAMETER. Parameter 0 is the path of the first offender
 * ("accesses[1].pattern", "where.mechanism"; empty when value itself is no object). The detail
 * names the expected type. Allocates nothing; recurses as deep as value is nested. Any thread. */
enum berth_code idl_check(const struct idl_type *type, const json_t *value, struct berth_err *err);
