/* SPDX-License-Identifier: MIT */
/* Method: NVSentinel is missing, and every allocation of a put fails in turn. The event waits, or
 * its put is delayed; at the end it is lost, and counted once. */
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/fault.h"
#include "tests/support/unit.h"

static const struct ntk_exporter *exporter;

struct world {
    struct ntk_snapshot *snapshot; /* of one healthy device */
    uint64_t lost;
};

static uint64_t lost_items(void)
{
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];
    size_t count = ntk_output_counts_read(rows);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, "nvsentinel") == 0) {
            return rows[i].lost_items;
        }
    }
    fail_msg("the output has no counts");
    return 0;
}

static int put_and_stop(void *ctx, struct ntk_err *err)
{
    static const struct ntk_exporter_options options = { 0 };
    struct world *world = ctx;
    struct ntk_err ignored = { 0 };
    void *output = NULL;

    fault_pause();
    assert_int_equal(exporter->create(&options, &output, err), 0);
    fault_resume();
    int ret = exporter->put(output, world->snapshot, err);
    fault_pause();
    (void)exporter->drain(output, true, &ignored);
    world->lost = lost_items();
    exporter->destroy(output);
    fault_resume();
    return ret;
}

static const char *one_event_is_lost(void *ctx, int ret)
{
    const struct world *world = ctx;

    (void)ret;
    return world->lost == 1 ? NULL : "the event is not counted once";
}

static void an_event_that_cannot_be_queued_is_counted_as_lost(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALLOCATION,
                                                      .own_allocations_only = true,
                                                      .run = put_and_stop,
                                                      .after = one_event_is_lost };
    struct world world = { .snapshot = ntk_snapshot_create() };

    (void)state;
    ntk_log_set_level(NTK_LOG_ERROR);
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(world.snapshot, 1);
    devices[0].has = NTK_DEVICE_HAS_HEALTH;
    devices[0].verdict = NTK_HEALTH_HEALTHY;
    world.snapshot->devices = devices;
    world.snapshot->device_count = 1;
    assert_true(fault_everywhere(&operation, &world) > 0);
    ntk_snapshot_destroy(world.snapshot);
}

int main(void)
{
    char *argv[] = { (char *)"test", (char *)"--nvsentinel=/nowhere/socket",
                     (char *)"--nvsentinel-node=node-1", NULL };

    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        exporter = strcmp(ntk_exporters[i]->name, "nvsentinel") == 0 ? ntk_exporters[i] : exporter;
    }
    const struct ntk_opt_program program = {
        .name = "test", .usage = "", .summary = "", .options = exporter->options
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_cannot_be_queued_is_counted_as_lost),
    };

    return ntk_opt_parse_all(&program, 3, argv) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
