/* SPDX-License-Identifier: MIT */
/*
 * report_field - describes the plain fields of a JSON object by a table, to write and read them.
 *
 * A table has one row per key, in the order of the line; the same row writes the member of a struct
 * and reads it back, so the two cannot differ. Other data (sums, rates, lists of objects) is
 * written and read by adjacent functions in the part's file.
 *
 * Reading is typed: a value of a different type from the row's counts as absent, and an absent one
 * leaves the member unchanged.
 *
 * Owner:   the caller's storage; the snapshot owns texts and histograms that are read.
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_REPORT_REPORT_FIELD_H
#define NTK_SHARED_REPORT_REPORT_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/json.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits: rows beyond them are neither written nor read. */
#define REPORT_RUNTIMES_MAX 4096
#define REPORT_CORES_MAX 1024 /* also limits the core numbers that are read */
#define REPORT_CPUS_MAX 8192
#define REPORT_MODELS_MAX 4096
#define REPORT_LOST_RANKS_MAX 4096
#define REPORT_PORTS_MAX 128 /* maximum per family of adapters */
#define REPORT_MEMORY_ROWS_MAX 65536
#define REPORT_CONTAINERS_MAX 256
#define REPORT_TEXT_BYTES_MAX 1024 /* longer texts are truncated */

enum report_type {
    REPORT_U64,
    REPORT_U32,
    REPORT_DEVICE, /* uint8_t: number of a device; a list skips other values */
    REPORT_BOOL,
    REPORT_COUNT, /* struct ntk_count: only the period */
    REPORT_DOUBLE,
    REPORT_RATIO,     /* double 0..1 */
    REPORT_PERCENT,   /* double 0..1; in the line, 0..100 with two decimals */
    REPORT_TEXT,      /* const char * */
    REPORT_UUID,      /* char[33] */
    REPORT_HISTOGRAM, /* struct ntk_histogram; omitted if empty */
    REPORT_WORD,      /* an enum, written as one of the `count` names */
};

struct report_field {
    const char *key;
    enum report_type type;
    size_t offset;
    /* bit of the `has` at the start of the struct that shows whether it is known; 0: always
     * known */
    uint32_t has;
    bool sparse;              /* omitted if it is 0, false or "" */
    size_t count;             /* elements of an array member; 0: not an array */
    size_t length;            /* offset of a uint32_t with the number of used elements; 0: all */
    const char *const *names; /* write the array as an object with these names; NULL: as an array */
    const char *text;         /* description; NULL: it is in report.shape.json */
};

/* A row for a field that can be absent: REPORT_ROW("key", REPORT_U64, .offset = offsetof(...),
 * .sparse = true). */
#define REPORT_ROW(name, kind, ...)                \
    {                                              \
        .key = (name), .type = (kind), __VA_ARGS__ \
    }
#define REPORT_END  \
    {               \
        .key = NULL \
    }

struct report_writer {
    struct ntk_json json;
    const struct ntk_snapshot *snapshot;
    const struct ntk_report_options *options;
    bool extended; /* the line has "neuron_ext" */
};

/* ---- tables ---- */

void report_write_fields(struct report_writer *w, const struct report_field *fields,
                         const void *from);
/* Reads the fields and sets the bits of `has` for those that were read. object may be NULL: then
 * everything is absent. */
void report_read_fields(struct ntk_snapshot *snapshot, const json_t *object,
                        const struct report_field *fields, void *to);

/* ---- writing ---- */

bool report_omits(const struct report_writer *w, enum ntk_report_omit part);
/* Write values within the limits of JSON: integers up to 2^63 - 1, texts as valid UTF-8, because a
 * hostile process must not break the line. */
void report_value_u64(struct report_writer *w, uint64_t value);
void report_value_text(struct report_writer *w, const char *text);
void report_key_u64(struct report_writer *w, const char *key, uint64_t value);
void report_key_text(struct report_writer *w, const char *key, const char *text);
void report_key_number(struct report_writer *w, uint32_t number);
/* The period of a group in ns; 0 stands for the snapshot's period. */
uint64_t report_group_period_ns(const struct ntk_snapshot *snapshot, uint64_t group_period_ns);
void report_write_period(struct report_writer *w, uint64_t group_period_ns);
/* For qsort() of uint32_t: sorts numbers like their decimal texts: 0 1 10 11 2. */
int report_compare_as_text(const void *a, const void *b);

/* ---- reading: a value of the wrong type counts as absent ---- */

bool report_has(const json_t *object, const char *key);
uint64_t report_get_u64(const json_t *object, const char *key);
uint32_t report_get_u32(const json_t *object, const char *key);
double report_get_double(const json_t *object, const char *key);
bool report_get_bool(const json_t *object, const char *key);
const char *report_get_text(struct ntk_snapshot *snapshot, const json_t *object, const char *key);
const json_t *report_get_object(const json_t *object, const char *key);
const json_t *report_get_array(const json_t *object, const char *key);
/* The item as a number; 0 if it is not a number. */
uint64_t report_item_u64(const json_t *array, size_t index);
/* NTK_GROUP_ABSENT if the group is missing. */
uint64_t report_get_period_ns(const json_t *group);
/* The index of the key's word in the list; word_count if it is missing or unknown. */
size_t report_find_word(const json_t *object, const char *key, const char *const *words,
                        size_t word_count);
/* Parses a key that is a number below limit; false for other keys. */
bool report_key_index(const char *key, uint32_t limit, uint32_t *out_number);
double report_clamp_ratio(double ratio);
/* The number of rows to allocate. */
size_t report_bounded(size_t listed, size_t bound);

/* Loops over an object. jansson's macros need non-const values although they change nothing. */
#define report_each_key(object, key, value) \
    json_object_foreach((json_t *)(uintptr_t)(object), key, value)

static inline struct ntk_count report_count_of(uint64_t period)
{
    return (struct ntk_count){ period, period };
}

#ifdef __cplusplus
}
#endif
#endif
