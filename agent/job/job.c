/* SPDX-License-Identifier: MIT */
/* job - implements neuron-monitor job: options, the selected jobs, and the format of the answer. */
#include "agent/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query/query.h"
#include "agent/query/query_span.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

#define NEWEST 100 /* number of jobs, unless an option requests more */

static const char *arg_db;
static const char *arg_user;
static struct ntk_query_span arg_span;
static struct ntk_query_bounds bounds;
static uint64_t arg_newest;
static uint64_t arg_device_watts;
static bool arg_by_user;
static bool arg_csv;
static bool arg_json;

static const struct ntk_opt option_rows[] = {
    { 0, "db", "FILE", NTK_OPT_TEXT, &arg_db,
      "read this database (written by neuron-monitor --db)" },
    { 0, "Job selection", 0, NTK_OPT_HEADING, 0, 0 },
    { 'u', "user", "NAME", NTK_OPT_TEXT, &arg_user, "show only jobs of this user" },
    NTK_QUERY_SPAN_OPT(arg_span),
    { 0, "newest", "N", NTK_OPT_U64, &arg_newest,
      "show only the N most recently started jobs (default 100)", .is_above_zero = true },
    { 0, "Output", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "by-user", 0, NTK_OPT_FLAG, &arg_by_user,
      "print one row per user with the totals of all jobs" },
    { 0, "device-watts", "WATTS", NTK_OPT_U64, &arg_device_watts,
      "set the maximum power of a device in watts; enables the energy estimate",
      .is_above_zero = true },
    { 0, "csv", 0, NTK_OPT_FLAG, &arg_csv, "print comma-separated values with all figures" },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON array of objects with all figures" },
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor job",
    .usage = "[ID] --db FILE [OPTION]...",
    .summary = "Shows which cores batch jobs held and how they used them: core-hours, executions, "
               "errors, memory, MFU, power. Prints one job in full, or one row per job, from the "
               "database of an agent with --hpc-job-mapping-dir. The agent may be running.",
    .options = option_rows,
};

/* ---- users ---- */

struct collected {
    struct ntk_query_table *table;
    enum ntk_job_view view;
    struct ntk_vec users; /* elements are struct ntk_job_row with owned texts */
};

static int add_job(const struct ntk_store_job *job, void *ctx)
{
    struct collected *collected = ctx;

    ntk_job_table_add(
        collected->table, collected->view,
        &(struct ntk_job_row){ .job = *job, .jobs = 1, .device_watts = (double)arg_device_watts });
    return 0;
}

static int add_to_user(const struct ntk_store_job *job, void *ctx)
{
    struct collected *collected = ctx;

    ntk_vec_each(struct ntk_job_row, row, &collected->users) {
        if (strcmp(row->job.user, job->user) == 0) {
            ntk_job_row_add(row, job);
            return 0;
        }
    }
    struct ntk_job_row row = { .job.user = strdup(job->user),
                               .device_watts = (double)arg_device_watts };
    if (!row.job.user || ntk_vec_push(&collected->users, &row) < 0) {
        free((char *)row.job.user);
        return -ENOMEM;
    }
    ntk_job_row_add(ntk_vec_at(&collected->users, collected->users.count - 1), job);
    return 0;
}

NTK_ORDER(by_core_hours, struct ntk_job_row, NTK_DOWN(job.held_ns));

static void finish_users(struct collected *collected)
{
    if (collected->users.count > 1) {
        qsort(collected->users.items, collected->users.count, sizeof(struct ntk_job_row),
              by_core_hours);
    }
    ntk_vec_each(struct ntk_job_row, row, &collected->users) {
        ntk_job_table_add(collected->table, collected->view, row);
        free((char *)row->job.user);
    }
    ntk_vec_fini(&collected->users);
}

/* ---- the query ---- */

static int no_job(const char *id, struct ntk_err *err)
{
    if (id) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "no job %s%s%s%s", id,
                           arg_user ? " of " : "", arg_user ? arg_user : "",
                           arg_span.from || arg_span.to || arg_span.last_ns ? " in that window"
                                                                            : "");
    }
    return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                       "no job%s%s: run the agent with --hpc-job-mapping-dir to record jobs",
                       arg_user ? " of " : "", arg_user ? arg_user : "");
}

static int ask(struct ntk_store_reader *reader, const char *id, struct ntk_query_table *table,
               struct ntk_err *err)
{
    struct collected collected = { .table = table,
                                   .view = arg_by_user                 ? NTK_JOB_VIEW_USERS
                                           : id || arg_csv || arg_json ? NTK_JOB_VIEW_JOBS
                                                                       : NTK_JOB_VIEW_SHORT,
                                   .users = NTK_VEC_INIT(struct ntk_job_row) };
    struct ntk_store_jobs_filter filter = { .id = id,
                                            .user = arg_user,
                                            .most = arg_newest    ? arg_newest
                                                    : arg_by_user ? SIZE_MAX
                                                                  : NEWEST };
    struct ntk_store_window *window = &filter.window;
    size_t more = 0;
    int ret = ntk_query_window_whole(reader, window, err);

    /* A job that started before the first sample gets the whole window. */
    window->from_ns = 0;
    window->to_ns++;
    ret = ret < 0 ? ret : ntk_query_window_narrow(reader, &bounds, window, err);
    if (ret < 0) {
        return ret;
    }
    ntk_job_table_begin(table, collected.view);
    ret = ntk_store_reader_jobs(reader, &filter, &more, arg_by_user ? add_to_user : add_job,
                                &collected, err);
    if (ret == -ENOMEM) {
        ret = ntk_err_no_memory(err);
    }
    finish_users(&collected);
    if (ret == 0 && ntk_query_table_row_count(table) == 0) {
        ret = no_job(id, err);
    }
    if (ret == 0 && more > 0) {
        ntk_log_warn("job", "%zu earlier jobs omitted: use --newest N", more);
    }
    return ret;
}

static int check_options(void)
{
    struct ntk_err err = { 0 };

    if (!arg_db) {
        return ntk_opt_usage_error(&program, "no database: use --db FILE");
    }
    if (arg_csv && arg_json) {
        return ntk_opt_usage_error(&program, "--csv and --json are mutually exclusive");
    }
    if (ntk_query_span_parse(&arg_span, &bounds, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    return 0;
}

static int answer(const char *id, struct ntk_err *err)
{
    struct ntk_store_reader *reader = NULL;
    struct ntk_query_table table;
    int ret = ntk_store_reader_open(arg_db, &reader, err);

    if (ret < 0) {
        return ret;
    }
    ntk_query_table_init(&table);
    ret = ask(reader, id, &table, err);
    ntk_store_reader_close(reader);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", arg_db);
    } else {
        ret = ntk_query_table_print(&table,
                                    arg_csv              ? NTK_QUERY_FORM_CSV
                                    : arg_json           ? NTK_QUERY_FORM_JSON
                                    : id && !arg_by_user ? NTK_QUERY_FORM_LIST
                                                         : NTK_QUERY_FORM_TABLE,
                                    err);
    }
    ntk_query_table_fini(&table);
    return ret;
}

int ntk_job_main(int argc, char **argv)
{
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first + 1 < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first + 1]);
    }
    int code = check_options();
    if (code) {
        return code;
    }
    return answer(first < argc ? argv[first] : NULL, &err) < 0 ? ntk_log_failure(NULL, &err) : 0;
}
