/* SPDX-License-Identifier: MIT */
/*
 * bench_cnml_launch - the cost of running a small operator, with libcnml and with libnrt.
 *
 * The operator adds two tensors of 64 numbers. libnrt executes the very NEFF that libcnml compiled
 * for it, extracted from its model file, on a machine of the same kind. Each library has its own
 * process, because a process has one machine; they take turns. Wall time: forwards are queued, and
 * other threads may run them meanwhile.
 *
 * `perf stat` counted 0.9 to 2.1 futex calls and up to 1.7 context switches per queued forward,
 * at a load of 12 to 18. The worker slept and was woken again for most items, every completion
 * woke the thread that synchronised, and both threads waited for the lock. Now it counts 0.01 to
 * 0.04. A worker naps before it sleeps, so that submissions need not wake it; a completion wakes
 * only threads that wait for it; a thread that synchronises runs all items that no worker has. CPU
 * time of a forward: 3.6 us (lower quartile) instead of 6.3 to 10 us. Waking waiting threads less
 * often gained nothing by itself. The rest above nrt_execute is allocation, locks and clocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neuware/g2/cnml.h"
#include "runtime-hooks/nrt/nrt_library.h"
#include "shared/base/fs.h"
#include "shared/formats/mlumodel/mlumodel.h"
#include "tests/bench/rounds.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"

#define LAUNCHES ROUNDS_SIZE(500, 20)
#define ROUND_COUNT 15
#define CHANNELS 64
#define QUEUED_TARGET 1.2
#define WAITED_FOR_TARGET 2

enum how { QUEUED = 1, WAITED_FOR = 2 };

static char *model_path;

/* ---- libcnml ---- */

static int child_forwards(struct observed *child, void *ctx)
{
    cnmlTensor_t tensors[3];
    void *memory[3];
    cnmlBaseOp_t op = NULL;
    cnmlModel_t model = NULL;
    cnrtQueue_t queue = NULL;
    uint64_t how;

    (void)ctx;
    rounds_require(cnmlInit(0) == CNML_STATUS_SUCCESS, "cnmlInit");
    for (int i = 0; i < 3; i++) {
        rounds_require(cnmlCreateTensor(&tensors[i], CNML_TENSOR, CNML_DATA_FLOAT16, 1, CHANNELS, 1,
                                        1) == CNML_STATUS_SUCCESS,
                       "tensor");
    }
    rounds_require(cnmlCreateAddOp(&op, tensors[0], tensors[1], tensors[2]) ==
                           CNML_STATUS_SUCCESS &&
                       cnmlCompileBaseOp(op, CNML_MLU270, 1) == CNML_STATUS_SUCCESS,
                   "compile");
    rounds_require(cnmlCreateModel(&model, "add") == CNML_STATUS_SUCCESS &&
                       cnmlAddBaseOpToModel(model, op, "add") == CNML_STATUS_SUCCESS &&
                       cnmlSaveModel(model, model_path) == CNML_STATUS_SUCCESS,
                   "model");
    for (int i = 0; i < 3; i++) {
        memory[i] = cnmlMallocBuffer(tensors[i]);
        rounds_require(memory[i] != NULL, "memory");
    }
    rounds_require(cnrtCreateQueue(&queue) == CNRT_RET_SUCCESS, "queue");
    observed_send(child, 0);
    while ((how = observed_receive(child)) != 0) {
        uint64_t begin = rounds_now_ns();

        for (int i = 0; i < LAUNCHES; i++) {
            rounds_require(cnmlComputeAddOpForward(op, memory[0], memory[1], memory[2], NULL,
                                                   queue) == CNML_STATUS_SUCCESS,
                           "forward");
            if (how == WAITED_FOR) {
                rounds_require(cnrtSyncQueue(queue) == CNRT_RET_SUCCESS, "sync");
            }
        }
        rounds_require(cnrtSyncQueue(queue) == CNRT_RET_SUCCESS, "sync");
        observed_send(child, rounds_now_ns() - begin);
    }
    (void)cnmlExit();
    return 0;
}

/* ---- libnrt ---- */

