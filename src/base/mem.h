/* The one door to the heap. Everything that outlives a request comes from here.
 *
 * Every function may fail and return NULL; the caller says what happens then.
 * Tests make the n-th allocation fail (see fault.h). mem_free accepts NULL. */
#pragma once

#include "base/base.h"

void *mem_alloc(size_t size) must_check; /* not cleared */
void *mem_zalloc(size_t size) must_check; /* cleared */
void *mem_resize(void *p, size_t size) must_check; /* on failure p stays valid */
void *mem_dup(const void *p, size_t size) must_check;
char *mem_strdup(const char *s) must_check;
void mem_free(void *p);
void mem_freep(void *pp); /* for cleanup() */
void mem_trim(void); /* gives memory that is free back to the system; takes milliseconds */
/* From now on pages go back to the system when they are freed, or some time later. What was freed later than
 * the allocator looks, mem_trim() may not find. The process begins with the latter. */
void mem_set_haste(bool is_hasty);
