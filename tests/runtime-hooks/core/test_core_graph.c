/* SPDX-License-Identifier: MIT */
/*
 * What a graph has in addition to nodes on NeuronCores: parameters with values in the file, and
 * nodes on the host, also without any other nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/runtime-hooks/core/pipelines.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ROW (PIPELINE_COLUMNS * sizeof(float))

enum where { ON_CORE, ON_HOST };

static const uint64_t shape[] = { PIPELINE_ROWS, PIPELINE_COLUMNS };

static void core_node_add(struct ntk_neff_build *build)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "adder");
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t w = ntk_neff_kernel_input(kernel, "w", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    ntk_neff_token a = ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, ROW, PIPELINE_ROWS), 0,
                                            ROW, NTK_AFTER_NONE);
    ntk_neff_token b = ntk_neff_kernel_load(kernel, queue, NTK_ROWS(w, 0, ROW, PIPELINE_ROWS), ROW,
                                            ROW, NTK_AFTER_NONE);

    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, PIPELINE_ROWS, PIPELINE_COLUMNS, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC0] = add.operand[NTK_ISA_DST];
    add.operand[NTK_ISA_SRC1] =
        ntk_isa_sbuf(ROW, PIPELINE_ROWS, PIPELINE_COLUMNS, NTK_DTYPE_FLOAT32);
    ntk_neff_token sum = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER(a, b));
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, ROW, PIPELINE_ROWS), 0, ROW,
                                NTK_AFTER(sum));
}

static void host_node_add(struct ntk_neff_build *build, const char *function)
{
    const struct ntk_neff_build_tensor inputs[] = {
        { "x", NTK_DTYPE_FLOAT32, 2, { PIPELINE_ROWS, PIPELINE_COLUMNS } },
        { "w", NTK_DTYPE_FLOAT32, 2, { PIPELINE_ROWS, PIPELINE_COLUMNS } },
    };
    const struct ntk_neff_build_tensor y = {
        "y", NTK_DTYPE_FLOAT32, 2, { PIPELINE_ROWS, PIPELINE_COLUMNS }
    };
    uint8_t *library = NULL;
    size_t bytes = 0;

    assert_int_equal(ntk_fs_read(TEST_CPU_NODE, 1 << 26, &library, &bytes, NULL), 0);
    ntk_neff_build_member(build, "cpu.so", library, bytes);
    free(library);
    ntk_neff_build_cpu_node(build, "adder", function, "cpu.so", inputs, 2, &y, 1);
}

/* y = x + w with w[i] = i, a parameter. */
static uint8_t *adder_make(enum where where, const char *function, size_t *out_bytes)
{
    static float w[PIPELINE_ELEMENTS];
    struct ntk_neff_build_options options = { .name = "adder" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;

    for (size_t i = 0; i < PIPELINE_ELEMENTS; i++) {
        w[i] = (float)i;
    }
    ntk_neff_build_param(build, "w", NTK_DTYPE_FLOAT32, 2, shape, w);
    if (where == ON_CORE) {
        core_node_add(build);
    } else {
        host_node_add(build, function);
    }
    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

static int load(struct core_fixture *f, const uint8_t *neff, size_t bytes,
                struct ntk_core_model **out_model)
{
    const struct ntk_core_load_options options = { .nc = 1,
                                                   .features_mask = UINT64_MAX,
                                                   .allow_cpu_nodes = true };

    return ntk_core_model_load(f->core, neff, bytes, &options, out_model, &f->err);
}

static struct core_adder adder_load(struct core_fixture *f, enum where where, const char *function)
{
    struct core_adder adder = { 0 };
    size_t bytes = 0, count = 0;
    uint8_t *neff = adder_make(where, function, &bytes);

    if (load(f, neff, bytes, &adder.model) < 0) {
        fail_msg("cannot load the model: %s", f->err.text);
    }
    free(neff);
    const struct ntk_core_io *io = ntk_core_model_io_get(adder.model, &count);
    assert_int_equal(count, 2); /* w is not one */
    assert_string_equal(io[0].name, "x");
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ntk_core_tensor_create(f->core, NTK_CORE_DEVICE, 1, io[i].bytes,
                                                io[i].name, &adder.tensors[i], &f->err),
                         0);
    }
    return adder;
}

static uint64_t used(struct core_fixture *f)
{
    struct ntk_core_memory memory = { 0 };

    assert_int_equal(ntk_core_memory_get(f->core, 1, &memory), 0);
    return memory.used_bytes;
}

static void a_parameter_node_has_the_value_in_the_file(void **state)
{
    struct core_fixture *f = *state;
    uint64_t before[2];

    for (enum where where = ON_CORE; where <= ON_HOST; where++) {
        for (int i = 0; i < 2; i++) { /* the second round shows that nothing is left over */
            before[i] = used(f);
            struct core_adder adder = adder_load(f, where, "test_add");
            assert_true(used(f) >= before[i] + 3 * PIPELINE_BYTES);
            for (int value = 0; value < 3; value++) {
                assert_int_equal(core_adder_run(f, &adder, (float)value), NTK_CORE_COMPLETED);
                assert_int_equal(core_adder_right(f, &adder, (float)value), PIPELINE_ELEMENTS);
            }
            core_adder_fini(&adder);
        }
        assert_int_equal(used(f), before[1]);
    }
}

