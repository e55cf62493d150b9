/* SPDX-License-Identifier: MIT */
/* Method: folders that act as the root of a system. */
#include "shared/http/http_authorities.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define OF_DEBIAN "/etc/ssl/certs/ca-certificates.crt"
#define OF_FEDORA "/etc/pki/tls/certs/ca-bundle.crt"

static void ca_certificates_are_found_on_other_distributions(void **state)
{
    char *root = test_scratch_create();
    char *folder = test_scratch_path(root, "etc/pki/tls/certs");
    char *file = test_scratch_path(root, OF_FEDORA + 1);

    (void)state;
    assert_null(http_authorities_file(root, OF_DEBIAN)); /* none at all */
    assert_int_equal(ntk_fs_make_folders(folder, 0755, NULL), 0);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
    assert_string_equal(http_authorities_file(root, OF_DEBIAN), OF_FEDORA);
    assert_null(http_authorities_file(root, OF_FEDORA));
    assert_null(http_authorities_file(root, NULL)); /* libcurl without a file uses a folder */
    free(file);
    free(folder);
    test_scratch_destroy(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ca_certificates_are_found_on_other_distributions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
