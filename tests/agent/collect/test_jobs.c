/* SPDX-License-Identifier: MIT */
/* Method: files with chosen times in a scratch folder, a clock that does not move, and snapshots of
 * a made-up machine: two devices with two cores each. */
#include "agent/collect/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define NOW_S 1000000

struct fixture {
    char *path;
    uint64_t now_ns;
    struct ntk_clock clock;
    struct ntk_jobs_folder *folder;
    struct ntk_snapshot *snapshot;
};

static char said[512];
static int said_count;

static void hear(enum ntk_log_level level, const char *module, const char *text)
{
    snprintf(said, sizeof said, "%s: %s", module, text);
    said_count++;
}

/* Every scan reads the clock first, so a blocked clock blocks the scan. */
static pthread_mutex_t hanging = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void *ctx)
{
    pthread_mutex_lock(&hanging);
    pthread_mutex_unlock(&hanging);
    return *(uint64_t *)ctx;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->path = test_scratch_create();
    f->now_ns = NOW_S * NTK_NS_PER_SECOND;
    f->clock = (struct ntk_clock){ .realtime_ns = now, .monotonic_ns = now, .ctx = &f->now_ns };
    assert_int_equal(ntk_jobs_create(f->path, &f->clock, &f->folder, NULL), 0);
    ntk_jobs_set_wait(f->folder, test_patience_ns());
    said[0] = '\0';
    said_count = 0;
    ntk_log_set_sink(hear);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_log_set_sink(NULL);
    ntk_jobs_destroy(f->folder);
    ntk_snapshot_destroy(f->snapshot);
    chmod(f->path, 0700);
    test_scratch_destroy(f->path);
    free(f);
    return 0;
}

static void set_age(struct fixture *f, const char *name, double seconds_ago)
{
    char *path = test_scratch_path(f->path, name);
    double at = (double)f->now_ns / 1e9 - seconds_ago;
    struct timespec times[2] = { { .tv_sec = (time_t)at,
                                   .tv_nsec = (long)((at - (double)(time_t)at) * 1e9) } };

    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
}

static void put(struct fixture *f, const char *name, const char *text, double seconds_ago)
{
    char *path = test_scratch_path(f->path, name);
    FILE *file = fopen(path, "w"); /* in place, as a shell does */

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
    set_age(f, name, seconds_ago);
}

static void drop(struct fixture *f, const char *name)
{
    char *path = test_scratch_path(f->path, name);

    assert_int_equal(unlink(path), 0);
    free(path);
}

static const struct ntk_jobs *look(struct fixture *f)
{
    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = ntk_snapshot_create();
    f->snapshot->hardware.device_count = 2;
    f->snapshot->hardware.cores_per_device = 4;
    f->snapshot->hardware.lnc = 2;
    ntk_jobs_get(f->snapshot, f->folder);
    assert_true(ntk_snapshot_ok(f->snapshot));
    return &f->snapshot->jobs;
}

/* "id user: cores / devices @seconds ago", one line each. */
static void assert_jobs(struct fixture *f, const char *want)
{
    const struct ntk_jobs *jobs = look(f);
    char text[2048] = "";
    size_t used = 0;

    assert_true(jobs->is_asked);
    for (size_t i = 0; i < jobs->count; i++) {
        const struct ntk_job *job = &jobs->rows[i];

        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s:", job->id, job->user);
        for (size_t k = 0; k < job->core_count; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, " %u", job->cores[k]);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, " /");
        for (size_t k = 0; k < job->device_count; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, " %u", job->devices[k]);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, " @%g\n",
                                 (double)(f->now_ns - job->since_ns) / 1e9);
    }
    assert_string_equal(text, want);
}

static void a_job_has_the_cores_of_its_devices(void **state)
{
    struct fixture *f = *state;

    put(f, "1", "42\nuser=alice\n", 60);
    put(f, "0.1", "42\n", 90);
    put(f, "0.0", "43\nuser=bob\n", 30);
    put(f, "notes", "rubbish", 30);
    assert_jobs(f, "43 bob: 0 / 0 @30\n42 alice: 1 2 3 / 0 1 @90\n");
    assert_string_equal(f->snapshot->jobs.error, "");
    assert_int_equal(said_count, 0);
}

