/* The cases, from cases.def. */
#pragma once

#include "flow.h"

#define CASE(name, text) void case_##name(struct bench *b);
#include "cases.def"
#undef CASE

/* What several files of cases use. */
size_t scaled(const struct bench *b, size_t n); /* how many of something this run does */
void check_count(struct bench *b, const char *query, size_t want);
void run_flow(struct bench *b, const char *name, size_t total, size_t width, const char *type,
              void (*begin)(struct flow *f, size_t i));
void begin_system_info(struct flow *f, size_t i);
void begin_start(struct flow *f, size_t i);
