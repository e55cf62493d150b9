/* SPDX-License-Identifier: MIT */
/* Method: a folder of the test, opened repeatedly, with files damaged in between. */
#include "exporters/transport/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/exporters/transport/power.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define BYTES_MAX 4096

struct fixture {
    char *folder;
    char *path;
    struct ntk_spool *spool;
};

static void reopen(struct fixture *f)
{
    struct ntk_err err = { 0 };

    ntk_spool_close(f->spool);
    f->spool = NULL;
    if (ntk_spool_open(f->path, BYTES_MAX, 1024, &f->spool, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "a/b");
    reopen(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_spool_close(f->spool);
    free(f->path);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *text, uint64_t items)
{
    struct ntk_err err = { 0 };
    uint64_t lost;

    assert_int_equal(ntk_spool_put(f->spool, text, strlen(text), items, &lost, &err), 0);
    assert_int_equal(lost, 0);
}

/* Checks that this is the oldest message, and removes it. */
static void assert_first(struct fixture *f, const char *text, uint64_t items)
{
    struct ntk_buf buf = { 0 };
    struct ntk_spool_message message;
    uint64_t damaged = 0;

    assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 1);
    assert_string_equal(ntk_buf_text_get(&buf), text);
    assert_int_equal(message.item_count, items);
    assert_int_equal(damaged, 0);
    ntk_spool_remove(f->spool, message.number + 1); /* a different one: no effect */
    ntk_spool_remove(f->spool, message.number);
    ntk_buf_fini(&buf);
}

static void spooled_messages_keep_their_order(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    uint64_t number;

    put(f, "c", 3);
    put(f, "d", 4);
    assert_int_equal(ntk_spool_put_front(f->spool, "b", 1, 2, &number, &err), 0);
    assert_int_equal(ntk_spool_put_front(f->spool, "a", 1, 1, &number, &err), 0);
    reopen(f);
    assert_int_equal(ntk_spool_count(f->spool), 4);
    assert_int_equal(ntk_spool_item_count(f->spool), 10);
    assert_first(f, "a", 1);
    put(f, "e", 5);
    assert_first(f, "b", 2);
    assert_int_equal(ntk_spool_put_front(f->spool, "B", 1, 6, &number, &err), 0);
    reopen(f);
    assert_first(f, "B", 6);
    assert_first(f, "c", 3);
    assert_first(f, "d", 4);
    assert_first(f, "e", 5);
    assert_int_equal(ntk_spool_count(f->spool), 0);
    assert_int_equal(ntk_spool_item_count(f->spool), 0);
    reopen(f);
    assert_int_equal(ntk_spool_count(f->spool), 0);
}

static void the_oldest_messages_are_dropped_at_the_spool_limit(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    char kilobyte[1025];
    uint64_t number;
    uint64_t lost;

    memset(kilobyte, 'x', 1024);
    kilobyte[1024] = '\0';
    put(f, kilobyte, 1);
    put(f, kilobyte, 2);
    put(f, kilobyte, 4);
    assert_int_equal(ntk_spool_put_front(f->spool, kilobyte, 1024, 8, &number, &err), -ENOSPC);
    assert_int_equal(ntk_spool_put(f->spool, kilobyte, 1024, 8, &lost, &err), 0);
    assert_int_equal(lost, 1);
    assert_int_equal(ntk_spool_item_count(f->spool), 14);
    /* 3 of 1056 bytes leave 928: this message does not fit with its header, without it would. */
    assert_int_equal(ntk_spool_put(f->spool, kilobyte, 928 - 16, 8, &lost, &err), 0);
    assert_int_equal(lost, 2);
    assert_int_equal(ntk_spool_item_count(f->spool), 20);
    assert_int_equal(ntk_spool_put(f->spool, kilobyte, 1025, 1, &lost, &err), -EMSGSIZE);
}

static void a_spool_in_use_cannot_be_opened_again(void **state)
{
    struct fixture *f = *state;
    struct ntk_spool *second = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_spool_open(f->path, BYTES_MAX, 1024, &second, &err), -EBUSY);
    assert_non_null(strstr(err.text, f->path));
}

/* Every way to damage the second of three files: the others are read, the damaged one is
 * counted. */
