/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of a spool before a valid one: its message is returned, or the file is
 * counted as damaged; the other is returned, and nothing remains. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/transport/spool.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"

#define BYTES_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *folder;

static void clean_up(void)
{
    test_scratch_destroy(folder);
}

static void put(struct ntk_spool *spool, const char *text)
{
    struct ntk_err err = { 0 };
    uint64_t lost;

    if (ntk_spool_put(spool, text, strlen(text), 1, &lost, &err) < 0 || lost) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_spool *spool = NULL;
    struct ntk_err err = { 0 };
    uint64_t damaged = 0;
    uint64_t count = 0;

    if (!folder) {
        folder = test_scratch_create();
        (void)atexit(clean_up);
    }
    char *path = test_scratch_path(folder, "00000000000000000007.msg");
    if (ntk_fs_write(path, data, size, &err) < 0 ||
        ntk_spool_open(folder, BYTES_MAX, BYTES_MAX, &spool, &err) < 0) {
        abort();
    }
    put(spool, "behind");
    for (;;) {
        struct ntk_buf buf = { 0 };
        struct ntk_spool_message message;
        int got = ntk_spool_first(spool, &buf, &message, &damaged);
        if (got > 0) {
            count++;
            ntk_spool_remove(spool, message.number);
        }
        ntk_buf_fini(&buf);
        if (got == 0) {
            break;
        }
    }
    if (count + damaged != 2 || damaged > 1 || ntk_spool_count(spool) ||
        ntk_spool_item_count(spool)) {
        abort();
    }
    ntk_spool_close(spool);
    free(path);
    return 0;
}
