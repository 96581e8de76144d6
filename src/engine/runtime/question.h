/* Questions to the store that an op waits for: pages of lists, counts, ledgers. */
#pragma once

#include "engine/runtime/engine_int.h"

#define QUESTION_BYTES ((size_t)16 << 20) /* far above what a query's limits allow */

/* In the op's own memory; the op looks here first when it is started again. */
struct answer {
    bool is_here;
    int rc; /* of the read */
};

/* A question without content: fill `read` (but not row, done and owner), with what that points to in `arena`.
 * NULL: no memory, and op->err says so. */
struct page_read *question_new(struct op *op);
/* Takes the question. 0 when the answer is here already, ERR_WAIT when op will be started again. */
int op_ask(struct op *op, struct page_read *pr, struct answer *ret,
           void (*row)(struct op *op, const struct row *row)) must_check;
