/* SPDX-License-Identifier: MIT */
/* Method: stderr is replaced by a file for one line; the journal is recognised by its device and
 * inode. */
#include "shared/base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/err.h"
#include "tests/support/unit.h"

enum journal { NO_JOURNAL, OTHER_JOURNAL, JOURNAL };

/* The output of one call per level at the current level. */
static void write_lines(enum journal journal, char *out, size_t out_bytes)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    struct stat stat;
    char text[64];

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &stat), 0);
    (void)snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)stat.st_dev,
                   (unsigned long long)stat.st_ino + (journal == OTHER_JOURNAL));
    if (journal == NO_JOURNAL) {
        unsetenv("JOURNAL_STREAM");
    } else {
        setenv("JOURNAL_STREAM", text, 1);
    }
    dup2(fileno(file), STDERR_FILENO);
    ntk_log_error("store", "it %s", "breaks");
    ntk_log_warn(NULL, "it is slow");
    ntk_log_info("", "it works");
    ntk_log_debug("store", "it is at it");
    dup2(saved, STDERR_FILENO);
    close(saved);
    unsetenv("JOURNAL_STREAM");
    rewind(file);
    out[fread(out, 1, out_bytes - 1, file)] = '\0';
    (void)fclose(file);
}

static void log_lines_have_program_module_and_priority(void **state)
{
    char out[512];

    ntk_log_set_program("test");
    ntk_log_set_level(NTK_LOG_WARN);
    uint64_t warnings = ntk_log_count_get(NTK_LOG_WARN);
    uint64_t news = ntk_log_count_get(NTK_LOG_INFO);
    write_lines(NO_JOURNAL, out, sizeof out);
    assert_string_equal(out, "test: store: it breaks\ntest: it is slow\n");
    assert_int_equal(ntk_log_count_get(NTK_LOG_WARN), warnings + 1);
    assert_int_equal(ntk_log_count_get(NTK_LOG_INFO), news); /* suppressed, so not counted */
    ntk_log_set_level(NTK_LOG_DEBUG);
    write_lines(OTHER_JOURNAL, out, sizeof out);
    assert_string_equal(
        out,
        "test: store: it breaks\ntest: it is slow\ntest: it works\ntest: store: it is at it\n");
    write_lines(JOURNAL, out, sizeof out);
    assert_string_equal(out, "<3>test: store: it breaks\n<4>test: it is slow\n<6>test: it works\n"
                             "<7>test: store: it is at it\n");
}

static void a_module_in_the_program_name_is_not_repeated(void **state)
{
    char out[512];

    ntk_log_set_program("test store");
    ntk_log_set_level(NTK_LOG_WARN);
    write_lines(NO_JOURNAL, out, sizeof out);
    assert_string_equal(out, "test store: it breaks\ntest store: it is slow\n");
    ntk_log_set_program("store");
    write_lines(NO_JOURNAL, out, sizeof out);
    assert_string_equal(out, "store: store: it breaks\nstore: it is slow\n");
}

static void a_logged_failure_has_its_message_and_byte_offset(void **state)
{
    const struct ntk_err err = { .offset = 12, .text = "bad magic" };
    char out[512];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);

    assert_non_null(file);
    ntk_log_set_program("test");
    dup2(fileno(file), STDERR_FILENO);
    assert_int_equal(ntk_log_failure("file", &err), 1);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    out[fread(out, 1, sizeof out - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(out, "test: file: bad magic (at byte 12)\n");
}

/* Text from a peer may contain anything: it stays on one line without control characters. */
static void control_characters_in_log_lines_are_replaced(void **state)
{
    char out[512];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);

    assert_non_null(file);
    ntk_log_set_program("test");
    dup2(fileno(file), STDERR_FILENO);
    ntk_log_error("peer", "status 400: %s",
                  "a\x1b[2Jb\nroot: c\r\x7f\td\xc3\xa9\xc2\x9b\xe2\x80\xae\xff");
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    out[fread(out, 1, sizeof out - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(out, "test: peer: status 400: a?[2Jb?root: c???d\xc3\xa9??"
                             "????\n");
}

/* Method: a sink that records its input. */
static char sunk[256];

static void sink(enum ntk_log_level level, const char *module, const char *text)
{
    size_t used = strlen(sunk);

    (void)snprintf(sunk + used, sizeof sunk - used, "%d %s %s|", (int)level, module ? module : "-",
                   text);
}

static void a_sink_receives_log_lines_instead_of_stderr(void **state)
{
    char out[512];

    ntk_log_set_program("test");
    ntk_log_set_level(NTK_LOG_INFO);
    ntk_log_set_sink(sink);
    write_lines(JOURNAL, out, sizeof out);
    ntk_log_error("peer", "a\033b\nc");
    ntk_log_set_sink(NULL);
    assert_string_equal(out, "");
    assert_string_equal(sunk, "0 store it breaks|1 - it is slow|2  it works|0 peer a?b?c|");
    ntk_log_set_level(NTK_LOG_WARN);
    write_lines(NO_JOURNAL, out, sizeof out);
    assert_string_equal(out, "test: store: it breaks\ntest: it is slow\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_lines_have_program_module_and_priority),
        cmocka_unit_test(a_module_in_the_program_name_is_not_repeated),
        cmocka_unit_test(a_logged_failure_has_its_message_and_byte_offset),
        cmocka_unit_test(control_characters_in_log_lines_are_replaced),
        cmocka_unit_test(a_sink_receives_log_lines_instead_of_stderr)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
