/* The power goes at any moment, and what was acknowledged is there when it comes back.
 *
 * A life is recorded once; then, for every place in its trace and with other seeds, the files are made as a
 * power loss at that place may leave them, and a server is started on them. Every few times that server's own
 * life is recorded, and the power goes again.
 *
 *   DISK_CUTS   how many times, for each life (200)
 *   DISK_SEED   of the first cut (1)
 *   DISK_KEEP   if set, the files of a cut that fails stay behind
 *
 * The trace of a life differs a little each time, since checkpoints run beside commits. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scene.h"

#define CUTS 200
#define AGAIN_ONE_IN 10 /* the power goes a second time */
#define AGAIN_CUTS 3
#define OLD_FILES_US (INT64_C(1794960000) * USEC_PER_SEC) /* a day after they were made */
#define TEXT_BYTES_MAX (128u << 10)

struct totals {
    uint64_t cuts, second_cuts, failed;
    uint64_t styles[POWER_STYLES];
};

static uint64_t setting(const char *name, uint64_t otherwise) {
    int64_t n = 0;
    const char *text = getenv(name);
    return text && str_to_i64(str_of(text), &n) == 0 && n >= 0 ? (uint64_t)n : otherwise;
}

static struct ending ending_of(const struct power *p) {
    return (struct ending){p->done, p->begun, p->steps, p->clock_us};
}

/* The same files again, for whoever wants to look. */
static void keep(const struct power *p, uint64_t seed, enum power_style style) {
    char directory[64] = "not kept";
    if (getenv("DISK_KEEP")) {
        scene_make_directory(&directory);
        (void)power_cut(p, seed, directory);
    }
    printf("# cut after operation %zu of %zu, seed %" PRIu64 " (%s): files %s\n", p->position,
           p->trace->count, seed, power_style_name(style), directory);
}

static void cut_scene(const struct scene *s, const struct script *told, int64_t told_steps, uint64_t count,
                      uint64_t seed, struct totals *t);

/* The server that was started after the first loss loses its power, too. */
static void cut_again(const struct power *p, const struct scene *first, uint64_t seed, struct totals *t) {
    struct scene *s = mem_zalloc(sizeof *s);
    char directory[64];
    ensure(s);
    scene_make_directory(&directory);
    (void)power_cut(p, seed, directory);
    scene_record(s, directory, p->clock_us, script_carry_on);
    uint64_t before = t->cuts;
    cut_scene(s, &first->script, p->steps, AGAIN_CUTS, seed, t);
    t->second_cuts += t->cuts - before;
    scene_done(s);
    mem_free(s);
}

/* Whether all is well. */
static bool cut_once(const struct power *p, const struct scene *s, const struct script *told,
                     int64_t told_steps, uint64_t seed, struct totals *t) {
    char directory[64];
    struct ending e = ending_of(p);
    uint64_t failures = test_failures();
    scene_make_directory(&directory);
    enum power_style style = power_cut(p, seed, directory);
    scene_audit(s, directory, &e, told, told_steps);
    scene_remove_directory(directory);
    t->cuts++;
    t->styles[style]++;
    if (test_failures() == failures)
        return true;
    t->failed++;
    keep(p, seed, style);
    return false;
}

/* told_steps: -1 when `told` is the scene's own script, whose steps are in the trace. */
static void cut_scene(const struct scene *s, const struct script *told, int64_t told_steps, uint64_t count,
                      uint64_t seed, struct totals *t) {
    struct power p;
    power_init(&p, &s->disk.trace);
    for (uint64_t i = 0; i < count; i++) {
        power_advance(&p, (size_t)(i * p.trace->count / count) + 1);
        bool is_first = told_steps < 0;
        bool is_well = cut_once(&p, s, told, is_first ? p.steps : told_steps, seed + i, t);
        if (is_well && is_first && i % AGAIN_ONE_IN == 0)
            cut_again(&p, s, seed + i, t);
    }
    power_done(&p);
}

static void report(const struct scene *s, const struct totals *t) {
    printf("# %zu operations, %zu commits, %lld calls; power lost %" PRIu64 " times, %" PRIu64
           " of them for the second time; %" PRIu64 " failed\n",
           s->disk.trace.count, s->state_count, (long long)s->script.steps, t->cuts, t->second_cuts,
           t->failed);
    for (int i = 0; i < POWER_STYLES; i++)
        printf("#   %s %" PRIu64 "\n", power_style_name((enum power_style)i), t->styles[i]);
}

/* Records what happens in the directory, and lets the power go so many times. */
static void lose_power(const char *directory, int64_t clock_us, uint64_t count,
                       void (*live)(struct script *s, int64_t clock_us)) {
    struct scene *s = mem_zalloc(sizeof *s);
    struct totals t = {0};
    ensure(s);
    scene_record(s, directory, clock_us, live);
    cut_scene(s, &s->script, -1, count, setting("DISK_SEED", 1), &t);
    CHECK(t.cuts >= count);
    report(s, &t);
    scene_done(s);
    mem_free(s);
}

TEST(what_was_acknowledged_survives_a_power_loss) {
    char directory[64];
    scene_make_directory(&directory);
    lose_power(directory, 0, setting("DISK_CUTS", CUTS), scene_first);
}

/* From the first byte: the file, its switch to a log, the schema, the first commits. */
TEST(a_new_file_survives_a_power_loss) {
    char directory[64];
    scene_make_directory(&directory);
    lose_power(directory, RIG_T0, setting("DISK_CUTS", CUTS) / 2, script_carry_on);
}

static void make_old_file(const char *directory, int version) {
    char path[PATH_MAX], sql[TEXT_BYTES_MAX];
    sqlite3 *db;
    (void)snprintf(path, sizeof path, UPGRADE_TEXTS "/schema_%d.sql", version);
    FILE *in = fopen(path, "re");
    ensure(in);
    size_t n = fread(sql, 1, sizeof sql - 1, in);
    ensure(n < sizeof sql - 1);
    sql[n] = 0;
    (void)fclose(in); /* nothing was written */
    (void)snprintf(path, sizeof path, "%s/" SCRIPT_FILE, directory);
    ensure(sqlite3_open(path, &db) == SQLITE_OK);
    ensure(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    ensure(sqlite3_close(db) == SQLITE_OK);
}

TEST(a_migration_survives_a_power_loss) {
    for (int version = 1; version < STORE_SCHEMA_VERSION; version++) {
        char directory[64];
        scene_make_directory(&directory);
        make_old_file(directory, version);
        lose_power(directory, OLD_FILES_US, setting("DISK_CUTS", CUTS) / 8, script_carry_on);
    }
}
