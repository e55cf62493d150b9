/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/nrt/nrt_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/driver.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define PRIVATE_NAME NTK_LIBDIR "/neuron-soft/" NTK_NRT_SONAME

/* Finds the software runtime of this project: in neuron-soft below the folder of libraries where
 * this program is installed, or in ../lib in a build tree. */
static bool private_find(char path[PATH_MAX])
{
    static const char *const names[] = { PRIVATE_NAME, "lib/" NTK_NRT_SONAME };
    char self[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);

    self[bytes > 0 ? bytes : 0] = '\0';
    for (int i = 0; i < 2 && strrchr(self, '/'); i++) {
        *strrchr(self, '/') = '\0';
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (snprintf(path, PATH_MAX, "%s/%s", self, names[i]) < PATH_MAX &&
            access(path, F_OK) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_hooks(void *library)
{
    return dlsym(library, NTK_NRT_HOOKS_MARKER) != NULL;
}

static void path_get(void *library, char path[PATH_MAX])
{
    const struct link_map *map = NULL;

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map) {
        (void)ntk_str_copy(path, PATH_MAX, map->l_name);
    }
}

/* Returns the value of NEURON_HOOKS_LIBNRT for the hooks; NULL if unset. */
static const char *behind_get(void)
{
    const char *named = secure_getenv("NEURON_HOOKS_LIBNRT");

    return named && ntk_nrt_is_runtime(named, NULL) ? named : NULL;
}

/* Finds the path of the library without NEURON_LIBNRT, as the hooks would find it. */
static bool path_find(bool has_driver, bool has_hooks, char path[PATH_MAX])
{
    struct ntk_nrt_search search = { .program = "",
                                     .vendor_comes_first = has_hooks,
                                     .skips_software = has_driver };

    if (has_hooks && behind_get()) {
        return ntk_str_copy(path, PATH_MAX, behind_get());
    }
    return ntk_nrt_search(&search, path) || (!has_driver && private_find(path));
}

static int not_found(bool has_driver, struct ntk_err *err)
{
    return ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                       has_driver ? NTK_NRT_SONAME
                           " not found: this machine has a Neuron driver, which requires the "
                           "vendor's runtime (install it, or set NEURON_LIBNRT)"
                                  : NTK_NRT_SONAME " not found (set NEURON_LIBNRT)");
}

/* Opens the path, through the hooks if the loader has or finds them. The software runtime needs no
 * hooks. On a machine with a driver it is neither used with hooks nor loaded by them. */
static void *path_open(bool has_driver, const char *path)
{
    static const struct ntk_nrt_search of_loader = { .program = "" };
    char first[PATH_MAX];
    bool is_hidden = has_driver && !behind_get() && ntk_nrt_search(&of_loader, first) &&
                     ntk_nrt_is_software(first);
    void *library = NULL;

    if (!ntk_nrt_is_software(path) && !is_hidden) {
        library = dlopen(NTK_NRT_SONAME, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? library : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *library_open(bool has_driver, struct ntk_nrt *nrt, struct ntk_err *err)
{
    const char *named = getenv("NEURON_LIBNRT");
    void *library = NULL;

    if (named && ntk_fs_may_block(named)) {
        (void)ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                          "cannot open '%s': not a regular file (set by NEURON_LIBNRT)", named);
        return NULL;
    }
    if (named && named[0]) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    } else {
        library = dlopen(NTK_NRT_SONAME, RTLD_NOW | RTLD_NOLOAD);
        if (!library || is_hooks(library)) {
            if (!path_find(has_driver, library, nrt->path)) {
                (void)not_found(has_driver, err);
                return NULL;
            }
            library = path_open(has_driver, nrt->path);
        }
    }
    if (!library) {
        const char *reason = dlerror();

        ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                    "cannot open " NTK_NRT_SONAME
                    ": %s (set NEURON_LIBNRT to the path of the library)",
                    reason ? reason : "unknown error");
        return NULL;
    }
    if (!is_hooks(library) || !path_find(has_driver, true, nrt->path)) {
        path_get(library, nrt->path);
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

int ntk_nrt_open_on(bool has_driver, struct ntk_nrt *out_nrt, struct ntk_err *err)
{
    struct ntk_nrt nrt = { 0 };
    void *library = library_open(has_driver, &nrt, err);
    int ret = library ? calls_find(&nrt, library, err) : -ELIBACC;

    if (ret == 0) {
        nrt.is_software = ntk_nrt_is_software(nrt.path);
        *out_nrt = nrt;
    }
    return ret;
}

int ntk_nrt_open(struct ntk_nrt *out_nrt, struct ntk_err *err)
{
    return ntk_nrt_open_on(ntk_driver_is_loaded("/sys"), out_nrt, err);
}

const char *ntk_nrt_format(const struct ntk_nrt *nrt, char *buf, size_t buf_bytes)
{
    (void)snprintf(buf, buf_bytes, "%s%s", nrt->path, nrt->is_software ? " (software)" : "");
    return buf;
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
