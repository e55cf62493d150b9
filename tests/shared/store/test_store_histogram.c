/* SPDX-License-Identifier: MIT */
/* The histogram BLOB. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/store_histogram.h"
#include "tests/support/unit.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void a_stored_blob_is_read_back_as_the_same_histogram(void **state)
{
    struct ntk_histogram_dense *from = calloc(2, sizeof *from);
    struct ntk_histogram_dense *to = from + 1;
    struct ntk_buf blob = { 0 };
    uint64_t random = 42;

    for (int i = 0; i < 5000; i++) {
        uint64_t bits = next_random(&random);
        ntk_histogram_dense_record(from, bits >> (bits % 60));
    }
    ntk_store_histogram_encode_dense(from, &blob);
    assert_int_equal(ntk_store_histogram_decode(blob.bytes, blob.bytes_count, to), 0);
    assert_memory_equal(from, to, sizeof *from);
    ntk_buf_fini(&blob);
    free(from);
}

static void damaged_histogram_bytes_are_rejected_or_decoded_safely(void **state)
{
    struct ntk_histogram_dense *from = calloc(2, sizeof *from);
    struct ntk_histogram_dense *to = from + 1;
    struct ntk_buf blob = { 0 };

    for (uint64_t ns = 1; ns < 1000000; ns *= 3) {
        ntk_histogram_dense_record(from, ns);
    }
    ntk_store_histogram_encode_dense(from, &blob);
    for (size_t cut = 0; cut < blob.bytes_count; cut++) {
        assert_int_equal(ntk_store_histogram_decode(blob.bytes, cut, to), -EBADMSG);
        assert_true(to->count == 0);
    }
    for (size_t i = 0; i < blob.bytes_count; i++) {
        for (unsigned int flip = 1; flip < 256; flip <<= 1) {
            ntk_histogram_dense_reset(to);
            blob.bytes[i] ^= (char)flip;
            int ret = ntk_store_histogram_decode(blob.bytes, blob.bytes_count, to);
            blob.bytes[i] ^= (char)flip;
            assert_true(ret == 0 || (ret == -EBADMSG && to->count == 0));
        }
    }
    ntk_buf_fini(&blob);
    free(from);
}

static void sparse_of(const struct ntk_histogram_dense *dense, struct ntk_histogram_entry *entries,
                      struct ntk_histogram *out)
{
    *out = (struct ntk_histogram){ .count = dense->count, .sum_ns = dense->sum_ns };
    out->entries = entries;
    out->entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
}

/* Method: periods are added to a blob and, as the reference, to a dense histogram. */
static void periods_accumulate_in_a_blob_and_a_malformed_one_is_reset(void **state)
{
    static struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram_dense *sum = calloc(2, sizeof *sum);
    struct ntk_histogram_dense *period = sum + 1;
    struct ntk_histogram more;
    struct ntk_buf blob = { 0 };
    struct ntk_buf expected = { 0 };
    uint64_t random = 42;

    for (int i = 0; i < 200; i++) {
        ntk_histogram_dense_reset(period);
        for (int k = 0; k < i; k++) {
            uint64_t bits = next_random(&random);
            ntk_histogram_dense_record(period, bits >> (bits % 60));
        }
        sparse_of(period, entries, &more);
        ntk_histogram_dense_merge(sum, &more);
        ntk_store_histogram_add(&blob, &more);
        ntk_buf_reset(&expected);
        ntk_store_histogram_encode_dense(sum, &expected);
        assert_int_equal(blob.bytes_count, expected.bytes_count);
        assert_memory_equal(blob.bytes, expected.bytes, expected.bytes_count);
    }
    blob.bytes_count--;
    ntk_store_histogram_add(&blob, &more);
    ntk_buf_reset(&expected);
    ntk_store_histogram_encode(&more, &expected);
    assert_int_equal(blob.bytes_count, expected.bytes_count);
    assert_memory_equal(blob.bytes, expected.bytes, expected.bytes_count);
    ntk_buf_fini(&blob);
    ntk_buf_fini(&expected);
    free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_blob_is_read_back_as_the_same_histogram),
        cmocka_unit_test(periods_accumulate_in_a_blob_and_a_malformed_one_is_reset),
        cmocka_unit_test(damaged_histogram_bytes_are_rejected_or_decoded_safely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
