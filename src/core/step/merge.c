/* Both are maps of payloads that protobuf-c keeps as arrays of entries of the
 * same shape (key, value), so one routine serves both. */
#include "core/step/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/attributes.h"

bool merge_is_null(const Common__Payload *p) {
    if (!p)
        return true;
    for (size_t i = 0; i < p->n_metadata; i++)
        if (cstr_eq(p->metadata[i]->key, "encoding"))
            return str_is(pb_bytes(&p->metadata[i]->value), "binary/null") ||
                   (str_is(pb_bytes(&p->metadata[i]->value), "json/plain") &&
                    (str_is(pb_bytes(&p->data), "null") || str_is(pb_bytes(&p->data), "[]")));
    return p->data.len == 0;
}

struct entry { /* the common shape of the generated map entries */
    ProtobufCMessage base;
    char *key;
    Common__Payload *value;
};

struct item {
    const char *key;
    size_t place; /* among those that were there, followed by the new ones */
};

static int merge_compare_keys(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Of each key the last entry holds. By sorting, because a client may send tens of thousands. */
static bool *merge_mark_last(struct step *s, struct entry *const *have, size_t n, struct entry *const *in,
                             size_t in_count) {
    size_t total = n + in_count;
    struct item *items = arena_array(s->arena, struct item, total);
    bool *holds = arena_array(s->arena, bool, total);
    if (!items || !holds) {
        s->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < total; i++)
        items[i] = (struct item){i < n ? have[i]->key : in[i - n]->key, i};
    qsort(items, total, sizeof(*items), merge_compare_keys);
    for (size_t i = 0; i < total; i++)
        holds[items[i].place] = i + 1 == total || !cstr_eq(items[i].key, items[i + 1].key);
    return holds;
}

static void merge_map_entries(struct step *s, size_t *n, void *array, void *in_array, size_t in_count) {
    struct entry ***have = array;
    struct entry *const *in = in_array;
    const size_t had = *n;
    const bool *holds = in_count ? merge_mark_last(s, *have, had, in, in_count) : NULL;
    if (!holds)
        return;
    *n = 0;
    for (size_t i = 0; i < had; i++) {
        if (holds[i])
            (*have)[(*n)++] = (*have)[i];
        else
            pb_free((*have)[i]);
    }
    for (size_t i = 0; i < in_count; i++)
        if (holds[had + i] && !merge_is_null(in[i]->value))
            pb_append_message(n, array, pb_clone(&in[i]->base, &s->failed), &s->failed);
}

void merge_memo(struct step *s, const Common__Memo *in) {
    if (!s->st->memo)
        s->st->memo = pb_new(&common__memo__descriptor, &s->failed);
    if (s->st->memo)
        merge_map_entries(s, &s->st->memo->n_fields, &s->st->memo->fields, in->fields, in->n_fields);
    if (s->st->memo && s->st->memo->n_fields == 0)
        pb_set_message(&s->st->memo, NULL, &s->failed);
}

void merge_search_attributes(struct step *s, const Common__SearchAttributes *in) {
    if (!s->st->search_attributes)
        s->st->search_attributes = pb_new(&common__search_attributes__descriptor, &s->failed);
    Common__SearchAttributes *have = s->st->search_attributes;
    if (have)
        merge_map_entries(s, &have->n_indexed_fields, &have->indexed_fields, in->indexed_fields,
                          in->n_indexed_fields);
    attributes_add_types(s, have);
    if (have && have->n_indexed_fields == 0)
        pb_set_message(&s->st->search_attributes, NULL, &s->failed);
}

void merge_json_attribute(struct step *s, const char *name, struct str json) {
    char key[] = "encoding";
    uint8_t encoding[] = "json/plain";
    Common__Payload__MetadataEntry meta = COMMON__PAYLOAD__METADATA_ENTRY__INIT, *metas[] = {&meta};
    Common__Payload payload = COMMON__PAYLOAD__INIT;
    Common__SearchAttributes__IndexedFieldsEntry field =
        COMMON__SEARCH_ATTRIBUTES__INDEXED_FIELDS_ENTRY__INIT;
    Common__SearchAttributes__IndexedFieldsEntry *fields[] = {&field};
    Common__SearchAttributes all = COMMON__SEARCH_ATTRIBUTES__INIT;
    meta.key = key;
    meta.value = (ProtobufCBinaryData){sizeof(encoding) - 1, encoding};
    payload.metadata = metas;
    payload.n_metadata = 1;
    payload.data = (ProtobufCBinaryData){json.n, (uint8_t *)(uintptr_t)json.p};
    field.key = (char *)(uintptr_t)name;
    field.value = &payload;
    all.indexed_fields = fields;
    all.n_indexed_fields = 1;
    merge_search_attributes(s, &all);
}

static size_t merge_entries_left(struct step *s, void *array, void *in_array, size_t in_count) {
    struct entry **left = arena_array(s->arena, struct entry *, in_count), *const *in = in_array;
    size_t n = 0;
    for (size_t i = 0; left && i < in_count; i++)
        if (!merge_is_null(in[i]->value))
            left[n++] = in[i];
    s->failed |= in_count && !left;
    *(struct entry ***)array = left;
    return n;
}

Common__Memo *merge_memo_left(struct step *s, const Common__Memo *in) {
    Common__Memo *out = in && in->n_fields ? pb_arena_new(&common__memo__descriptor, s->arena) : NULL;
    if (out)
        out->n_fields = merge_entries_left(s, &out->fields, in->fields, in->n_fields);
    s->failed |= arena_failed(s->arena);
    return out && out->n_fields ? out : NULL;
}

Common__SearchAttributes *merge_attributes_left(struct step *s, const Common__SearchAttributes *in) {
    Common__SearchAttributes *out =
        in && in->n_indexed_fields ? pb_arena_new(&common__search_attributes__descriptor, s->arena) : NULL;
    if (out)
        out->n_indexed_fields =
            merge_entries_left(s, &out->indexed_fields, in->indexed_fields, in->n_indexed_fields);
    s->failed |= arena_failed(s->arena);
    return out && out->n_indexed_fields ? out : NULL;
}

const Common__Priority *merge_priority(Common__Priority *room, const Common__Priority *from,
                                       const Common__Priority *own) {
    if (!from || !own)
        return own ? own : from;
    *room = *own;
    if (!own->priority_key)
        room->priority_key = from->priority_key;
    if (cstr_is_empty(own->fairness_key))
        room->fairness_key = from->fairness_key;
    if (own->fairness_weight <= 0)
        room->fairness_weight = from->fairness_weight;
    return room;
}
