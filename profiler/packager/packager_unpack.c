/* SPDX-License-Identifier: MIT */
/* neuron-packager unpack: the members of a NEFF as files, and its payload as neff.tgz. */
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

static const char *folder;

static const struct ntk_opt options[] = {
    { 'o', "output", "DIR", NTK_OPT_TEXT, &folder,
      "folder to write to; the default is the file's name without .neff" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager unpack",
    .usage = "[-o DIR] FILE",
    .summary = "Writes the members of a NEFF into a folder, and its payload as neff.tgz.",
    .options = options,
};

static int write_member(const char *to, const char *name, const void *bytes, size_t bytes_count,
                        struct ntk_err *err)
{
    char path[4096];
    char *slash;
    int ret;

    if (snprintf(path, sizeof path, "%s/%s", to, name) >= (int)sizeof path) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of member %s is too long", name);
    }
    slash = strrchr(path, '/');
    *slash = '\0';
    ret = ntk_fs_make_folders(path, 0777, err);
    *slash = '/';
    return ret < 0 ? ret : ntk_fs_write(path, bytes, bytes_count, err);
}

int packager_unpack(int argc, char **argv)
{
    static const struct ntk_tar_limits limits = { NTK_NEFF_INFLATED_BYTES_MAX, NTK_NEFF_MEMBERS_MAX,
                                                  NTK_NEFF_MEMBER_NAME_MAX };
    struct ntk_neff_header header;
    struct ntk_tar tar = { 0 };
    struct ntk_err err = { 0 };
    char default_folder[1024];
    uint8_t *bytes = NULL;
    size_t count = 0;
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
            return ntk_opt_usage_error(&program,
                                       "%s does not end in .neff; name a folder with "
                                       "--output",
                                       name);
        }
        snprintf(default_folder, sizeof default_folder, "%.*s", (int)length, name);
        folder = default_folder;
    }
    /* Any sound archive can be taken apart, also one whose contents this program does not understand. */
    ret = ntk_fs_read(path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &count, &err);
    if (ret < 0) {
        return packager_fail(&err);
    }
    ret = ntk_neff_read_header(bytes, count, &header, &err);
    if (ret == 0) {
        ret =
            ntk_tar_read(bytes + header.header_size, (size_t)header.data_size, &limits, &tar, &err);
    }
    if (ret < 0) {
        ntk_err_prefix(&err, "%s", path);
        goto out;
    }
    for (size_t i = 0; i < tar.member_count && ret == 0; i++) {
        ret = write_member(folder, tar.members[i].name, tar.members[i].bytes,
                           tar.members[i].bytes_count, &err);
    }
    if (ret == 0) {
        ret = write_member(folder, "neff.tgz", bytes + header.header_size, (size_t)header.data_size,
                           &err);
    }

out:
    ntk_tar_fini(&tar);
    free(bytes);
    return ret < 0 ? packager_fail(&err) : 0;
}
