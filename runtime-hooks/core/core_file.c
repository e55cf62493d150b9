/* SPDX-License-Identifier: MIT */
/*
 * core_file - reads general information from a NEFF, even if it is not or cannot be loaded.
 */
#include "runtime-hooks/core/core.h"

#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

void ntk_core_file_name(const void *file, size_t file_bytes,
                        char out_name[NTK_CORE_FILE_NAME_BYTES])
{
    struct ntk_neff_header header;

    out_name[0] = '\0';
    if (ntk_neff_read_header(file, file_bytes, &header, NULL) == 0) {
        (void)ntk_str_copy(out_name, NTK_CORE_FILE_NAME_BYTES, header.name);
    }
}
