/* A predicate as SQL: fixed fragments with a parameter for every value, never the values themselves. */
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

/* A column of the run v that is written with its state, in the table executions. */
#define SQL_WITH_STATE(column)                                                                               \
    "(SELECT x." column " FROM executions x WHERE x.namespace_id = v.namespace_id AND x.run_id = v.run_id)"

#define OPEN_NS INT64_MAX /* the close_ns of what is open */

/* The text, and what its parameters are, in order. */
struct sql_text {
    struct buf text;
    struct sql_param *params;
    size_t count;
    size_t cap;
    bool failed;
};

/* A value, whose text stays the caller's, or an id. */
struct sql_param {
    struct value value;
    struct uuid id;
    bool is_id;
};

void sql_init(struct sql_text *q);
void sql_done(struct sql_text *q);
bool sql_ok(const struct sql_text *q);
void sql_add(struct sql_text *q, const char *fragment);
void sql_add_param(struct sql_text *q, struct value v); /* "?" */
void sql_add_id(struct sql_text *q, struct uuid u);
void sql_add_place(struct sql_text *q, const struct visibility_place *place); /* its three parts */
void sql_bind(const struct sql_text *q, sqlite3_stmt *st); /* q must outlive the bindings */

/* The column of a name, as SQL; NULL when it has none. */
const char *sql_column(struct str name);
/* An expression that is 0 or 1, never NULL, about the row v. */
void sql_add_predicate(struct sql_text *q, const struct predicate *p);
/* What the value of a test must be; the column, which is SQL, is known to have one. */
void sql_add_condition(struct sql_text *q, const char *column, const struct predicate *p);
void sql_add_comparison(struct sql_text *q, const char *column,
                        const struct predicate *p); /* of the same type */
/* By the bytes. A text that is no id in our spelling matches nothing. */
void sql_add_run_id(struct sql_text *q, const char *column, const struct predicate *p);

int64_t sql_ns(int64_t us);
int64_t sql_us(int64_t ns);
