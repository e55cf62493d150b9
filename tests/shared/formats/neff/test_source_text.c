/* SPDX-License-Identifier: MIT */
/*
 * The text of source lines.
 *
 * Method: folders of sources in a scratch folder, and paths as recorded on another machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_read_private.h"
#include "shared/formats/neff/source_text.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
    char *nki, *framework;
    struct ntk_source_text *text;
};

/* Below the scratch folder. */
static void put(const struct fixture *f, const char *name, const void *bytes, size_t count)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(ntk_fs_make_folders(path, 0777, NULL), 0);
    *slash = '/';
    assert_int_equal(ntk_fs_write(path, bytes, count, NULL), 0);
}

static void put_text(const struct fixture *f, const char *name, const char *text)
{
    put(f, name, text, strlen(text));
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->nki = test_scratch_path(f->folder, "nki");
    f->framework = test_scratch_path(f->folder, "framework");
    put_text(f, "nki/k/attn.py", "one\n\ttwo \xff\x1b[2J\r\n\nfour");
    put_text(f, "nki/attn.py", "shorter\n");
    put_text(f, "framework/model.py", "model\n");
    put_text(f, "framework/k/attn.py", "not this\n");
    put_text(f, "secret.py", "secret\n");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_source_text_destroy(f->text);
    test_scratch_destroy(f->folder);
    free(f->nki);
    free(f->framework);
    free(f);
    return 0;
}

static void open_roots(struct fixture *f, int64_t built_s)
{
    struct ntk_source_text_options options = { .nki_root = f->nki,
                                               .framework_root = f->framework,
                                               .built_s = built_s };

    assert_int_equal(ntk_source_text_create(&options, &f->text, NULL), 0);
}

static void expect(struct fixture *f, const char *path, uint32_t line, const char *wanted)
{
    const char *text = ntk_source_text_line(f->text, path, line);

    if (!wanted) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, wanted);
    }
}

static void a_source_file_is_found_by_the_longest_matching_path_suffix(void **state)
{
    struct fixture *f = *state;

    open_roots(f, 0);
    expect(f, "/home/u/k/attn.py", 1, "one");
    expect(f, "/home/u/k/attn.py", 2, "two \xef\xbf\xbd\xef\xbf\xbd[2J");
    expect(f, "/home/u/k/attn.py", 3, "");
    expect(f, "/home/u/k/attn.py", 4, "four");
    expect(f, "/elsewhere/attn.py", 1, "shorter");
    expect(f, "model.py", 1, "model");
    expect(f, "/m/model.py", 1, "model");
    expect(f, "/m/none.py", 1, NULL);
    expect(f, "/home/u/k/attn.py", 0, NULL);
    expect(f, "", 1, NULL);
    assert_null(ntk_source_text_line(NULL, "/m/model.py", 1));
    assert_null(ntk_source_text_line(f->text, NULL, 1));
    assert_int_equal(ntk_source_text_warnings(f->text)->count, 0);
}

static void a_source_file_with_too_few_lines_is_reported_with_a_warning(void **state)
{
    struct fixture *f = *state;

    open_roots(f, 0);
    expect(f, "/a/model.py", 7, NULL);
    expect(f, "/a/model.py", 8, NULL);
    const struct ntk_vec *warnings = ntk_source_text_warnings(f->text);
    assert_int_equal(warnings->count, 1);
    assert_string_equal(
        *(char **)ntk_vec_at(warnings, 0),
        "source file '/a/model.py' does not match the NEFF: the file has no line 7");
}

static void a_source_file_newer_than_the_neff_is_reported_with_a_warning(void **state)
{
    struct fixture *f = *state;

    open_roots(f, 1);
    expect(f, "/a/model.py", 1, "model");
    expect(f, "/a/model.py", 1, "model");
    const struct ntk_vec *warnings = ntk_source_text_warnings(f->text);
    assert_int_equal(warnings->count, 1);
    assert_non_null(strstr(*(char **)ntk_vec_at(warnings, 0), "was changed after the NEFF"));
}

