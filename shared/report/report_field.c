/* SPDX-License-Identifier: MIT */
/* report_field - writes and reads the plain fields of a JSON object by a table. */
#include "shared/report/report_field.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/base/word.h"
#include "shared/metrics/percentile.h"

#define PERIOD_SECONDS_MAX 1e9

/* -- typed access ------------------------------------------------------------------------------ */

bool report_has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static uint64_t u64_of(const json_t *value)
{
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : 0;

    return number < 0 ? 0 : (uint64_t)number;
}

uint64_t report_get_u64(const json_t *object, const char *key)
{
    return u64_of(json_object_get(object, key));
}

static uint32_t u32_of(const json_t *value)
{
    uint64_t number = u64_of(value);

    return number > UINT32_MAX ? 0 : (uint32_t)number;
}

uint32_t report_get_u32(const json_t *object, const char *key)
{
    return u32_of(json_object_get(object, key));
}

double report_get_double(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : 0;
}

bool report_get_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const char *report_get_text(struct ntk_snapshot *snapshot, const json_t *object, const char *key)
{
    return ntk_snapshot_text(snapshot, json_string_value(json_object_get(object, key)));
}

const json_t *report_get_object(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_object(value) ? value : NULL;
}

const json_t *report_get_array(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_array(value) ? value : NULL;
}

uint64_t report_item_u64(const json_t *array, size_t index)
{
    return u64_of(json_array_get(array, index));
}

uint64_t report_get_period_ns(const json_t *group)
{
    double seconds = report_get_double(group, "period");

    if (!group) {
        return NTK_GROUP_ABSENT;
    }
    if (!(seconds > 0) || seconds > PERIOD_SECONDS_MAX) {
        return 0;
    }
    return (uint64_t)llround(seconds * (double)NTK_NS_PER_SECOND);
}

bool report_key_index(const char *key, uint32_t limit, uint32_t *out_number)
{
    uint64_t number;

    if (key[0] < '0' || key[0] > '9' || ntk_str_parse_u64(key, &number) < 0 || number >= limit) {
        return false;
    }
    *out_number = (uint32_t)number;
    return true;
}

size_t report_find_word(const json_t *object, const char *key, const char *const *words,
                        size_t word_count)
{
    return ntk_word_find(json_string_value(json_object_get(object, key)), words, word_count);
}

double report_clamp_ratio(double ratio)
{
    return ratio > 0 ? (ratio < 1 ? ratio : 1) : 0;
}

size_t report_bounded(size_t listed, size_t bound)
{
    return listed < bound ? listed : bound;
}

/* -- typed writing ----------------------------------------------------------------------------- */

bool report_omits(const struct report_writer *w, enum ntk_report_omit part)
{
    return w->options->omit & part;
}

void report_value_u64(struct report_writer *w, uint64_t value)
{
    ntk_json_u64(&w->json, value < INT64_MAX ? value : INT64_MAX);
}

void report_key_u64(struct report_writer *w, const char *key, uint64_t value)
{
    ntk_json_key(&w->json, key);
    report_value_u64(w, value);
}

void report_value_text(struct report_writer *w, const char *text)
{
    char clean[REPORT_TEXT_BYTES_MAX];

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    ntk_json_text(&w->json, clean);
}

void report_key_text(struct report_writer *w, const char *key, const char *text)
{
    ntk_json_key(&w->json, key);
    report_value_text(w, text);
}

void report_key_number(struct report_writer *w, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    ntk_json_key(&w->json, text);
}

uint64_t report_group_period_ns(const struct ntk_snapshot *snapshot, uint64_t group_period_ns)
{
    return group_period_ns == 0 ? snapshot->period_ns : group_period_ns;
}

void report_write_period(struct report_writer *w, uint64_t group_period_ns)
{
    ntk_json_key_double(&w->json, "period",
                        (double)report_group_period_ns(w->snapshot, group_period_ns) /
                            (double)NTK_NS_PER_SECOND);
}

int report_compare_as_text(const void *a, const void *b)
{
    char text_a[16];
    char text_b[16];

    snprintf(text_a, sizeof text_a, "%u", *(const uint32_t *)a);
    snprintf(text_b, sizeof text_b, "%u", *(const uint32_t *)b);
    return strcmp(text_a, text_b);
}

/* -- histograms -------------------------------------------------------------------------------- */

