/* Both are maps of payloads that protobuf-c keeps as arrays of entries of the
 * same shape (key, value), so one routine serves both. */
#include "core/merge.h"

#include "base/mem.h"
#include "core/attributes.h"

bool merge_is_null(const Common__Payload *p) {
    if (!p)
        return true;
    for (size_t i = 0; i < p->n_metadata; i++)
        if (streq(p->metadata[i]->key, "encoding"))
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

static void merge_entry(struct step *s, size_t *n, void *array, const struct entry *in) {
    struct entry ***entries = array;
    for (size_t i = 0; i < *n; i++) {
        if (streq((*entries)[i]->key, in->key)) {
            pb_remove_message(n, *entries, i);
            break;
        }
    }
    if (!merge_is_null(in->value))
        pb_append_message(n, array, pb_clone(&in->base, &s->failed), &s->failed);
}

void merge_memo(struct step *s, const Common__Memo *in) {
    if (!s->st->memo)
        s->st->memo = pb_new(&common__memo__descriptor, &s->failed);
    for (size_t i = 0; s->st->memo && i < in->n_fields; i++)
        merge_entry(s, &s->st->memo->n_fields, &s->st->memo->fields, (const struct entry *)in->fields[i]);
}

void merge_search_attributes(struct step *s, const Common__SearchAttributes *in) {
    if (!s->st->search_attributes)
        s->st->search_attributes = pb_new(&common__search_attributes__descriptor, &s->failed);
    Common__SearchAttributes *have = s->st->search_attributes;
    for (size_t i = 0; have && i < in->n_indexed_fields; i++)
        merge_entry(s, &have->n_indexed_fields, &have->indexed_fields,
                    (const struct entry *)in->indexed_fields[i]);
    attributes_add_types(s, have);
}

const Common__Priority *merge_priority(Common__Priority *room, const Common__Priority *from,
                                       const Common__Priority *own) {
    if (!from || !own)
        return own ? own : from;
    *room = *own;
    if (!own->priority_key)
        room->priority_key = from->priority_key;
    if (strempty(own->fairness_key))
        room->fairness_key = from->fairness_key;
    if (own->fairness_weight <= 0)
        room->fairness_weight = from->fairness_weight;
    return room;
}
