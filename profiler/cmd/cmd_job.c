/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/system/live_trace.h"

bool ntk_profile_job_has(const char *job, uint64_t pid, struct ntk_ring_segment *segment,
                         const struct ntk_ring_process *process)
{
    static struct ntk_ring_comm comms[NTK_SEGMENT_COMMS];
    char text[256];

    if (!job) {
        return process->pid == pid;
    }
    if (strcmp(process->tag, job) == 0) {
        return true;
    }
    size_t count = ntk_ring_segment_comms(segment, comms, NTK_SEGMENT_COMMS);
    for (size_t i = 0; i < count; i++) {
        if (ntk_ring_segment_text(segment, comms[i].name, text, sizeof text) > 0 &&
            strcmp(text, job) == 0) {
            return true;
        }
    }
    return false;
}

int ntk_profile_job_err_not_found(const char *job, uint64_t pid, const struct ntk_ring_poll *poll,
                                  struct ntk_err *err)
{
    char unseen[NTK_ERR_TEXT_BYTES] = "";

    if (poll->unreadable > 0) {
        (void)snprintf(unseen, sizeof unseen, "; %u unreadable process%s: %s", poll->unreadable,
                       poll->unreadable > 1 ? "es" : "", strerror(EACCES));
    } else if (poll->ignored > 0) {
        /* Segments may be ignored because of another version, for example. */
        struct ntk_buf reasons = { 0 };

        ntk_ring_poll_reasons(poll, &reasons);
        (void)snprintf(unseen, sizeof unseen, "; ignored %u segment%s: %s", poll->ignored,
                       poll->ignored > 1 ? "s" : "", ntk_buf_text_get(&reasons));
        ntk_buf_fini(&reasons);
    }
    if (job) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "no process of job '%s' found: --job expects a tag, or the address "
                           "where ranks meet%s",
                           job, unseen);
    }
    return ntk_live_process_err_missing(pid, unseen, err);
}
