/* The heap. mimalloc replaces malloc in release builds of the server.
 *
 * Each call first asks the fault counter, so that a test can refuse any one of them. A size of zero gives a
 * real block: NULL always means failure. */
#include "base/mem.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* A larger block is a miscalculated size. */
#define MEM_BLOCK_MAX (UINT64_C(1) << 36)

static bool mem_refuses(size_t size) {
    return size > MEM_BLOCK_MAX || fault_take_alloc();
}

void *mem_alloc(size_t size) {
    if (mem_refuses(size))
        return NULL;
    return malloc(size ? size : 1);
}

void *mem_zalloc(size_t size) {
    if (mem_refuses(size))
        return NULL;
    return calloc(1, size ? size : 1);
}

void *mem_resize(void *p, size_t size) {
    if (mem_refuses(size))
        return NULL;
    return realloc(p, size ? size : 1);
}

void *mem_dup(const void *p, size_t size) {
    void *copy = mem_alloc(size);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

char *mem_strdup(const char *s) {
    return mem_dup(s, strlen(s) + 1);
}

void mem_free(void *p) {
    free(p);
}

/* pp is the address of a pointer of any type; memcpy reads it without breaking aliasing rules. */
void mem_freep(void *pp) {
    void *p;
    memcpy(&p, pp, sizeof(p));
    free(p);
}

/* mimalloc's functions; NULL in programs that are not linked with it. */
extern void mi_collect(bool is_forced) __attribute__((weak));
extern void mi_option_set(int option, long value) __attribute__((weak));
#define MI_OPTION_DECOMMIT_DELAY 15 /* its number in mimalloc.h, which later versions keep */
#define MI_DECOMMIT_DELAY_MS 25 /* mimalloc's default */

void mem_trim(void) {
    if (mi_collect)
        mi_collect(true);
    else
        (void)malloc_trim(0); /* the result tells only whether memory was returned */
}

void mem_set_haste(bool is_hasty) {
    if (mi_option_set)
        mi_option_set(MI_OPTION_DECOMMIT_DELAY, is_hasty ? 0 : MI_DECOMMIT_DELAY_MS);
}
