/* The query of a URL: "a=1&b=two%20words". */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* Decoded into the arena; '+' is a space in a query and itself in a path. ERR_INVALID for a '%' without two
 * hexadecimal digits, ERR_NO_MEMORY. */
int query_decode(struct arena *a, struct str text, bool is_query, struct str *ret,
                 struct err *reterr) must_check;
/* Takes the next parameter off the front of *query, still encoded; false at the end. */
bool query_next(struct str *query, struct str *ret_name, struct str *ret_value);
/* Whether a parameter of this name is there, with any value or none. */
bool query_has(struct str query, const char *name);
