/* SPDX-License-Identifier: MIT */
/* vendor_keys - reads the keys of a record in the vendor's ntrace.pb: numbers and texts with a
 * member in the model, and all other keys unchanged. */
#include <string.h>

#include "profiler/system/vendor_reading.h"

#define EXTRAS_STEP ((size_t)1 << 20)

#define ALL UINT64_MAX
#define INDEX (UINT32_MAX - 1) /* the last value means none */

static const struct {
    const char *text;
    size_t bytes;
    bool is_kept; /* also stored as an additional key */
    uint64_t max; /* larger values are stored as text */
} keys[KEY_COUNT] = {
#define NUMBER(symbol, text, is_kept, max) [KEY_##symbol] = { text, sizeof text - 1, is_kept, max }
#define TEXT(symbol, text, is_kept) [KEY_##symbol] = { text, sizeof text - 1, is_kept, 0 }
    NUMBER(NC, "nc_idx", false, ALL),
    NUMBER(WORKER, "worker_gid", false, ALL),
    NUMBER(EXEC, "exec_id", false, ALL),
    NUMBER(MODEL, "model_id", false, ALL),
    NUMBER(DEVICE_CORE, "device_core_idx", false, INDEX),
    NUMBER(DEVICE_NS, "nc_timestamp_ns", false, ALL),
    NUMBER(SIZE, "size", false, ALL),
    NUMBER(QUEUE, "queue", false, UINT32_MAX),
    NUMBER(HBM, "hbm_idx", false, INDEX),
    NUMBER(MLA, "mla_idx", true, INDEX),
    NUMBER(IS_HBM, "is_nc_hbm", true, ALL),
    NUMBER(ALLOCATED, "allocated_bytes", false, ALL),
    NUMBER(FREED, "freed_bytes", false, ALL),
    NUMBER(TOTAL, "total_bytes", false, ALL),
    NUMBER(USAGE_TOTAL, "usage_type_total_bytes", false, ALL),
    NUMBER(ADDRESS, "physical_address", false, ALL),
    NUMBER(CODE, "return_code", false, ALL),
    NUMBER(VALUE, "value", false, ALL),
    NUMBER(OPERATION, "operation_id", false, UINT8_MAX),
    TEXT(USAGE_TYPE, "usage_type", true),
    TEXT(USAGE, "usage", false),
    TEXT(TENSOR, "tensor_name", false),
    TEXT(MARK, "mark", false),
    TEXT(COMMUNICATOR, "communicator", false),
#undef NUMBER
#undef TEXT
};

static bool number_read(struct ntk_vendor_trace_text text, uint64_t *out)
{
    uint64_t value = 0;
    bool is_hex = text.bytes > 2 && text.text[0] == '0' && text.text[1] == 'x';

    if (text.bytes == 0 || text.bytes > 20) {
        return false;
    }
    for (size_t i = is_hex ? 2 : 0; i < text.bytes; i++) {
        char c = text.text[i];
        unsigned digit = c >= '0' && c <= '9'             ? (unsigned)(c - '0')
                         : is_hex && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : is_hex && c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                          : 16;
        unsigned base = is_hex ? 16 : 10;

        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* Finds the slot of a key; called several times per record. */
static size_t key_slot(const char *text, size_t bytes)
{
    return (7 * bytes + (uint8_t)text[0] + 3 * (size_t)(uint8_t)text[bytes - 1]) %
           NTK_VENDOR_KEY_SLOTS;
}

void ntk_vendor_keys_init(struct vendor_reading *reading)
{
    uint8_t *slots = reading->key_slots;

    for (size_t k = 0; k < KEY_COUNT; k++) {
        size_t slot = key_slot(keys[k].text, keys[k].bytes);

        while (slots[slot]) {
            slot = (slot + 1) % NTK_VENDOR_KEY_SLOTS;
        }
        slots[slot] = (uint8_t)(k + 1);
    }
}

static enum vendor_key key_of(const uint8_t slots[NTK_VENDOR_KEY_SLOTS],
                              struct ntk_vendor_trace_text text)
{
    for (size_t slot = key_slot(text.text, text.bytes); slots[slot];
         slot = (slot + 1) % NTK_VENDOR_KEY_SLOTS) {
        size_t k = slots[slot] - 1U;

        if (keys[k].bytes == text.bytes && memcmp(keys[k].text, text.text, text.bytes) == 0) {
            return (enum vendor_key)k;
        }
    }
    return KEY_COUNT;
}

static int bytes_add(struct ntk_long_list *list, const void *bytes, size_t count)
{
    size_t at = list->count;

    if (at + count > list->capacity) {
        size_t more = list->capacity > EXTRAS_STEP ? list->capacity / 4 : list->capacity + 4096;
        int ret = ntk_long_list_resize(list, list->capacity + count + more);

        if (ret < 0) {
            return ret;
        }
    }
    memcpy((char *)list->items + at, bytes, count);
    list->count = at + count;
    return 0;
}

/* The format is: length of the key, length of the value, both texts; an empty key ends the list. */
static int extra_add(struct ntk_system_trace *trace, const struct ntk_vendor_trace_pair *pair)
{
    uint8_t key_bytes = pair->key.bytes < UINT8_MAX ? (uint8_t)pair->key.bytes : UINT8_MAX;
    uint16_t value_bytes =
        pair->value.bytes < UINT16_MAX ? (uint16_t)pair->value.bytes : UINT16_MAX;
    int ret = bytes_add(&trace->extras, &key_bytes, 1);

    ret = ret < 0 ? ret : bytes_add(&trace->extras, &value_bytes, 2);
    ret = ret < 0 ? ret : bytes_add(&trace->extras, pair->key.text, key_bytes);
    return ret < 0 ? ret : bytes_add(&trace->extras, pair->value.text, value_bytes);
}

static bool number_take(struct vendor_reading *reading, enum vendor_key key,
                        const struct ntk_vendor_trace_pair *pair)
{
    uint64_t value = 0;

    if (!number_read(pair->value, &value) || value > keys[key].max) {
        return false;
    }
    reading->number[key] = value;
    return true;
}

/* Sorts the keys of the record into known values and additional keys, which start at *out_extra. */
int ntk_vendor_keys_take(struct vendor_reading *reading, uint64_t *out_extra)
{
    struct ntk_system_trace *trace = reading->base.trace;
    const struct ntk_vendor_trace_record *record = &reading->record;
    uint64_t extra = trace->extras.count;
    int ret = 0;

    memset(reading->has, 0, sizeof reading->has);
    memset(reading->number, 0, sizeof reading->number);
    for (size_t i = 0; i < record->pair_count && ret == 0; i++) {
        const struct ntk_vendor_trace_pair *pair = &record->pairs[i];
        enum vendor_key key = key_of(reading->key_slots, pair->key);
        bool is_taken = key < KEY_COUNT && (key >= KEY_NUMBERS || number_take(reading, key, pair));

        if (is_taken) {
            reading->has[key] = true;
            reading->text[key] = pair->value;
        }
        /* Queue 0 exists, but 0 means none in the model. */
        if (!is_taken || keys[key].is_kept || (key == KEY_QUEUE && reading->number[key] == 0)) {
            ret = extra_add(trace, pair);
        }
    }
    if (ret == 0 && trace->extras.count > extra) {
        ret = bytes_add(&trace->extras, "", 1);
        *out_extra = extra + 1;
    }
    return ret;
}

uint32_t ntk_vendor_key_32(const struct vendor_reading *reading, enum vendor_key key)
{
    return reading->number[key] < UINT32_MAX ? (uint32_t)reading->number[key] : UINT32_MAX;
}
