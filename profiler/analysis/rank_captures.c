/* SPDX-License-Identifier: MIT */
/* rank_captures - finds the captures in the folder of a trace, and the position of their executions
 * in it. */
#include <errno.h>
#include <string.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/analysis/rank_reading.h"
#include "profiler/system/session_find.h"
#include "shared/base/str.h"
#include "shared/formats/ntff/ntff.h"

/* Finds the position of its execution. */
static void capture_place(const struct rank_reading *reading,
                          const struct ntk_system_tables *tables, struct ntk_rank_capture *capture)
{
    const NtkNtracePb__Info *info = reading->trace->info;
    uint32_t nc = ntk_session_core_of(capture->path);
    struct ntk_ntff *ntff = NULL;
    uint64_t start_ns = 0;

    if (nc == UINT32_MAX) {
        capture->omitted_reason = "its name does not contain a core number";
    } else if (!info) {
        capture->omitted_reason = "no trace_info.pb next to it, so its rank is unknown";
    } else if (strstr(ntk_str_base_name(capture->path), "_session_")) {
        capture->omitted_reason = "it records the core's whole session, not one execution";
    } else if (ntk_ntff_open(capture->path, &ntff, NULL) < 0) {
        capture->omitted_reason = "unreadable";
    } else {
        capture->worker = info->first_core + nc;
        start_ns = ntk_capture_place(reading->trace, tables, ntff, nc, &capture->omitted_reason);
        if (start_ns > NTK_SYSTEM_TIME_NS_MAX) {
            capture->omitted_reason = "the time of its execution in the trace is out of range";
        } else if (start_ns == 0 && !capture->omitted_reason) {
            capture->omitted_reason = "the trace does not record when its execution started";
        }
    }
    capture->start_ns = capture->omitted_reason ? 0 : (int64_t)start_ns;
    ntk_ntff_close(ntff);
}

int ntk_rank_captures_add(struct rank_reading *reading, size_t host)
{
    const struct ntk_system_trace *trace = reading->trace;
    struct ntk_system_tables tables = { 0 };
    int ret = 0;

    if (!trace || trace->captures.count == 0) {
        return 0;
    }
    ret = ntk_analysis_system_tables(trace, &tables);
    ntk_vec_each(char *, path, &trace->captures) {
        struct ntk_rank_capture *capture = ret == 0 ? ntk_vec_add(&reading->list->captures) : NULL;

        if (ret < 0) {
            break;
        }
        if (!capture || !(capture->path = strdup(*path))) {
            ret = -ENOMEM;
            break;
        }
        capture->host = host;
        capture_place(reading, &tables, capture);
    }
    ntk_system_tables_fini(&tables);
    return ret;
}