static void files_outside_the_source_folders_are_not_read(void **state)
{
    struct fixture *f = *state;
    char link[4096];
    char to[4096];

    snprintf(link, sizeof link, "%s/link.py", f->nki);
    snprintf(to, sizeof to, "%s/secret.py", f->folder);
    assert_int_equal(symlink(to, link), 0);
    snprintf(link, sizeof link, "%s/up", f->nki);
    assert_int_equal(symlink("..", link), 0);
    snprintf(link, sizeof link, "%s/pipe.py", f->nki);
    assert_int_equal(mkfifo(link, 0600), 0);
    open_roots(f, 0);
    expect(f, to, 1, NULL);
    expect(f, "/a/link.py", 1, NULL);
    expect(f, "/a/../secret.py", 1, NULL);
    expect(f, "../secret.py", 1, NULL);
    expect(f, "/up/secret.py", 1, NULL);
    expect(f, "/a/pipe.py", 1, NULL); /* and it does not wait for a writer */
    expect(f, "/k", 1, NULL);         /* a folder */
    expect(f, "/", 1, NULL);
}

/* Where the kernel has openat2(), as everywhere but in old kernels and some sandboxes. */
static void links_within_the_folder_are_followed(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *name, *to;
        bool leads_out;
    } links[] = {
        { "nki/current", "k", false },
        { "nki/k/up", "../k", false },
        { "nki/k/same.py", "attn.py", false },
        { "nki/away", "../framework", true },
        { "nki/k/away.py", "../../secret.py", true },
        { "nki/again.py", "again.py", true },
    };
    char path[4096];

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "%s/%s", f->folder, links[i].name);
        assert_int_equal(symlink(links[i].to, path), 0);
    }
    snprintf(path, sizeof path, "%s/absolute", f->nki);
    assert_int_equal(symlink(f->nki, path), 0);
    open_roots(f, 0);
    if (!ntk_source_text_line(f->text, "/u/k/same.py", 1)) {
        skip(); /* no openat2() */
    }
    expect(f, "/u/k/same.py", 4, "four");
    expect(f, "/u/current/attn.py", 1, "one");
    expect(f, "/u/k/up/attn.py", 1, "one");
    expect(f, "/u/away/model.py", 1, "model"); /* by the second folder, not by the link */
    expect(f, "/u/k/away.py", 1, NULL);
    expect(f, "/u/again.py", 1, NULL);
    expect(f, "/u/absolute/k/same.py", 1, "one"); /* by k/same.py */
    expect(f, "/u/absolute/current", 1, NULL);
}

static void without_source_folders_the_recorded_path_is_read(void **state)
{
    struct fixture *f = *state;
    struct ntk_source_text_options options = { 0 };
    char path[4096];

    put_text(f, "passwords", "secret\n");
    assert_int_equal(ntk_source_text_create(&options, &f->text, NULL), 0);
    snprintf(path, sizeof path, "%s/secret.py", f->folder);
    expect(f, path, 1, "secret");
    snprintf(path, sizeof path, "%s/passwords", f->folder);
    expect(f, path, 1, NULL);
    expect(f, "secret.py", 1, NULL);
}

static void a_source_file_above_64_mib_is_not_read(void **state)
{
    struct fixture *f = *state;
    char path[4096];

    put_text(f, "nki/large.py", "x\n");
    snprintf(path, sizeof path, "%s/large.py", f->nki);
    assert_int_equal(truncate(path, ((off_t)64 << 20) + 1), 0);
    open_roots(f, 0);
    expect(f, "/a/large.py", 1, NULL);
    const struct ntk_vec *warnings = ntk_source_text_warnings(f->text);
    assert_int_equal(warnings->count, 1);
    assert_non_null(strstr(*(char **)ntk_vec_at(warnings, 0), "larger than 64 MiB"));
}

static void lines_at_the_end_of_a_long_source_file_are_found(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };
    char wanted[32];

    for (int i = 1; i <= 1000; i++) {
        ntk_buf_add_format(&text, "line %d\n", i);
    }
    put(f, "nki/long.py", text.bytes, text.bytes_count);
    ntk_buf_fini(&text);
    open_roots(f, 0);
    for (uint32_t i = 1000; i > 0; i -= 37) {
        snprintf(wanted, sizeof wanted, "line %u", i);
        expect(f, "long.py", i, wanted);
        i = i < 37 ? 37 : i;
    }
    expect(f, "long.py", 1001, NULL);
}

/* Folders come first, then the member with the whole path; a member without a source code extension
 * is not text. */
