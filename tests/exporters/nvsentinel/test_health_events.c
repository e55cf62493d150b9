/* SPDX-License-Identifier: MIT */
/* Method: snapshots with hand-made verdicts; the messages are decoded. */
#include "exporters/nvsentinel/health_events.h"

#include <string.h>

#include "exporters/nvsentinel/health_event.pb-c.h"
#include "shared/metrics/health.h"
#include "tests/support/unit.h"

#define NOW_NS UINT64_C(1700000000000000123)

struct fixture {
    struct ntk_health_events said;
    struct ntk_buf message;
};

/* One device; NTK_HEALTH_REASON_COUNT: no reason. */
static unsigned report(struct fixture *f, enum ntk_health_verdict verdict,
                       enum ntk_health_reason reason, bool is_store_only)
{
    const struct ntk_health_events_options options = { .node = "node-1",
                                                       .is_store_only = is_store_only };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(snapshot, 1);
    struct ntk_health_sample health = { .reason = (uint16_t)reason, .core = NTK_NO_CORE };

    devices[0].index = 3;
    devices[0].has = NTK_DEVICE_HAS_HEALTH;
    devices[0].verdict = verdict;
    devices[0].health = reason < NTK_HEALTH_REASON_COUNT ? &health : NULL;
    devices[0].health_count = reason < NTK_HEALTH_REASON_COUNT;
    snapshot->devices = devices;
    snapshot->device_count = 1;
    ntk_buf_reset(&f->message);
    unsigned count = ntk_health_events_make(&f->said, &options, snapshot, NOW_NS, &f->message);
    devices[0].health = NULL;
    ntk_snapshot_destroy(snapshot);
    return count;
}

static Ntk__Nvsentinel__HealthEvents *decode(const struct fixture *f)
{
    Ntk__Nvsentinel__HealthEvents *events = ntk__nvsentinel__health_events__unpack(
        NULL, f->message.bytes_count, (const uint8_t *)f->message.bytes);

    assert_non_null(events);
    assert_int_equal(events->version, 1);
    assert_int_equal(events->n_events, 1);
    return events;
}

static void only_health_changes_are_reported_as_events(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    assert_int_equal(report(&f, NTK_HEALTH_HEALTHY, NTK_HEALTH_REASON_COUNT, false), 1);
    assert_int_equal(report(&f, NTK_HEALTH_HEALTHY, NTK_HEALTH_REASON_COUNT, false), 0);
    assert_int_equal(f.message.bytes_count, 0);
    assert_int_equal(report(&f, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT, false), 1);
    assert_int_equal(report(&f, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT, false), 0);
    /* Another reason, another action. */
    assert_int_equal(report(&f, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_HBM_UNCORRECTABLE, false),
                     1);
    /* Unknown is not healthy: nothing is cleared. */
    assert_int_equal(report(&f, NTK_HEALTH_UNKNOWN, NTK_HEALTH_REASON_COUNT, false), 0);
    assert_int_equal(report(&f, NTK_HEALTH_HEALTHY, NTK_HEALTH_REASON_COUNT, false), 1);
    ntk_buf_fini(&f.message);
}

static void a_health_event_has_fault_location_and_action(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    assert_int_equal(report(&f, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_HBM_UNCORRECTABLE, true),
                     1);
    Ntk__Nvsentinel__HealthEvents *events = decode(&f);
    const Ntk__Nvsentinel__HealthEvent *event = events->events[0];
    assert_string_equal(event->agent, "neuron-monitor");
    assert_string_equal(event->componentclass, "Neuron");
    assert_string_equal(event->checkname, NTK_HEALTH_EVENTS_CHECK);
    assert_string_equal(event->nodename, "node-1");
    assert_true(event->isfatal && !event->ishealthy);
    assert_int_equal(event->recommendedaction, NTK__NVSENTINEL__RECOMMENDED_ACTION__REPLACE_VM);
    assert_int_equal(event->n_errorcode, 1);
    assert_string_equal(event->errorcode[0], "NEURON_HBM_UNCORRECTABLE");
    assert_string_equal(event->entitiesimpacted[0]->entitytype, "NEURON_DEVICE");
    assert_string_equal(event->entitiesimpacted[0]->entityvalue, "3");
    assert_non_null(strstr(event->message, "device 3: hbm_uncorrectable: "));
    assert_int_equal(event->generatedtimestamp->seconds, 1700000000);
    assert_int_equal(event->generatedtimestamp->nanos, 123);
    assert_int_equal(event->processingstrategy, NTK__NVSENTINEL__PROCESSING_STRATEGY__STORE_ONLY);
    ntk__nvsentinel__health_events__free_unpacked(events, NULL);

    assert_int_equal(report(&f, NTK_HEALTH_HEALTHY, NTK_HEALTH_REASON_COUNT, false), 1);
    events = decode(&f);
    event = events->events[0];
    assert_true(event->ishealthy && !event->isfatal);
    assert_int_equal(event->recommendedaction, NTK__NVSENTINEL__RECOMMENDED_ACTION__NONE);
    assert_int_equal(event->n_errorcode, 0);
    assert_string_equal(event->entitiesimpacted[0]->entityvalue, "3");
    assert_int_equal(event->processingstrategy,
                     NTK__NVSENTINEL__PROCESSING_STRATEGY__EXECUTE_REMEDIATION);
    ntk__nvsentinel__health_events__free_unpacked(events, NULL);
    ntk_buf_fini(&f.message);
}

/* A hang of collectives requests a restart of the job, which takes no node out of service. */
static void a_fault_that_requires_only_a_job_restart_keeps_the_node(void **state)
{
    struct fixture f = { 0 };

    (void)state;
    assert_int_equal(ntk_health_reasons[NTK_HEALTH_REASON_COLLECTIVES_HANG].action ==
                         NTK_HEALTH_ACTION_RESTART_WORKLOAD,
                     1);
    assert_int_equal(report(&f, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_COLLECTIVES_HANG, false),
                     1);
    Ntk__Nvsentinel__HealthEvents *events = decode(&f);
    assert_false(events->events[0]->isfatal);
    assert_int_equal(events->events[0]->recommendedaction,
                     NTK__NVSENTINEL__RECOMMENDED_ACTION__RESTART_APP);
    ntk__nvsentinel__health_events__free_unpacked(events, NULL);
    ntk_buf_fini(&f.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_health_changes_are_reported_as_events),
        cmocka_unit_test(a_health_event_has_fault_location_and_action),
        cmocka_unit_test(a_fault_that_requires_only_a_job_restart_keeps_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
