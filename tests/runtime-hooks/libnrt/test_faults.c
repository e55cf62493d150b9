/* SPDX-License-Identifier: MIT */
/*
 * Faults of the hardware as seen by a program: status, log, counters, dead cores.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    struct loaded loaded;
    char *log;
};

/* Starts the runtime with this fault, a model on core 0 and a log file. */
static void fixture_init(struct fixture *fixture, const struct runtime *runtime, const char *fault)
{
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    fixture->log = test_scratch_path(runtime->folder, "log");
    setenv("NEURON_SOFT_FAULT", fault, 1);
    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    setenv("NEURON_RT_LOG_LOCATION", fixture->log, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&fixture->loaded, neff, bytes, 0);
    free(neff);
}

static void fixture_fini(struct fixture *fixture)
{
    loaded_fini(&fixture->loaded);
    nrt_close();
    free(fixture->log);
}

static NRT_STATUS execute(struct fixture *fixture)
{
    return nrt_execute(fixture->loaded.model, fixture->loaded.inputs, fixture->loaded.outputs);
}

static bool log_says(const struct fixture *fixture, const char *what)
{
    static char text[1 << 16];

    return ntk_fs_read_text(fixture->log, text, sizeof text) >= 0 && strstr(text, what);
}

/* A counter of device 0, once the tree is written at the end. */
static unsigned long counter(const struct runtime *runtime, const char *name)
{
    char path[512];
    char text[64] = "";

    (void)snprintf(path, sizeof path, "%s/soft/sys/devices/virtual/neuron_device/neuron0/%s",
                   runtime->folder, name);
    if (ntk_fs_read_text(path, text, sizeof text) < 0) {
        fail_msg("%s cannot be read", path);
    }
    return strtoul(text, NULL, 10);
}