static void a_missing_job_folder_has_no_jobs_and_is_not_an_error(void **state)
{
    struct fixture *f = *state;

    ntk_jobs_destroy(f->folder);
    assert_int_equal(ntk_jobs_create("/nonexistent/jobs", &f->clock, &f->folder, NULL), 0);
    assert_jobs(f, "");
    assert_int_equal(said_count, 0);
}

static int has_no_error(void *f)
{
    return look(f)->error[0] == '\0';
}

static void a_hanging_job_folder_keeps_the_last_known_jobs(void **state)
{
    struct fixture *f = *state;

    put(f, "0", "42\n", 10);
    assert_jobs(f, "42 : 0 1 / 0 @10\n");
    pthread_mutex_lock(&hanging);
    ntk_jobs_set_wait(f->folder, 1);
    for (int i = 0; i < 2; i++) {
        assert_jobs(f, "42 : 0 1 / 0 @10\n");
        assert_non_null(strstr(f->snapshot->jobs.error, "the file system does not respond"));
        assert_int_equal(said_count, 1);
        ntk_jobs_set_wait(f->folder, UINT64_MAX); /* stop waiting for it */
    }
    drop(f, "0");
    pthread_mutex_unlock(&hanging);
    assert_true(test_wait_until(has_no_error, f));
    assert_int_equal(f->snapshot->jobs.count, 0);
    assert_non_null(strstr(said, "all files are valid again"));
}

static void jobs_appear_and_disappear_with_their_files(void **state)
{
    struct fixture *f = *state;

    assert_jobs(f, "");
    put(f, "0", "42\n", 10);
    assert_jobs(f, "42 : 0 1 / 0 @10\n");
    put(f, "0", "42\n43\n", 5); /* shared from now on: the first one started earlier */
    assert_jobs(f, "42 : 0 1 / 0 @10\n43 : 0 1 / 0 @5\n");
    put(f, "0", "43\n", 2);
    assert_jobs(f, "43 : 0 1 / 0 @5\n");
    drop(f, "0");
    assert_jobs(f, "");
}

static void only_changed_job_files_are_read(void **state)
{
    struct fixture *f = *state;

    put(f, "0", "42\n", 10);
    put(f, "1", "43\n", 10);
    look(f);
    assert_int_equal(ntk_jobs_reads(f->folder), 2);
    look(f);
    assert_int_equal(ntk_jobs_reads(f->folder), 2);
    put(f, "1", "44\n", 9);
    look(f);
    assert_int_equal(ntk_jobs_reads(f->folder), 3);
    /* A file that is being written may change without a change of its timestamp. */
    put(f, "0", "45\n", 0.5);
    look(f);
    look(f);
    assert_int_equal(ntk_jobs_reads(f->folder), 5);
    f->now_ns += NTK_JOBS_SETTLED_NS;
    look(f);
    look(f);
    assert_int_equal(ntk_jobs_reads(f->folder), 6);
}

static void a_partly_written_job_file_is_used_once_it_is_complete_or_stops_changing(void **state)
{
    struct fixture *f = *state;

    put(f, "0", "42\n", 10);
    look(f);
    put(f, "0", "12", 0.25);
    assert_jobs(f, "42 : 0 1 / 0 @10\n"); /* as before */
    put(f, "0", "1234\n", 0.125);
    assert_jobs(f, "1234 : 0 1 / 0 @0.125\n");
    put(f, "1", "77", 0.5); /* other programs omit the newline at the end */
    assert_jobs(f, "1234 : 0 1 / 0 @0.125\n");
    f->now_ns += NTK_JOBS_SETTLED_NS;
    assert_jobs(f, "1234 : 0 1 / 0 @1.125\n77 : 2 3 / 1 @1.5\n");
}

static void a_job_file_time_in_the_future_is_treated_as_now(void **state)
{
    struct fixture *f = *state;

    put(f, "0", "42\n", -3600);
    assert_jobs(f, "42 : 0 1 / 0 @0\n");
}

