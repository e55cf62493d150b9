/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/inspect/continuous.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/inspect/inspect.h"
#include "shared/base/fs.h"
#include "shared/base/vec.h"

#define PATH_BYTES 4096

/* A file that has been written. */
struct saved {
    uint32_t nc;
    char *path;
};

/* Locked while the front's gate is held, before the locks of inspections and of the core. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_on;
static uint32_t saved_count; /* number of files since the start of the process */
static struct ntk_vec saved = NTK_VEC_INIT(struct saved);

static void recorders_stop(struct ntk_core *core)
{
    for (uint32_t nc = 0; nc < ntk_core_count(core); nc++) {
        (void)ntk_core_recorder_stop(core, nc, NTK_CORE_RECORDER_CONTINUOUS, NULL, NULL);
    }
}

/* Starts to record. The caller holds the lock. */
static int start(struct ntk_core *core, const struct ntk_core_recorder_bounds *bounds,
                 struct ntk_err *err)
{
    const struct ntk_core_recorder_options recorder = { .keeps = NTK_CORE_KEEPS_LATEST,
                                                        .folder = ntk_fs_temporary_folder(),
                                                        .bounds = *bounds };
    int ret = 0;

    if (is_on || ntk_inspect_records_device()) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           is_on ? "continuous profiling is already on"
                                 : "an inspection is recording the device");
    }
    for (uint32_t nc = 0; nc < ntk_core_count(core) && ret == 0; nc++) {
        ret = ntk_core_recorder_start(core, nc, NTK_CORE_RECORDER_CONTINUOUS, &recorder, err);
    }
    if (ret < 0) {
        recorders_stop(core);
        return ret;
    }
    is_on = true;
    return 0;
}

int ntk_continuous_start(struct ntk_core *core, const struct ntk_core_recorder_bounds *bounds,
                         struct ntk_err *err)
{
    pthread_mutex_lock(&lock);
    int ret = start(core, bounds, err);
    pthread_mutex_unlock(&lock);
    return ret;
}

/* Removes the oldest files of a core beyond the limit. The caller holds the lock. */
static void saved_add(uint32_t nc, const char *path)
{
    struct saved added = { .nc = nc, .path = strdup(path) };
    size_t count = 0;

    if (!added.path || ntk_vec_push(&saved, &added) < 0) {
        free(added.path);
        return;
    }
    for (size_t i = saved.count; i-- > 0;) {
        struct saved *file = ntk_vec_at(&saved, i);

        if (file->nc == nc && ++count > NTK_CONTINUOUS_FILES) {
            (void)unlink(file->path);
            free(file->path);
            ntk_vec_remove(&saved, i);
        }
    }
}

/* Writes the latest execution of a core. The caller holds the lock. */
static int save(struct ntk_core *core, uint32_t nc, const char *folder, struct ntk_err *err)
{
    char instance[PATH_BYTES];
    char path[PATH_BYTES + 64];

    if (!is_on) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "continuous profiling is off");
    }
    if (ntk_inspect_instance_folder(folder, instance, sizeof instance) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: the path is too long", folder);
    }
    int ret = ntk_fs_make_folders(instance, 0755, err);
    if (ret < 0) {
        return ret;
    }
    (void)snprintf(path, sizeof path, "%s/profile_nc_%" PRIu32 "_latest_%" PRIu32 ".ntff", instance,
                   nc, saved_count + 1);
    ret = ntk_core_recorder_save(core, nc, NTK_CORE_RECORDER_CONTINUOUS, NULL, path, err);
    if (ret >= 0) {
        saved_count++;
        saved_add(nc, path);
    }
    return ret;
}

int ntk_continuous_save(struct ntk_core *core, uint32_t nc, const char *folder, struct ntk_err *err)
{
    pthread_mutex_lock(&lock);
    int ret = save(core, nc, folder, err);
    pthread_mutex_unlock(&lock);
    return ret;
}

int ntk_continuous_stop(struct ntk_core *core, struct ntk_err *err)
{
    int ret = 0;

    pthread_mutex_lock(&lock);
    if (is_on) {
        recorders_stop(core);
        is_on = false;
    } else {
        ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "continuous profiling is off");
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

static void saved_forget(void)
{
    ntk_vec_each(struct saved, file, &saved) {
        free(file->path);
    }
    ntk_vec_clear(&saved);
}

void ntk_continuous_closing(void)
{
    pthread_mutex_lock(&lock);
    is_on = false;
    saved_forget();
    pthread_mutex_unlock(&lock);
}

void ntk_continuous_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    is_on = false;
    saved_count = 0;
    saved_forget();
}
