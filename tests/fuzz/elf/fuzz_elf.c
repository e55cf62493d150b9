/* SPDX-License-Identifier: MIT */
/* Any bytes as a program or a library: rejected, or every result is in bounds. */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/formats/elf/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

static void texts_read(const struct ntk_elf_file *file, size_t size)
{
    static const int64_t tags[] = { DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH };

    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        for (size_t nth = 0;; nth++) {
            const char *text = ntk_elf_file_text(file, tags[t], nth);

            if (!text) {
                break;
            }
            check(strlen(text) <= size);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_elf_file file;
    struct ntk_elf_export export;
    struct ntk_elf_export found;
    uint64_t offset;
    int fd = memfd_create("elf", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    int ret = ntk_elf_file_open_fd(&file, fd);
    check(ret == 0 || ret == -ENOEXEC || ret == -EBADMSG);
    check(ret == 0 || (file.symbol_count == 0 && !file.is_ours));
    check(strlen(file.loader) <= size && file.symbol_count <= size);
    texts_read(&file, size);
    for (size_t i = 0; i < file.symbol_count; i++) {
        if (ntk_elf_file_export(&file, i, &export)) {
            check(strlen(export.name) > 0 && strlen(export.name) <= size);
            check(strlen(export.version) <= size);
            check(file.is_versioned || export.version[0] == '\0');
            check(i > 64 || ntk_elf_file_find(&file, export.name, export.version, &found));
            if (ntk_elf_file_code_offset(&file, export.address, &offset)) {
                check(offset <= INT64_MAX);
            }
        }
    }
    ntk_elf_file_close(&file);
    (void)close(fd);
    return 0;
}