static int child_executes(struct observed *child, void *ctx)
{
    nrt_tensor_info_array_t *info = NULL;
    nrt_tensor_set_t *outputs = NULL;
    nrt_tensor_set_t *inputs = NULL;
    nrt_model_t *model = NULL;
    struct ntk_mlumodel file;
    struct ntk_nrt nrt;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    (void)ctx;
    rounds_require(ntk_nrt_open(&nrt, &err) == 0, err.text);
    rounds_require(ntk_fs_read(model_path, NTK_MLUMODEL_BYTES_MAX, &bytes, &count, &err) == 0,
                   err.text);
    rounds_require(ntk_mlumodel_read(bytes, count, &file, &err) == 0, err.text);
    rounds_require(nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    rounds_require(nrt.nrt_load(file.functions[0].program, file.functions[0].program_bytes, 0, 1,
                                &model) == NRT_SUCCESS,
                   "nrt_load");
    rounds_require(nrt.nrt_get_model_tensor_info(model, &info) == NRT_SUCCESS, "tensor info");
    rounds_require(nrt.nrt_allocate_tensor_set(&inputs) == NRT_SUCCESS, "tensor set");
    rounds_require(nrt.nrt_allocate_tensor_set(&outputs) == NRT_SUCCESS, "tensor set");
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];
        nrt_tensor_t *made = NULL;

        rounds_require(nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor->size,
                                               tensor->name, &made) == NRT_SUCCESS,
                       "tensor");
        rounds_require(nrt.nrt_add_tensor_to_tensor_set(
                           tensor->usage == NRT_TENSOR_USAGE_INPUT ? inputs : outputs, tensor->name,
                           made) == NRT_SUCCESS,
                       "tensor set");
    }
    observed_send(child, 0);
    while (observed_receive(child) != 0) {
        uint64_t begin = rounds_now_ns();

        for (int i = 0; i < LAUNCHES; i++) {
            rounds_require(nrt.nrt_execute(model, inputs, outputs) == NRT_SUCCESS, "nrt_execute");
        }
        observed_send(child, rounds_now_ns() - begin);
    }
    nrt.nrt_close();
    return 0;
}

struct launch {
    struct observed *child;
    enum how how;
};

static double measure(void *ctx)
{
    struct launch *launch = ctx;

    observed_send(launch->child, launch->how);
    return (double)observed_receive(launch->child) / LAUNCHES;
}

int main(int argc, char **argv)
{
    struct observed cards;
    struct observed cores;
    struct launch launches[3] = { { &cards, QUEUED },
                                  { &cards, WAITED_FOR },
                                  { &cores, WAITED_FOR } };
    struct rounds_subject subjects[3] = {
        { "forward of an add, queued", measure, &launches[0] },
        { "forward of an add, waited for", measure, &launches[1] },
        { "nrt_execute of its NEFF", measure, &launches[2] },
    };
    char *folders[2];

    rounds_options(argc, argv);
    test_scratch_in_memory();
    (void)setenv("NEURON_SOFT_INSTANCE", "mlu270", 1);
    folders[0] = test_scratch_create();
    folders[1] = test_scratch_create();
    model_path = test_scratch_path(folders[0], "add.model");
    cards = observed_start(folders[0], child_forwards, NULL);
    (void)observed_receive(&cards); /* the model is loaded */
    cores = observed_start(folders[1], child_executes, NULL);
    (void)observed_receive(&cores);
    rounds_run(subjects, 3, ROUND_COUNT);
    for (int i = 0; i < 3; i++) {
        rounds_print(&subjects[i], "ns");
    }
    rounds_print_ratio("a forward that is queued", &subjects[0], &subjects[2], QUEUED_TARGET);
    rounds_print_ratio("a forward that is waited for", &subjects[1], &subjects[2],
                       WAITED_FOR_TARGET);
    observed_send(&cards, 0);
    observed_send(&cores, 0);
    rounds_require(observed_finish(&cards, 0) == 0 && observed_finish(&cores, 0) == 0,
                   "a child failed");
    free(model_path);
    test_scratch_destroy(folders[0]);
    test_scratch_destroy(folders[1]);
    return rounds_result();
}
