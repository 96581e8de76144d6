/* Memo and search attributes: merging what a workflow upserts into what it has. */
#pragma once

#include "core/step/step.h"

/* A null payload (no data, or encoding binary/null) removes the key. */
bool merge_is_null(const Common__Payload *p);
/* What has no entry left is absent, not empty. */
void merge_memo(struct step *s, const Common__Memo *in);
void merge_search_attributes(struct step *s, const Common__SearchAttributes *in);
/* One search attribute of the server's own, from the JSON of its value; null or [] removes it. */
void merge_json_attribute(struct step *s, const char *name, struct str json);
/* What a run that begins with these has of them, for the event that tells it: without the nulls, and NULL
 * when nothing is left. In the arena, pointing into `in`. */
Common__Memo *merge_memo_left(struct step *s, const Common__Memo *in);
Common__SearchAttributes *merge_attributes_left(struct step *s, const Common__SearchAttributes *in);
/* What holds of a priority that inherits from another, field by field; NULL when neither says anything.
 * Points into both. */
const Common__Priority *merge_priority(Common__Priority *room, const Common__Priority *from,
                                       const Common__Priority *own);
