/* SPDX-License-Identifier: MIT */
/* Method: the names of Neuron Observer and of OpenTelemetry as their documentation lists them,
 * against the rows of names.def: each is exported, or omitted with a reason. */
#include <stdio.h>
#include <string.h>

#include "exporters/names/names.h"
#include "shared/base/str.h"
#include "tests/support/unit.h"

static const struct {
    const char *scope;
    const char *names;
} observer[] = {
    { "device",
      "power_min power_max power_avg mem_ecc_uncorrected mem_ecc_repairable_uncorrected "
      "sram_ecc_uncorrected mem_ecc_corrected sram_ecc_corrected mem_ecc_corrected_delta "
      "sram_ecc_corrected_delta mem_ecc_unrepairable_uncorrected host_mem_dma_buffers "
      "host_mem_tensors host_mem_constants host_mem_application_memory host_mem_driver_memory "
      "host_mem_notifications host_mem_dma_rings host_mem_uncategorized device_memory_capacity "
      "mem_usage_code_host mem_usage_tensors_host mem_usage_constants_host "
      "mem_usage_scratchpad_host mem_usage_misc_host mem_usage_total_host process_rss "
      "vcpu_usage_user vcpu_usage_system" },
    { "vcpu", "vcpu_user_percent vcpu_nice_percent vcpu_system_percent vcpu_idle_percent "
              "vcpu_iowait_percent vcpu_irq_percent vcpu_softirq_percent" },
    { "core",
      "utilization time_in_use nc_time cc_time flop_count effective_flops inference_count "
      "infer_completed infer_completed_with_err infer_completed_with_num_err infer_timed_out "
      "infer_incorrect_input infer_failed_to_queue err_generic err_hw err_numerical err_model "
      "err_transient err_rt generic_fail err_resource err_resource_nc err_invalid "
      "err_unsupported_neff_version hw_err_collectives hw_err_hbm_ue hw_err_nc_ue hw_err_dma_abort "
      "hw_err_repairable_hbm_ue err_sw_nq_overflow err_sw_semaphore_error err_sw_event_error "
      "err_sw_psum_collision err_sw_sequencer_fatal model_load_count loaded_model_count "
      "reset_req_count reset_fail_count device_mem_model_code device_mem_tensors "
      "device_mem_constants device_mem_model_shared_scratchpad device_mem_uncategorized "
      "device_mem_runtime_memory device_mem_driver_memory device_mem_collectives "
      "device_mem_nonshared_scratchpad device_mem_notifications device_mem_dma_rings "
      "mem_usage_total_device latency_device latency_total latency_device_p0 latency_device_p1 "
      "latency_device_p25 latency_device_p50 latency_device_p75 latency_device_p99 "
      "latency_device_p100 latency_total_p0 latency_total_p1 latency_total_p25 latency_total_p50 "
      "latency_total_p75 latency_total_p99 latency_total_p100" },
    { "system", "memory_total_bytes memory_used_bytes swap_total_bytes swap_used_bytes "
                "cpu_average_usage context_switch_count vcpu_count neuron_device_count "
                "physical_neuroncore_count logical_neuroncore_count" },
    { "efa",
      "tx_bytes rx_bytes send_bytes recv_bytes rdma_read_bytes rdma_write_bytes "
      "rdma_read_resp_bytes rdma_write_recv_bytes retrans_bytes tx_pkts rx_pkts retrans_pkts "
      "rx_drops send_wrs recv_wrs rdma_read_wrs rdma_write_wrs rdma_read_wr_err rdma_write_wr_err "
      "retrans_timeout_events impaired_remote_conn_events unresponsive_remote_events" },
};

/* A statistic may follow: "neuron.core.time_in_use.sum". */
static bool is_of(const char *dotted, const char *name)
{
    size_t bytes = strlen(name);

    return strncmp(dotted, name, bytes) == 0 && (dotted[bytes] == '\0' || dotted[bytes] == '.');
}

