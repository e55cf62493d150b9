/* SPDX-License-Identifier: MIT */
/*
 * collective_rank RANK RANKS TIMES [MS [NEFF]] - one rank of a world on this machine: TIMES times a
 * barrier, then it gathers the bytes of all ranks and checks them. MS: idles for MS before each
 * barrier. NEFF: the example spin, which it also executes once each time. For tests of profiles of
 * ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nrt/nrt.h"

#define BYTES 4096U
#define RANKS_MAX 8U

static void check(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) {
        (void)fprintf(stderr, "collective_rank: %s: status %d\n", what, (int)status);
        exit(1);
    }
}

/* The example spin: a column in and out. */
struct program {
    nrt_model_t *model;
    nrt_tensor_set_t *sets[2];
};

static void program_load(const char *path, struct program *program)
{
    static const char *const names[] = { "x", "y" };
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 20];
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    if (file) {
        (void)fclose(file);
    }
    check(nrt_load(bytes, count, 0, 1, &program->model), "nrt_load");
    for (int i = 0; i < 2; i++) {
        nrt_tensor_t *tensor = NULL;

        check(nrt_allocate_tensor_set(&program->sets[i]), "nrt_allocate_tensor_set");
        check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 512, names[i], &tensor),
              "nrt_tensor_allocate");
        check(nrt_add_tensor_to_tensor_set(program->sets[i], names[i], tensor),
              "nrt_add_tensor_to_tensor_set");
    }
}

int main(int argc, char **argv)
{
    static char own[BYTES];
    static char all[RANKS_MAX * BYTES];
    unsigned long rank = argc >= 4 ? strtoul(argv[1], NULL, 10) : RANKS_MAX;
    unsigned long ranks = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long times = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long idle_ms = argc >= 5 ? strtoul(argv[4], NULL, 10) : 0;
    struct program program = { 0 };
    struct timespec idle = { (time_t)(idle_ms / 1000), (long)(idle_ms % 1000) * 1000000 };

    if (ranks > RANKS_MAX || rank >= ranks) {
        (void)fprintf(stderr, "collective_rank: RANK RANKS TIMES [MS [NEFF]]\n");
        return 2;
    }
    memset(own, (int)rank + 1, sizeof own);
    check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    if (argc == 6) {
        program_load(argv[5], &program);
    }
    for (unsigned long i = 0; i < times; i++) {
        if (program.model) {
            check(nrt_execute(program.model, program.sets[0], program.sets[1]), "nrt_execute");
        }
        memset(all, 0, sizeof all);
        (void)nanosleep(&idle, NULL);
        check(nrt_barrier(0, (uint32_t)rank, (uint32_t)ranks), "nrt_barrier");
        check(nrt_all_gather(0, (uint32_t)rank, (uint32_t)ranks, BYTES, own, all),
              "nrt_all_gather");
        for (size_t b = 0; b < ranks * BYTES; b++) {
            if (all[b] != (char)(b / BYTES + 1)) {
                (void)fprintf(stderr, "collective_rank: byte %zu is another rank's\n", b);
                return 1;
            }
        }
    }
    nrt_close();
    return 0;
}
