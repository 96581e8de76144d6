/* What can be asked about a run's versions in lists.
 *
 * BuildIds begins with what the run is bound to ("unversioned", or "pinned:..."), then the builds that
 * completed its tasks, oldest first. */
#include "base/buf.h"
#include "core/step/merge.h"
#include "core/version/versioning.h"

#define UNVERSIONED "unversioned"
#define PINNED_PREFIX "pinned:"
#define ATTRIBUTES_SHOWN 5

static const char *const attribute_names[ATTRIBUTES_SHOWN] = {
    "BuildIds",
    "TemporalUsedWorkerDeploymentVersions",
    "TemporalWorkerDeployment",
    "TemporalWorkerDeploymentVersion",
    "TemporalWorkflowVersioningBehavior",
};

static bool is_shown_here(const char *name) {
    for (size_t i = 0; i < ATTRIBUTES_SHOWN; i++)
        if (cstr_eq(attribute_names[i], name))
            return true;
    return false;
}

/* JSON */

static void versioning_add_json(struct buf *b, const char *text) {
    buf_add_u8(b, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(b, "\\%c", *p);
        else if ((uint8_t)*p < 0x20)
            buf_printf(b, "\\u%04x", (unsigned)(uint8_t)*p);
        else
            buf_add_u8(b, (uint8_t)*p);
    }
    buf_add_u8(b, '"');
}

/* Without values it removes the attribute. */
static void put_attribute(struct step *s, const char *name, char *const *values, size_t count, bool is_list) {
    Common__Payload__MetadataEntry encoding = COMMON__PAYLOAD__METADATA_ENTRY__INIT,
                                   *metadata[] = {&encoding};
    Common__Payload payload = COMMON__PAYLOAD__INIT;
    Common__SearchAttributes__IndexedFieldsEntry entry =
                                                     COMMON__SEARCH_ATTRIBUTES__INDEXED_FIELDS_ENTRY__INIT,
                                                 *entries[] = {&entry};
    Common__SearchAttributes one = COMMON__SEARCH_ATTRIBUTES__INIT;
    struct buf json;
    if (count == 0 && !s->st->search_attributes)
        return;
    buf_init(&json, 1 << 20);
    if (is_list)
        buf_add_u8(&json, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_u8(&json, ',');
        versioning_add_json(&json, values[i]);
    }
    if (is_list)
        buf_add_u8(&json, ']');
    encoding.key = (char *)(uintptr_t) "encoding";
    encoding.value = (ProtobufCBinaryData){10, (uint8_t *)(uintptr_t) "json/plain"};
    payload.metadata = metadata;
    payload.n_metadata = 1;
    payload.data = (ProtobufCBinaryData){json.len, json.data};
    entry.key = (char *)(uintptr_t)name;
    entry.value = count ? &payload : NULL;
    one.indexed_fields = entries;
    one.n_indexed_fields = 1;
    if (!buf_ok(&json))
        s->failed = true;
    else
        merge_search_attributes(s, &one);
    buf_done(&json);
}

/* Most tasks change none of them: then nothing is built. */
static bool versioning_is_shown(const State__Execution *st, const char *name, const char *value) {
    const Common__SearchAttributes *have = st->search_attributes;
    for (size_t i = 0; have && i < have->n_indexed_fields; i++) {
        if (!cstr_eq(have->indexed_fields[i]->key, name))
            continue;
        struct str data = pb_bytes(&have->indexed_fields[i]->value->data);
        return data.n == strlen(value) + 2 && str_eq(str_bytes(data.p + 1, data.n - 2), str_of(value));
    }
    return cstr_is_empty(value);
}

static void versioning_put_text(struct step *s, const char *name, const char *value) {
    char *values[] = {(char *)(uintptr_t)value};
    if (value && !versioning_is_shown(s->st, name, value))
        put_attribute(s, name, values, cstr_is_empty(value) ? 0 : 1, false);
}

/* Lists of values in the state */

static bool versioning_list_has(char *const *list, size_t n, const char *value) {
    for (size_t i = 0; i < n; i++)
        if (cstr_eq(list[i], value))
            return true;
    return false;
}

/* The first `keep` stay; the oldest of the others make room. */
static void versioning_make_room(size_t *n, char **list, size_t keep) {
    size_t bytes = 2;
    for (size_t i = 0; i < *n; i++)
        bytes += strlen(list[i]) + 3;
    while (*n > keep + 1 && bytes > LIMIT_BUILD_IDS_BYTES) {
        bytes -= strlen(list[keep]) + 3;
        pb_remove_string(n, list, keep);
    }
}

static bool is_binding(const char *value) {
    return cstr_eq(value, UNVERSIONED) || str_starts(str_of(value), STR(PINNED_PREFIX));
}

