/* SPDX-License-Identifier: MIT */
/* core_model_library - loads the shared objects of nodes that run on the host. */
#include "runtime-hooks/core/core_model_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/base/write_all.h"

/* Makes a file with these bytes for the loader: anonymous if supported. */
static int library_file(const struct ntk_neff_member *member, char *path, size_t path_bytes,
                        bool *out_is_named)
{
    int fd = memfd_create("neff-cpu-node", MFD_CLOEXEC);

    *out_is_named = fd < 0;
    if (fd < 0) {
        (void)snprintf(path, path_bytes, "/tmp/neff-cpu-node-XXXXXX");
        fd = mkstemp(path);
    } else {
        (void)snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    }
    if (fd < 0) {
        return -errno;
    }
    int ret = ntk_write_all(fd, member->bytes, member->bytes_count);
    if (ret < 0) {
        close(fd);
        if (*out_is_named) {
            (void)unlink(path);
        }
        return ret;
    }
    return fd;
}

int core_library_open(struct ntk_core_model *model, const struct ntk_neff *neff,
                      const char *member_name, void **out_handle, struct ntk_err *err)
{
    char path[64];
    bool is_named = false;

    ntk_vec_each(struct core_library, known, &model->libraries) {
        if (strcmp(known->member, member_name) == 0) {
            *out_handle = known->handle;
            return 0;
        }
    }
    const struct ntk_neff_member *member = ntk_neff_member_get(neff, member_name);
    if (!member) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the NEFF has no member '%s'",
                           member_name);
    }
    int fd = library_file(member, path, sizeof path, &is_named);
    if (fd < 0) {
        return ntk_err_set(err, fd, NTK_ERR_NO_OFFSET, "cannot unpack '%s' of the NEFF: %s",
                           member_name, strerror(-fd));
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (is_named) {
        (void)unlink(path);
    }
    if (!handle) {
        const char *reason = dlerror();

        close(fd);
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "cannot load '%s' of the NEFF: %s",
                           member_name, reason ? reason : "unknown error");
    }
    struct core_library *library = ntk_vec_add(&model->libraries);
    char *name = strdup(member_name);
    if (!library || !name) {
        if (library) {
            model->libraries.count--;
        }
        free(name);
        dlclose(handle);
        close(fd);
        return ntk_err_no_memory(err);
    }
    *library = (struct core_library){ .member = name, .handle = handle, .fd = fd };
    *out_handle = handle;
    return 0;
}

void core_libraries_fini(struct ntk_core_model *model)
{
    ntk_vec_each(struct core_library, library, &model->libraries) {
        dlclose(library->handle);
        close(library->fd);
        free(library->member);
    }
    ntk_vec_fini(&model->libraries);
}
