/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/nrt/nrt_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SONAME "libnrt.so.1"
#define BESIDE "/../lib/" SONAME

/* The library beside this program, where there is one. */
static bool beside_get(char path[PATH_MAX + sizeof BESIDE])
{
    ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX);

    if (bytes <= 0) {
        return false;
    }
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) {
        return false;
    }
    memcpy(slash, BESIDE, sizeof BESIDE);
    return access(path, F_OK) == 0;
}

static void *library_open(struct ntk_err *err)
{
    const char *named = getenv("NEURON_LIBNRT");
    char beside[PATH_MAX + sizeof BESIDE];
    void *library = NULL;

    if (named && named[0]) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    } else if (beside_get(beside)) {
        library = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    } else {
        library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            library = dlopen("/opt/aws/neuron/lib/" SONAME, RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (!library) {
        const char *reason = dlerror();

        ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                    "cannot open " SONAME ": %s (NEURON_LIBNRT names the library)",
                    reason ? reason : "unknown error");
    }
    return library;
}

static int calls_find(struct ntk_nrt *nrt, void *library, struct ntk_err *err)
{
#define FIND(name)                                \
    *(void **)&nrt->name = dlsym(library, #name); \
    if (!nrt->name) {                             \
        return ntk_nrt_lacks(err, #name);         \
    }
    NTK_NRT_CALLS(FIND)
#undef FIND
#define LOOK(name) *(void **)&nrt->name = dlsym(library, #name);
    NTK_NRT_OPTIONAL_CALLS(LOOK)
#undef LOOK
    return 0;
}

int ntk_nrt_open(struct ntk_nrt *out_nrt, struct ntk_err *err)
{
    struct ntk_nrt nrt = { 0 };
    void *library = library_open(err);
    int ret = library ? calls_find(&nrt, library, err) : -ELIBACC;

    if (ret == 0) {
        *out_nrt = nrt;
    }
    return ret;
}

const char *ntk_nrt_status_name(const struct ntk_nrt *nrt, NRT_STATUS status)
{
    static _Thread_local char text[32];

    if (nrt->nrt_get_status_as_str) {
        return nrt->nrt_get_status_as_str(status);
    }
    (void)snprintf(text, sizeof text, "NRT_STATUS %d", (int)status);
    return text;
}

int ntk_nrt_fail(const struct ntk_nrt *nrt, struct ntk_err *err, NRT_STATUS status,
                 const char *what)
{
    return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s failed: %s (%d)", what,
                       ntk_nrt_status_name(nrt, status), (int)status);
}

int ntk_nrt_lacks(struct ntk_err *err, const char *name)
{
    return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the runtime has no %s", name);
}
