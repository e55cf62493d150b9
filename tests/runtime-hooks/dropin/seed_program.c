/* SPDX-License-Identifier: MIT */
/*
 * seed_program NEFF - a program like the example in the runtime's developer guide: loads a model,
 * sets its inputs to zero, runs it, and prints the name and first bytes of each output.
 */
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                           \
    do {                                                      \
        NRT_STATUS check_status = (call);                     \
        if (check_status != NRT_SUCCESS) {                    \
            fprintf(stderr, "%s: %d\n", #call, check_status); \
            exit(1);                                          \
        }                                                     \
    } while (0)

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    void *bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        exit(1);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    nrt_tensor_info_array_t *info = NULL;
    nrt_tensor_set_t *sets[2] = { NULL, NULL };
    nrt_model_t *model = NULL;
    size_t size = 0;
    void *neff;
    uint64_t i;

    if (argc < 2) {
        return 2;
    }
    neff = read_file(argv[1], &size);
    CHECK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    CHECK(nrt_load(neff, size, -1, -1, &model));
    free(neff);
    CHECK(nrt_get_model_tensor_info(model, &info));
    CHECK(nrt_allocate_tensor_set(&sets[NRT_TENSOR_USAGE_INPUT]));
    CHECK(nrt_allocate_tensor_set(&sets[NRT_TENSOR_USAGE_OUTPUT]));
    for (i = 0; i < info->tensor_count; i++) {
        nrt_tensor_info_t *tensor_info = &info->tensor_array[i];
        nrt_tensor_t *tensor = NULL;
        void *zeros = calloc(1, tensor_info->size);

        CHECK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor_info->size,
                                  tensor_info->name, &tensor));
        CHECK(nrt_tensor_write(tensor, zeros, 0, tensor_info->size));
        free(zeros);
        CHECK(nrt_add_tensor_to_tensor_set(sets[tensor_info->usage], tensor_info->name, tensor));
    }
    CHECK(nrt_execute(model, sets[NRT_TENSOR_USAGE_INPUT], sets[NRT_TENSOR_USAGE_OUTPUT]));
    for (i = 0; i < info->tensor_count; i++) {
        nrt_tensor_info_t *tensor_info = &info->tensor_array[i];
        nrt_tensor_t *tensor = NULL;
        float first[5] = { 0 };

        CHECK(nrt_get_tensor_from_tensor_set(sets[tensor_info->usage], tensor_info->name, &tensor));
        if (tensor_info->usage == NRT_TENSOR_USAGE_OUTPUT) {
            CHECK(nrt_tensor_read(tensor, first, 0, sizeof first));
            printf("%s %g %g\n", tensor_info->name, first[0], first[4]);
        }
        nrt_tensor_free(&tensor);
    }
    nrt_destroy_tensor_set(&sets[0]);
    nrt_destroy_tensor_set(&sets[1]);
    CHECK(nrt_free_model_tensor_info(info));
    CHECK(nrt_unload(model));
    nrt_close();
    return 0;
}
