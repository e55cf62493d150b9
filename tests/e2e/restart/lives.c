/* SPDX-License-Identifier: MIT */
/*
 * lives NEFF - a process that closes the runtime and starts it again. Lines of standard input are
 * commands: "open" (starts the runtime, loads the NEFF), "run N" (executes N times), "fail"
 * (executes once and expects a failure), "close", "trace TRACEPARENT" ("trace" ends it). It
 * answers each with "did" and the line, an invalid traceparent with "invalid" and the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/marks.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"

static void check(NRT_STATUS status, const char *what)
{
    if (status != NRT_SUCCESS) {
        (void)fprintf(stderr, "lives: %s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void *read_file(const char *path, size_t *out_bytes)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");

    *out_bytes = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (!file || *out_bytes == sizeof bytes || fclose(file) != 0) {
        (void)fprintf(stderr, "lives: cannot read %s\n", path);
        exit(1);
    }
    return bytes;
}

struct life {
    nrt_model_t *model;
    nrt_tensor_set_t *inputs;
    nrt_tensor_set_t *outputs;
};

/* nrt_close() also frees the model and its tensors. */
static void life_open(struct life *life, const char *path)
{
    nrt_tensor_info_array_t *info = NULL;
    size_t bytes = 0;
    const void *neff = read_file(path, &bytes);

    check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    check(nrt_load(neff, bytes, 0, -1, &life->model), "nrt_load");
    check(nrt_get_model_tensor_info(life->model, &info), "nrt_get_model_tensor_info");
    check(nrt_allocate_tensor_set(&life->inputs), "nrt_allocate_tensor_set");
    check(nrt_allocate_tensor_set(&life->outputs), "nrt_allocate_tensor_set");
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *one = &info->tensor_array[i];
        nrt_tensor_t *tensor = NULL;

        check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, one->size, one->name, &tensor),
              "nrt_tensor_allocate");
        check(nrt_add_tensor_to_tensor_set(one->usage == NRT_TENSOR_USAGE_OUTPUT ? life->outputs
                                                                                 : life->inputs,
                                           one->name, tensor),
              "nrt_add_tensor_to_tensor_set");
    }
    check(nrt_free_model_tensor_info(info), "nrt_free_model_tensor_info");
}

int main(int argc, char **argv)
{
    struct life life = { 0 };
    char line[256];

    if (argc != 2) {
        (void)fprintf(stderr, "lives: NEFF\n");
        return 2;
    }
    while (fgets(line, sizeof line, stdin)) {
        unsigned long times = strncmp(line, "run ", 4) == 0 ? strtoul(line + 4, NULL, 10) : 0;
        const char *answer = "did";

        if (strcmp(line, "trace\n") == 0) {
            (void)neuron_mark_traceparent(NULL);
        } else if (strncmp(line, "trace ", 6) == 0) {
            char text[256];

            memcpy(text, line + 6, sizeof text - 6);
            text[strcspn(text, "\n")] = '\0';
            answer = neuron_mark_traceparent(text) ? answer : "invalid";
        } else if (strcmp(line, "fail\n") == 0) {
            if (nrt_execute(life.model, life.inputs, life.outputs) == NRT_SUCCESS) {
                (void)fprintf(stderr, "lives: an execution did not fail\n");
                return 1;
            }
        } else if (strcmp(line, "open\n") == 0) {
            life_open(&life, argv[1]);
        } else if (strcmp(line, "close\n") == 0) {
            nrt_close();
        } else if (times == 0) {
            (void)fprintf(stderr, "lives: no command: %s", line);
            return 2;
        }
        for (unsigned long i = 0; i < times; i++) {
            check(nrt_execute(life.model, life.inputs, life.outputs), "nrt_execute");
        }
        (void)printf("%s %s", answer, line);
        (void)fflush(stdout);
    }
    nrt_close();
    return 0;
}
