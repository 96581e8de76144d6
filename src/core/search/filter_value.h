/* Values of search attributes: as a query writes them, and as payloads carry them. */
#pragma once

#include "core/search/attributes.h"
#include "core/search/filter_lexer.h"
#include "core/search/predicate.h"

/* The value that this token means for the attribute. ERR_INVALID says why not, ERR_NO_MEMORY. */
int filter_value(const char *name, E__IndexedValueType type, const struct filter_token *t, struct value *ret,
                 struct err *err) must_check;

/* The words by which a text is found, lower case. Empty (count 0) for a text without any. */
int attribute_words(struct arena *a, struct str text, struct attribute *ret) must_check;

/* What a payload says, for an index: several values for lists and texts, none for null or what does not
 * fit the type. ERR_NO_MEMORY. The name is left alone. */
int attribute_values(struct arena *a, E__IndexedValueType type, const Common__Payload *p,
                     struct attribute *ret) must_check;

/* "Running" and so on; NULL for a number that is no status. */
const char *status_name(int64_t status);
