/* Search attributes: which names a namespace has, and whether values fit their types. */
#pragma once

#include "core/step/step.h"

#define SCHEDULE_DIVISION "TemporalScheduler" /* TemporalNamespaceDivision of what is no workflow */
#define BATCH_DIVISION "TemporalBatcher"

/* The type of a name in this namespace; UNSPECIFIED when it has none. */
E__IndexedValueType attribute_type(const State__Namespace *ns, const char *name);
/* Whether the name is one that no namespace can define or remove. */
bool attribute_is_built_in(const char *name);
/* The type of a name that schedules have and workflows have not; UNSPECIFIED for others. */
E__IndexedValueType schedule_attribute_type(const char *name);
/* "Keyword" and so on: what stands in a payload's `type`. */
const char *attribute_type_name(E__IndexedValueType type);

/* Names known, settable, and values of the right type. NULL attributes are valid. */
int attributes_validate(const State__Namespace *ns, const Common__SearchAttributes *a,
                        struct err *err) must_check;
/* Their number and sizes. NULL attributes are small. */
int attributes_check_size(const struct core_limits *limits, const Common__SearchAttributes *a,
                          struct err *err) must_check;
/* The same for those that a run has: what the server wrote there by itself does not count. */
int attributes_check_total(const struct core_limits *limits, const Common__SearchAttributes *a,
                           struct err *err) must_check;

struct attribute_built_in {
    const char *name;
    E__IndexedValueType type;
    bool is_settable; /* by clients */
    bool is_written; /* by the server */
};
/* The i-th of attributes.def; NULL past the end. */
const struct attribute_built_in *attribute_built_in_at(size_t i);

/* Adds the `type` to payloads that lack it, so that readers can decode them. */
void attributes_add_types(struct step *s, Common__SearchAttributes *a);
