/* What the files of shape share. Functions that return bool return false after adding a complaint. */
#pragma once

#include "mistral/shape.h"

void complaints_add_no_memory(struct complaints *c, const struct place *at);

/* Values from text. */
bool shape_read_time(struct complaints *c, const struct place *at, struct str text, struct field_value *v);
bool shape_read_span(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                     struct field_value *v);
bool shape_read_whole(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                      const char *type, struct field_value *v); /* type: of the complaint */
bool shape_read_word(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                     struct field_value *v);
bool shape_read_text(struct complaints *c, const struct place *at, struct str text, struct field_value *v);
/* Appends to the list of a FIELD_TEXTS or FIELD_WORDS. */
bool shape_add_text(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                    struct field_value *v);

/* Returns the list with room for one more element, or NULL. Lists double; the arena's budget bounds them. */
void *shape_grow_list(struct complaints *c, void *list, size_t count, size_t size);
/* The index of the field; s->count when there is none. */
size_t shape_find_field(const struct shape *s, struct str name);
struct record *shape_new_record(struct complaints *c, const struct shape *s); /* NULL: no memory */
void shape_refuse_unsupported(struct complaints *c, const struct place *at); /* of a FIELD_UNSUPPORTED */
