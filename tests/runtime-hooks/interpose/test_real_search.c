/* SPDX-License-Identifier: MIT */
/*
 * Where libneuron-hooks.so finds the runtime that it wraps.
 *
 * Method: the search itself, compiled into this test, in folders with copies of the stand-in for
 * the vendor's runtime. Whole jobs test RPATH, RUNPATH and the loader's cache (jobs/test_jobs.c,
 * jobs/places.sh).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/interpose/real.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SONAME "libnrt.so.1"
#define FILE_BYTES_MAX (64u << 20)

static char *folder;
static char *vendor; /* the stand-in */
static char *hooks;

static char *join(const char *a, const char *b)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", a, b) > 0);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    folder = test_scratch_create();
    vendor = join(getenv("NTK_LIB_DIR"), "vendor/" SONAME);
    hooks = join(getenv("NTK_LIB_DIR"), "libneuron-hooks.so");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(vendor);
    free(hooks);
    test_scratch_destroy(folder);
    return 0;
}

/* <folder>/name/libnrt.so.1, valid for the next four calls. */
static const char *place(const char *name)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    assert_true(mkdir(path, 0700) == 0 || access(path, X_OK) == 0);
    (void)snprintf(path, sizeof paths[0], "%s/%s/" SONAME, folder, name);
    return path;
}

/* Copies the file up to bytes_max, with one byte changed. */
static void copy(const char *from, const char *to, size_t bytes_max, size_t spoilt_at)
{
    uint8_t *bytes = NULL;
    size_t count = 0;

    assert_int_equal(ntk_fs_read(from, FILE_BYTES_MAX, &bytes, &count, NULL), 0);
    if (spoilt_at < count) {
        bytes[spoilt_at] ^= 0xff;
    }
    count = count < bytes_max ? count : bytes_max;
    assert_int_equal(ntk_fs_write(to, bytes, count, NULL), 0);
    free(bytes);
}

static const char *link_to(const char *file, const char *name)
{
    const char *path = place(name);

    (void)unlink(path);
    assert_int_equal(symlink(file, path), 0);
    return path;
}

/* "" if there is none. */
static const char *found(const char *named, const char *library_path)
{
    static char path[PATH_MAX];

    (void)unsetenv("NEURON_HOOKS_LIBNRT");
    (void)unsetenv("LD_LIBRARY_PATH");
    if (named) {
        (void)setenv("NEURON_HOOKS_LIBNRT", named, 1);
    }
    if (library_path) {
        (void)setenv("LD_LIBRARY_PATH", library_path, 1);
    }
    bool is_certain;

    return interpose_real_find(path, &is_certain) ? path : "";
}

/* The runtime that is found on this machine without any setting. */
static const char *of_machine(void)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s", found(NULL, NULL));
    return path;
}

/* '@' is the folder of this test. Valid until the next call. */
static const char *list(const char *folders)
{
    static char text[4096];
    size_t used = 0;

    for (const char *at = folders; *at != '\0' && used < sizeof text - 1; at++) {
        used += *at == '@' ? (size_t)snprintf(text + used, sizeof text - used, "%s/", folder)
                           : (size_t)snprintf(text + used, sizeof text - used, "%c", *at);
    }
    return text;
}

static void the_configured_runtime_takes_precedence(void **state)
{
    const char *named = link_to(vendor, "named");

    (void)state;
    (void)link_to(vendor, "first");
    assert_string_equal(found(named, list("@first")), named);
    assert_string_equal(found(vendor, NULL), vendor);
    assert_string_equal(found("", list("@first")), place("first"));
}

static void library_folders_are_searched_in_order(void **state)
{
    (void)state;
    (void)link_to(vendor, "first");
    (void)link_to(vendor, "second");
    assert_string_equal(found(NULL, list("@first:@second")), place("first"));
    assert_string_equal(found(NULL, list("@second:@first")), place("second"));
    assert_string_equal(found(NULL, list("@nowhere;@second;@first")), place("second"));
    assert_string_equal(found(NULL, list("/no/such/folder:@second")), place("second"));
}

static void library_folders_may_be_relative_to_the_origin(void **state)
{
    (void)state;
    assert_non_null(strstr(found(NULL, "$ORIGIN/no:$ORIGIN/../lib/vendor"), "/../lib/vendor/"));
    assert_non_null(strstr(found(NULL, "${ORIGIN}/../lib/vendor"), "/../lib/vendor/"));
}

