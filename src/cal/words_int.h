/* Shared by the files that write words. */
#pragma once

#include "cal/text.h"
#include "cal/words.h"

/* Bit n: the number n. */
int words_count_set(uint64_t bits);
/* "1, 5 and 9 to 17"; `add` writes each number. */
void words_add_set(struct buf *out, uint64_t bits, void (*add)(struct buf *out, int n));
void words_add_weekday_set(struct buf *out, uint64_t weekdays);
/* ", " or " and " before an element of a list; nothing before the first. */
void words_add_joint(struct buf *out, bool is_first, bool is_last);
void words_add_number(struct buf *out, int n);
void words_add_ordinal(struct buf *out, int n); /* 1st, 22nd */
void words_add_day_name(struct buf *out, int n);
void words_add_month_name(struct buf *out, int n);

void words_plain(const struct cal_calendar *c, const struct field_marks *m, struct buf *out);
void words_text(const struct text *t, struct buf *out); /* words_recur.c */
