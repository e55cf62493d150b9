/* SPDX-License-Identifier: MIT */
/*
 * fuzz_corpus_main - runs a fuzz target on every file of a corpus folder, also truncated at a few
 * lengths and with single bytes changed, so that the corpus is a plain test in every preset.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CUTS 16
#define SPOILS 64

static void run_variants(const uint8_t *bytes, size_t bytes_count)
{
    uint64_t state = 88172645463325252u; /* xorshift: the same variants in every run */

    LLVMFuzzerTestOneInput(bytes, bytes_count);
    for (size_t i = 0; i < CUTS; i++) {
        LLVMFuzzerTestOneInput(bytes, bytes_count * i / CUTS);
    }
    uint8_t *spoilt = malloc(bytes_count ? bytes_count : 1);
    for (size_t i = 0; spoilt && bytes_count && i < SPOILS; i++) {
        memcpy(spoilt, bytes, bytes_count);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        spoilt[(state >> 8) % bytes_count] ^= (uint8_t)(1u << (state & 7));
        LLVMFuzzerTestOneInput(spoilt, bytes_count);
    }
    free(spoilt);
}

int main(int argc, char **argv)
{
    size_t count = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    DIR *folder = opendir(argv[1]);
    if (!folder) {
        perror(argv[1]);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        uint8_t *bytes;
        size_t bytes_count;
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (ntk_fs_read(path, 64u << 20, &bytes, &bytes_count, NULL) < 0) {
            fprintf(stderr, "cannot read %s\n", path);
            return 1;
        }
        run_variants(bytes, bytes_count);
        free(bytes);
        count++;
    }
    closedir(folder);
    printf("%zu files\n", count);
    return count ? 0 : 1;
}
