/* SPDX-License-Identifier: MIT */
/*
 * run_neff - the smallest useful client of libnrt, and an example of its use: loads a NEFF, reads
 * inputs from files, runs it once, and saves the outputs.
 *
 *   run_neff FILE.neff [TENSOR FILE]...
 *
 * An unnamed input, or one with a missing file or a file of another size, is all zeros. Each output
 * is written to "<tensor name>.out" in the working directory.
 *
 *   cc run_neff.c -o run_neff -lnrt -pthread
 */
#define _POSIX_C_SOURCE 200809L

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(NRT_STATUS status, const char *call)
{
    if (status == NRT_SUCCESS || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
        return 0;
    }
    (void)fprintf(stderr, "run_neff: %s failed: %s\n", call, nrt_get_status_as_str(status));
    return -1;
}

/* Reads the whole file; the caller frees it with free(). NULL if unreadable. */
static void *file_read(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t count = 0;
    size_t capacity = 0;

    if (!file) {
        return NULL;
    }
    for (;;) {
        if (count == capacity) {
            capacity = capacity > 0 ? capacity * 2 : 1 << 16;
            char *larger = realloc(bytes, capacity);

            if (!larger) {
                break;
            }
            bytes = larger;
        }
        size_t got = fread(bytes + count, 1, capacity - count, file);
        count += got;
        if (got == 0) {
            break;
        }
    }
    int failed = ferror(file);
    (void)fclose(file);
    if (failed) {
        free(bytes);
        return NULL;
    }
    *out_bytes = count;
    return bytes;
}

/* Forbids host code in NEFFs. A foreign file's code is not run, unless NEURON_SOFT_CPU_NODES
 * permits it: the library does not know the origin of the bytes. */
static void code_of_strangers_refuse(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0 || (status.st_uid != geteuid() && status.st_uid != 0)) {
        (void)setenv("NEURON_SOFT_CPU_NODES", "0", 0);
    }
}

/* The file given for a tensor; NULL if there is none. */
static const char *input_path(int argc, char **argv, const char *tensor)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], tensor) == 0) {
            return argv[i + 1];
        }
    }
    return NULL;
}

static int input_fill(nrt_tensor_t *tensor, const nrt_tensor_info_t *info, const char *path)
{
    size_t bytes = 0;
    void *data = path ? file_read(path, &bytes) : NULL;
    int ret = 0;

    if (data && bytes == info->size) {
        ret = check(nrt_tensor_write(tensor, data, 0, bytes), "nrt_tensor_write");
    } else if (path) {
        (void)fprintf(stderr, "run_neff: %s is not a file of %zu bytes; input %s is zero\n", path,
                      info->size, info->name);
    }
    free(data);
    return ret;
}

static int output_save(nrt_tensor_set_t *outputs, const nrt_tensor_info_t *info)
{
    char path[NRT_TENSOR_NAME_MAX + sizeof ".out"];
    nrt_tensor_t *tensor = NULL;
    void *data = malloc(info->size);
    int ret = -1;

    (void)snprintf(path, sizeof path, "%s.out", info->name);
    for (char *c = path; *c; c++) {
        *c = *c == '/' ? '_' : *c;
    }
    if (data &&
        check(nrt_get_tensor_from_tensor_set(outputs, info->name, &tensor),
              "nrt_get_tensor_from_tensor_set") == 0 &&
        check(nrt_tensor_read(tensor, data, 0, info->size), "nrt_tensor_read") == 0) {
        FILE *file = fopen(path, "wb");

        if (file) {
            ret = fwrite(data, 1, info->size, file) == info->size ? 0 : -1;
            ret = fclose(file) == 0 ? ret : -1;
        }
        if (ret < 0) {
            perror(path);
        }
    }
    free(data);
    return ret;
}

/* Creates the tensors of a loaded model, runs it, and saves the outputs. */
static int run(nrt_model_t *model, const nrt_tensor_info_array_t *info, int argc, char **argv)
{
    nrt_tensor_set_t *sets[2] = { NULL, NULL }; /* indexed by usage: input or output */
    nrt_tensor_t **tensors = calloc(info->tensor_count + 1, sizeof(nrt_tensor_t *));
    int ret = tensors ? 0 : -1;

    for (int i = 0; i < 2 && ret == 0; i++) {
        ret = check(nrt_allocate_tensor_set(&sets[i]), "nrt_allocate_tensor_set");
    }
    for (uint64_t i = 0; i < info->tensor_count && ret == 0; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];

        ret = check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor->size, tensor->name,
                                        &tensors[i]),
                    "nrt_tensor_allocate");
        if (ret == 0) {
            ret = check(nrt_add_tensor_to_tensor_set(sets[tensor->usage], tensor->name, tensors[i]),
                        "nrt_add_tensor_to_tensor_set");
        }
        if (ret == 0 && tensor->usage == NRT_TENSOR_USAGE_INPUT) {
            ret = input_fill(tensors[i], tensor, input_path(argc, argv, tensor->name));
        }
    }
    if (ret == 0) {
        ret = check(nrt_execute(model, sets[NRT_TENSOR_USAGE_INPUT], sets[NRT_TENSOR_USAGE_OUTPUT]),
                    "nrt_execute");
    }
    for (uint64_t i = 0; i < info->tensor_count && ret == 0; i++) {
        if (info->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT) {
            ret = output_save(sets[NRT_TENSOR_USAGE_OUTPUT], &info->tensor_array[i]);
        }
    }
    for (uint64_t i = 0; tensors && i < info->tensor_count; i++) {
        nrt_tensor_free(&tensors[i]);
    }
    free(tensors);
    nrt_destroy_tensor_set(&sets[0]);
    nrt_destroy_tensor_set(&sets[1]);
    return ret;
}

int main(int argc, char **argv)
{
    nrt_tensor_info_array_t *info = NULL;
    nrt_model_t *model = NULL;
    size_t bytes = 0;

    if (argc < 2 || argc % 2 != 0) {
        (void)fprintf(stderr, "usage: run_neff FILE.neff [TENSOR FILE]...\n");
        return 2;
    }
    void *neff = file_read(argv[1], &bytes);
    if (!neff) {
        perror(argv[1]);
        return 1;
    }
    code_of_strangers_refuse(argv[1]);
    int ret = check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    if (ret == 0) {
        ret = check(nrt_load(neff, bytes, -1, -1, &model), "nrt_load");
        if (ret == 0) {
            ret = check(nrt_get_model_tensor_info(model, &info), "nrt_get_model_tensor_info");
        }
        if (ret == 0) {
            ret = run(model, info, argc, argv);
            (void)nrt_free_model_tensor_info(info);
        }
        if (model) {
            ret = check(nrt_unload(model), "nrt_unload") < 0 ? -1 : ret;
        }
        nrt_close();
    }
    free(neff);
    return ret == 0 ? 0 : 1;
}
