/* Asking the store for rows, on behalf of an op.
 *
 * The store may answer before store_read() returns, or much later; and the op may be gone by then, which is
 * why the question is an object of its own. */
#include "engine/runtime/question.h"

#include "base/mem.h"

struct page_read *question_new(struct op *op) {
    struct page_read *pr = mem_zalloc(sizeof(*pr));
    if (!pr) {
        (void)op_out_of_memory(op);
        return NULL;
    }
    arena_init(&pr->arena, QUESTION_BYTES);
    return pr;
}

static void on_row(struct read *r, const struct row *row) {
    struct page_read *pr = r->owner;
    if (pr->op)
        pr->row(pr->op, row);
}

static void question_on_done(struct read *r, int rc) {
    struct page_read *pr = r->owner;
    struct op *op = pr->op;
    if (op)
        *pr->answer = (struct answer){.is_here = true, .rc = rc};
    if (pr->is_in_read)
        return;
    page_read_free(pr);
    if (!op)
        return;
    op->page_read = NULL;
    op->go(op);
}

int op_ask(struct op *op, struct page_read *pr, struct answer *ret,
           void (*row)(struct op *op, const struct row *row)) {
    if (op->e->is_draining && !op_is_errand(op)) { /* it could take longer than the rest of this process */
        page_read_free(pr);
        return err_std(&op->err, ERR_UNAVAILABLE);
    }
    op->page_read = pr;
    pr->op = op;
    pr->answer = ret;
    pr->row = row;
    list_append(&op->e->page_reads, &pr->link);
    pr->read.row = on_row;
    pr->read.done = question_on_done;
    pr->read.owner = pr;
    pr->is_in_read = true;
    store_read(op->e->store, &pr->read);
    pr->is_in_read = false;
    if (!ret->is_here)
        return ERR_WAIT;
    page_read_free(pr);
    op->page_read = NULL;
    return 0;
}