static void invalid_parameter_nodes_are_rejected(void **state)
{
    static const struct {
        const char *member, *from, *to;
        const char *sentence;
    } cases[] = {
        { "neff.json", "\"file_name\":\"param_w.npy\"", "\"file\":\"\"",
          "node 'w' is a parameter without a value" },
        { "neff.json", "param_w.npy", "nowhere.npy",
          "neff.json: the archive has no nowhere.npy for constant 'w'" },
        { "neff.json", "[[128,64],[128,64]", "[[128,64],[128,32]",
          "neff.json: constant 'w' has 16384 bytes, but its file has 32768" },
        { "neff.json", "\"heads\":[[2,0,0]]", "\"heads\":[[2,0,0],[1,0,0]]",
          "output 'w' of the network is a parameter" },
        { "neff.json", "\"output_names\":[\"w\"]", "\"output_names\":[\"w\",\"v\"]",
          "neff.json: parameter 'w' has 2 values (expected 1)" },
        { "sg00/def.json", "\"w\":{\"type\":\"input\",\"var_id\":2,\"size\":32768",
          "\"w\":{\"type\":\"input\",\"var_id\":2,\"size\":65536",
          "variable 'w' of sg00 has 65536 bytes, but the network's tensor has 32768" },
    };
    struct core_fixture *f = *state;
    size_t bytes = 0;
    uint8_t *neff = adder_make(ON_CORE, NULL, &bytes);
    uint64_t before = used(f);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_core_model *model = NULL;
        size_t changed_bytes = 0;
        uint8_t *changed =
            neff_change(neff, bytes, cases[i].member, cases[i].from, cases[i].to, &changed_bytes);

        assert_int_equal(load(f, changed, changed_bytes, &model), -EBADMSG);
        assert_string_equal(f->err.text, cases[i].sentence);
        assert_int_equal(used(f), before);
        free(changed);
    }
    free(neff);
}

static void a_neff_without_executable_nodes_is_rejected(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    size_t bytes = 0, changed_bytes = 0;
    uint8_t *neff = adder_make(ON_CORE, NULL, &bytes);
    uint8_t *changed = neff_change(
        neff, bytes, "neff.json", NULL,
        "{\"nodes\":[{\"op\":\"null\",\"name\":\"x\",\"inputs\":[],\"output_names\":[\"x\"],"
        "\"is_param\":\"0\"}],\"heads\":[],\"arg_nodes\":[0]}",
        &changed_bytes);

    assert_int_equal(load(f, changed, changed_bytes, &model), -EBADMSG);
    assert_string_equal(f->err.text, "the NEFF has no node to run");
    free(changed);
    free(neff);
}

/* --- only on the host ------------------------------------------------------------------------- */

static int child_runs(struct observed *side, void *ctx)
{
    const struct ntk_core_options options = { .lnc = 1 };
    void *state = NULL;

    (void)core_fixture_prepare(&state);
    struct core_fixture *f = state;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    core_fixture_open(f, &options);
    struct core_adder good = adder_load(f, ON_HOST, "test_add");
    struct core_adder bad = adder_load(f, ON_HOST, "test_fail");
    bool is_right = core_adder_run(f, &good, 1) == NTK_CORE_COMPLETED &&
                    core_adder_run(f, &good, 2) == NTK_CORE_COMPLETED &&
                    core_adder_right(f, &good, 2) == PIPELINE_ELEMENTS &&
                    core_adder_run(f, &bad, 1) == NTK_CORE_CPU_NODE_FAILED;
    observed_send(side, is_right);
    (void)observed_receive(side);
    core_adder_fini(&good);
    core_adder_fini(&bad);
    (void)core_fixture_teardown(&state);
    return 0;
}

static void host_only_executions_are_counted_without_core_busy_time(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_ring_options options = { .folder = f->folder };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_core cores[2];
    uint64_t ended = 0;

    struct observed side = observed_start(f->folder, child_runs, f->folder);
    assert_int_equal(observed_receive(&side), true);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(registry), 1);
    assert_int_equal(ntk_ring_segment_cores(ntk_ring_registry_get(registry, 0), cores, 2), 2);
    assert_int_equal(cores[1].counters.outcome[NTK_OUTCOME_COMPLETED], 2);
    for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
        ended += cores[1].counters.outcome[o];
        assert_int_equal(cores[0].counters.outcome[o], 0);
    }
    assert_int_equal(ended, 3); /* including the failed one */
    assert_int_equal(cores[1].busy_ns, 0);
    assert_int_equal(cores[1].counters.device_ns, 0);
    ntk_ring_registry_close(registry);
    observed_send(&side, 0);
    assert_int_equal(observed_finish(&side, 0), 0);
}

static void a_host_only_capture_reports_the_reason_for_missing_core_data(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder = adder_load(f, ON_HOST, "test_add");
    char *path = test_scratch_path(f->folder, "host.ntff");

    assert_int_equal(ntk_core_profile_start(adder.model, path, &f->err), -EINVAL);
    assert_string_equal(f->err.text,
                        "cannot capture model 'adder': it does not run on a NeuronCore");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    core_adder_fini(&adder);
}

static void a_host_only_model_requires_permission_for_host_code(void **state)
{
    const struct ntk_core_load_options options = { .features_mask = UINT64_MAX };
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    size_t bytes = 0;
    uint8_t *neff = adder_make(ON_HOST, "test_add", &bytes);

    assert_int_equal(ntk_core_model_load(f->core, neff, bytes, &options, &model, &f->err), -EPERM);
    free(neff);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(a_parameter_node_has_the_value_in_the_file),
        TEST(invalid_parameter_nodes_are_rejected),
        TEST(a_neff_without_executable_nodes_is_rejected),
        TEST(a_host_only_capture_reports_the_reason_for_missing_core_data),
        TEST(a_host_only_model_requires_permission_for_host_code),
        cmocka_unit_test_setup_teardown(host_only_executions_are_counted_without_core_busy_time,
                                        core_fixture_prepare, core_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
