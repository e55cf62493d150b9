/* SPDX-License-Identifier: MIT */
/* Method: choosing a user's folder while another process does the same. lstat() is counted, and
 * just before one call after another a process of the same user creates the folder. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int calls;
static int made_at; /* the call before which the folder appears */
static const char *made;

static struct stat service; /* of the folder in /run; st_mode 0: there is none */

static int lstat_among_others(const char *path, struct stat *status)
{
    if (strcmp(path, "/run/neuron-monitor") == 0) {
        *status = service;
        return service.st_mode != 0 ? 0 : -1;
    }
    if (calls++ == made_at) {
        (void)mkdir(made, 0700);
    }
    return lstat(path, status);
}

#define lstat lstat_among_others
#include "shared/abi/paths.h"
#undef lstat

/* Both processes choose the same folder at any time of its creation; ranks in two folders would
 * never find each other. */
static void two_processes_of_a_user_choose_the_same_folder(void **state)
{
    for (made_at = 0;; made_at++) {
        char *folder = test_scratch_create();
        char prefix[NTK_PATH_BYTES];
        char wanted[NTK_PATH_BYTES + 16];
        char chosen[NTK_PATH_BYTES];
        struct stat status;

        (void)snprintf(prefix, sizeof prefix, "%s/neuron-", folder);
        (void)snprintf(wanted, sizeof wanted, "%s%u", prefix, (unsigned)geteuid());
        made = wanted;
        calls = 0;
        assert_true(ntk_paths_own_folder(prefix, geteuid(), chosen, sizeof chosen) > 0);
        assert_string_equal(chosen, wanted);
        bool was_made = lstat(wanted, &status) == 0;
        test_scratch_destroy(folder);
        if (!was_made) { /* it chose before that call */
            break;
        }
    }
    assert_true(made_at > NTK_PATHS_FALLBACKS); /* both passes were reached */
    (void)state;
}

/* A name that another process took is not used: the first own one is, or else the first unused
 * one. */
static void a_folder_name_taken_by_another_file_is_not_used(void **state)
{
    char *folder = test_scratch_create();
    char prefix[NTK_PATH_BYTES];
    char name[NTK_PATH_BYTES + 16];
    char chosen[NTK_PATH_BYTES];

    made_at = -1;
    (void)snprintf(prefix, sizeof prefix, "%s/neuron-", folder);
    (void)snprintf(name, sizeof name, "%s%u", prefix, (unsigned)geteuid());
    assert_int_equal(symlink("/", name), 0);
    assert_true(ntk_paths_own_folder(prefix, geteuid(), chosen, sizeof chosen) > 0);
    (void)snprintf(name, sizeof name, "%s%u.1", prefix, (unsigned)geteuid());
    assert_string_equal(chosen, name);
    (void)snprintf(name, sizeof name, "%s%u.3", prefix, (unsigned)geteuid());
    assert_int_equal(mkdir(name, 0700), 0);
    assert_true(ntk_paths_own_folder(prefix, geteuid(), chosen, sizeof chosen) > 0);
    assert_string_equal(chosen, name);
    test_scratch_destroy(folder);
    (void)state;
}

static void the_owner_of_the_service_folder_is_a_trusted_user(void **state)
{
    const uid_t own = geteuid();

    (void)state;
    service = (struct stat){ 0 };
    assert_true(ntk_paths_is_trusted_user(0));
    assert_false(ntk_paths_is_trusted_user(own + 1));
    assert_int_equal(ntk_paths_machine_user(), own);
    service = (struct stat){ .st_mode = S_IFDIR | 0755, .st_uid = own + 1 };
    assert_true(ntk_paths_is_trusted_user(own + 1));
    assert_false(ntk_paths_is_trusted_user(own + 2));
    assert_int_equal(ntk_paths_machine_user(), own);
    service.st_uid = own;
    assert_int_equal(ntk_paths_machine_user(), 0);
    service.st_mode = S_IFLNK | 0777; /* not a folder of systemd */
    assert_int_equal(ntk_paths_machine_user(), own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_of_a_user_choose_the_same_folder),
        cmocka_unit_test(a_folder_name_taken_by_another_file_is_not_used),
        cmocka_unit_test(the_owner_of_the_service_folder_is_a_trusted_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