static void write_histogram(struct report_writer *w, const struct ntk_histogram *histogram)
{
    ntk_json_object_begin(&w->json);
    report_key_u64(w, "sum_ns", histogram->sum_ns);
    ntk_json_key_array_begin(&w->json, "buckets");
    for (size_t i = 0; i < histogram->entry_count; i++) {
        ntk_json_array_begin(&w->json);
        report_value_u64(w, histogram->entries[i].bucket);
        report_value_u64(w, histogram->entries[i].count);
        ntk_json_array_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    ntk_json_object_end(&w->json);
}

/* Reads a histogram; it is empty unless every entry is valid. */
static struct ntk_histogram read_histogram(struct ntk_snapshot *snapshot, const json_t *object)
{
    const json_t *buckets = report_get_array(object, "buckets");
    size_t count = json_array_size(buckets);
    struct ntk_histogram histogram = { 0 };

    if (count == 0 || count > NTK_HISTOGRAM_BUCKETS) {
        return histogram;
    }
    struct ntk_histogram_entry *entries = ntk_snapshot_alloc(snapshot, count, sizeof *entries);
    if (!entries) {
        return histogram;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(buckets, i);
        json_int_t bucket = json_integer_value(json_array_get(pair, 0));
        json_int_t hits = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || bucket < 0 || bucket >= NTK_HISTOGRAM_BUCKETS ||
            hits <= 0 || (i > 0 && (uint32_t)bucket <= entries[i - 1].bucket) ||
            __builtin_add_overflow(sum, (uint64_t)hits, &sum)) {
            return histogram;
        }
        entries[i].bucket = (uint32_t)bucket;
        entries[i].count = (uint64_t)hits;
    }
    histogram.count = sum;
    histogram.sum_ns = report_get_u64(object, "sum_ns");
    histogram.entries = entries;
    histogram.entry_count = count;
    return histogram;
}

/* -- tables ------------------------------------------------------------------------------------ */

static const size_t bytes_of[] = {
    [REPORT_U64] = sizeof(uint64_t),
    [REPORT_U32] = sizeof(uint32_t),
    [REPORT_DEVICE] = sizeof(uint8_t),
    [REPORT_BOOL] = sizeof(bool),
    [REPORT_COUNT] = sizeof(struct ntk_count),
    [REPORT_DOUBLE] = sizeof(double),
    [REPORT_RATIO] = sizeof(double),
    [REPORT_PERCENT] = sizeof(double),
    [REPORT_TEXT] = sizeof(const char *),
    [REPORT_UUID] = 33,
    [REPORT_HISTOGRAM] = sizeof(struct ntk_histogram),
    [REPORT_WORD] = sizeof(enum ntk_hooks_kind),
};

static bool is_empty(enum report_type type, const void *member)
{
    static const struct ntk_count no_count;

    switch (type) {
    case REPORT_U64:
        return *(const uint64_t *)member == 0;
    case REPORT_U32:
    case REPORT_WORD:
        return *(const uint32_t *)member == 0;
    case REPORT_DEVICE:
        return *(const uint8_t *)member == 0;
    case REPORT_BOOL:
        return !*(const bool *)member;
    case REPORT_COUNT:
        return memcmp(member, &no_count, sizeof no_count.period) == 0;
    case REPORT_TEXT:
        return (*(const char *const *)member)[0] == '\0';
    case REPORT_UUID:
        return *(const char *)member == '\0';
    case REPORT_HISTOGRAM:
        return ((const struct ntk_histogram *)member)->count == 0;
    default:
        return *(const double *)member == 0;
    }
}

static void write_value(struct report_writer *w, const struct report_field *field,
                        const void *member)
{
    switch (field->type) {
    case REPORT_U64:
        report_value_u64(w, *(const uint64_t *)member);
        break;
    case REPORT_U32:
        report_value_u64(w, *(const uint32_t *)member);
        break;
    case REPORT_DEVICE:
        report_value_u64(w, *(const uint8_t *)member);
        break;
    case REPORT_BOOL:
        ntk_json_bool(&w->json, *(const bool *)member);
        break;
    case REPORT_COUNT:
        report_value_u64(w, ((const struct ntk_count *)member)->period);
        break;
    case REPORT_DOUBLE:
    case REPORT_RATIO:
        ntk_json_double(&w->json, *(const double *)member);
        break;
    case REPORT_PERCENT:
        ntk_json_double(&w->json, round(*(const double *)member * 10000) / 100);
        break;
    case REPORT_TEXT:
        report_value_text(w, *(const char *const *)member);
        break;
    case REPORT_UUID:
        report_value_text(w, member);
        break;
    case REPORT_HISTOGRAM:
        write_histogram(w, member);
        break;
    case REPORT_WORD:
        report_value_text(w, field->names[*(const uint32_t *)member]);
        break;
    }
}

