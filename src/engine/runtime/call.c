/* How a call fails. */
#include "engine/call.h"

void call_fail(struct call *c, const struct err *e) {
    struct err costly;
    bool is_costly = e->code == ERR_NO_MEMORY && arena_failed(c->arena) && !arena_starved(c->arena);
    if (is_costly && cstr_eq(e->text, err_text(ERR_NO_MEMORY)))
        (void)err_std(&costly, ERR_TOO_COSTLY);
    else if (is_costly)
        (void)err_set(&costly, ERR_TOO_COSTLY, "%s", e->text);
    c->ops->fail(c, is_costly ? &costly : e);
}
