/* SPDX-License-Identifier: MIT */
/* neuron-packager unpack: writes the members of a NEFF to files, and its payload to neff.tgz. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/packager/packager.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

static const char *folder;

static const struct ntk_opt options[] = {
    { 'o', "output", "FOLDER", NTK_OPT_TEXT, &folder,
      "write to this folder (default: the file's name without .neff)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager unpack",
    .usage = "[-o FOLDER] FILE",
    .summary = "Writes the members of a NEFF to a folder, its payload as neff.tgz, and its header "
               "as neff.header. neuron-packager create reads this layout.",
    .options = options,
};

/* The member that is being written. */
struct unpacking {
    struct ntk_fs_replace file;
    bool is_open;
};

static int member_begin(struct unpacking *unpacking, const char *name, struct ntk_err *err)
{
    char path[4096];
    char *slash;
    int ret;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of member '%s' is too long", name);
    }
    slash = strrchr(path, '/');
    *slash = '\0';
    ret = ntk_fs_make_folders(path, 0777, err);
    *slash = '/';
    if (ret == 0) {
        ret = ntk_fs_replace_begin(&unpacking->file, path, err);
    }
    unpacking->is_open = ret == 0;
    return ret;
}

static int member_pass(void *ctx, const char *name, const uint8_t *block, size_t bytes_count,
                       bool is_last, struct ntk_err *err)
{
    struct unpacking *unpacking = ctx;

    if (!unpacking->is_open) {
        int ret = member_begin(unpacking, name, err);

        if (ret < 0) {
            return ret;
        }
    }
    if (fwrite(block, 1, bytes_count, unpacking->file.file) != bytes_count) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write '%s': %s",
                           unpacking->file.path, strerror(errno));
    }
    if (!is_last) {
        return 0;
    }
    unpacking->is_open = false;
    return ntk_fs_replace_commit(&unpacking->file, err);
}

static bool member_keep(void *ctx, size_t index, const char *name, uint64_t bytes_count)
{
    (void)ctx;
    (void)index;
    (void)name;
    (void)bytes_count;
    return false;
}

int packager_unpack(int argc, char **argv)
{
    struct unpacking unpacking = { .is_open = false };
    struct ntk_tar_hooks hooks = { .keep = member_keep, .pass = member_pass, .ctx = &unpacking };
    struct ntk_neff_header header;
    struct ntk_tar tar = { 0 };
    struct ntk_err err = { 0 };
    char default_folder[1024];
    uint8_t *bytes = NULL;
    int code;
    const char *path = packager_parse_file(&program, argc, argv, &code);
    int ret;

    if (!path) {
        return code;
    }
    if (!folder) {
        const char *name = ntk_str_base_name(path);
        size_t length = strlen(name);

        if (length > 5 && strcmp(name + length - 5, ".neff") == 0) {
            length -= 5;
        } else {
            return ntk_opt_usage_error(&program, "%s does not end in .neff: use --output FOLDER",
                                       name);
        }
        snprintf(default_folder, sizeof default_folder, "%.*s", (int)length, name);
        folder = default_folder;
    }
    ret = packager_members_read(path, &hooks, &header, &bytes, &tar, &err);
    if (ret == 0) {
        ret = member_pass(&unpacking, "neff.tgz", bytes + header.header_size,
                          (size_t)header.data_size, true, &err);
    }
    if (ret == 0) {
        ret =
            member_pass(&unpacking, PACKAGER_HEADER_FILE, bytes, NTK_NEFF_HEADER_BYTES, true, &err);
    }
    ntk_fs_replace_abort(&unpacking.file);
    ntk_tar_fini(&tar);
    free(bytes);
    return ret < 0 ? packager_fail(&err) : 0;
}
