/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/bench/nrt_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SONAME "libnrt.so.1"

/* The vendor's library need not have nrt_get_status_as_str(). */
static const char *status_name_fallback(NRT_STATUS status)
{
    static _Thread_local char text[32];

    (void)snprintf(text, sizeof text, "NRT_STATUS %d", (int)status);
    return text;
}

static void *library_open(void)
{
    const char *named = getenv("NEURON_LIBNRT");
    char path[PATH_MAX + sizeof "/../lib/" SONAME];

    if (named && *named) {
        return dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    }
    ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX);
    if (bytes > 0) {
        path[bytes] = '\0';
        char *slash = strrchr(path, '/');

        if (slash) {
            memcpy(slash, "/../lib/" SONAME, sizeof "/../lib/" SONAME);
            if (access(path, R_OK) == 0) {
                return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
            }
        }
    }
    return dlopen(SONAME, RTLD_NOW | RTLD_GLOBAL);
}

/* Sets the pointer that to points to; -ENOSYS when there is no such function. */
static int symbol_get(void *library, const char *name, void *to, struct ntk_err *err)
{
    void *symbol = dlsym(library, name);

    if (!symbol) {
        return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "%s has no %s", SONAME, name);
    }
    memcpy(to, &symbol, sizeof symbol);
    return 0;
}

int nrt_loader_open(struct nrt_loader *out_nrt, struct ntk_err *err)
{
    struct nrt_loader nrt = { 0 };
    void *library = library_open();
    int ret = 0;

    if (!library) {
        const char *reason = dlerror();

        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "cannot open %s: %s", SONAME,
                           reason ? reason : "unknown error");
    }
#define CALL(name, parameters)                                           \
    if (ret == 0) {                                                      \
        ret = symbol_get(library, "nrt_" #name, (void *)&nrt.name, err); \
    }
    NRT_LOADER_CALLS(CALL)
#undef CALL
    if (ret == 0) {
        ret = symbol_get(library, "nrt_tensor_free", (void *)&nrt.tensor_free, err);
    }
    if (ret == 0) {
        ret = symbol_get(library, "nrt_destroy_tensor_set", (void *)&nrt.destroy_tensor_set, err);
    }
    if (ret == 0) {
        ret = symbol_get(library, "nrt_close", (void *)&nrt.close, err);
    }
    if (symbol_get(library, "nrt_get_status_as_str", (void *)&nrt.status_name, NULL) < 0) {
        nrt.status_name = status_name_fallback;
    }
    if (ret == 0) {
        *out_nrt = nrt;
    }
    return ret;
}
