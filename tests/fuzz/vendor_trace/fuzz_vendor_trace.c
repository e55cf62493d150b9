/* SPDX-License-Identifier: MIT */
/* fuzz_vendor_trace - any bytes as each of the vendor's files of an inspection: streams and
 * trace_info.pb; files accepted as valid are walked and searched. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/formats/ntrace/vendor_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that the walks are included */

static int record_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    static struct ntk_vendor_trace_record record;
    struct ntk_vendor_trace_sample sample;
    size_t *sum = ctx;

    *sum += ntk_vendor_trace_record_read(bytes, count, &record) + offset + record.phase;
    for (size_t i = 0; i < record.pair_count; i++) {
        const struct ntk_vendor_trace_pair *pair = &record.pairs[i];

        for (size_t k = 0; k < pair->key.bytes; k++) {
            *sum += (uint8_t)pair->key.text[k];
        }
        for (size_t k = 0; k < pair->value.bytes; k++) {
            *sum += (uint8_t)pair->value.text[k];
        }
    }
    *sum += ntk_vendor_trace_cpu_read(bytes, count, &sample) && sample.percent > 1;
    *sum += ntk_vendor_trace_memory_read(bytes, count, &sample) && sample.used_bytes > 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_vendor_trace_info *info = NULL;
    size_t sum = ntk_vendor_trace_is_stream(data, size) + ntk_vendor_trace_is_info(data, size);

    (void)ntk_vendor_trace_each_of(data, size, "fuzz", record_take, &sum, NULL);
    if (ntk_vendor_trace_info_read_bytes(data, size, "fuzz", &info, NULL) >= 0) {
        for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
            ntk_vec_each(const struct ntk_vendor_trace_name, name, &info->tables[t]) {
                const char *found =
                    ntk_vendor_trace_name_find(info, (enum ntk_vendor_trace_table)t, name->id);

                sum += found ? strlen(found) : 0;
            }
        }
        sum += strlen(info->instance_id) + strlen(info->host_name);
        ntk_vendor_trace_info_free(info);
    }
    sink = sum;
    return 0;
}