/* What the run is bound to; "" when it is not. */
static const char *versioning_run_binding(struct step *s, const Common__WorkerVersionStamp *stamp) {
    E__VersioningBehavior behavior = versioning_shown_behavior(s->st);
    if (behavior == VERSIONING_BEHAVIOR_PINNED) {
        struct version v = versioning_shown_version(s->st);
        return arena_printf(s->arena, PINNED_PREFIX "%s:%s", v.deployment, v.build_id);
    }
    return behavior == VERSIONING_BEHAVIOR_UNSPECIFIED && !(stamp && stamp->use_versioning) ? UNVERSIONED
                                                                                            : "";
}

static bool put_build_ids(struct step *s, const char *first, const char *own) {
    State__Execution *st = s->st;
    const char *bound = st->n_build_ids && is_binding(st->build_ids[0]) ? st->build_ids[0] : "";
    if (cstr_eq(bound, first) && (cstr_is_empty(own) || versioning_list_has(st->build_ids, st->n_build_ids, own)))
        return false;
    for (size_t i = st->n_build_ids; i-- > 0;)
        if (is_binding(st->build_ids[i]))
            pb_remove_string(&st->n_build_ids, st->build_ids, i);
    if (!cstr_is_empty(own) && !versioning_list_has(st->build_ids, st->n_build_ids, own))
        pb_append_string(&st->n_build_ids, &st->build_ids, own, &s->failed);
    if (!cstr_is_empty(first)) {
        pb_append_string(&st->n_build_ids, &st->build_ids, first, &s->failed);
        char *last = st->n_build_ids ? st->build_ids[st->n_build_ids - 1] : NULL;
        if (last) {
            memmove(st->build_ids + 1, st->build_ids, (st->n_build_ids - 1) * sizeof(char *));
            st->build_ids[0] = last;
        }
    }
    versioning_make_room(&st->n_build_ids, st->build_ids, cstr_is_empty(first) ? 0 : 1);
    return true;
}

static void show_build_ids(struct step *s, const Common__WorkerVersionStamp *stamp) {
    const char *first = versioning_run_binding(s, stamp), *own = "";
    if (stamp && !cstr_is_empty(stamp->build_id))
        own = arena_printf(s->arena, "%s:%s", stamp->use_versioning ? "versioned" : UNVERSIONED,
                           stamp->build_id);
    if (first && own && put_build_ids(s, first, own))
        put_attribute(s, "BuildIds", s->st->build_ids, s->st->n_build_ids, true);
}

static void show_used(struct step *s, struct version used) {
    State__Execution *st = s->st;
    char *text = version_is_none(used) ? NULL : version_text(s->arena, used, VERSION_DELIMITER, "");
    if (!text || versioning_list_has(st->used_versions, st->n_used_versions, text))
        return;
    pb_append_string(&st->n_used_versions, &st->used_versions, text, &s->failed);
    versioning_make_room(&st->n_used_versions, st->used_versions, 0);
    put_attribute(s, "TemporalUsedWorkerDeploymentVersions", st->used_versions, st->n_used_versions, true);
}

void versioning_show(struct step *s, const Common__WorkerVersionStamp *stamp, struct version used) {
    const State__Execution *st = s->st;
    struct version v = versioning_shown_version(st);
    show_build_ids(s, stamp);
    show_used(s, used);
    versioning_put_text(s, "TemporalWorkerDeployment",
                        version_is_none(v) ? st->worker_deployment_name : v.deployment);
    versioning_put_text(s, "TemporalWorkerDeploymentVersion",
                        version_text(s->arena, v, VERSION_DELIMITER, ""));
    versioning_put_text(s, "TemporalWorkflowVersioningBehavior",
                        versioning_behavior_name(versioning_shown_behavior(st)));
    if (arena_failed(s->arena))
        s->failed = true;
}

void versioning_show_checksums(struct step *s) {
    const Workflow__ResetPoints *points = s->st->reset_points;
    size_t count = points ? points->n_points : 0, first = count, bytes = 2;
    char **checksums = arena_array(s->arena, char *, count);
    for (size_t i = count; checksums && i-- > 0;) {
        char *checksum = points->points[i]->binary_checksum;
        bytes += cstr_is_empty(checksum) ? 0 : strlen(checksum) + 3;
        if (bytes > LIMIT_BUILD_IDS_BYTES)
            break;
        if (!cstr_is_empty(checksum))
            checksums[--first] = checksum;
    }
    if (checksums)
        put_attribute(s, "BinaryChecksums", checksums + first, count - first, true);
    if (arena_failed(s->arena))
        s->failed = true;
}

Common__SearchAttributes *versioning_strip(struct step *s, const Common__SearchAttributes *in) {
    Common__SearchAttributes *out = in ? arena_dup(s->arena, in, sizeof(*in)) : NULL;
    s->failed |= in && !out;
    if (!out)
        return NULL;
    out->n_indexed_fields = 0;
    out->indexed_fields =
        arena_array(s->arena, Common__SearchAttributes__IndexedFieldsEntry *, in->n_indexed_fields);
    for (size_t i = 0; out->indexed_fields && i < in->n_indexed_fields; i++)
        if (!is_shown_here(in->indexed_fields[i]->key))
            out->indexed_fields[out->n_indexed_fields++] = in->indexed_fields[i];
    s->failed |= arena_failed(s->arena);
    return out;
}
