/* SPDX-License-Identifier: MIT */
/* runtime - the library found and its calls looked up. */
#include "profiler/capture/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"

#define LIBRARY_NAME "libnrt.so.1"

static void *open_library(struct ntk_err *err)
{
    const char *named = getenv("NEURON_LIBNRT");
    char path[4096];
    void *library = NULL;

    if (named && named[0]) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET, "cannot load NEURON_LIBNRT: %s",
                        dlerror());
        }
        return library;
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    if (n > 0) {
        path[n] = 0;
        char *slash = strrchr(path, '/');
        ntk_str_copy(slash ? slash : path, 64, "/../lib/" LIBRARY_NAME);
        if (access(path, F_OK) == 0) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library) {
                ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET, "cannot load the runtime: %s",
                            dlerror());
            }
            return library;
        }
    }
    library = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        library = dlopen("/opt/aws/neuron/lib/" LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                    "cannot find " LIBRARY_NAME ": set NEURON_LIBNRT to its path");
    }
    return library;
}

static int find_calls(struct ntk_runtime *runtime, void *library, struct ntk_err *err)
{
#define FIND(name)                                                                    \
    *(void **)&runtime->name = dlsym(library, #name);                                 \
    if (!runtime->name) {                                                             \
        ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the runtime has no %s", #name); \
        return -ENOSYS;                                                               \
    }
    NTK_RUNTIME_CALLS(FIND)
#undef FIND
#define LOOK(name) *(void **)&runtime->name = dlsym(library, #name);
    NTK_RUNTIME_OPTIONAL_CALLS(LOOK)
#undef LOOK
    return 0;
}

int ntk_runtime_open(struct ntk_runtime *out_runtime, struct ntk_err *err)
{
    struct ntk_runtime runtime = { 0 };
    void *library = open_library(err);
    int ret = library ? find_calls(&runtime, library, err) : -ELIBACC;

    if (ret == 0) {
        *out_runtime = runtime;
    }
    return ret;
}

int ntk_runtime_fail(const struct ntk_runtime *runtime, struct ntk_err *err, NRT_STATUS status,
                     const char *what)
{
    return ntk_err_set(
        err, -EIO, NTK_ERR_NO_OFFSET, "%s failed: %s (%d)", what,
        runtime->nrt_get_status_as_str ? runtime->nrt_get_status_as_str(status) : "?", (int)status);
}

int ntk_runtime_lacks(struct ntk_err *err, const char *name)
{
    return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the runtime has no %s", name);
}
