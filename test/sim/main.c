/* build/sim: runs one world, or many, and says whether every check held. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "fleet.h"

#define STEPS_DEFAULT 20000

static const char help_text[] =
    "usage: sim [--seed N | --seeds A..B] [--steps S | --days D] [--jobs J] [--profile NAME] [--first] "
    "[--trace]\n"
    "\n"
    "Runs the real engine in a simulated world of clients, workers, crashes and clocks.\n"
    "The same seed gives the same world; a failure prints the line that reproduces it.\n"
    "\n"
    "  --seed N        one world (default 1)\n"
    "  --seeds A..B    a world for each seed, then totals and 'N passed, M failed'\n"
    "  --steps S       steps before the calm phase (default 20000)\n"
    "  --days D        or so many days of simulated time, for the profile years\n"
    "  --jobs J        worlds at the same time (default 1)\n"
    "  --profile NAME  " PROFILE_NAMES " (default swarm)\n"
    "  --first         stop at the first world that fails\n"
    "  --trace         print every event\n";

static noreturn_fn void refuse(const char *what, const char *arg) {
    fprintf(stderr, "sim: %s '%s'; see sim --help\n", what, arg);
    exit(2);
}

static uint64_t parse_number(struct str text, const char *arg) {
    int64_t n;
    if (str_to_i64(text, &n) < 0 || n < 0)
        refuse("not a number:", arg);
    return (uint64_t)n;
}

static void parse_seeds(struct fleet *f, const char *arg) {
    const char *dots = strstr(arg, "..");
    if (!dots)
        refuse("not a range like 1..100:", arg);
    f->first_seed = parse_number(str_bytes(arg, (size_t)(dots - arg)), arg);
    f->last_seed = parse_number(str_of(dots + 2), arg);
    if (f->first_seed > f->last_seed)
        refuse("an empty range:", arg);
}

static void parse_profile(struct fleet *f, const char *arg) {
    struct profile p;
    struct rng r;
    rng_init(&r, 0);
    if (profile_draw(&p, arg, &r) < 0)
        refuse("no such profile:", arg);
    f->cfg.profile = arg;
}

/* Options that take a value; false when this is none of them. */
static bool parse_valued(struct fleet *f, const char *name, const char *value, bool *many) {
    if (cstr_eq(name, "--seed")) {
        f->first_seed = f->last_seed = parse_number(str_of(value), value);
    } else if (cstr_eq(name, "--seeds")) {
        parse_seeds(f, value);
        *many = true;
    } else if (cstr_eq(name, "--steps")) {
        f->cfg.steps = parse_number(str_of(value), value);
    } else if (cstr_eq(name, "--days")) {
        f->cfg.sim_us = (int64_t)parse_number(str_of(value), value) * 86400 * USEC_PER_SEC;
    } else if (cstr_eq(name, "--jobs")) {
        f->jobs = (unsigned)parse_number(str_of(value), value);
        if (f->jobs < 1 || f->jobs > FLEET_JOBS_MAX)
            refuse("jobs are 1 to 64, not", value);
    } else if (cstr_eq(name, "--profile")) {
        parse_profile(f, value);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    struct fleet f = {
        .cfg = {.steps = STEPS_DEFAULT, .profile = "swarm"}, .first_seed = 1, .last_seed = 1, .jobs = 1};
    bool many = false;
    for (int i = 1; i < argc; i++) {
        if (cstr_eq(argv[i], "--help")) {
            fputs(help_text, stdout);
            return 0;
        }
        if (cstr_eq(argv[i], "--trace"))
            f.cfg.trace = true;
        else if (cstr_eq(argv[i], "--first"))
            f.stops_at_failure = true;
        else if (i + 1 < argc && parse_valued(&f, argv[i], argv[i + 1], &many))
            i++;
        else
            refuse("unknown option, or no value for", argv[i]);
    }
    f.print_each = !many;
    struct report total = {0};
    uint64_t failed = fleet_run(&f, &total);
    if (many) {
        printf("seeds=%" PRIu64 "..%" PRIu64 " profile=%s ", f.first_seed, f.last_seed, f.cfg.profile);
        report_print_tally(&total);
        printf("\n%" PRIu64 " passed, %" PRIu64 " failed\n", total.worlds - failed, failed);
    }
    return failed ? 1 : 0;
}
