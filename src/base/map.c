/* Entries in an array in order of insertion, and open-addressed slots that hold their positions.
 *
 * A removed entry becomes a hole. Its slot stays, so that probing passes over it and iteration is not
 * disturbed. When the array is full, map_put() removes the holes if they are at least half of it, and
 * doubles the array otherwise. Only that growth can fail, and the map is then unchanged. */
#include "base/map.h"

#include "base/err.h"
#include "base/mem.h"

#define MAP_SLOTS_MIN ((size_t)16)
#define MAP_MAX ((size_t)1 << 30) /* positions fit in 32 bits, with 0 for an empty slot */

struct hash_state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t map_rotate_left(uint64_t v, int bits) {
    return v << bits | v >> (64 - bits);
}

/* The add-rotate-xor round of SipHash. */
static void map_hash_round(struct hash_state *h) {
    h->v0 += h->v1;
    h->v2 += h->v3;
    h->v1 = map_rotate_left(h->v1, 13) ^ h->v0;
    h->v3 = map_rotate_left(h->v3, 16) ^ h->v2;
    h->v0 = map_rotate_left(h->v0, 32);
    h->v2 += h->v1;
    h->v0 += h->v3;
    h->v1 = map_rotate_left(h->v1, 17) ^ h->v2;
    h->v3 = map_rotate_left(h->v3, 21) ^ h->v0;
    h->v2 = map_rotate_left(h->v2, 32);
}

static void map_hash_word(struct hash_state *h, uint64_t word) {
    h->v3 ^= word;
    map_hash_round(h);
    h->v0 ^= word;
}

/* SipHash with one round for each word and three at the end; the second half
 * of its key is derived from the first. A client cannot predict the slot of a key without the seed. */
static uint32_t map_hash(uint64_t seed, struct str key) {
    uint64_t seed2 = map_rotate_left(seed, 29) * UINT64_C(0x9E3779B97F4A7C15);
    struct hash_state h = {
        seed ^ UINT64_C(0x736F6D6570736575),
        seed2 ^ UINT64_C(0x646F72616E646F6D),
        seed ^ UINT64_C(0x6C7967656E657261),
        seed2 ^ UINT64_C(0x7465646279746573),
    };
    size_t i = 0;
    for (; key.n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, key.p + i, sizeof(word));
        map_hash_word(&h, word);
    }
    uint64_t last = (uint64_t)key.n << 56;
    if (i < key.n)
        memcpy(&last, key.p + i, key.n - i);
    map_hash_word(&h, last);
    h.v2 ^= 0xFF;
    for (int round = 0; round < 3; round++)
        map_hash_round(&h);
    uint64_t mixed = h.v0 ^ h.v1 ^ h.v2 ^ h.v3;
    return (uint32_t)(mixed ^ mixed >> 32);
}

/* A quarter of the slots stays empty, so that probing ends after a few steps. */
static size_t map_entry_cap(size_t slot_count) {
    return slot_count / 4 * 3;
}

void map_init(struct map *m, size_t max, uint64_t seed) {
    *m = (struct map){.max = MIN(max, MAP_MAX), .seed = seed};
}

void map_done(struct map *m) {
    mem_free(m->entries);
    mem_free(m->slots);
    map_init(m, m->max, m->seed);
}

static struct map_entry *map_find(const struct map *m, struct str key, uint32_t hash) {
    if (m->live_count == 0)
        return NULL;
    size_t mask = m->slot_count - 1;
    for (size_t at = hash & mask; m->slots[at]; at = (at + 1) & mask) {
        struct map_entry *e = &m->entries[m->slots[at] - 1];
        if (e->hash == hash && e->value && str_eq(e->key, key))
            return e;
    }
    return NULL;
}

void *map_get(const struct map *m, struct str key) {
    const struct map_entry *e = map_find(m, key, map_hash(m->seed, key));
    return e ? e->value : NULL;
}

static void map_link_entry(struct map *m, size_t position) {
    size_t mask = m->slot_count - 1;
    size_t at = m->entries[position].hash & mask;
    while (m->slots[at])
        at = (at + 1) & mask;
    m->slots[at] = (uint32_t)(position + 1);
}

/* Moves the live entries to the front and fills the slots again. */
static void map_drop_holes(struct map *m) {
    size_t live = 0;
    memset(m->slots, 0, m->slot_count * sizeof(*m->slots));
    for (size_t i = 0; i < m->entry_count; i++) {
        if (!m->entries[i].value)
            continue;
        m->entries[live] = m->entries[i];
        map_link_entry(m, live);
        live++;
    }
    m->entry_count = live;
}

static int map_grow(struct map *m) {
    size_t slot_count = MAX(m->slot_count * 2, MAP_SLOTS_MIN);
    uint32_t *slots = mem_alloc(slot_count * sizeof(*slots));
    if (!slots)
        return ERR_NO_MEMORY;
    struct map_entry *entries = mem_resize(m->entries, map_entry_cap(slot_count) * sizeof(*entries));
    if (!entries) {
        mem_free(slots);
        return ERR_NO_MEMORY;
    }
    mem_free(m->slots);
    m->slots = slots;
    m->entries = entries;
    m->slot_count = slot_count;
    map_drop_holes(m);
    return 0;
}

static int map_make_room(struct map *m) {
    size_t cap = map_entry_cap(m->slot_count);
    if (m->entry_count < cap)
        return 0;
    if (m->live_count > cap / 2 || cap == 0)
        return map_grow(m);
    map_drop_holes(m);
    return 0;
}

int map_put(struct map *m, struct str key, void *value) {
    ensure(value);
    uint32_t hash = map_hash(m->seed, key);
    ensure(!map_find(m, key, hash));
    if (m->live_count >= m->max)
        return ERR_FULL;
    int r = map_make_room(m);
    if (r < 0)
        return r;
    m->entries[m->entry_count] = (struct map_entry){key, value, hash};
    map_link_entry(m, m->entry_count);
    m->entry_count++;
    m->live_count++;
    return 0;
}

/* Of an empty map: clears the slots when the holes are many enough to be worth it. */
static void map_forget_holes(struct map *m) {
    if (m->entry_count < m->slot_count / 4)
        return;
    memset(m->slots, 0, m->slot_count * sizeof(*m->slots));
    m->entry_count = 0;
}

void *map_remove(struct map *m, struct str key) {
    struct map_entry *e = map_find(m, key, map_hash(m->seed, key));
    if (!e)
        return NULL;
    void *value = take(&e->value);
    e->key = (struct str){NULL, 0};
    m->live_count--;
    if (m->live_count == 0)
        map_forget_holes(m);
    return value;
}

void *map_next(const struct map *m, size_t *i) {
    while (*i < m->entry_count) {
        void *value = m->entries[(*i)++].value;
        if (value)
            return value;
    }
    return NULL;
}
