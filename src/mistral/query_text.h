/* Conditions of lists, as text: "WorkflowType = 'x' AND CloseTime IS NULL". */
#pragma once

#include "base/buf.h"

void query_init(struct buf *q);
/* Each is joined to what is there by AND. */
void query_equal(struct buf *q, const char *name, struct str value);
void query_compare(struct buf *q, const char *name, const char *operator_, struct str value);
/* One of these names. */
void query_either(struct buf *q, const char *const *names, size_t n, const char *operator_, struct str value);
void query_any(struct buf *q, const char *name, const struct str *values, size_t n);
void query_add(struct buf *q, const char *condition);
