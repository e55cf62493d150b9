/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "shared/base/err.h"

#define PATH_BYTES 4096U
#define CHUNK_BYTES (UINT64_C(1) << 20)
#define FUNCTION "tensor_dump_inputs"

/* Creates <where>/input_dump_<random>_h_nn_<id>. */
static int folder_make(uint32_t model_id, char path[PATH_BYTES])
{
    const char *where = getenv("NEURON_RT_DBG_INPUT_DUMP_DIRECTORY");
    uint32_t random = 0;

    for (int tries = 0; tries < 16; tries++) {
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
            return -EIO;
        }
        int used = snprintf(path, PATH_BYTES, "%s/input_dump_%08x_h_nn_%u",
                            where && *where ? where : ".", random, model_id);
        if (used < 0 || used >= (int)PATH_BYTES - 64) {
            return -ENAMETOOLONG;
        }
        if (mkdir(path, 0700) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}

static int tensor_write(struct ntk_core_tensor *tensor, uint64_t bytes, const char *path)
{
    struct ntk_err err = { 0 };
    char *chunk = malloc(CHUNK_BYTES);
    FILE *file = chunk ? fopen(path, "wxe") : NULL;
    int ret = !chunk ? -ENOMEM : !file ? -errno : 0;

    for (uint64_t done = 0; ret == 0 && done < bytes;) {
        uint64_t now = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;

        ret = ntk_core_tensor_read(tensor, chunk, done, now, &err);
        if (ret == 0 && fwrite(chunk, 1, now, file) != now) {
            ret = -errno;
        }
        done += now;
    }
    if (file && fclose(file) != 0 && ret == 0) {
        ret = -errno;
    }
    free(chunk);
    return ret;
}

static int name_write(const char *name, const char *path)
{
    FILE *file = fopen(path, "wxe");

    if (!file) {
        return -errno;
    }
    int ret = fputs(name, file) < 0 ? -errno : 0;
    return fclose(file) != 0 && ret == 0 ? -errno : ret;
}

void nrt_dump_inputs(struct nrt_model *model, struct ntk_core_tensor *const *tensors, size_t count,
                     NRT_STATUS status)
{
    size_t io_count = 0;
    const struct ntk_core_io *ios = ntk_core_model_io_get(model->core, &io_count);
    const char *name = ntk_core_model_name(model->core);
    char folder[PATH_BYTES];
    char path[PATH_BYTES];
    unsigned written = 0;

    if (status == NRT_SUCCESS || nrt_env_dump_status() != (uint64_t)status || io_count != count) {
        return;
    }
    int ret = folder_make(ntk_core_model_id(model->core), folder);
    for (size_t i = 0; ret == 0 && i < io_count; i++) {
        if (!ios[i].is_output) {
            (void)snprintf(path, sizeof path, "%.4000s/input%u.bin", folder, written++);
            ret = tensor_write(tensors[i], ios[i].bytes, path);
        }
    }
    if (ret == 0) {
        (void)snprintf(path, sizeof path, "%.4000s/model_name.txt", folder);
        ret = name_write(name, path);
    }
    if (ret < 0) {
        nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, FUNCTION,
                      "cannot dump the inputs of model '%s': %s", name, strerror(-ret));
        return;
    }
    nrt_log_write(NRT_LOG_TDRV, NRT_LOG_ERROR, FUNCTION,
                  "%u input tensors were dumped successfully to directory %s. Model name is %s",
                  written, folder, name);
}
