/* A doubly linked list of nodes embedded in their owners.
 *
 * The list head is a node, too; list_init() it. A zeroed node is in no list. The list owns no memory. */
#pragma once

#include "base/base.h"

struct list {
    struct list *prev;
    struct list *next;
};

static inline void list_init(struct list *l) {
    l->prev = l->next = l;
}
static inline bool list_empty(const struct list *l) {
    return l->next == l;
}
static inline bool list_linked(const struct list *n) {
    return n->next && n->next != n;
}
static inline void list_append(struct list *l, struct list *n) {
    n->prev = l->prev;
    n->next = l;
    l->prev->next = n;
    l->prev = n;
}
static inline void list_prepend(struct list *l, struct list *n) {
    list_append(l->next, n);
}
/* Does nothing for a node that is in no list. */
static inline void list_remove(struct list *n) {
    if (!n->next)
        return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
}
/* Removes and returns the first node; NULL when the list is empty. */
static inline struct list *list_pop(struct list *l) {
    struct list *n = l->next;
    if (n == l)
        return NULL;
    list_remove(n);
    return n;
}

#define list_for(l, n) for (struct list *n = (l)->next; n != (l); n = n->next)
/* The body may remove n. */
#define list_for_safe(l, n)                                                                                  \
    for (struct list *n = (l)->next, *n##_next = n->next; n != (l); n = n##_next, n##_next = n->next)
