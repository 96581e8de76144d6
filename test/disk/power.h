/* A power loss: what of a trace is on the disk when the current goes.
 *
 * What was synced is there. Of the rest each sector has what it had after any of the writes since the last
 * sync, or before all of them; written bytes can also be nonsense; a file can have the length that it had at
 * any moment since; a file that was made or deleted since the directory was synced is there or is not. The
 * style of a cut says how wild it is, and its seed says the rest: the same trace, place and seed
 * give the same files. */
#pragma once

#include "base/rng.h"
#include "trace.h"

enum power_style {
    POWER_NOTHING, /* that was not synced is there */
    POWER_ALL, /* is there: the process died, the machine did not */
    POWER_ORDERED, /* a part, in the order in which it was written; the last write is torn */
    POWER_SECTORS, /* each sector for itself */
    POWER_NONSENSE, /* the same, and some of what was written is garbage */
    POWER_STYLES,
};

struct power_node {
    uint8_t *data; /* durable, or as if; owned */
    size_t size, room;
    size_t *pending; /* ops since the last sync; owned */
    size_t pending_count, pending_room;
};

struct power_entry {
    char name[TRACE_NAME_MAX];
    int node; /* durable; -1: none */
    size_t *pending; /* CREATE and DELETE since the directory was synced; owned */
    size_t pending_count, pending_room;
};

/* What is durable after the first `position` operations. */
struct power {
    const struct trace *trace;
    size_t position;
    struct power_node *nodes;
    struct power_entry *entries;
    size_t entry_count;
    int64_t begun, done, steps, clock_us; /* the last of each mark; 0: none yet */
};

void power_init(struct power *p, const struct trace *t);
void power_advance(struct power *p, size_t position); /* never back */
/* Writes the files into an empty directory; returns how they were made. */
enum power_style power_cut(const struct power *p, uint64_t seed, const char *directory);
void power_done(struct power *p);

const char *power_style_name(enum power_style s);

/* A sync of this node has failed: of what it was for, its file keeps some sectors. */
void power_lose_pages(const struct trace *t, const char *directory, int node, uint64_t seed);