static void a_damaged_spooled_message_is_counted_and_others_are_read(void **state)
{
    struct fixture *f = *state;

    for (size_t at = 0; at < sizeof(struct ntk_spool_header) + 2; at++) {
        for (int is_cut = 0; is_cut < 2; is_cut++) {
            struct ntk_buf buf = { 0 };
            struct ntk_spool_message message;
            uint64_t damaged = 0;
            char name[64];

            if (!is_cut && at >= 16 && at < 24) {
                continue; /* the recorded number of items is used */
            }
            reopen(f); /* an empty folder: numbers restart */
            put(f, "a", 1);
            put(f, "bb", 1);
            put(f, "c", 1);
            snprintf(name, sizeof name, "%020llu.msg", (1ULL << 40) + 1);
            char *path = test_scratch_path(f->path, name);
            FILE *file = fopen(path, "r+");
            assert_non_null(file);
            if (is_cut) {
                assert_int_equal(ftruncate(fileno(file), (off_t)at), 0);
            } else {
                fseek(file, (long)at, SEEK_SET);
                int byte = fgetc(file);
                fseek(file, (long)at, SEEK_SET);
                fputc(byte ^ 0x81, file);
            }
            fclose(file);
            free(path);
            reopen(f);
            assert_int_equal(ntk_spool_count(f->spool), 3);
            assert_first(f, "a", 1);
            assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 1);
            assert_string_equal(ntk_buf_text_get(&buf), "c");
            assert_int_equal(damaged, 1);
            ntk_spool_remove(f->spool, message.number);
            assert_int_equal(ntk_spool_count(f->spool), 0);
            ntk_buf_fini(&buf);
        }
    }
}

/* A file with more bytes than its header announces. */
static void a_message_longer_than_its_header_is_counted_as_damaged(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf buf = { 0 };
    struct ntk_spool_message message;
    uint64_t damaged = 0;
    char name[64];

    put(f, "a", 1);
    snprintf(name, sizeof name, "%020llu.msg", 1ULL << 40);
    char *path = test_scratch_path(f->path, name);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputc('b', file);
    fclose(file);
    free(path);
    assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 0);
    assert_int_equal(damaged, 1);
    ntk_buf_fini(&buf);
}

static void unrelated_files_in_the_spool_folder_are_kept(void **state)
{
    static const char *const names[] = { "1.msg", "notes", "00000000000000000001.new",
                                         "99999999999999999999.msg", "0000000000000000000x.msg" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = test_scratch_path(f->path, names[i]);
        assert_int_equal(ntk_fs_write(path, "x", 1, NULL), 0);
        free(path);
    }
    put(f, "a", 1);
    reopen(f);
    assert_int_equal(ntk_spool_count(f->spool), 1);
    assert_first(f, "a", 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = test_scratch_path(f->path, names[i]);
        /* Our own, from a run that was killed. */
        bool is_cut_off = strstr(names[i], ".new") != NULL;
        assert_int_equal(access(path, F_OK), is_cut_off ? -1 : 0);
        free(path);
    }
}

/* Another program may have created the folder: a FIFO, a link or a folder is not a message. */
static void files_that_are_not_regular_are_counted_as_damaged(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf buf = { 0 };
    struct ntk_spool_message message;
    uint64_t damaged = 0;
    char *fifo = test_scratch_path(f->path, "00000000000000000001.msg");
    char *link = test_scratch_path(f->path, "00000000000000000002.msg");
    char *below = test_scratch_path(f->path, "00000000000000000003.msg");
    char *outside = test_scratch_path(f->folder, "outside");

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ntk_fs_write(outside, "x", 1, NULL), 0);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    reopen(f);
    put(f, "a", 1);
    assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 1);
    assert_string_equal(ntk_buf_text_get(&buf), "a");
    assert_int_equal(damaged, 2); /* a link is not even opened */
    assert_int_equal(access(outside, F_OK), 0);
    ntk_buf_fini(&buf);
    free(fifo);
    free(link);
    free(below);
    free(outside);
}

/* The oldest message is being sent while newer ones displace all others: a sent one is not counted
 * as displaced. */
