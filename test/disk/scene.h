/* A life that was lived on a disk, and everything that is known of it: the trace, the state of the file after
 * each commit, and what callers were told. From it, any number of other endings. */
#pragma once

#include "power.h"
#include "script.h"

#define SCENE_STATES_MAX 400

struct scene {
    char directory[64];
    char path[96];
    struct disk disk;
    struct witness witness;
    struct script script;
    uint64_t states[SCENE_STATES_MAX]; /* after so many commits */
    size_t state_count;
};

/* A new directory; with a data file in it when `image` names one. */
void scene_make_directory(char (*ret)[64]);
void scene_remove_directory(const char *directory);

/* Records `live`, which is a script, in the directory, which is the scene's from now on. */
void scene_record(struct scene *s, const char *directory, int64_t clock_us,
                  void (*live)(struct script *s, int64_t clock_us));
void scene_first(struct script *s, int64_t clock_us); /* script_run() as such */
void scene_done(struct scene *s);

/* What was known when another ending began. */
struct ending {
    int64_t done, begun; /* commits that were announced, and that were handed over */
    int64_t steps; /* answered */
    int64_t clock_us;
};

/* CHECKs what is left in the directory: it opens, its state is that after a commit that may have been the
 * last, callers find what they were told (by `told`), and the server carries on. */
void scene_audit(const struct scene *s, const char *directory, const struct ending *e,
                 const struct script *told, int64_t told_steps);
