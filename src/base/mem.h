/* The only access to the heap. Memory that outlives a request is allocated here.
 *
 * Every allocation can fail and return NULL. A size of zero gives a block that must be freed. Tests make the
 * n-th allocation fail (fault.h). Any thread may call these functions. */
#pragma once

#include "base/base.h"

void *mem_alloc(size_t size) must_check; /* not cleared */
void *mem_zalloc(size_t size) must_check; /* cleared */
void *mem_resize(void *p, size_t size) must_check; /* on failure p stays valid */
void *mem_dup(const void *p, size_t size) must_check;
char *mem_strdup(const char *s) must_check;
void mem_free(void *p); /* NULL is fine */
void mem_freep(void *pp); /* for cleanup() */
void mem_trim(void); /* returns free memory to the system; takes milliseconds */
/* Hasty: freed pages return to the system at once. Otherwise, and at process start: after a delay, in which
 * mem_trim() may miss them. */
void mem_set_haste(bool is_hasty);
