/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/neff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

/* A file of the version with this header text and `data_bytes` bytes of array. */
static size_t make(uint8_t *file, unsigned version, const char *text, size_t data_bytes)
{
    size_t length = strlen(text);
    size_t at = version == 1 ? 10 : 12;

    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    if (version > 1) {
        file[10] = 0;
        file[11] = 0;
    }
    memcpy(file + at, text, length);
    for (size_t i = 0; i < data_bytes; i++) {
        file[at + length + i] = (uint8_t)(i + 1);
    }
    return at + length + data_bytes;
}

static void all_header_versions_and_types_are_read(void **state)
{
    static const struct {
        unsigned version;
        const char *text;
        size_t bytes;
        uint32_t dims;
        bool fortran;
    } rows[] = {
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24, 2, false },
        { 2, "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }\n", 7, 1, false },
        { 3, "{\"descr\": \"<V2\", \"fortran_order\": True, \"shape\": (1,1,4,2)}\n", 16, 4, true },
        { 1, "{'shape': (), 'fortran_order': False, 'descr': '<i8'}\n", 8, 0, false },
        { 1, "{'descr': '|V1', 'fortran_order': False, 'shape': (0, 5), }\n", 0, 2, false },
    };
    uint8_t file[512];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t count = make(file, rows[i].version, rows[i].text, rows[i].bytes);
        struct ntk_neff_npy npy;
        struct ntk_err err = { 0 };

        if (ntk_neff_npy_read(file, count, &npy, &err) != 0) {
            fail_msg("row %zu: %s", i, err.text);
        }
        assert_int_equal(npy.data_bytes, rows[i].bytes);
        assert_int_equal(npy.dim_count, rows[i].dims);
        assert_int_equal(npy.fortran_order, rows[i].fortran);
        assert_ptr_equal(npy.data + npy.data_bytes, file + count);
        if (npy.data_bytes > 0) {
            assert_int_equal(npy.data[0], 1);
        }
    }
}

static void damaged_headers_are_rejected(void **state)
{
    static const char *const bad[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'fortran_order': False, 'shape': (2,)}",
        "{'descr': 'object', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f0', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, x)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
        /* 12 bytes are required, 8 are there. */
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr",
    };
    uint8_t file[512];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ntk_neff_npy npy;

        assert_int_equal(ntk_neff_npy_read(file, make(file, 1, bad[i], 8), &npy, NULL), -EBADMSG);
    }
}

static void every_truncated_file_is_rejected(void **state)
{
    uint8_t file[512];
    size_t count =
        make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);

    for (size_t cut = 0; cut < count; cut++) {
        uint8_t *part = malloc(cut + 1);
        struct ntk_neff_npy npy;

        memcpy(part, file, cut);
        assert_int_equal(ntk_neff_npy_read(part, cut, &npy, NULL), -EBADMSG);
        free(part);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_header_versions_and_types_are_read),
        cmocka_unit_test(damaged_headers_are_rejected),
        cmocka_unit_test(every_truncated_file_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
