/* SPDX-License-Identifier: MIT */
/*
 * segment_writer - an application as neuron-top sees one: it has a segment with a model, memory and an
 * execution that never ends, says "ready" and waits for a signal. segment_writer FIRST_CORE COUNT: one
 * model on COUNT cores of a trn1.32xlarge.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"

#define MIB (UINT64_C(1024) * 1024)

static void allocate(uint16_t core, uint8_t category, uint64_t bytes,
                     struct ntk_hooks_model_ref model)
{
    struct ntk_hooks_memory memory = {
        .address = 0x1000, .bytes = bytes, .core = core, .category = category, .model = model
    };

    (void)ntk_hooks_memory_alloc(&memory);
}

int main(int argc, char **argv)
{
    const struct ntk_hooks_config config = {
        .instance_type = "trn1.32xlarge", .lnc = 1, .device_count = 16, .cores_per_device = 2
    };
    struct ntk_hooks_model model = { .id = 10001, .name = "/models/forever.neff" };
    const struct ntk_hooks_model_ref none = { 0, 0 };
    struct ntk_hooks_model_ref ref;
    char note[256] = "";
    uint64_t start;

    if (argc != 3 || ntk_hooks_attach(&config, note, sizeof note) < 0) {
        (void)fprintf(stderr, "segment_writer: %s\n", note);
        return 1;
    }
    model.core = (uint16_t)atoi(argv[1]);
    model.core_count = (uint16_t)atoi(argv[2]);
    start = ntk_hooks_now();
    for (uint16_t c = 0; c < model.core_count; c++) {
        ntk_hooks_core_claim((uint16_t)(model.core + c), (uint32_t)model.core + c, 1);
    }
    ntk_hooks_model_begin(&model, &ref);
    for (uint16_t c = 0; c < model.core_count; c++) {
        uint16_t core = (uint16_t)(model.core + c);

        allocate(core, NTK_MEMORY_MODEL_CODE, 3 * MIB, ref);
        allocate(core, NTK_MEMORY_HOST_CONSTANTS, 1 * MIB, ref);
        allocate(core, NTK_MEMORY_TENSORS, 5 * MIB, none);
    }
    allocate(NTK_NO_CORE, NTK_MEMORY_HOST_DMA_BUFFERS, 8 * MIB, none);
    ntk_hooks_model_loaded(ref, start, 0, 3 * MIB);
    (void)ntk_hooks_exec_begin(ref, model.core, model.core_count);
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 1;
    }
    for (;;) {
        (void)pause();
    }
}
