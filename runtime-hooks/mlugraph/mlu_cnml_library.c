/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_cnml_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shared/base/fs.h"

#define CNRT_NAME "libcnrt.so.4"
#define CNML_NAME "libcnml.so.7"

/* Returns the folder of libraries near this program. */
static bool libraries_folder_get(char path[PATH_MAX])
{
    ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX - 16);

    if (bytes <= 0) {
        return false;
    }
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) {
        return false;
    }
    snprintf(slash, 16, "/../lib");
    return true;
}

static void *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *library_open(struct ntk_err *err)
{
    const char *named = getenv("NEURON_LIBCNML");
    const char *home = getenv("NEUWARE_HOME");
    char folder[PATH_MAX];
    void *library = NULL;

    if (named && ntk_fs_may_block(named)) {
        (void)ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                          "cannot open '%s': not a regular file (set by NEURON_LIBCNML)", named);
        return NULL;
    }
    if (named && named[0]) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    } else {
        if (libraries_folder_get(folder)) {
            /* A library that is already loaded is not searched for: libcnml finds the libcnrt in
             * its folder. */
            (void)open_in(folder, CNRT_NAME);
            library = open_in(folder, CNML_NAME);
        }
        if (!library && home && home[0] && strlen(home) < PATH_MAX - 16) {
            snprintf(folder, sizeof folder, "%s/lib64", home);
            (void)open_in(folder, "libcnrt.so");
            library = open_in(folder, "libcnml.so");
        }
        if (!library) {
            library = dlopen(CNML_NAME, RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (!library) {
        const char *reason = dlerror();

        ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                    "cannot open libcnml: %s (set NEURON_LIBCNML)", reason ? reason : "not found");
    }
    return library;
}

int mlu_cnml_open(struct mlu_cnml *out_cnml, struct ntk_err *err)
{
    struct mlu_cnml cnml = { 0 };
    void *library = library_open(err);

    if (!library) {
        return -ELIBACC;
    }
#define FIND(name)                                                                       \
    *(void **)&cnml.name = dlsym(library, #name);                                        \
    if (!cnml.name) {                                                                    \
        return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "libcnml has no %s", #name); \
    }
    MLU_CNML_CALLS(FIND)
#undef FIND
    *out_cnml = cnml;
    return 0;
}
