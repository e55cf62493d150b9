/* SPDX-License-Identifier: MIT */
/* packager_members - reads the members of a NEFF for subcommands that copy them. */
#include <stdlib.h>

#include "profiler/packager/packager.h"
#include "shared/base/fs.h"
#include "shared/base/memory.h"

int packager_members_read(const char *path, const struct ntk_tar_hooks *hooks,
                          struct ntk_neff_header *out_header, uint8_t **out_bytes,
                          struct ntk_tar *out_tar, struct ntk_err *err)
{
    struct ntk_tar_limits limits = { NTK_NEFF_INFLATED_BYTES_MAX, NTK_NEFF_MEMBERS_MAX,
                                     NTK_NEFF_MEMBER_NAME_MAX };
    static const struct ntk_neff_open_options look = { .leave_constants = true,
                                                       .leave_code = true };
    struct ntk_neff *neff = NULL;
    uint8_t *bytes = NULL;
    size_t count;
    int ret = ntk_fs_read(path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_neff_read_header(bytes, count, out_header, err);
    /* Commands that copy members keep them both packed and unpacked. A file that the reader rejects
     * is not worth this memory. */
    if (ret == 0 && !hooks && (ret = ntk_neff_open_with(bytes, count, &look, &neff, err)) == 0) {
        ntk_neff_close(neff);
    }
    if (!hooks && ntk_memory_available() / 4 < limits.total_bytes) {
        limits.total_bytes = ntk_memory_available() / 4;
    }
    if (ret == 0) {
        ret = ntk_tar_read_with(bytes + out_header->header_size, (size_t)out_header->data_size,
                                &limits, hooks, out_tar, err);
    }
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
        free(bytes);
        return ret;
    }
    *out_bytes = bytes;
    return 0;
}
