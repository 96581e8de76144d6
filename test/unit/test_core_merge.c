/* Upserts: memo and search attributes are merged by key, and a null takes a key away. */
#include "core/step/merge.h"

#include "core_fixture.h"

TEST(merge_knows_nulls) {
    static const struct {
        const char *encoding, *data;
        bool is_null;
    } cases[] = {
        {NULL, "", true},
        {NULL, "x", false},
        {"binary/null", "", true},
        {"binary/null", "x", true},
        {"json/plain", "null", true},
        {"json/plain", "[]", true},
        {"json/plain", "0", false},
        {"json/plain", "\"\"", false},
        {"json/plain", "[1]", false},
        {"binary/plain", "", false},
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK(merge_is_null(NULL));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const Common__Payload *p = core_payload(&f, cases[i].encoding, cases[i].data);
        REQUIRE(p);
        CHECK_INT(merge_is_null(p), cases[i].is_null);
    }
}

/* Sets one key of the memo: to a number, or to nothing. */
static int set_memo(struct core *f, const char *key, const char *json) {
    Common__Memo memo = COMMON__MEMO__INIT;
    Common__Memo__FieldsEntry entry = COMMON__MEMO__FIELDS_ENTRY__INIT, *entries[] = {&entry};
    entry.key = core_text(f, key);
    entry.value = json ? core_payload(f, "json/plain", json) : NULL;
    memo.fields = entries;
    memo.n_fields = 1;
    if (!entry.key || (json && !entry.value))
        return ERR_NO_MEMORY;
    return STEP_VOID(f, merge_memo(&f->s, &memo));
}

static struct str memo_value(const struct core *f, const char *key) {
    const Common__Memo *m = f->st ? f->st->memo : NULL;
    for (size_t i = 0; m && i < m->n_fields; i++)
        if (cstr_eq(m->fields[i]->key, key))
            return pb_bytes(&m->fields[i]->value->data);
    return STR("absent");
}

TEST(merge_sets_replaces_and_removes_keys) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(set_memo(&f, "a", "1"), 0);
    CHECK_INT(set_memo(&f, "b", "2"), 0);
    CHECK_SLICE(memo_value(&f, "a"), STR("1"));
    CHECK_SLICE(memo_value(&f, "b"), STR("2"));
    CHECK_INT(set_memo(&f, "a", "3"), 0);
    CHECK_SLICE(memo_value(&f, "a"), STR("3"));
    CHECK_INT(set_memo(&f, "b", NULL), 0);
    CHECK_INT(set_memo(&f, "never-there", NULL), 0);
    CHECK_SLICE(memo_value(&f, "b"), STR("absent"));
    CHECK(f.st && f.st->memo && f.st->memo->n_fields == 1);
}

TEST(merge_takes_many_keys_at_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(set_memo(&f, "old", "0"), 0);
    Common__Memo memo = COMMON__MEMO__INIT;
    Common__Memo__FieldsEntry add = COMMON__MEMO__FIELDS_ENTRY__INIT, drop = add, *entries[] = {&add, &drop};
    add.key = core_text(&f, "new");
    add.value = core_payload(&f, "json/plain", "1");
    drop.key = core_text(&f, "old");
    drop.value = core_payload(&f, "binary/null", "");
    REQUIRE(add.key && add.value && drop.key && drop.value);
    memo.fields = entries;
    memo.n_fields = 2;
    CHECK_INT(STEP_VOID(&f, merge_memo(&f.s, &memo)), 0);
    CHECK_SLICE(memo_value(&f, "new"), STR("1"));
    CHECK_SLICE(memo_value(&f, "old"), STR("absent"));
    /* The last one of a key holds. */
    drop.key = add.key;
    CHECK_INT(STEP_VOID(&f, merge_memo(&f.s, &memo)), 0);
    CHECK_SLICE(memo_value(&f, "new"), STR("absent"));
    entries[0] = &drop;
    entries[1] = &add;
    CHECK_INT(STEP_VOID(&f, merge_memo(&f.s, &memo)), 0);
    CHECK_SLICE(memo_value(&f, "new"), STR("1"));
    memo.n_fields = 0;
    CHECK_INT(STEP_VOID(&f, merge_memo(&f.s, &memo)), 0);
    CHECK(f.st && f.st->memo && f.st->memo->n_fields == 1);
}

TEST(merge_of_search_attributes_is_the_same) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    Common__SearchAttributes in = COMMON__SEARCH_ATTRIBUTES__INIT;
    Common__SearchAttributes__IndexedFieldsEntry entry =
                                                     COMMON__SEARCH_ATTRIBUTES__INDEXED_FIELDS_ENTRY__INIT,
                                                 *entries[] = {&entry};
    entry.key = core_text(&f, "CustomKeyword");
    entry.value = core_payload(&f, "json/plain", "\"v\"");
    REQUIRE(entry.key && entry.value);
    in.indexed_fields = entries;
    in.n_indexed_fields = 1;
    CHECK_INT(STEP_VOID(&f, merge_search_attributes(&f.s, &in)), 0);
    CHECK(f.st && f.st->search_attributes && f.st->search_attributes->n_indexed_fields == 1);
    entry.value = core_payload(&f, "json/plain", "[]");
    CHECK_INT(STEP_VOID(&f, merge_search_attributes(&f.s, &in)), 0);
    CHECK(f.st && !f.st->search_attributes);
}

TEST(merge_of_priorities_goes_field_by_field) {
    Common__Priority room, from = COMMON__PRIORITY__INIT, own = COMMON__PRIORITY__INIT;
    char tenant[] = "tenant", other[] = "other";
    CHECK(!merge_priority(&room, NULL, NULL));
    CHECK(merge_priority(&room, &from, NULL) == &from);
    CHECK(merge_priority(&room, NULL, &own) == &own);
    from.priority_key = 2;
    from.fairness_key = tenant;
    from.fairness_weight = 3;
    const Common__Priority *p = merge_priority(&room, &from, &own);
    CHECK_INT(p->priority_key, 2);
    CHECK_STR(p->fairness_key, "tenant");
    own.priority_key = 5;
    own.fairness_key = other;
    p = merge_priority(&room, &from, &own);
    CHECK_INT(p->priority_key, 5);
    CHECK_STR(p->fairness_key, "other");
    CHECK(p->fairness_weight > 2.5F);
    own.fairness_weight = 1;
    p = merge_priority(&room, &from, &own);
    CHECK(p->fairness_weight < 1.5F);
}
