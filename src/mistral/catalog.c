/* Lists of workflows and registrations from the task queues in use, cut into pages.
 *
 * A cursor is the name of the last item of the page before, so a page stays
 * right when items appear or disappear between two requests. Only a lack of
 * memory can fail here; the caller's arena remembers it. */
#include "mistral/catalog.h"

#include <stdlib.h>

#define PAGE_DEFAULT 50

bool catalog_is_polled(const Rondo__TaskQueueUse *q) {
    return q->n_pollers > 0;
}

bool catalog_has_workflow(const Rondo__TaskQueueUse *q, struct str workflow) {
    for (size_t i = 0; i < q->n_workflow_types; i++)
        if (str_is(workflow, q->workflow_types[i]))
            return true;
    return false;
}

bool catalog_name_contains(const char *name, struct str part) {
    return !part.n || memmem(name, strlen(name), part.p, part.n);
}

bool catalog_is_true(const struct field_value *v) {
    return v->is_given && v->truth;
}

bool catalog_matches_text(const struct field_value *v, const char *text) {
    return !v->is_given || str_is(v->text, text);
}

bool catalog_matches_status(const struct field_value *status, bool is_active) {
    return !status->is_given || (status->whole == 0) == is_active;
}

static int catalog_compare_names(const void *a, const void *b) {
    const struct catalog_item *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int catalog_compare_names_reversed(const void *a, const void *b) {
    return catalog_compare_names(b, a);
}

struct catalog_page catalog_cut_page(struct catalog_item *items, size_t n, enum catalog_order order,
                                     const struct field_value *cursor, const struct field_value *limit) {
    size_t from = 0, size = limit->is_given ? (size_t)limit->whole : PAGE_DEFAULT;
    if (n)
        qsort(items, n, sizeof(*items),
              order == CATALOG_DESCENDING ? catalog_compare_names_reversed : catalog_compare_names);
    for (; cursor->is_given && from < n; from++) {
        struct str name = str_of(items[from].name);
        int sign = memcmp(name.p, cursor->text.p, MIN(name.n, cursor->text.n));
        if (sign == 0)
            sign = (name.n > cursor->text.n) - (name.n < cursor->text.n);
        if (order == CATALOG_DESCENDING ? sign < 0 : sign > 0)
            break;
    }
    struct catalog_page p = {items + from, MIN(size, n - from), NULL};
    if (from + p.n < n)
        p.next = p.items[p.n - 1].name;
    return p;
}

static size_t catalog_count_types(const Rondo__ListTaskQueuesResponse *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_task_queues; i++)
        n += r->task_queues[i]->n_workflow_types;
    return n;
}

struct catalog_item *catalog_list_registrations(struct dialog *x, const Rondo__ListTaskQueuesResponse *r,
                                                size_t *ret_n) {
    struct catalog_item *items = arena_array(&x->arena, struct catalog_item, catalog_count_types(r) + 1);
    size_t n = 0;
    for (size_t i = 0; items && i < r->n_task_queues; i++) {
        const Rondo__TaskQueueUse *q = r->task_queues[i];
        for (size_t k = 0; k < q->n_workflow_types; k++)
            items[n++] =
                (struct catalog_item){q->workflow_types[k], q->workflow_types[k], q, catalog_is_polled(q)};
    }
    if (n)
        qsort(items, n, sizeof(*items), catalog_compare_names);
    *ret_n = n;
    return items;
}

struct catalog_item *catalog_list_workflows(struct dialog *x, const Rondo__ListTaskQueuesResponse *r,
                                            size_t *ret_n) {
    size_t n, kept = 0;
    struct catalog_item *items = catalog_list_registrations(x, r, &n);
    for (size_t i = 0; i < n; i++) {
        if (kept && cstr_eq(items[kept - 1].name, items[i].name))
            items[kept - 1].is_active |= items[i].is_active;
        else
            items[kept++] = items[i];
    }
    *ret_n = kept;
    return items;
}