static void an_empty_folder_in_the_list_is_the_working_folder(void **state)
{
    char *before = get_current_dir_name();
    char *here = join(folder, "here");

    (void)state;
    (void)link_to(vendor, "here");
    assert_int_equal(chdir(here), 0);
    assert_string_equal(found(NULL, list("@nowhere::@first")), SONAME);
    assert_int_equal(chdir(before), 0);
    free(here);
    free(before);
}

static void files_that_are_not_runtimes_are_skipped(void **state)
{
    struct stat status;
    char *text = join(getenv("NTK_SOURCE_DIR"), "README.md");
    char *other = join(getenv("NTK_LIB_DIR"), "libneuron-hooks-audit.so");
    const char *second = link_to(vendor, "second");
    const char *broken;

    (void)state;
    assert_int_equal(stat(vendor, &status), 0);
    /* A missing file, a folder, a device, a text, a library without nrt_init, a name that is too
     * long. */
    assert_string_equal(found("/no/such/file", list("@second")), second);
    assert_string_equal(found(folder, list("@second")), second);
    assert_string_equal(found("/dev/zero", list("@second")), second);
    assert_string_equal(found(text, list("@second")), second);
    assert_string_equal(found(other, list("@second")), second);
    (void)link_to(text, "text");
    (void)link_to(other, "other");
    assert_string_equal(found(NULL, list("@text:@other:@second")), second);
    char *long_list = NULL;
    assert_true(asprintf(&long_list, "/%0*d:%s", 2 * PATH_MAX, 0, list("@second")) > 0);
    assert_string_equal(found(NULL, long_list), second);
    free(long_list);
    /* Truncated, and for another machine. */
    broken = place("broken");
    for (size_t bytes = 0; bytes < 8192; bytes += 1024) {
        copy(vendor, broken, bytes, SIZE_MAX);
        assert_string_equal(found(broken, list("@broken:@second")), second);
    }
    copy(vendor, broken, SIZE_MAX, 18);
    assert_string_equal(found(broken, list("@broken:@second")), second);
    copy(vendor, broken, SIZE_MAX, SIZE_MAX);
    assert_string_equal(found(NULL, list("@broken:@second")), broken);
    free(other);
    free(text);
}

static void the_runtime_search_skips_the_hooks_library(void **state)
{
    const char *second = link_to(vendor, "second");

    (void)state;
    /* The hooks library as a link, as in the installed folder, and as a copy. */
    (void)link_to(hooks, "hooks");
    copy(hooks, place("hooks_copy"), SIZE_MAX, SIZE_MAX);
    assert_string_equal(found(hooks, list("@hooks:@hooks_copy:@second")), second);
    assert_string_equal(found(place("hooks_copy"), list("@second")), second);
    assert_string_equal(found(hooks, list("@hooks:@hooks_copy")), of_machine());
}

static void a_search_without_a_match_returns_the_runtime_of_the_machine(void **state)
{
    (void)state;
    assert_string_equal(found("/no/such/file", list("@nowhere")), of_machine());
    assert_string_equal(found(NULL, ":::"), of_machine());
}

/* Last, because the library stays loaded. */
static void a_loaded_runtime_is_preferred_over_one_in_the_search_path(void **state)
{
    char *loaded = join(getenv("NTK_LIB_DIR"), "vendor-node2/" SONAME);
    const char *named = link_to(vendor, "named");
    char whole_loaded[PATH_MAX];
    char whole[PATH_MAX];

    (void)state;
    (void)link_to(vendor, "first");
    assert_non_null(dlopen(loaded, RTLD_LAZY | RTLD_LOCAL));
    assert_non_null(realpath(loaded, whole_loaded));
    assert_string_equal(realpath(found(NULL, list("@first")), whole), whole_loaded);
    assert_string_equal(found(named, list("@first")), named);
    free(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configured_runtime_takes_precedence),
        cmocka_unit_test(library_folders_are_searched_in_order),
        cmocka_unit_test(library_folders_may_be_relative_to_the_origin),
        cmocka_unit_test(an_empty_folder_in_the_list_is_the_working_folder),
        cmocka_unit_test(files_that_are_not_runtimes_are_skipped),
        cmocka_unit_test(the_runtime_search_skips_the_hooks_library),
        cmocka_unit_test(a_search_without_a_match_returns_the_runtime_of_the_machine),
        cmocka_unit_test(a_loaded_runtime_is_preferred_over_one_in_the_search_path),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
