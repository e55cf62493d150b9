/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn between attach and detach. The program
 * continues, and every segment that is left has ended. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/abi/segment_abi.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int attach_and_detach(void *ctx, struct ntk_err *err)
{
    const struct ntk_hooks_config config = { .device_count = 1, .cores_per_device = 2 };
    char note[512] = "";
    int ret = ntk_hooks_attach(&config, note, sizeof note);

    (void)ctx;
    if (ret < 0) {
        (void)ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s", note);
    }
    ntk_hooks_mark_text("step", ntk_hooks_mark_begin(), 1);
    ntk_hooks_detach();
    return ret;
}

/* Mappings stay until the next attach, which is this one. */
static void attached_once(void *ctx)
{
    assert_int_equal(attach_and_detach(ctx, NULL), 0);
}

static bool has_ended(int folder, const char *name)
{
    struct ntk_segment_header header;
    struct ntk_segment_process process = { 0 };
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        header.magic == NTK_SEGMENT_MAGIC) {
        (void)!pread(fd, &process, sizeof process,
                     (off_t)header.section[NTK_SECTION_PROCESS].offset);
    }
    close(fd);
    return process.ended == 1;
}

/* Empties the folder, too. */
static const char *leaves_no_live_segment(void *ctx, int ret)
{
    DIR *list = opendir(ctx);
    const char *wrong = NULL;
    const struct dirent *entry;

    while ((entry = readdir(list)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (ret < 0) {
            wrong = "a file is left of a segment that was not made";
        } else if (!has_ended(dirfd(list), entry->d_name)) {
            wrong = "a segment is left that has not ended";
        }
        (void)unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
    return wrong;
}

static void a_job_continues_if_any_step_of_attaching_fails(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .before = attached_once,
                                                      .run = attach_and_detach,
                                                      .after = leaves_no_live_segment };
    char *folder = test_scratch_create();

    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_HOOKS_MEMORY", "64K", 1);
    assert_true(fault_everywhere(&operation, folder) > 20);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_continues_if_any_step_of_attaching_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