static void a_neff_member_with_the_path_provides_the_source_text(void **state)
{
    struct fixture *f = *state;
    struct ntk_neff_build *build = ntk_neff_build_create(NULL);
    struct ntk_source_text_options options = { .nki_root = f->nki };
    struct ntk_neff *neff = NULL;
    uint8_t *bytes;
    size_t count;

    (void)ntk_neff_kernel_output(ntk_neff_build_kernel(build, "k"), "y", NTK_DTYPE_FLOAT32, 1,
                                 (uint64_t[]){ 1 });
    ntk_neff_build_member(build, "debug_info/source/k/attn.py", "member", 6);
    ntk_neff_build_member(build, "debug_info/source/k/own.c", "first\nsecond\n", 13);
    ntk_neff_build_member(build, "debug_info/source/k/own.txt", "text", 4);
    ntk_neff_build_member(build, "debug_info/source/k/empty.c", NULL, 0);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, NULL), 0);
    ntk_neff_build_destroy(build);
    assert_int_equal(ntk_neff_open_bytes(bytes, count, &neff, NULL), 0);
    options.neff = neff;
    assert_int_equal(ntk_source_text_create(&options, &f->text, NULL), 0);
    expect(f, "k/attn.py", 1, "one");
    expect(f, "k/own.c", 2, "second");
    expect(f, "/elsewhere/k/own.c", 2, NULL);
    expect(f, "k/own.txt", 1, NULL);
    expect(f, "k/empty.c", 1, NULL);
    ntk_neff_close(neff);
    free(bytes);
}

/* Method: a member with binary bytes, one endless line, or a huge claimed size. */
static void an_invalid_member_yields_sanitized_text_or_none(void **state)
{
    static const struct {
        const char *bytes;
        size_t bytes_count;
        uint32_t line;
        const char *text; /* NULL: none */
    } cases[] = {
        { "\xff\x1b[31m\0x\n", 8, 1, "\xef\xbf\xbd\xef\xbf\xbd[31m" }, /* up to the zero byte */
        { "cut in the mid", 14, 1, "cut in the mid" },
        { "cut in the mid", 14, 2, NULL },
        { "one\n", 4, UINT32_MAX, NULL },
        { "one\n", 4, 0, NULL },
        { "lies", NTK_SOURCE_TEXT_FILE_BYTES_MAX + 1, 1, NULL },
        { "lies", SIZE_MAX, 1, NULL },
    };
    static char name[] = "debug_info/source/k.c";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct neff_private data = { 0 };
        struct ntk_neff_member member = { .name = name,
                                          .bytes = (uint8_t *)(uintptr_t)cases[i].bytes,
                                          .bytes_count = cases[i].bytes_count };
        struct ntk_neff neff = { .members = &member, .member_count = 1, .private_data = &data };
        struct ntk_source_text_options options = { .neff = &neff };
        struct ntk_source_text *text = NULL;
        const char *line;

        assert_int_equal(ntk_map_put(&data.members, name, &member), 0);
        assert_int_equal(ntk_source_text_create(&options, &text, NULL), 0);
        line = ntk_source_text_line(text, "k.c", cases[i].line);
        if (cases[i].text) {
            assert_non_null(line);
            assert_string_equal(line, cases[i].text);
        } else {
            assert_null(line);
        }
        assert_null(ntk_source_text_line(text, "../source/k.c", 1));
        ntk_source_text_destroy(text);
        ntk_map_fini(&data.members);
    }
}

static void a_missing_source_folder_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct ntk_source_text_options options = { .nki_root = "/nowhere" };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_source_text_create(&options, &f->text, &err), -ENOENT);
    assert_string_equal(err.text,
                        "cannot open the source folder '/nowhere': No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_source_file_is_found_by_the_longest_matching_path_suffix),
        TEST(a_source_file_with_too_few_lines_is_reported_with_a_warning),
        TEST(a_source_file_newer_than_the_neff_is_reported_with_a_warning),
        TEST(files_outside_the_source_folders_are_not_read),
        TEST(links_within_the_folder_are_followed),
        TEST(without_source_folders_the_recorded_path_is_read),
        TEST(a_source_file_above_64_mib_is_not_read),
        TEST(lines_at_the_end_of_a_long_source_file_are_found),
        TEST(a_neff_member_with_the_path_provides_the_source_text),
        TEST(an_invalid_member_yields_sanitized_text_or_none),
        TEST(a_missing_source_folder_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
