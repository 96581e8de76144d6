/* Conditions of list requests, as text: "WorkflowType = 'x' AND CloseTime IS NULL".
 *
 * The caller ends with buf_done(); the buffer remembers a lack of memory and
 * a text above 64 KiB. Values are quoted; names and operators are not. */
#pragma once

#include "base/buf.h"

void condition_init(struct buf *q);
/* Each function appends one condition, after " AND " when it is not the first. */
void condition_add_equal(struct buf *q, const char *name, struct str value);
void condition_add_comparison(struct buf *q, const char *name, const char *operator_, struct str value);
/* At least one of n names compares so with the value. */
void condition_add_any_name(struct buf *q, const char *const *names, size_t n, const char *operator_,
                            struct str value);
/* The name has one of n values. */
void condition_add_in(struct buf *q, const char *name, const struct str *values, size_t n);
void condition_add_text(struct buf *q, const char *condition);
