/* SPDX-License-Identifier: MIT */
/*
 * world_rank RANK RANKS STEPS STEP_MS [FAULT@STEP] [NEFF] [queued] - one rank of a job. Each step
 * works for STEP_MS, executes the model with the other ranks on its last core if there is a model,
 * then meets them from its first core in a barrier and gathers their bytes. queued: queues a sum
 * and a gathering, and waits for both. A fault happens at its step: sleep (forever), exit, leave,
 * abort, slow (ten times as long from there on). When a rank finds the file world.end, all exit
 * after the same step, because the gathered bytes say so.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NRT_ASYNC_3 1 /* the form that is the default version of these names */
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_experimental.h"

#define BYTES 4096U
#define RANKS_MAX 64U
#define SLOW_TIMES 10U
#define ENDS ((char)127) /* in place of a rank's number */

static void check(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) {
        (void)fprintf(stderr, "world_rank: %s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void work(unsigned long ms)
{
    struct timespec time = { .tv_sec = (time_t)(ms / 1000),
                             .tv_nsec = (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&time, NULL);
}

/* Returns whether the fault starts at this step; *out_word is its name. */
static int strikes(const char *fault, unsigned long step, const char *word)
{
    size_t length = strlen(word);

    return fault != NULL && strncmp(fault, word, length) == 0 && fault[length] == '@' &&
           strtoul(fault + length + 1, NULL, 10) == step;
}

struct model {
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
};

static void *file_read(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long size = 0;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 &&
        (bytes = malloc((size_t)size)) != NULL) {
        rewind(file);
        *out_bytes = fread(bytes, 1, (size_t)size, file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes;
}

static void model_load(struct model *model, const char *path, uint32_t rank, uint32_t ranks)
{
    nrt_tensor_info_array_t *infos = NULL;
    size_t bytes = 0;
    uint32_t cores = 0;
    void *neff = file_read(path, &bytes);

    if (neff == NULL) {
        (void)fprintf(stderr, "world_rank: cannot read %s\n", path);
        exit(1);
    }
    check(nrt_get_visible_vnc_count(&cores), "nrt_get_visible_vnc_count");
    int core = (int)cores - 1;
    check(nrt_load_collectives(neff, bytes, core, 1, rank, ranks, &model->model),
          "nrt_load_collectives");
    free(neff);
    check(nrt_allocate_tensor_set(&model->inputs), "nrt_allocate_tensor_set");
    check(nrt_allocate_tensor_set(&model->outputs), "nrt_allocate_tensor_set");
    check(nrt_get_model_tensor_info(model->model, &infos), "nrt_get_model_tensor_info");
    for (uint64_t i = 0; i < infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &infos->tensor_array[i];
        nrt_tensor_t *tensor = NULL;

        check(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, info->size, info->name, &tensor),
            "nrt_tensor_allocate");
        check(nrt_add_tensor_to_tensor_set(info->usage == NRT_TENSOR_USAGE_INPUT ? model->inputs
                                                                                 : model->outputs,
                                           info->name, tensor),
              "nrt_add_tensor_to_tensor_set");
    }
    check(nrt_free_model_tensor_info(infos), "nrt_free_model_tensor_info");
}

/* ---- queued operations ---- */

static nrt_tensor_list_t list_of(size_t bytes)
{
    nrt_tensor_list_t list = { .tensors = calloc(1, sizeof(nrt_tensor_t *)), .num_tensors = 1 };

    check(list.tensors != NULL ? NRT_SUCCESS : NRT_RESOURCE, "calloc");
    check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, bytes, NULL, &list.tensors[0]),
          "nrt_tensor_allocate");
    return list;
}

static nrta_seq_t queue(nrt_cc_comm_t *comm, nrt_tensor_list_t *in, nrt_tensor_list_t *out,
                        nrt_cc_op_type_t operation)
{
    nrt_cc_context_t *context = NULL;
    nrta_seq_t sequence = 0;

    check(nrta_cc_prepare(comm, in, out, NRT_DTYPE_FLOAT32, NRT_OP_ADD, operation, &context),
          "nrta_cc_prepare");
    check(nrta_cc_schedule(&context, 0, NULL, &sequence), "nrta_cc_schedule");
    return sequence;
}

static void meet_queued(unsigned long rank, unsigned long ranks)
{
    static nrt_tensor_list_t own;
    static nrt_tensor_list_t sum;
    static nrt_tensor_list_t all;
    nrt_cc_comm_t comm = { .rank = (uint32_t)rank,
                           .rank_n = (uint32_t)ranks,
                           .ctx_device_id = (uint32_t)rank,
                           .ctx_device_count = (uint32_t)ranks };
    bool is_done = false;

    if (own.tensors == NULL) {
        own = list_of(BYTES);
        sum = list_of(BYTES);
        all = list_of(BYTES * ranks);
    }
    (void)queue(&comm, &own, &sum, NRT_CC_ALLREDUCE);
    nrta_seq_t last = queue(&comm, &own, &all, NRT_CC_ALLGATHER);
    while (!is_done) {
        check(nrta_is_completed(last, &is_done), "nrta_is_completed");
        work(1);
    }
}

int main(int argc, char **argv)
{
    static char own[BYTES];
    static char all[RANKS_MAX * BYTES];
    unsigned long rank = argc > 4 ? strtoul(argv[1], NULL, 10) : RANKS_MAX;
    unsigned long ranks = argc > 4 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long steps = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long step_ms = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    const char *fault = argc > 5 && argv[5][0] != '\0' ? argv[5] : NULL;
    bool is_queued = argc > 7 && strcmp(argv[7], "queued") == 0;
    struct model model = { 0 };

    if (ranks > RANKS_MAX || rank >= ranks) {
        (void)fprintf(stderr,
                      "world_rank: RANK RANKS STEPS STEP_MS [FAULT@STEP] [NEFF] [queued]\n");
        return 2;
    }
    memset(own, (int)rank + 1, sizeof own);
    check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    if (argc > 6 && argv[6][0] != '\0') {
        model_load(&model, argv[6], (uint32_t)rank, (uint32_t)ranks);
    }
    for (unsigned long i = 0; i < steps; i++) {
        if (strikes(fault, i, "sleep")) {
            (void)pause();
        } else if (strikes(fault, i, "exit")) {
            _exit(0);
        } else if (strikes(fault, i, "leave")) {
            nrt_close();
            (void)pause();
        } else if (strikes(fault, i, "abort")) {
            abort();
        } else if (strikes(fault, i, "slow")) {
            step_ms *= SLOW_TIMES;
        }
        work(step_ms);
        if (model.model != NULL) {
            check(nrt_execute(model.model, model.inputs, model.outputs), "nrt_execute");
        }
        if (is_queued) {
            meet_queued(rank, ranks);
            continue;
        }
        own[0] = access("world.end", F_OK) == 0 ? ENDS : (char)(rank + 1);
        check(nrt_barrier(0, (uint32_t)rank, (uint32_t)ranks), "nrt_barrier");
        check(nrt_all_gather(0, (uint32_t)rank, (uint32_t)ranks, BYTES, own, all),
              "nrt_all_gather");
        for (unsigned long k = 0; k < ranks; k++) {
            steps = all[k * BYTES] == ENDS ? 0 : steps;
        }
    }
    nrt_close();
    return 0;
}
