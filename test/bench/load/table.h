/* The results: one line for people, one JSON object for programs. */
#pragma once

#include <stdio.h>

#include "base/base.h"

struct result {
    char name[40];
    size_t width;
    size_t ops;
    double seconds;
    int64_t p50_us, p99_us, p999_us;
    double server_cpu_us; /* for one operation; below 0: not measured */
    double client_cpu_us;
    double written_bytes;
    int64_t rss_bytes;
    char note[160];
};

#define TABLE_FLOORS_MAX 8

struct table {
    FILE *json; /* NULL: none */
    struct result row; /* the last one */
    struct result floors[TABLE_FLOORS_MAX]; /* those that were measured in this run */
    size_t floor_count;
    bool has_head;
};

/* A row of the table, with how far it is from the floors that floors.def has for it. */
void table_print(struct table *t, const struct result *r);
/* The same, and later rows are compared with this one. */
void table_print_floor(struct table *t, const struct result *r);
/* Adds a figure that is not an operation: "recovery of 100000 open runs: 312 ms". */
void table_fact(struct table *t, const char *name, double value, const char *unit);