static void an_invalid_job_file_is_reported_once_and_ignored(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->path, "0.0");
    char want[512];

    put(f, "0.1", "42\n", 10);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_jobs(f, "42 : 1 / 0 @10\n");
    snprintf(want, sizeof want, "jobs: %s: not a regular file", path);
    assert_string_equal(said, want);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("0.1", path), 0);
    assert_jobs(f, "42 : 1 / 0 @10\n");
    snprintf(want, sizeof want, "jobs: %s: symbolic links are not followed", path);
    assert_string_equal(said, want);
    assert_string_equal(f->snapshot->jobs.error, said + strlen("jobs: "));
    assert_int_equal(said_count, 2);
    look(f);
    assert_int_equal(said_count, 2);
    assert_int_equal(unlink(path), 0);
    look(f);
    assert_int_equal(said_count, 3); /* one more message, as the error has ended */
    assert_string_equal(f->snapshot->jobs.error, "");
    free(path);
}

/* For a moment the process cannot open any more files. */
static void a_job_file_that_could_not_be_read_is_read_again(void **state)
{
    struct fixture *f = *state;
    struct rlimit limit;

    put(f, "0", "42\n", 10);
    assert_jobs(f, "42 : 0 1 / 0 @10\n");
    put(f, "0", "43\n", 5);
    int list = open(f->path, O_RDONLY); /* the place of the folder's listing */
    assert_true(list >= 0);
    close(list);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)list + 1, limit.rlim_max }),
                     0);
    look(f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(f->snapshot->jobs.count, 0);
    assert_non_null(strstr(said, strerror(EMFILE)));
    assert_jobs(f, "43 : 0 1 / 0 @5\n");
    assert_string_equal(f->snapshot->jobs.error, "");
}

static void unknown_devices_and_cores_of_jobs_are_ignored(void **state)
{
    struct fixture *f = *state;
    char want[512];

    put(f, "2", "42\n", 10);
    put(f, "1.2", "43\n", 10);
    put(f, "1.1", "44\n", 10);
    assert_jobs(f, "44 : 3 / 1 @10\n");
    snprintf(
        want, sizeof want,
        "jobs: %s/1.2: unknown core: the machine has 2 devices with 2 cores each (and 1 similar)",
        f->path);
    assert_string_equal(said, want);
}

static void devices_of_a_job_are_reported_without_machine_information(void **state)
{
    struct fixture *f = *state;

    put(f, "1", "42\n", 10);
    f->snapshot = ntk_snapshot_create();
    ntk_jobs_get(f->snapshot, f->folder);
    assert_int_equal(f->snapshot->jobs.count, 1);
    assert_int_equal(f->snapshot->jobs.rows[0].core_count, 0);
    assert_int_equal(f->snapshot->jobs.rows[0].devices[0], 1);
}

/* Each file has 16 jobs, and there are more files than there is room for. */
static void jobs_beyond_the_limit_are_reported(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < NTK_SNAPSHOT_JOBS_MAX / NTK_JOB_FILE_JOBS_MAX + 4; i++) {
        char name[32];
        char text[256];
        size_t used = 0;
        /* "0", "00", ... all mean device 0; then "1", "01", ...; then a core, "0.0", "00.0", ... */
        snprintf(name, sizeof name, "%0*u%s", (int)(i % 15) + 1, i / 15 % 2, i < 30 ? "" : ".0");
        for (unsigned k = 0; k < NTK_JOB_FILE_JOBS_MAX; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%u\n", i * 100 + k);
        }
        put(f, name, text, 10);
    }
    assert_int_equal(look(f)->count, NTK_SNAPSHOT_JOBS_MAX);
    assert_non_null(strstr(said, "too many jobs; ignoring the rest"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_has_the_cores_of_its_devices),
        TEST(a_missing_job_folder_has_no_jobs_and_is_not_an_error),
        TEST(a_hanging_job_folder_keeps_the_last_known_jobs),
        TEST(jobs_appear_and_disappear_with_their_files),
        TEST(only_changed_job_files_are_read),
        TEST(a_partly_written_job_file_is_used_once_it_is_complete_or_stops_changing),
        TEST(a_job_file_time_in_the_future_is_treated_as_now),
        TEST(an_invalid_job_file_is_reported_once_and_ignored),
        TEST(a_job_file_that_could_not_be_read_is_read_again),
        TEST(unknown_devices_and_cores_of_jobs_are_ignored),
        TEST(devices_of_a_job_are_reported_without_machine_information),
        TEST(jobs_beyond_the_limit_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
