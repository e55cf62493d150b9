/* SPDX-License-Identifier: MIT */
/* What triggers move. Method: a hand-made subgraph; counts how many sums are kept. */
#include "profiler/packager/packager_figures.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define GROUPS 4096

struct fixture {
    struct ntk_neff_var vars[2];
    struct ntk_neff_queue_set sets[2];
    struct ntk_neff_transfer transfer;
    struct ntk_neff_pattern from;
    struct ntk_neff_dma_group groups[GROUPS];
    struct ntk_neff_subgraph subgraph;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->vars[0].type = NTK_NEFF_VAR_STATE_BUFFER;
    f->vars[1].type = NTK_NEFF_VAR_FILE;
    f->sets[0].name = "qSync";
    f->sets[1].name = "qAct";
    f->from = (struct ntk_neff_pattern){ .var = 1, .dim_count = 1, .sizes = { 3 } };
    f->transfer = (struct ntk_neff_transfer){ .source_count = 1,
                                              .from = &f->from,
                                              .to = { .var = 0, .dim_count = 1, .sizes = { 3 } } };
    for (size_t g = 0; g < GROUPS; g++) {
        f->groups[g] =
            (struct ntk_neff_dma_group){ .id = 7, .transfer_count = 1, .transfers = &f->transfer };
    }
    f->subgraph.vars = f->vars;
    f->subgraph.var_count = 2;
    f->subgraph.queue_sets = f->sets;
    f->subgraph.queue_set_count = 2;
    f->subgraph.engines[NTK_ISA_ENGINE_SP].groups = f->groups;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static const struct ntk_vendor_work *find(const struct packager_triggers *triggers, uint32_t group,
                                          const char *queue)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { NTK_VENDOR_OPCODE_TRIGGER };

    memcpy(slot + NTK_VENDOR_TRIGGER_GROUP, &group, sizeof group);
    memcpy(slot + NTK_VENDOR_TRIGGER_NAME, queue, strlen(queue));
    return packager_triggers_find(triggers, slot);
}

/* A hostile file has as many triggers as groups, and each starts all groups. */
static void dma_groups_are_summed_once_for_all_triggers(void **state)
{
    struct fixture *f = *state;
    struct packager_triggers triggers;

    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = GROUPS;
    assert_int_equal(packager_triggers_init(&triggers, &f->subgraph, NTK_ISA_ENGINE_SP), 0);
    assert_int_equal(triggers.works.count, 1);
    const struct ntk_vendor_work *work = find(&triggers, 7, "qSync");
    assert_int_equal(work->hbm_read_bytes, 3 * GROUPS);
    assert_int_equal(work->sbuf_write_bytes, 3 * GROUPS);
    assert_true(work->is_known);
    assert_ptr_equal(find(&triggers, 7, "qSync"), work);
    assert_null(find(&triggers, 8, "qSync"));
    assert_null(find(&triggers, 7, "qAct"));
    packager_triggers_fini(&triggers);
}

static void a_trigger_matches_a_queue_or_one_of_its_instances(void **state)
{
    struct fixture *f = *state;
    struct packager_triggers triggers;

    f->groups[0].instance = "qSync_0";
    f->groups[1].instance = "qSync_1";
    f->groups[2].instance = "qSync"; /* named like its queue: counted once */
    f->groups[3].queue_set = 1;
    f->groups[4].instance = "longer_than_the_name_of_any_trigger_can_be";
    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = 5;
    assert_int_equal(packager_triggers_init(&triggers, &f->subgraph, NTK_ISA_ENGINE_SP), 0);
    assert_int_equal(find(&triggers, 7, "qSync_0")->hbm_read_bytes, 3);
    assert_int_equal(find(&triggers, 7, "qSync_1")->hbm_read_bytes, 3);
    assert_int_equal(find(&triggers, 7, "qSync")->hbm_read_bytes, 4 * 3);
    assert_int_equal(find(&triggers, 7, "qAct")->hbm_read_bytes, 3);
    assert_int_equal(triggers.works.count, 4);
    packager_triggers_fini(&triggers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dma_groups_are_summed_once_for_all_triggers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_trigger_matches_a_queue_or_one_of_its_instances, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
