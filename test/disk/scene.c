/* Recording a life, and judging how another one ended. */
#include "scene.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit.h"

/* In memory when there is such a place: what counts as durable is decided here, not by that disk. */
void scene_make_directory(char (*ret)[64]) {
    (void)snprintf(*ret, sizeof *ret, "/dev/shm/rondo-disk.XXXXXX");
    if (mkdtemp(*ret))
        return;
    (void)snprintf(*ret, sizeof *ret, "/tmp/rondo-disk.XXXXXX");
    ensure(mkdtemp(*ret));
}

void scene_remove_directory(const char *directory) {
    char path[PATH_MAX];
    DIR *d = opendir(directory);
    ensure(d);
    for (struct dirent *e; (e = readdir(d));) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        (void)unlink(path); /* not "." and ".." */
    }
    closedir(d);
    ensure(rmdir(directory) == 0);
}

/* recording */

static void add_state(struct scene *s) {
    ensure(s->state_count < SCENE_STATES_MAX);
    s->states[s->state_count++] = audit_state(s->path);
}

static void on_open(struct script *script) {
    struct scene *s = container_of(script, struct scene, script);
    if (!s->state_count)
        add_state(s);
}

static void on_done(void *ctx, struct witness *w unused_arg) {
    add_state(ctx);
}

void scene_first(struct script *s, int64_t clock_us unused_arg) {
    script_run(s);
}

void scene_record(struct scene *s, const char *directory, int64_t clock_us,
                  void (*live)(struct script *s, int64_t clock_us)) {
    s->state_count = 0;
    (void)snprintf(s->directory, sizeof s->directory, "%s", directory);
    (void)snprintf(s->path, sizeof s->path, "%s/" SCRIPT_FILE, directory);
    disk_begin(&s->disk, directory);
    witness_init(&s->witness, &s->disk);
    s->witness.on_done = on_done;
    s->witness.ctx = s;
    script_init(&s->script, &s->witness, s->path);
    s->script.on_open = on_open;
    live(&s->script, clock_us);
    disk_end(&s->disk);
    witness_done(&s->witness);
    if (!CHECK(!s->script.is_refused && !s->script.has_failed))
        printf("# after %lld calls: %s\n", (long long)s->script.steps, s->script.text);
}

void scene_done(struct scene *s) {
    disk_done(&s->disk);
    scene_remove_directory(s->directory);
}

/* another ending */

struct judge {
    struct witness witness;
    struct script script;
    const struct scene *scene;
    const struct ending *ending;
};

static void judge_open(struct script *script) {
    const struct judge *j = container_of(script, struct judge, script);
    uint64_t state = audit_state(script->path);
    bool is_known = false;
    for (int64_t i = j->ending->done; i <= j->ending->begun; i++)
        is_known |= (size_t)i < j->scene->state_count && j->scene->states[i] == state;
    if (CHECK(is_known))
        return;
    script->has_failed = true; /* nobody should work with that */
    (void)snprintf(script->text, sizeof script->text, "the file holds what it never held");
    for (size_t i = 0; i < j->scene->state_count; i++)
        if (j->scene->states[i] == state)
            (void)snprintf(script->text, sizeof script->text,
                           "the file is as after commit %zu; %lld were announced, %lld handed over", i,
                           (long long)j->ending->done, (long long)j->ending->begun);
}

void scene_audit(const struct scene *s, const char *directory, const struct ending *e,
                 const struct script *told, int64_t told_steps) {
    struct judge j = {.scene = s, .ending = e};
    char path[96];
    (void)snprintf(path, sizeof path, "%s/" SCRIPT_FILE, directory);
    witness_init(&j.witness, NULL);
    script_init(&j.script, &j.witness, path);
    j.script.on_open = judge_open;
    script_audit(&j.script, e->clock_us, told, told_steps);
    witness_done(&j.witness);
    if (j.script.is_refused)
        return;
    audit_file(path);
    if (told->fact_count)
        audit_schedules(path, SCRIPT_PERIOD_S);
}
