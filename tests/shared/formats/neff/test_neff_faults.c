/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn while a NEFF is opened; a NEFF that opens
 * nevertheless has everything that is in the file. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/fault.h"
#include "tests/support/models.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct world {
    char *path;
    uint64_t sum; /* of the contents of the file */
    uint64_t seen;
};

static void add(uint64_t *sum, const void *bytes, size_t bytes_count)
{
    for (size_t i = 0; i < bytes_count; i++) {
        *sum = (*sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static void add_text(uint64_t *sum, const char *text)
{
    add(sum, text ? text : "-", text ? strlen(text) + 1 : 1);
}

static uint64_t sum_of(const struct ntk_neff *neff)
{
    uint64_t sum = neff->kelf_count;

    for (uint32_t i = 0; i < neff->member_count; i++) {
        add_text(&sum, neff->members[i].name);
        add(&sum, &neff->members[i].bytes_count, sizeof neff->members[i].bytes_count);
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        add_text(&sum, neff->nodes[i].name);
    }
    for (uint32_t i = 0; i < neff->input_count; i++) {
        add_text(&sum, neff->inputs[i].name);
    }
    for (uint32_t i = 0; i < neff->kelf_count; i++) {
        for (uint32_t g = 0; g < neff->kelfs[i].subgraph_count; g++) {
            const struct ntk_neff_subgraph *subgraph = &neff->kelfs[i].subgraphs[g];

            for (uint32_t v = 0; v < subgraph->var_count; v++) {
                add_text(&sum, subgraph->vars[v].name);
            }
            for (uint32_t e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
                const struct ntk_neff_engine *engine = &subgraph->engines[e];

                add(&sum, engine->code, engine->code_bytes);
                add(&sum, &engine->group_count, sizeof engine->group_count);
                for (uint32_t n = 0; n < engine->name_count; n++) {
                    add_text(&sum, engine->names[n]);
                }
            }
        }
    }
    return sum;
}

static int open_and_close(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct ntk_neff *neff = NULL;
    int ret = ntk_neff_open(world->path, &neff, err);

    world->seen = ret >= 0 ? sum_of(neff) : 0;
    ntk_neff_close(neff);
    return ret;
}

static const char *has_all(void *ctx, int ret)
{
    const struct world *world = ctx;

    return ret >= 0 && world->seen != world->sum ? "something of the file is missing" : NULL;
}

static void a_failure_never_leaves_a_neff_partly_open(void **state)
{
    /* own_allocations_only: libarchive reads headers into an entry it could not allocate. */
    static const struct fault_operation operation = {
        .kinds = FAULT_ALL, .own_allocations_only = true, .run = open_and_close, .after = has_all
    };
    char *folder = test_scratch_create();
    struct world world = { .path = test_scratch_path(folder, "model.neff") };
    struct ntk_err err = { 0 };
    size_t bytes_count = 0;
    uint8_t *bytes = test_model_adder(&(struct test_model_options){ 0 }, &bytes_count);

    assert_int_equal(ntk_fs_write(world.path, bytes, bytes_count, &err), 0);
    assert_int_equal(open_and_close(&world, &err), 0);
    world.sum = world.seen;
    assert_true(fault_everywhere(&operation, &world) > 50);
    free(bytes);
    free(world.path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_never_leaves_a_neff_partly_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
