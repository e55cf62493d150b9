/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_host_threads.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_hostwork.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/units.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)

/* Returns the processes from the file in a folder, as an array; NULL if none. */
static json_t *processes_read(const char *folder)
{
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    char *path = NULL;
    json_t *processes = NULL;

    if (asprintf(&path, "%s/" NTK_HOSTWORK_FILE, folder) < 0) {
        return NULL;
    }
    if (ntk_fs_read(path, FILE_BYTES_MAX, &bytes, &count, &err) == 0) {
        json_t *root = json_loadb((const char *)bytes, count, 0, NULL);

        processes = json_incref(json_object_get(root, "processes"));
        json_decref(root);
    }
    free(bytes);
    free(path);
    if (!json_is_array(processes)) {
        json_decref(processes);
        return NULL;
    }
    return processes;
}

static void seconds_cell(struct ntk_text_table *table, const json_t *value)
{
    char text[NTK_UNITS_TEXT_BYTES];
    double seconds = json_number_value(value);
    bool is_time = json_is_number(value) && seconds >= 0 && seconds < 1e9;

    ntk_text_table_text(
        table, is_time ? ntk_units_duration(text, sizeof text,
                                            (uint64_t)(seconds * (double)NTK_NS_PER_SECOND))
                       : "-");
}

static void process_text(const json_t *process, struct ntk_text_table *table)
{
    json_t *causes = json_object_get(process, "causes");
    size_t index;
    json_t *cause;

    json_array_foreach(causes, index, cause)
    {
        if (index == 0) {
            ntk_text_table_format(table, "%lld",
                                  (long long)json_integer_value(json_object_get(process, "pid")));
            seconds_cell(table, json_object_get(process, "observed_seconds"));
            ntk_text_table_format(table, "%.1f%%",
                                  json_number_value(json_object_get(process, "idle_percent")));
        } else {
            ntk_text_table_text(table, "");
            ntk_text_table_text(table, "");
            ntk_text_table_text(table, "");
        }
        const char *name = json_string_value(json_object_get(cause, "cause"));
        ntk_text_table_text(table, name ? name : "-");
        ntk_text_table_format(table, "%.1f%%",
                              json_number_value(json_object_get(cause, "percent")));
        seconds_cell(table, json_object_get(cause, "seconds"));
    }
}

/* Writes advice; the observation covers less time than the trace. The advice comes from
 * neuron-profile idle. */
static void advice_text(const json_t *process, struct ntk_buf *text)
{
    long long pid = (long long)json_integer_value(json_object_get(process, "pid"));
    json_t *advice = json_object_get(process, "advice");
    size_t index;
    json_t *one;

    json_array_foreach(advice, index, one)
    {
        const char *cause = json_string_value(json_object_get(one, "cause"));
        const char *lines[][2] = {
            { "evidence", json_string_value(json_object_get(one, "evidence")) },
            { "advice", json_string_value(json_object_get(one, "advice")) },
        };

        ntk_buf_add_format(text, "%s%.0f%% of the idle time of process %lld: ", index ? "" : "\n",
                           json_number_value(json_object_get(one, "percent")), pid);
        ntk_buf_add_clean(text, cause ? cause : "-");
        ntk_buf_add_char(text, '\n');
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            if (lines[i][1]) {
                ntk_buf_add_format(text, "  %s: ", lines[i][0]);
                ntk_buf_add_clean(text, lines[i][1]);
                ntk_buf_add_char(text, '\n');
            }
        }
    }
}

int ntk_output_host_threads(const struct ntk_system_asked *asked, struct ntk_buf *text,
                            struct ntk_json *json)
{
    static const char *const heads[] = { "PROCESS", "OBSERVED",      "IDLE",
                                         "CAUSE",   "SHARE OF IDLE", "TIME" };
    json_t *all = json_array();
    struct ntk_text_table table;
    int ret = all ? 0 : -ENOMEM;

    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        json_t *processes = processes_read(asked->traces[t]->folder);

        ret = processes && json_array_extend(all, processes) < 0 ? -ENOMEM : 0;
        json_decref(processes);
    }
    if (ret == 0 && json_array_size(all) == 0) {
        ret = -ENODATA;
    } else if (ret == 0 && json) {
        char *raw = json_dumps(all, JSON_COMPACT);

        ret = raw ? 0 : -ENOMEM;
        ntk_json_raw(json, raw ? raw : "", raw ? strlen(raw) : 0);
        free(raw);
    } else if (ret == 0) {
        size_t index;
        json_t *process;

        ntk_buf_add_text(text,
                         "Core idle time by host thread activity, during the observed time\n");
        ntk_text_table_init(&table, 6, 1u << 3, heads);
        json_array_foreach(all, index, process)
        {
            process_text(process, &table);
        }
        ntk_text_table_put(&table, text);
        ntk_text_table_fini(&table);
        json_array_foreach(all, index, process)
        {
            advice_text(process, text);
        }
    }
    json_decref(all);
    return ret;
}
