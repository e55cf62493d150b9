/* SPDX-License-Identifier: MIT */
/* cmd_trigger_tell - prints what each process recorded, as text or as JSON. */
#include "profiler/cmd/cmd_trigger_tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_trigger_text.h"
#include "shared/base/clock.h"

#define POLL_NS (10 * NTK_NS_PER_MS)

static void put_text(const struct ntk_trigger_target *target, const char *before)
{
    char rank[32] = "";
    char range[NTK_TRIGGER_RANGE_BYTES];

    if (target->rank >= 0) {
        (void)snprintf(rank, sizeof rank, ", rank %lld", (long long)target->rank);
    }
    printf("process %u (%s)%s: %s in %u file%s, earlier events in %s\n", target->pid,
           target->command, rank,
           ntk_trigger_executions_text(target->recorded_first, target->recorded_last, range,
                                       sizeof range),
           target->file_count, target->file_count == 1 ? "" : "s", before ? before : "none");
}

static void put_who(const struct ntk_trigger_target *target, struct ntk_json *json)
{
    ntk_json_key_u64(json, "pid", target->pid);
    ntk_json_key_u64(json, "uid", target->uid);
    ntk_json_key_text(json, "command", target->command);
    if (target->rank >= 0) {
        ntk_json_key_i64(json, "rank", target->rank);
    }
}

static void put_json(const struct ntk_trigger_target *target, const char *before,
                     struct ntk_json *json)
{
    ntk_json_object_begin(json);
    put_who(target, json);
    if (target->file_count > 0) {
        ntk_json_key_u64(json, "first_execution", target->recorded_first);
        ntk_json_key_u64(json, "last_execution", target->recorded_last);
    }
    ntk_json_key_u64(json, "file_count", target->file_count);
    ntk_json_key_u64(json, "file_bytes", target->file_bytes);
    ntk_json_key(json, "before");
    ntk_json_text(json, before);
    ntk_json_key_text(json, "error", target->status != 0 ? target->err.text : "");
    ntk_json_key_bool(json, "is_late", target->status == -EAGAIN);
    ntk_json_object_end(json);
}

/* Prints one process: its recording, or the reason for none. Returns the exit code. */
static int tell_one(const struct ntk_trigger_asking *asking, struct ntk_trigger_target *target,
                    struct ntk_json *json)
{
    struct ntk_err err = { 0 };
    char *before = NULL;
    int code = 0;

    if (!target->is_answered) {
        target->status =
            ntk_err_set(&target->err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                        "process %u (%s) did not respond", target->pid, target->command);
    }
    if (target->status != -ESRCH) {
        before = ntk_trigger_around_save(asking->around, target, asking->folder, &err);
    }
    if (target->status != 0 || target->file_count == 0) {
        code = 1;
        if (target->status == 0) {
            target->status = ntk_err_set(
                &target->err, -ENODATA, NTK_ERR_NO_OFFSET,
                "process %u (%s): recorded no execution numbered %llu or higher before the timeout",
                target->pid, target->command, (unsigned long long)asking->first);
        }
        (void)ntk_profile_fail(&target->err);
    }
    if (target->file_count > 0 && !asking->options->json) {
        put_text(target, before);
    } else if (before && !asking->options->json) {
        printf("process %u (%s): no execution, earlier events in %s\n", target->pid,
               target->command, before);
    }
    uint64_t had = target->recorded_last - target->recorded_first + 1;
    if (target->file_count > 0 && had < asking->options->executions) {
        code = 1;
        fprintf(stderr,
                "neuron-profile: process %u (%s): recorded only %llu of %llu executions before the "
                "timeout; use a longer --timeout\n",
                target->pid, target->command, (unsigned long long)had,
                (unsigned long long)asking->options->executions);
    }
    if (!before && err.text[0]) {
        (void)ntk_profile_fail(&err);
        code = 1;
    }
    put_json(target, before, json);
    free(before);
    return code;
}

/* Prints the processes of one of several users, if the capture failed. Returns the exit code. */
static int tell_none(const struct ntk_trigger_asking *asking, struct ntk_json *json)
{
    struct ntk_err err = { 0 };

    (void)ntk_err_set(&err, asking->ret, NTK_ERR_NO_OFFSET, "processes of user %u: %s", asking->uid,
                      asking->err.text);
    for (size_t i = 0; i < asking->count && !asking->options->only_look; i++) {
        struct ntk_trigger_target target = asking->targets[i];

        target.status = asking->ret;
        target.err = asking->err;
        target.file_count = 0;
        put_json(&target, NULL, json);
    }
    return ntk_profile_fail(&err);
}

/* Prints the recordings; returns the exit code. */
static int tell_records(const struct ntk_trigger_asking *asking, struct ntk_json *json)
{
    int code = asking->watch_code;

    for (size_t i = 0; i < asking->count; i++) {
        code |= tell_one(asking, &asking->targets[i], json);
    }
    ntk_vec_each(struct ntk_trigger_target, target, &asking->others) {
        code |= tell_one(asking, target, json);
    }
    return code;
}

static int tell_look(const struct ntk_trigger_asking *asking, struct ntk_json *json)
{
    for (size_t i = 0; i < asking->count; i++) {
        const struct ntk_trigger_target *target = &asking->targets[i];

        ntk_json_object_begin(json);
        put_who(target, json);
        ntk_json_key_u64(json, "execution", target->execution);
        ntk_json_object_end(json);
        if (!asking->options->json) {
            printf("process %u (%s): execution %llu\n", target->pid, target->command,
                   (unsigned long long)target->execution);
        }
    }
    return 0;
}

int ntk_trigger_tell_done(struct ntk_trigger_askings *askings, struct ntk_json *json)
{
    size_t reported = 0;
    int code = 0;

    while (reported < askings->count) {
        for (size_t i = 0; i < askings->count; i++) {
            struct ntk_trigger_asking *asking = askings->of[i];

            if (asking->is_reported || !atomic_load(&asking->is_done)) {
                continue;
            }
            asking->is_reported = true;
            reported++;
            code |= asking->ret < 0               ? tell_none(asking, json)
                    : askings->options->only_look ? tell_look(asking, json)
                                                  : tell_records(asking, json);
            (void)fflush(stdout);
        }
        if (reported < askings->count) {
            usleep(POLL_NS / NTK_NS_PER_US);
        }
    }
    return code;
}

int ntk_trigger_tell_failure(const struct ntk_err *err, bool is_json)
{
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    if (is_json) {
        ntk_json_init(&json, &out, true);
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "error", err->text);
        ntk_json_key_bool(&json, "is_late", err->code == -EAGAIN);
        ntk_json_object_end(&json);
        ntk_buf_add_char(&out, '\n');
        (void)ntk_profile_put(&out, NULL);
        ntk_buf_fini(&out);
    }
    return ntk_profile_fail(err);
}
