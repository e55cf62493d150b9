/* SPDX-License-Identifier: MIT */
/*
 * tables - names, memory rows and histograms of the segment. They are read without a lock and
 * extended under one. Only new entries need the lock, so the hot path never takes it.
 */
#include "runtime-hooks/hooks/hooks_state.h"

#include <string.h>

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
/* A signal handler that interrupts its own thread inside the lock must not wait for the lock. */
static __thread volatile int inside_lock __attribute__((tls_model("initial-exec")));

int hooks_table_lock(void)
{
    if (inside_lock) {
        return 0;
    }
    inside_lock = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&table_mutex);
    return 1;
}

void hooks_table_unlock(void)
{
    pthread_mutex_unlock(&table_mutex);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    inside_lock = 0;
}

void hooks_tables_reset(void)
{
    memset(hooks.name_hash, 0, sizeof hooks.name_hash);
    memset(hooks.row_hash, 0, sizeof hooks.row_hash);
    memset(hooks.histogram_reserved, 0, sizeof hooks.histogram_reserved);
    memset(hooks.model_owned, 0, sizeof hooks.model_owned);
    memset(hooks.model_comm, 0, sizeof hooks.model_comm);
    memset(hooks.core_lock, 0, sizeof hooks.core_lock);
    memset(hooks.comm_lock, 0, sizeof hooks.comm_lock);
    hooks.names_used = 1; /* 0 means "no name" */
    hooks.name_bytes_used = 0;
    hooks.row_hash_used = 0;
    /* Rows for allocations that have no other row because the table is full. */
    ntk_abi_store_release(&hooks.segment.rows[0].key, NTK_MEMORY_KEY(NTK_MEMORY_DEVICE, NTK_NO_CORE,
                                                                     0, NTK_MEMORY_UNCATEGORIZED));
    ntk_abi_store_release(
        &hooks.segment.rows[1].key,
        NTK_MEMORY_KEY(NTK_MEMORY_HOST, NTK_NO_CORE, 0, NTK_MEMORY_HOST_APPLICATION));
    hooks.rows_used = 2;
}

void hooks_tables_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&table_mutex, &fresh, sizeof fresh); /* its holder may be a thread of the parent */
    inside_lock = 0;
}

/* ---- names ---- */

static uint32_t hash_text(const char *text, size_t bytes)
{
    uint32_t hash = 2166136261u;
    size_t i;

    for (i = 0; i < bytes; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    }
    return hash;
}

/* The id of the text, or 0; *out_place is its position in the table (HOOKS_NAME_HASH: none). */
static uint32_t find_name(const char *text, size_t bytes, uint32_t hash, uint32_t *out_place)
{
    uint32_t i;

    for (i = 0; i < HOOKS_NAME_HASH; i++) {
        uint32_t place = (hash + i) % HOOKS_NAME_HASH;
        /* Pairs with the release store in ntk_hooks_name(). */
        uint32_t id = ntk_abi_load_acquire(&hooks.name_hash[place]);

        if (id == 0) {
            *out_place = place;
            return 0;
        }
        if (hooks.segment.names[id].bytes_plus_one == bytes + 1 &&
            memcmp(hooks.segment.name_bytes + hooks.segment.names[id].offset, text, bytes) == 0) {
            return id;
        }
    }
    *out_place = HOOKS_NAME_HASH;
    return 0;
}

uint32_t ntk_hooks_name(const char *text)
{
    uint32_t place;
    uint32_t hash;
    uint32_t id;
    size_t bytes;

    if (ntk_abi_load(&hooks_mask) == 0 || text == NULL || text[0] == '\0') {
        return 0;
    }
    bytes = strlen(text);
    hash = hash_text(text, bytes);
    id = find_name(text, bytes, hash, &place);
    if (id != 0) {
        return id;
    }
    if (!hooks_table_lock()) {
        ntk_abi_add_shared(&hooks.segment.header->names_refused, 1);
        return 0;
    }
    id = find_name(text, bytes, hash, &place);
    if (id == 0 && place < HOOKS_NAME_HASH && hooks.names_used < NTK_SEGMENT_NAMES &&
        bytes <= NTK_SEGMENT_NAME_BYTES - hooks.name_bytes_used) {
        id = hooks.names_used++;
        memcpy(hooks.segment.name_bytes + hooks.name_bytes_used, text, bytes);
        hooks.segment.names[id].offset = hooks.name_bytes_used;
        hooks.name_bytes_used += (uint32_t)bytes;
        /* Pairs with the acquire load in ntk_ring_segment_text(). */
        ntk_abi_store_release(&hooks.segment.names[id].bytes_plus_one, (uint32_t)bytes + 1);
        ntk_abi_store_release(&hooks.name_hash[place], id);
    } else if (id == 0) {
        ntk_abi_add_shared(&hooks.segment.header->names_refused, 1);
    }
    hooks_table_unlock();
    return id;
}

/* ---- memory rows ---- */

static uint32_t hash_key(uint64_t key)
{
    key ^= key >> 31;
    key *= 0x9e3779b97f4a7c15ull;
    return (uint32_t)(key >> 32);
}

/* The row of the key, or UINT32_MAX; *out_place is set as in find_name(). */
static uint32_t find_row(uint64_t key, uint32_t *out_place)
{
    uint32_t hash = hash_key(key);
    uint32_t i;

    for (i = 0; i < HOOKS_ROW_HASH; i++) {
        uint32_t place = (hash + i) % HOOKS_ROW_HASH;
        /* Pairs with the release stores of add_row() and rebuild_row_hash(). */
        uint32_t entry = ntk_abi_load_acquire(&hooks.row_hash[place]);

        if (entry == 0) {
            *out_place = place;
            return UINT32_MAX;
        }
        /* Entries of reused rows point to a row with another key, which does not match. */
        if (ntk_abi_load_acquire(&hooks.segment.rows[entry - 1].key) == key) {
            return entry - 1;
        }
    }
    *out_place = HOOKS_ROW_HASH;
    return UINT32_MAX;
}