void report_write_fields(struct report_writer *w, const struct report_field *fields,
                         const void *from)
{
    for (const struct report_field *field = fields; field->key; field++) {
        const char *member = (const char *)from + field->offset;
        if (field->has && !(*(const uint32_t *)from & field->has)) {
            continue;
        }
        if ((field->sparse || field->type == REPORT_HISTOGRAM) && is_empty(field->type, member)) {
            continue;
        }
        ntk_json_key(&w->json, field->key);
        if (field->count == 0 || field->type == REPORT_WORD) {
            write_value(w, field, member);
            continue;
        }
        (field->names ? ntk_json_object_begin : ntk_json_array_begin)(&w->json);
        size_t count = field->count;
        if (field->length) {
            count = report_bounded(*(const uint32_t *)((const char *)from + field->length), count);
        }
        for (size_t i = 0; i < count; i++) {
            if (field->names) {
                ntk_json_key(&w->json, field->names[i]);
            }
            write_value(w, field, member + i * bytes_of[field->type]);
        }
        (field->names ? ntk_json_object_end : ntk_json_array_end)(&w->json);
    }
}

static bool read_uuid(const json_t *value, char *to)
{
    const char *text = json_string_value(value);

    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32) {
        return false;
    }
    memcpy(to, text, 33);
    return true;
}

/* Reads a value. Returns false if it has another type; then the member is 0 or "", as if the value
 * were absent. */
static bool read_value(struct ntk_snapshot *snapshot, const struct report_field *field,
                       const json_t *value, void *member)
{
    size_t word;

    switch (field->type) {
    case REPORT_U64:
        *(uint64_t *)member = u64_of(value);
        return json_is_integer(value);
    case REPORT_U32:
        *(uint32_t *)member = u32_of(value);
        return json_is_integer(value);
    case REPORT_DEVICE:
        *(uint8_t *)member = (uint8_t)report_bounded(u64_of(value), UINT8_MAX);
        return json_is_integer(value) && u64_of(value) < NTK_SNAPSHOT_DEVICES_MAX;
    case REPORT_BOOL:
        *(bool *)member = json_is_true(value);
        return json_is_boolean(value);
    case REPORT_COUNT:
        *(struct ntk_count *)member = report_count_of(u64_of(value));
        return json_is_integer(value);
    case REPORT_DOUBLE:
        *(double *)member = json_number_value(value);
        return json_is_number(value);
    case REPORT_RATIO:
        *(double *)member = report_clamp_ratio(json_number_value(value));
        return json_is_number(value);
    case REPORT_PERCENT:
        *(double *)member = report_clamp_ratio(json_number_value(value) / 100);
        return json_is_number(value);
    case REPORT_TEXT:
        *(const char **)member = ntk_snapshot_text(snapshot, json_string_value(value));
        return json_is_string(value);
    case REPORT_UUID:
        return read_uuid(value, member);
    case REPORT_HISTOGRAM:
        *(struct ntk_histogram *)member = read_histogram(snapshot, value);
        return ((const struct ntk_histogram *)member)->count > 0;
    case REPORT_WORD:
        word = ntk_word_find(json_string_value(value), field->names, field->count);
        *(uint32_t *)member = word < field->count ? (uint32_t)word : 0;
        return word < field->count;
    }
    return false;
}

void report_read_fields(struct ntk_snapshot *snapshot, const json_t *object,
                        const struct report_field *fields, void *to)
{
    for (const struct report_field *field = fields; field->key; field++) {
        const json_t *value = json_object_get(object, field->key);
        char *member = (char *)to + field->offset;
        bool is_list = field->count > 0 && field->type != REPORT_WORD;
        bool known = value && !is_list
                         ? read_value(snapshot, field, value, member)
                         : is_list && (field->names ? json_is_object(value) : json_is_array(value));
        size_t length = 0;
        for (size_t i = 0; known && is_list && i < field->count; i++) {
            const json_t *item =
                field->names ? json_object_get(value, field->names[i]) : json_array_get(value, i);
            size_t at = field->type == REPORT_DEVICE ? length : i;
            bool is_read =
                item && read_value(snapshot, field, item, member + at * bytes_of[field->type]);
            length += item && (is_read || field->type != REPORT_DEVICE);
        }
        if (known && field->length) {
            *(uint32_t *)((char *)to + field->length) = (uint32_t)length;
        }
        if (known && field->has) {
            *(uint32_t *)to |= field->has;
        }
    }
}