static void a_message_sent_while_displaced_is_not_counted_as_lost(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf buf = { 0 };
    struct ntk_spool_message message;
    struct ntk_err err = { 0 };
    uint64_t damaged = 0;
    uint64_t number;
    uint64_t lost = 0;

    put(f, "a", 1);
    assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 1);
    ntk_buf_fini(&buf);
    ntk_spool_remove(f->spool, message.number);
    put(f, "b", 2);
    ntk_spool_remove(f->spool, message.number);
    assert_first(f, "b", 2);
    assert_int_equal(ntk_spool_put_front(f->spool, "c", 1, 3, &number, &err), 0);
    assert_int_equal(ntk_spool_put(f->spool, "d", 1, 4, &lost, &err), 0);
    reopen(f);
    assert_first(f, "c", 3);
    assert_first(f, "d", 4);
}

/* A peer that is always slightly behind: messages come and go in order. */
static void order_is_kept_in_a_spool_that_is_never_empty(void **state)
{
    struct fixture *f = *state;
    char text[16];

    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        put(f, text, i);
        if (i % 7 > 2) {
            (void)snprintf(text, sizeof text, "%u", i / 7 * 4 + i % 7 - 3);
            assert_first(f, text, i / 7 * 4 + i % 7 - 3);
        }
        if (i % 50 == 49) {
            reopen(f);
        }
    }
    assert_true(ntk_spool_count(f->spool) > 0);
}

static void sync_all(struct fixture *f)
{
    struct ntk_err err = { 0 };
    struct ntk_vec numbers;

    assert_true(ntk_spool_has_changes(f->spool));
    assert_int_equal(ntk_spool_sync_begin(f->spool, &numbers), 0);
    assert_false(ntk_spool_has_changes(f->spool));
    assert_int_equal(ntk_spool_sync_end(f->spool, &numbers, &err), 0);
}

/*
 * Synced messages survive, including those removed since the sync; all others are gone or
 * damaged.
 */
static void synced_messages_survive_a_power_failure(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    struct ntk_vec numbers;
    uint64_t number;

    put(f, "b", 2);
    put(f, "c", 3);
    assert_int_equal(ntk_spool_put_front(f->spool, "a", 1, 1, &number, &err), 0);
    sync_all(f);
    put(f, "d", 4);
    assert_first(f, "a", 1);
    assert_int_equal(ntk_spool_sync_begin(f->spool, &numbers), 0);
    assert_int_equal(numbers.count, 1); /* only "d": the others are safe */
    put(f, "e", 5);                     /* while the disk writes */
    assert_int_equal(ntk_spool_sync_end(f->spool, &numbers, &err), 0);
    assert_true(ntk_spool_has_changes(f->spool));
    assert_first(f, "b", 2);
    test_power_cut_make(f->path);
    reopen(f);
    assert_first(f, "b", 2);
    assert_first(f, "c", 3);
    assert_first(f, "d", 4);
    struct ntk_buf buf = { 0 };
    struct ntk_spool_message message;
    uint64_t damaged = 0;
    assert_int_equal(ntk_spool_first(f->spool, &buf, &message, &damaged), 0); /* "e" is empty */
    assert_int_equal(damaged, 1);
    ntk_buf_fini(&buf);
}

static void a_failed_sync_is_reported_as_an_error(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    struct ntk_vec numbers;

    put(f, "a", 1);
    assert_int_equal(ntk_spool_sync_begin(f->spool, &numbers), 0);
    test_power_fail(EIO);
    assert_int_equal(ntk_spool_sync_end(f->spool, &numbers, &err), -EIO);
    test_power_fail(0);
    assert_non_null(strstr(err.text, "may not be on the disk yet"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spooled_messages_keep_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_messages_are_dropped_at_the_spool_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_spool_in_use_cannot_be_opened_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_spooled_message_is_counted_and_others_are_read,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_longer_than_its_header_is_counted_as_damaged,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(unrelated_files_in_the_spool_folder_are_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_not_regular_are_counted_as_damaged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_sent_while_displaced_is_not_counted_as_lost,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(order_is_kept_in_a_spool_that_is_never_empty, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(synced_messages_survive_a_power_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_sync_is_reported_as_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