/* Drops the entries of reused rows. A lookup that fails in the meantime takes the lock and
 * retries. */
static void rebuild_row_hash(void)
{
    uint32_t i;

    for (i = 0; i < HOOKS_ROW_HASH; i++) {
        ntk_abi_store_release(&hooks.row_hash[i], 0);
    }
    hooks.row_hash_used = 0;
    for (i = 0; i < hooks.rows_used; i++) {
        uint64_t key = ntk_abi_load(&hooks.segment.rows[i].key);
        uint32_t place;

        if (key != 0 && find_row(key, &place) == UINT32_MAX) {
            ntk_abi_store_release(&hooks.row_hash[place], i + 1);
            hooks.row_hash_used++;
        }
    }
}

/* Adds a row for a new key; UINT32_MAX if the table is full. The caller holds the lock. */
static uint32_t add_row(uint64_t key)
{
    struct ntk_segment_memory_row *row;
    uint32_t index = UINT32_MAX;
    uint32_t place;
    uint32_t i;

    if (hooks.rows_used < NTK_SEGMENT_MEMORY_ROWS) {
        index = hooks.rows_used++;
    } else {
        for (i = 2; i < NTK_SEGMENT_MEMORY_ROWS && index == UINT32_MAX; i++) {
            if (ntk_abi_load(&hooks.segment.rows[i].key) == 0) {
                index = i;
            }
        }
    }
    if (index == UINT32_MAX) {
        return UINT32_MAX;
    }
    if (hooks.row_hash_used >= HOOKS_ROW_HASH * 3 / 4) {
        rebuild_row_hash();
    }
    if (find_row(key, &place) != UINT32_MAX || place == HOOKS_ROW_HASH) {
        return UINT32_MAX;
    }
    row = &hooks.segment.rows[index];
    ntk_abi_store(&row->current_bytes, 0);
    ntk_abi_store(&row->peak_bytes, 0);
    ntk_abi_store(&row->alloc_count, 0);
    ntk_abi_store(&row->free_count, 0);
    ntk_abi_store(&row->last_bytes, 0);
    /* Pairs with the acquire loads in ntk_ring_segment_memory(). */
    ntk_abi_store_release(&row->key, key);
    ntk_abi_store_release(&hooks.row_hash[place], index + 1);
    hooks.row_hash_used++;
    return index;
}

uint32_t hooks_row_of(uint64_t key)
{
    uint32_t place;
    uint32_t row = find_row(key, &place);
    uint64_t plain = key & ~(uint64_t)UINT32_MAX; /* model 0 is the category row of the core */

    if (row != UINT32_MAX) {
        return row;
    }
    if (hooks_table_lock()) {
        row = find_row(key, &place);
        if (row == UINT32_MAX) {
            row = add_row(key);
        }
        if (row == UINT32_MAX) {
            row = find_row(plain, &place);
            ntk_abi_add_shared(&hooks.segment.header->memory_rows_refused, 1);
        }
        hooks_table_unlock();
    } else {
        ntk_abi_add_shared(&hooks.segment.header->memory_rows_refused, 1);
    }
    if (row == UINT32_MAX) {
        row = NTK_MEMORY_KEY_LOCATION(key) == NTK_MEMORY_DEVICE ? 0 : 1;
    }
    return row;
}

void hooks_rows_release(uint32_t model_id)
{
    uint32_t i;

    for (i = 2; i < hooks.rows_used; i++) {
        struct ntk_segment_memory_row *row = &hooks.segment.rows[i];

        if (NTK_MEMORY_KEY_MODEL(ntk_abi_load(&row->key)) == model_id &&
            ntk_abi_load(&row->current_bytes) == 0) {
            ntk_abi_store_release(&row->key, 0);
        }
    }
}

/* ---- histograms ---- */

int hooks_histogram_prepare(uint32_t pair, uint64_t owner)
{
    struct ntk_histogram_pair *histogram = &hooks.segment.histograms[pair];
    uint32_t i;

    if (!hooks.histogram_reserved[pair]) {
        uint64_t offset = (uint64_t)((uint8_t *)histogram - hooks.segment.base);

        if (hooks_segment_reserve(offset, sizeof *histogram) < 0) {
            ntk_abi_add_shared(&hooks.segment.header->histograms_refused, 1);
            return 0;
        }
        hooks.histogram_reserved[pair] = 1;
    } else if (ntk_abi_load(&histogram->owner) == owner) {
        return 1; /* a core that is claimed again continues its counts */
    } else {
        /* Pairs with ntk_ring_segment_model_histogram(): a copy is rejected if the owner changed.
         * */
        ntk_abi_store(&histogram->owner, 0);
        ntk_abi_fence_release();
        ntk_abi_store(&histogram->total_sum_ns, 0);
        ntk_abi_store(&histogram->device_sum_ns, 0);
        for (i = 0; i < NTK_HISTOGRAM_LINE_WORDS; i++) {
            ntk_abi_store(&histogram->lines[i], 0);
        }
        for (i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
            ntk_abi_store(&histogram->total[i], 0);
            ntk_abi_store(&histogram->device[i], 0);
        }
    }
    ntk_abi_store_release(&histogram->owner, owner);
    return 1;
}
