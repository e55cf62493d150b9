/* SPDX-License-Identifier: MIT */
/*
 * segment_writer - an application as neuron-top sees it: it has a segment with a model, memory and
 * an execution that never ends, prints "ready" and waits for a signal.
 *
 *   segment_writer FIRST_CORE COUNT             one model on COUNT cores of a trn1.32xlarge
 *   segment_writer FIRST_CORE COUNT PROCESSES   this many processes, tagged app0, app1 and so on,
 *                                               which end with this one
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
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

/* Attaches and works; returns whether that succeeded. */
static bool work(uint16_t first_core, uint16_t core_count)
{
    const struct ntk_hooks_config config = {
        .instance_type = "trn1.32xlarge",
        .lnc = 1,
        .device_count = 16,
        .cores_per_device = 2,
        .process_flags = NTK_PROCESS_SOFTWARE_CORE,
    };
    struct ntk_hooks_model model = { .id = 10001, .name = "/models/forever.neff" };
    const struct ntk_hooks_model_ref none = { 0, 0 };
    struct ntk_hooks_model_ref ref;
    char note[256] = "";
    uint64_t began;

    if (ntk_hooks_attach(&config, note, sizeof note) < 0) {
        (void)fprintf(stderr, "segment_writer: %s\n", note);
        return false;
    }
    model.core = first_core;
    model.core_count = core_count;
    began = ntk_hooks_now();
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
    ntk_hooks_model_loaded(ref, began, 0, 3 * MIB);
    (void)ntk_hooks_exec_begin(ref, model.core, model.core_count);
    return true;
}

/* Starts the process of this index, which writes a byte to `fd` when it works. */
static bool start(uint16_t first_core, uint16_t core_count, unsigned int index, int fd)
{
    char tag[32];

    switch (fork()) {
    case -1:
        return false;
    case 0:
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)snprintf(tag, sizeof tag, "app%u", index);
        (void)setenv("NEURON_PROCESS_TAG", tag, 1);
        if (!work(first_core, core_count) || write(fd, "", 1) != 1) {
            _exit(1);
        }
        close(fd); /* end of file at the other end means that all have answered or exited */
        for (;;) {
            (void)pause();
        }
    default:
        return true;
    }
}

/* Starts this number of processes and waits until all of them work. */
static bool start_all(uint16_t first_core, uint16_t core_count, unsigned int process_count)
{
    char byte;
    int ends[2];

    if (pipe(ends) < 0) {
        return false;
    }
    for (unsigned int i = 0; i < process_count; i++) {
        if (!start((uint16_t)((first_core + i * core_count) % 32), core_count, i, ends[1])) {
            return false;
        }
    }
    close(ends[1]);
    for (unsigned int i = 0; i < process_count; i++) {
        if (read(ends[0], &byte, 1) != 1) {
            return false;
        }
    }
    close(ends[0]);
    return true;
}

int main(int argc, char **argv)
{
    uint16_t first_core = argc > 1 ? (uint16_t)atoi(argv[1]) : 0;
    uint16_t core_count = argc > 2 ? (uint16_t)atoi(argv[2]) : 0;
    unsigned int process_count = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;

    if (core_count == 0) {
        (void)fprintf(stderr, "segment_writer: FIRST_CORE COUNT [PROCESSES]\n");
        return 1;
    }
    if (!(process_count > 0 ? start_all(first_core, core_count, process_count)
                            : work(first_core, core_count)) ||
        write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 1;
    }
    for (;;) {
        (void)pause();
    }
}
