/* Bytes as a query: parsed within its limits, or refused with a reason; what it means can be evaluated. */
#include "fuzz.h"

#include "core/search/filter.h"

static const struct value texts[] = {
    {.kind = VALUE_TEXT, .text = {"Running", 7}},
    {.kind = VALUE_INT, .number = 5},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    State__SearchAttribute city = STATE__SEARCH_ATTRIBUTE__INIT, notes = STATE__SEARCH_ATTRIBUTE__INIT;
    State__SearchAttribute score = STATE__SEARCH_ATTRIBUTE__INIT, *list[] = {&city, &notes, &score};
    State__Namespace ns = STATE__NAMESPACE__INIT;
    struct arena a cleanup(arena_done), b cleanup(arena_done);
    struct filter f;
    struct err e = {0};

    city.name = (char[]){"City"};
    city.type = INDEXED_VALUE_TYPE_KEYWORD_LIST;
    notes.name = (char[]){"Notes"};
    notes.type = INDEXED_VALUE_TYPE_TEXT;
    score.name = (char[]){"Score"};
    score.type = INDEXED_VALUE_TYPE_DOUBLE;
    ns.search_attributes = list;
    ns.n_search_attributes = ARRAY_LEN(list);
    arena_init(&a, (size_t)64 << 20);
    arena_init(&b, (size_t)64 << 20);
    int rc =
        filter_parse(&a, &ns, size % 2 ? FILTER_SCHEDULES : FILTER_WORKFLOWS, str_bytes(data, size), &f, &e);
    ensure(rc == 0 ? e.code == 0 && f.where : rc == e.code && e.text[0]);
    if (rc < 0)
        return 0;
    const struct attribute all[] = {
        {STR("ExecutionStatus"), texts, 1}, {STR("City"), texts, 1}, {STR("HistoryLength"), texts + 1, 1}};
    const struct predicate *copy = predicate_copy(&b, f.where);
    ensure(copy &&
           predicate_holds(copy, all, ARRAY_LEN(all)) == predicate_holds(f.where, all, ARRAY_LEN(all)));
    return 0;
}
