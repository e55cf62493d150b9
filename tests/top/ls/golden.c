/* SPDX-License-Identifier: MIT */
#include "tests/top/ls/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/unit.h"

void golden_assert(struct ntk_buf *text, const char *name)
{
    const char *folder = getenv("NTK_SOURCE_DIR");
    uint8_t *want = NULL;
    size_t want_count = 0;
    char path[4096];

    assert_true(ntk_buf_ok(text));
    (void)snprintf(path, sizeof path, "%s/tests/top/ls/golden/%s.txt", folder ? folder : ".", name);
    if (getenv("NTK_GOLDEN_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, text->bytes, text->bytes_count, NULL), 0);
    }
    assert_int_equal(ntk_fs_read(path, 1 << 20, &want, &want_count, NULL), 0);
    if (want_count != text->bytes_count || memcmp(want, text->bytes, want_count) != 0) {
        fail_msg("%s is not:\n%s", path, ntk_buf_text_get(text));
    }
    free(want);
    ntk_buf_fini(text);
}
