/* The cases, from cases.def. */
#pragma once

#include "flow.h"

#define CASE(name, when, text) void case_##name(struct bench *b);
#include "cases.def"
#undef CASE

/* What several files of cases use. */
size_t scaled(const struct bench *b, size_t n); /* how many of something this run does */
int64_t scaled_us(const struct bench *b, int64_t us); /* a time to measure for, at most `us` */
void check_count(struct bench *b, const char *query, size_t want);
void run_flow(struct bench *b, const char *name, size_t total, size_t width, const char *type,
              void (*begin)(struct flow *f, size_t i));
/* Workflows that stay open, without a row in the table. */
void start_many(struct bench *b, const char *type, size_t count);
void begin_system_info(struct flow *f, size_t i);
void begin_start(struct flow *f, size_t i);
