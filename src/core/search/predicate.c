/* Evaluates and copies predicates.
 *
 * Evaluation cannot fail. The recursion is as deep as the tree; the parser of filters limits the depth. */
#include "core/search/predicate.h"

static long double value_as_number(const struct value *v) {
    return v->kind == VALUE_INT ? (long double)v->number
                                : (long double)v->real; /* a long double holds every int64_t */
}

static int value_compare_text(struct str a, struct str b) {
    size_t n = MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

int value_compare(const struct value *a, const struct value *b) {
    bool a_is_text = a->kind == VALUE_TEXT, b_is_text = b->kind == VALUE_TEXT;
    if (a_is_text || b_is_text)
        return a_is_text && b_is_text ? value_compare_text(a->text, b->text) : a_is_text - b_is_text;
    long double x = value_as_number(a), y = value_as_number(b);
    return (x > y) - (x < y);
}

static bool predicate_has_value(const struct value *v, const struct predicate *p) {
    for (size_t i = 0; i < p->count; i++)
        if (value_compare(v, &p->values[i]) == 0)
            return true;
    return false;
}

/* A stored value can have another type than the attribute has now. */
static bool value_is_comparable(const struct value *a, const struct value *b) {
    return (a->kind == VALUE_TEXT) == (b->kind == VALUE_TEXT);
}

static bool predicate_passes_value(const struct value *v, const struct predicate *p) {
    bool is_comparable = p->count && value_is_comparable(v, p->values);
    switch (p->kind) {
    case PREDICATE_EQUAL:
        return predicate_has_value(v, p);
    case PREDICATE_BELOW:
        return is_comparable && value_compare(v, p->values) < 0;
    case PREDICATE_AT_MOST:
        return is_comparable && value_compare(v, p->values) <= 0;
    case PREDICATE_ABOVE:
        return is_comparable && value_compare(v, p->values) > 0;
    case PREDICATE_AT_LEAST:
        return is_comparable && value_compare(v, p->values) >= 0;
    case PREDICATE_PREFIX:
        return v->kind == VALUE_TEXT && str_starts(v->text, p->values->text);
    case PREDICATE_PRESENT:
        return true;
    case PREDICATE_AND:
    case PREDICATE_OR:
    case PREDICATE_NOT:
        break;
    }
    ensure(!"only tests look at values");
    return false;
}

static bool predicate_test_holds(const struct predicate *p, const struct attribute *attributes,
                                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(attributes[i].name, p->name))
            continue;
        for (size_t k = 0; k < attributes[i].count; k++)
            if (predicate_passes_value(&attributes[i].values[k], p))
                return true;
    }
    return false;
}

bool predicate_holds(const struct predicate *p, const struct attribute *attributes, size_t count) {
    if (!p)
        return true;
    if (p->kind == PREDICATE_AND)
        return predicate_holds(p->left, attributes, count) && predicate_holds(p->right, attributes, count);
    if (p->kind == PREDICATE_OR)
        return predicate_holds(p->left, attributes, count) || predicate_holds(p->right, attributes, count);
    if (p->kind == PREDICATE_NOT)
        return !predicate_holds(p->left, attributes, count);
    return predicate_test_holds(p, attributes, count);
}

static struct str predicate_copy_text(struct arena *a, struct str s) {
    return s.n ? str_bytes(arena_dup(a, s.p, s.n), s.n) : s;
}

static const struct value *predicate_copy_values(struct arena *a, const struct value *values, size_t count) {
    struct value *copy = arena_array(a, struct value, count);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = values[i];
        copy[i].text = predicate_copy_text(a, values[i].text);
    }
    return copy;
}

const struct predicate *predicate_copy(struct arena *a, const struct predicate *p) {
    struct predicate *copy = p ? arena_dup(a, p, sizeof(*p)) : NULL;
    if (!copy)
        return NULL;
    copy->left = predicate_copy(a, p->left);
    copy->right = predicate_copy(a, p->right);
    copy->name = predicate_copy_text(a, p->name);
    copy->values = predicate_copy_values(a, p->values, p->count);
    return arena_failed(a) ? NULL : copy;
}
