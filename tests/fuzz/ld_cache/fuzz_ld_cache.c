/* SPDX-License-Identifier: MIT */
/* Any bytes as the loader's cache: rejected, or each path in it is in bounds. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/formats/elf/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_ld_cache cache;
    uint32_t cursor = 0;
    const char *path;
    int fd = memfd_create("cache", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    int ret = ntk_ld_cache_open_fd(&cache, fd);
    if ((ret != 0 && ret != -EBADMSG) || (ret != 0 && cache.entry_count != 0)) {
        abort();
    }
    while ((path = ntk_ld_cache_next(&cache, "libnrt.so.1", &cursor)) != NULL) {
        if (strlen(path) > size || cursor > cache.entry_count) {
            abort();
        }
    }
    ntk_ld_cache_close(&cache);
    (void)close(fd);
    return 0;
}