/* How many rows export it, and how many omit it. */
static void count(const char *name, size_t *out_exported, size_t *out_absent)
{
    *out_exported = 0;
    *out_absent = 0;
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        *out_exported += is_of(ntk_name_get(i)->dotted, name);
    }
    for (size_t i = 0; i < NTK_NAME_ABSENT_COUNT; i++) {
        *out_absent += strcmp(ntk_names_absent[i].dotted, name) == 0;
        assert_true(strlen(ntk_names_absent[i].why) > 10);
    }
}

static size_t absent_in(enum ntk_name_list list)
{
    size_t found = 0;

    for (size_t i = 0; i < NTK_NAME_ABSENT_COUNT; i++) {
        found += ntk_names_absent[i].list == list;
    }
    return found;
}

static void each_observer_name_is_exported_or_omitted_with_a_reason(void **state)
{
    size_t known = 0;
    size_t absent_count = 0;

    (void)state;
    for (size_t s = 0; s < sizeof observer / sizeof *observer; s++) {
        for (const char *at = observer[s].names; *at; at += strspn(at, " ")) {
            size_t bytes = strcspn(at, " ");
            char name[128];
            size_t exported;
            size_t absent;

            (void)snprintf(name, sizeof name, "neuron.%s.%.*s", observer[s].scope, (int)bytes, at);
            count(name, &exported, &absent);
            if ((exported > 0) == (absent > 0)) {
                fail_msg("%s is present %zu times and omitted %zu times", name, exported, absent);
            }
            known++;
            absent_count += absent;
            at += bytes;
        }
    }
    assert_int_equal(known, 134);
    assert_int_equal(absent_count, absent_in(NTK_NAME_LIST_OBSERVER));
}

static bool is_observers(const char *dotted)
{
    for (size_t s = 0; s < sizeof observer / sizeof *observer; s++) {
        for (const char *at = observer[s].names; *at; at += strspn(at, " ")) {
            size_t bytes = strcspn(at, " ");
            char name[128];

            (void)snprintf(name, sizeof name, "neuron.%s.%.*s", observer[s].scope, (int)bytes, at);
            if (is_of(dotted, name)) {
                return true;
            }
            at += bytes;
        }
    }
    return ntk_str_starts_with(dotted, "neuron.core.utilization_system."); /* a label of the node */
}

static void exported_observer_names_exist_in_observer(void **state)
{
    (void)state;
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        const struct ntk_name_row *row = ntk_name_get(i);

        if (row->list == NTK_NAME_LIST_OBSERVER && !is_observers(row->dotted)) {
            fail_msg("Observer has no %s", row->dotted);
        }
    }
}

/* The metrics of docs/hardware/{common,gpu,network}.md of the conventions: unit and instrument. */
static const struct {
    const char *name;
    const char *unit;
    enum { GAUGE, COUNTER, UP_DOWN } instrument;
    const char *prometheus; /* by the translation of OTLP; NULL: not exported */
} hardware[] = {
    { "hw.energy", "J", COUNTER, NULL },
    { "hw.errors", "{error}", COUNTER, "hw_errors_total" },
    { "hw.gpu.io", "By", COUNTER, "hw_gpu_io_bytes_total" },
    { "hw.gpu.memory.limit", "By", UP_DOWN, "hw_gpu_memory_limit_bytes" },
    { "hw.gpu.memory.usage", "By", UP_DOWN, "hw_gpu_memory_usage_bytes" },
    { "hw.gpu.memory.utilization", "1", GAUGE, "hw_gpu_memory_utilization_ratio" },
    { "hw.gpu.utilization", "1", GAUGE, "hw_gpu_utilization_ratio" },
    { "hw.network.bandwidth.limit", "By/s", UP_DOWN, NULL },
    { "hw.network.bandwidth.utilization", "1", GAUGE, NULL },
    { "hw.network.io", "By", COUNTER, "hw_network_io_bytes_total" },
    { "hw.network.packets", "{packet}", COUNTER, "hw_network_packets_total" },
    { "hw.network.up", "1", UP_DOWN, NULL },
    { "hw.power", "W", GAUGE, NULL },
    { "hw.status", "1", UP_DOWN, "hw_status" },
};

