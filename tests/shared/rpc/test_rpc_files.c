/* SPDX-License-Identifier: MIT */
/* Method: the definitions that the daemon contains, and parts of them. */
#include "shared/rpc/rpc_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static struct ntk_rpc_files *files_open(void)
{
    struct ntk_rpc_files *files = NULL;
    struct ntk_err err;

    assert_int_equal(
        ntk_rpc_files_create(ntk_rpc_descriptors, ntk_rpc_descriptors_bytes, &files, &err), 0);
    return files;
}

static void the_file_that_defines_a_symbol_is_found(void **state)
{
    static const char *const symbols[][2] = {
        { "nrt.nmgr_v1", "nmgr_service.proto" },
        { "nrt.nmgr_v1.load", "nmgr_service.proto" },
        { "nrt.status", "common.proto" },
        { "nrt.status.code", "common.proto" },
        { "nrt.NERR_OK", "nerr.proto" },
        { "grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto" },
        { "grpc.health.v1.HealthCheckResponse.SERVING", "grpc/health/v1/health.proto" },
        { "openneuron.rtd.v1.profile", "openneuron_rtd.proto" },
    };
    struct ntk_rpc_files *files = files_open();

    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const struct ntk_rpc_file *file = ntk_rpc_files_of(files, symbols[i][0]);

        assert_non_null(file);
        assert_string_equal(file->name, symbols[i][1]);
        assert_ptr_equal(file, ntk_rpc_files_find(files, symbols[i][1]));
    }
    assert_null(ntk_rpc_files_of(files, "nrt"));
    assert_null(ntk_rpc_files_of(files, ""));
    assert_null(ntk_rpc_files_of(files, ".nrt.status"));
    assert_null(ntk_rpc_files_find(files, "nmgr"));
    assert_true(ntk_rpc_files_has_message(files, "nrt.status"));
    assert_false(ntk_rpc_files_has_message(files, "nrt.status.code"));
    assert_false(ntk_rpc_files_has_message(files, "nrt.nmgr_v1"));
    ntk_rpc_files_destroy(files);
}

static void a_proto_file_includes_each_dependency_once(void **state)
{
    struct ntk_rpc_files *files = files_open();
    const struct ntk_rpc_file *needed[16];

    (void)state;
    assert_in_range(ntk_rpc_files_count(files), 1, 16);
    const struct ntk_rpc_file *file = ntk_rpc_files_find(files, "openneuron_rtd.proto");
    size_t count = ntk_rpc_files_needed(files, file, needed);
    assert_int_equal(count, 5); /* nmgr, and its three imports */
    assert_ptr_equal(needed[0], file);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_ptr_not_equal(needed[i], needed[k]);
        }
    }
    ntk_rpc_files_destroy(files);
}

/* Method: each prefix, and each byte changed in turn. A result that is still valid may be
 * accepted. */
static void truncated_or_damaged_descriptors_are_rejected_or_read(void **state)
{
    uint8_t *copy = malloc(ntk_rpc_descriptors_bytes);
    struct ntk_err err;
    size_t refused = 0;

    (void)state;
    assert_non_null(copy);
    for (size_t length = 1; length < ntk_rpc_descriptors_bytes; length += 7) {
        struct ntk_rpc_files *files = NULL;

        /* Of exactly this size, so that an overrun is detected. */
        uint8_t *part = malloc(length);
        assert_non_null(part);
        memcpy(part, ntk_rpc_descriptors, length);
        int ret = ntk_rpc_files_create(part, length, &files, &err);
        assert_true(ret == 0 || ret == -EBADMSG);
        refused += ret < 0;
        ntk_rpc_files_destroy(files);
        free(part);
    }
    assert_true(refused > 100);
    for (size_t at = 0; at < ntk_rpc_descriptors_bytes; at += 11) {
        struct ntk_rpc_files *files = NULL;

        memcpy(copy, ntk_rpc_descriptors, ntk_rpc_descriptors_bytes);
        copy[at] ^= 0x81;
        int ret = ntk_rpc_files_create(copy, ntk_rpc_descriptors_bytes, &files, &err);
        assert_true(ret == 0 || ret == -EBADMSG);
        ntk_rpc_files_destroy(files);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_that_defines_a_symbol_is_found),
        cmocka_unit_test(a_proto_file_includes_each_dependency_once),
        cmocka_unit_test(truncated_or_damaged_descriptors_are_rejected_or_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