static void each_fault_has_a_status_a_log_line_and_a_counter(void **state)
{
    static const struct {
        const char *fault;
        NRT_STATUS status;
        const char *log; /* "": no line */
        const char *hardware;
        unsigned long amount;
        const char *status_folder;
        bool is_fatal;
    } rows[] = {
        { "mem-ecc-corrected:at=1,amount=5", NRT_SUCCESS, "", "mem_ecc_corrected", 5, "success",
          false },
        { "sram-ecc-corrected:at=1", NRT_SUCCESS, "", "sram_ecc_corrected", 1, "success", false },
        { "hbm-ue:at=1", NRT_EXEC_HW_ERR_HBM_UE,
          "TDRV:exec_request_process_errors               (FATAL-RT-UNDEFINED-STATE) Uncorrectable "
          "HBM memory error is detected.",
          "mem_ecc_uncorrected", 1, "hw_hbm_ue_error", true },
        { "hbm-ue-repairable:at=1,amount=2", NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE,
          "  (FATAL-RT-UNDEFINED-STATE) Uncorrectable HBM memory error is detected.",
          "mem_ecc_repairable_uncorrected", 2, "hw_repairable_hbm_ue_error", true },
        { "sram-ue:at=1", NRT_EXEC_HW_ERR_NC_UE,
          "  (FATAL-RT-UNDEFINED-STATE) [ND 0][NC 0] Uncorrectable memory error is detected, "
          "metadata: 0x16.",
          "sram_ecc_uncorrected", 1, "hw_nc_ue_error", true },
        { "dma-abort:at=1", NRT_EXEC_HW_ERR_DMA_ABORT,
          "  [MLA 0][NC 0] DMA TX engine 0 is in an abort state", NULL, 0, "hw_dma_abort_error",
          true },
        { "hang:at=1", NRT_TIMEOUT,
          "  (FATAL-RT-UNDEFINED-STATE) execution timeout (600000 ms) on Neuron Device 0 NC 0, "
          "model ",
          NULL, 0, "timeout", true },
        { "hang-collectives:at=1", NRT_EXEC_HW_ERR_COLLECTIVES,
          "  (FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 0 NC 0, model ",
          NULL, 0, "hw_collectives_error", true },
        { "nq-overflow:at=1", NRT_EXEC_SW_NQ_OVERFLOW, "notification queue overflowed", NULL, 0,
          "execute_sw_nq_overflow", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runtime *runtime = NULL;
        struct fixture fixture;
        char path[128];
        char line[128];

        assert_int_equal(runtime_setup((void **)&runtime), 0);
        fixture_init(&fixture, runtime, rows[i].fault);
        if (execute(&fixture) != rows[i].status) {
            fail_msg("%s has another status", rows[i].fault);
        }
        assert_int_equal(execute(&fixture),
                         rows[i].is_fatal ? NRT_EXEC_UNIT_UNRECOVERABLE : NRT_SUCCESS);
        if (rows[i].log[0] != '\0' && !log_says(&fixture, rows[i].log)) {
            fail_msg("%s is not in the log", rows[i].log);
        }
        (void)snprintf(line, sizeof line,
                       "Inference completed with err: %d. mode->h_nn=", (int)rows[i].status);
        assert_int_equal(log_says(&fixture, line), rows[i].status != NRT_SUCCESS);
        (void)snprintf(line, sizeof line, "with status %d", (int)rows[i].status);
        assert_int_equal(log_says(&fixture, line), rows[i].status != NRT_SUCCESS);
        fixture_fini(&fixture);
        if (rows[i].hardware) {
            (void)snprintf(path, sizeof path, "stats/hardware/%s", rows[i].hardware);
            assert_int_equal(counter(runtime, path), rows[i].amount);
        }
        (void)snprintf(path, sizeof path, "neuron_core0/stats/status/%s/total",
                       rows[i].status_folder);
        /* Corrected faults do not disturb the two executions. */
        assert_int_equal(counter(runtime, path), rows[i].status == NRT_SUCCESS ? 2 : 1);
        runtime_teardown((void **)&runtime);
    }
}

static void a_dead_core_does_not_affect_others_and_recovers_after_a_restart(void **state)
{
    struct runtime *runtime = *state;
    struct fixture fixture;
    struct loaded other;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    fixture_init(&fixture, runtime, "sram-ue:at=2,core=0");
    loaded_init(&other, neff, bytes, 1);
    assert_int_equal(nrt_execute(other.model, other.inputs, other.outputs), NRT_SUCCESS);
    assert_int_equal(execute(&fixture), NRT_SUCCESS);
    assert_int_equal(execute(&fixture), NRT_EXEC_HW_ERR_NC_UE);
    assert_int_equal(execute(&fixture), NRT_EXEC_UNIT_UNRECOVERABLE);
    assert_int_equal(execute(&fixture), NRT_EXEC_UNIT_UNRECOVERABLE);
    assert_int_equal(nrt_execute(other.model, other.inputs, other.outputs), NRT_SUCCESS);
    loaded_fini(&other);
    fixture_fini(&fixture);

    fixture_init(&fixture, runtime, "sram-ue:at=2,core=0");
    assert_int_equal(execute(&fixture), NRT_SUCCESS);
    fixture_fini(&fixture);
    free(neff);
}

static void nrt_init_reports_an_invalid_fault_setting_in_one_line(void **state)
{
    struct runtime *runtime = *state;
    struct fixture fixture = { .log = test_scratch_path(runtime->folder, "log") };

    setenv("NEURON_SOFT_FAULT", "hbm-ue:at=never", 1);
    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    setenv("NEURON_RT_LOG_LOCATION", fixture.log, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    assert_true(log_says(
        &fixture, "NEURON_SOFT_FAULT: 'at=never' is invalid: expected a number of executions"));
    unsetenv("NEURON_SOFT_FAULT");
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    free(fixture.log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_has_a_status_a_log_line_and_a_counter),
        cmocka_unit_test_setup_teardown(
            a_dead_core_does_not_affect_others_and_recovers_after_a_restart, runtime_setup,
            runtime_teardown),
        cmocka_unit_test_setup_teardown(nrt_init_reports_an_invalid_fault_setting_in_one_line,
                                        runtime_setup, runtime_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