static void opentelemetry_names_have_conventional_units_and_instruments(void **state)
{
    size_t found = 0;
    size_t absent = 0;

    (void)state;
    for (size_t i = 0; i < sizeof hardware / sizeof *hardware; i++) {
        size_t parts = 0;

        for (size_t k = 0; k < NTK_NAME_COUNT; k++) {
            const struct ntk_name_row *row = ntk_name_get(k);

            if (row->list != NTK_NAME_LIST_OTEL || strcmp(row->dotted, hardware[i].name) != 0) {
                continue;
            }
            assert_non_null(hardware[i].prometheus);
            assert_string_equal(row->metric.name, hardware[i].prometheus);
            assert_string_equal(row->otlp_unit, hardware[i].unit);
            assert_int_equal(row->metric.kind == NTK_METRIC_KIND_COUNTER,
                             hardware[i].instrument == COUNTER);
            assert_int_equal(row->is_up_down, hardware[i].instrument == UP_DOWN);
            assert_int_equal(row->is_part, parts > 0);
            parts++;
        }
        assert_int_equal(parts > 0, hardware[i].prometheus != NULL);
        found += parts;
        for (size_t k = 0; k < NTK_NAME_ABSENT_COUNT; k++) {
            if (strcmp(ntk_names_absent[k].dotted, hardware[i].name) == 0) {
                assert_int_equal(parts, 0);
                absent++;
            }
        }
    }
    for (size_t k = 0; k < NTK_NAME_COUNT; k++) {
        found -= ntk_name_get(k)->list == NTK_NAME_LIST_OTEL;
    }
    assert_int_equal(found, 0); /* no name is invented */
    assert_int_equal(absent, absent_in(NTK_NAME_LIST_OTEL));
}

static void only_opentelemetry_labels_have_dots(void **state)
{
    const struct ntk_name_row *status = NULL;
    const struct ntk_name_row *observers = NULL;

    (void)state;
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        const struct ntk_name_row *row = ntk_name_get(i);

        status = row->list == NTK_NAME_LIST_OTEL ? row : status;
        observers = row->list == NTK_NAME_LIST_OBSERVER ? row : observers;
    }
    assert_string_equal(ntk_name_attribute(status, "hw_serial_number"), "hw.serial_number");
    assert_string_equal(ntk_name_attribute(status, "network_io_direction"), "network.io.direction");
    assert_string_equal(ntk_name_attribute(status, "my_team"), "my_team");
    assert_string_equal(ntk_name_attribute(observers, "error_type"), "error_type");
}

/* Each list alone yields its own names and no others. */
static void each_name_list_contains_only_its_own_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < NTK_METRIC_COUNT; i++) {
        const struct ntk_metric_row *row = &ntk_metrics[i];
        bool is_vendors = row->origin == NTK_METRIC_ORIGIN_VENDOR;

        assert_false(ntk_names_have(1u << NTK_NAME_LIST_OBSERVER, false, row));
        assert_int_equal(ntk_names_have(1u << NTK_NAME_LIST_CLASSIC, false, row),
                         row->name[0] && is_vendors);
        assert_int_equal(ntk_names_have(0, false, row), row->name[0] != 0);
        assert_int_equal(ntk_names_have(1u << NTK_NAME_LIST_OWN, true, row),
                         row->name[0] && is_vendors);
        assert_int_equal(
            ntk_names_have(1u << NTK_NAME_LIST_OBSERVER | 1u << NTK_NAME_LIST_CLASSIC, false, row),
            row->name[0] && is_vendors);
    }
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        const struct ntk_name_row *row = ntk_name_get(i);

        for (unsigned lists = 0; lists < 1u << NTK_NAME_LIST_COUNT; lists++) {
            assert_int_equal(ntk_names_have(lists, false, &row->metric), lists >> row->list & 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_observer_name_is_exported_or_omitted_with_a_reason),
        cmocka_unit_test(exported_observer_names_exist_in_observer),
        cmocka_unit_test(opentelemetry_names_have_conventional_units_and_instruments),
        cmocka_unit_test(only_opentelemetry_labels_have_dots),
        cmocka_unit_test(each_name_list_contains_only_its_own_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
