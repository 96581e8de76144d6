/* Each call of SQLite to its file system fails, once and for ever, and nothing that was acknowledged is lost.
 *
 * A life is recorded undisturbed. Then the same life is lived in a process of its own, again and again, each
 * time with another call failing. The process ends, or the call that needed the disk is told so; either way
 * the file opens afterwards, is as after a commit that may have been the last, and carries on. After a failed
 * sync no commit may be announced any more.
 *
 *   DISK_FAULTS   how many places, for each call, error and kind (4); the whole is DISK_FAULTS=1000000
 *   DISK_AT       only this one of the calls */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "scene.h"

#define PLACES 4
#define SYNC_PLACES 12 /* syncs of three files, of which one matters most */
#define HANGING_S 120

/* How the process ended. */
enum outcome { FINISHED, REFUSED, TOLD, ENDED, OUTCOMES };
#define FIRST_CODE 40 /* nothing else ends with these */

/* The child's, in memory that its parent can read when it has ended. */
struct life {
    struct disk disk;
    struct witness witness;
    struct script script;
    bool has_announced_unsynced;
};

struct totals {
    uint64_t runs, fired;
    uint64_t outcomes[OUTCOMES];
};

static uint64_t setting(const char *name, uint64_t otherwise) {
    int64_t n = 0;
    const char *text = getenv(name);
    return text && str_to_i64(str_of(text), &n) == 0 && n > 0 ? (uint64_t)n : otherwise;
}

/* the child */

static void on_done(void *ctx, struct witness *w) {
    struct life *l = ctx;
    l->has_announced_unsynced |= disk_is_unsafe(&l->disk, w->done);
}

static noreturn_fn void live(struct life *l, const char *directory, const struct disk_fault *f) {
    char path[96];
    (void)alarm(HANGING_S); /* nobody waits for one that hangs */
    (void)snprintf(path, sizeof path, "%s/" SCRIPT_FILE, directory);
    disk_begin(&l->disk, directory);
    disk_let_fail(&l->disk, f);
    witness_init(&l->witness, &l->disk);
    l->witness.fatal_code = FIRST_CODE + ENDED;
    l->witness.on_done = on_done;
    l->witness.ctx = l;
    script_init(&l->script, &l->witness, path);
    script_run(&l->script);
    _exit(FIRST_CODE + (l->script.is_refused ? REFUSED : l->script.has_failed ? TOLD : FINISHED));
}

/* the parent */

static void describe(const struct disk_fault *f, const struct life *l, int status) {
    printf("# %s %" PRIu64 " %s %s (%s): status %#x after %lld calls, %lld of %lld commits; %s\n",
           disk_call_name(f->call), f->at, f->is_for_ever ? "and all later ones meet" : "meets",
           disk_error_name(f->error), l->disk.has_fired ? "happened" : "did not happen", (unsigned)status,
           (long long)l->script.steps, (long long)l->witness.done, (long long)l->witness.begun,
           l->script.text);
}

static void count(struct totals *t, const struct life *l, int status) {
    t->runs++;
    t->fired += l->disk.has_fired;
    if (CHECK(WIFEXITED(status) && WEXITSTATUS(status) >= FIRST_CODE &&
              WEXITSTATUS(status) < FIRST_CODE + OUTCOMES))
        t->outcomes[WEXITSTATUS(status) - FIRST_CODE]++;
}

static void run_with(const struct scene *s, struct life *l, const struct disk_fault *f, struct totals *t) {
    char directory[64];
    int status = 0;
    uint64_t failures = test_failures();
    memset(l, 0, sizeof *l);
    scene_make_directory(&directory);
    (void)fflush(stdout);
    pid_t pid = fork();
    ensure(pid >= 0);
    if (pid == 0)
        live(l, directory, f);
    ensure(waitpid(pid, &status, 0) == pid);
    count(t, l, status);
    CHECK(!l->has_announced_unsynced);
    struct ending e = {l->witness.done, l->witness.begun, l->script.steps, l->script.now.wall.us};
    scene_audit(s, directory, &e, &s->script, e.steps);
    if (test_failures() > failures)
        describe(f, l, status);
    scene_remove_directory(directory);
}

/* Places from the first call to the last, as many as are wanted. */
static void run_places(const struct scene *s, struct life *l, struct disk_fault f, struct totals *t) {
    uint64_t calls = s->disk.counts[f.call];
    uint64_t only = setting("DISK_AT", 0);
    uint64_t places = f.call == DISK_sync ? SYNC_PLACES : PLACES;
    uint64_t wanted = MIN(setting("DISK_FAULTS", places), calls);
    if (only) {
        f.at = only;
        run_with(s, l, &f, t);
        return;
    }
    for (uint64_t i = 0; i < wanted; i++) {
        f.at = wanted > 1 ? 1 + i * (calls - 1) / (wanted - 1) : 1;
        run_with(s, l, &f, t);
    }
}

static void run_call(enum disk_call call) {
    struct scene *s = mem_zalloc(sizeof *s);
    struct life *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct totals t = {0};
    char directory[64];
    ensure(s && l != MAP_FAILED);
    scene_make_directory(&directory);
    scene_record(s, directory, 0, scene_first);
    for (int error = 0; error < DISK_ERRORS; error++) {
        struct disk_fault f = {.call = call, .error = (enum disk_error)error};
        if (!disk_call_meets(call, f.error))
            continue;
        run_places(s, l, f, &t);
        f.is_for_ever = true;
        run_places(s, l, f, &t);
    }
    CHECK(t.fired > 0);
    printf("# %s: %" PRIu64 " calls in a life of %zu commits; %" PRIu64 " lives, %" PRIu64 " met a failure: "
           "%" PRIu64 " ended by it, %" PRIu64 " refused the file, %" PRIu64 " told a caller, %" PRIu64
           " went on\n",
           disk_call_name(call), s->disk.counts[call], s->state_count, t.runs, t.fired, t.outcomes[ENDED],
           t.outcomes[REFUSED], t.outcomes[TOLD], t.outcomes[FINISHED]);
    scene_done(s);
    ensure(munmap(l, sizeof *l) == 0);
    mem_free(s);
}

#define CALL(name, eio, enospc, can_be_short)                                                                \
    TEST(each_##name##_fails) {                                                                              \
        run_call(DISK_##name);                                                                               \
    }
#include "calls.def"
#undef CALL

TEST(the_disk_goes_away) {
    run_call(DISK_ANY);
}
