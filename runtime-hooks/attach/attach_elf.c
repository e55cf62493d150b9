/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/fs.h"
#include "shared/formats/elf/elf_file.h"

#define SCAN_BYTES_MAX (32u << 20) /* limit far above the size of our libraries */

static void add_place(struct ntk_attach_export *export, uint64_t offset)
{
    for (uint32_t i = 0; i < export->count; i++) {
        if (export->offset[i] == offset) {
            return;
        }
    }
    if (export->count < NTK_ATTACH_PLACES) {
        export->offset[export->count++] = offset;
    }
}

int ntk_attach_elf_find(int fd, const char *const *names, size_t count,
                        struct ntk_attach_export *out_exports, struct ntk_err *err)
{
    struct ntk_elf_file file;
    int ret = ntk_elf_file_open_fd(&file, fd);

    memset(out_exports, 0, count * sizeof *out_exports);
    if (ret < 0 && ret != -EBADMSG && ret != -ENOEXEC) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot be read: %s", strerror(-ret));
    }
    if (ret < 0 || !file.is_ours || !file.is_library) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                          ret == -EBADMSG ? "is damaged"
                                          : "is not a shared library for this machine");
    } else if (file.symbol_count == 0) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "has no export table");
    }
    for (size_t i = 0; ret == 0 && i < file.symbol_count; i++) {
        struct ntk_elf_export export;
        uint64_t offset;

        if (!ntk_elf_file_export(&file, i, &export) || !export.is_function) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            if (strcmp(export.name, names[k]) == 0 &&
                ntk_elf_file_code_offset(&file, export.address, &offset)) {
                add_place(&out_exports[k], offset);
            }
        }
    }
    ntk_elf_file_close(&file);
    return ret;
}

/* How our runtime identifies itself (nrt_get_version), followed by a number; a runtime without
 * hooks uses another name. */
static bool holds_identity(const char *bytes, size_t count)
{
    static const char mark[] = "software NeuronCores ";
    const char *end = bytes + count;

    while ((bytes = memmem(bytes, (size_t)(end - bytes), mark, sizeof mark - 1)) != NULL) {
        bytes += sizeof mark - 1;
        if (*bytes >= '0' && *bytes <= '9') { /* a NUL follows the bytes */
            return true;
        }
    }
    return false;
}

bool ntk_attach_elf_has_hooks(int fd)
{
    static const char marker[] = "neuron_hooks_marker"; /* NTK_NRT_HOOKS_MARKER */
    struct stat status;
    bool found = false;

    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        size_t count = (size_t)status.st_size;
        char *bytes = count <= SCAN_BYTES_MAX ? calloc(1, count + 1) : NULL;
        found = bytes && ntk_fs_pread(fd, bytes, count, 0) == 0 &&
                (holds_identity(bytes, count) || memmem(bytes, count, marker, sizeof marker));
        free(bytes);
    }
    return found;
}
