/* Workflows, registrations, deployments and workers, as items of sorted pages.
 *
 * The server stores no registrations. Everything comes from one answer, the
 * list of task queues in use: a workflow is a type that has runs, a deployment
 * is a task queue that workers poll or that runs were started on, and a
 * registration is one workflow on one deployment.
 *
 * Items live in the dialog's arena and point into that answer. */
#pragma once

#include "mistral/dialog.h"
#include "rondo.pb-c.h"

struct catalog_item {
    const char *name; /* the sort key, which is also the cursor */
    const char *workflow;
    const Rondo__TaskQueueUse *queue;
    bool is_active; /* at least one worker polls the queue */
};

struct catalog_page {
    struct catalog_item *items;
    size_t n;
    const char *next; /* the cursor of the next page; NULL: this is the last page */
};

enum catalog_order { CATALOG_ASCENDING, CATALOG_DESCENDING };

/* One item for each workflow on each queue, sorted by workflow. Returns NULL when memory is short. */
struct catalog_item *catalog_list_registrations(struct dialog *x, const Rondo__ListTaskQueuesResponse *r,
                                                size_t *ret_n);
/* One item for each workflow, sorted by name; it is active when any of its queues is. NULL as above. */
struct catalog_item *catalog_list_workflows(struct dialog *x, const Rondo__ListTaskQueuesResponse *r,
                                            size_t *ret_n);
/* Sorts the items by name and returns those behind the cursor, at most `limit` (50 when not given). */
struct catalog_page catalog_cut_page(struct catalog_item *items, size_t n, enum catalog_order order,
                                     const struct field_value *cursor, const struct field_value *limit);

bool catalog_is_polled(const Rondo__TaskQueueUse *q);
bool catalog_has_workflow(const Rondo__TaskQueueUse *q, struct str workflow);
/* Filters. A parameter that was not given matches everything, except in catalog_is_true(). */
bool catalog_is_true(const struct field_value *v);
bool catalog_matches_text(const struct field_value *v, const char *text);
bool catalog_matches_status(const struct field_value *status, bool is_active); /* "active" or "inactive" */
bool catalog_name_contains(const char *name, struct str part);
