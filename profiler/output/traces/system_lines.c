/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/system_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/buf.h"

/* Fields for grouping events, named as in tables and JSON. */
static const struct {
    const char *name, *label;
    size_t offset;
    bool is_text;
    bool is_of_host; /* unused for core activity */
} fields[] = {
#define NUMBER(name, label, member, is_of_host)                                       \
    {                                                                                 \
        name, label, offsetof(struct ntk_system_event_row, member), false, is_of_host \
    }
    { "instance_id", "", offsetof(struct ntk_system_event_row, instance), true, false },
    NUMBER("process_id", "PID ", process, false),
    NUMBER("worker_gid", "Worker ", worker, false),
    NUMBER("lnc_idx", "NC ", nc, false),
    NUMBER("nc_idx", "NC ", nc, false),
    NUMBER("pcore_idx", "core ", device_core, false),
    NUMBER("thread_id", "TID ", thread, true),
#undef NUMBER
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)
#define FIELD_PROCESS 1
#define FIELD_PCORE 5

/* ---- grouping ---- */

static int field_of(const char *word, size_t length)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strlen(fields[i].name) == length && strncmp(fields[i].name, word, length) == 0) {
            return (int)i;
        }
    }
    return -EINVAL;
}

static int list_parse(const char *list, unsigned char *out_fields, size_t *out_count,
                      struct ntk_err *err)
{
    *out_count = 0;
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        int field = field_of(word, length);
        if (field < 0 || *out_count == NTK_SYSTEM_FIELDS_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "cannot group events by '%.*s': use instance_id, process_id, "
                               "worker_gid, lnc_idx, nc_idx, pcore_idx, thread_id",
                               (int)length, word);
        }
        out_fields[(*out_count)++] = (unsigned char)field;
        word += length;
        if (!*word) {
            return 0;
        }
    }
}

int ntk_system_grouping_set(struct ntk_system_grouping *grouping, const char *primary,
                            const char *secondary, struct ntk_err *err)
{
    int ret = list_parse(primary ? primary : NTK_SYSTEM_PRIMARY_DEFAULT, grouping->primary,
                         &grouping->primary_count, err);

    return ret < 0 ? ret
                   : list_parse(secondary ? secondary : NTK_SYSTEM_SECONDARY_DEFAULT,
                                grouping->secondary, &grouping->secondary_count, err);
}

/* ---- names ---- */

/* Adds a field to a name such as "i-local PID 41". */
static void add_field(struct ntk_buf *name, size_t field, const struct ntk_system_event_row *row)
{
    const char *member = (const char *)row + fields[field].offset;
    bool is_hardware = row->device_core != NTK_ABSENT_I64 ||
                       (row->source && strcmp(row->source, "neuron_hw") == 0);

    if (fields[field].is_of_host && is_hardware) {
        return;
    }
    bool is_absent = !fields[field].is_text && *(const int64_t *)member == NTK_ABSENT_I64;
    if (is_absent && field != FIELD_PROCESS) {
        return;
    }
    if (name->bytes_count) {
        ntk_buf_add_char(name, ' ');
    }
    ntk_buf_add_text(name, fields[field].label);
    if (is_absent) {
        ntk_buf_add_text(name, "unknown");
    } else if (fields[field].is_text) {
        ntk_buf_add_text(name, *(const char *const *)member);
    } else {
        ntk_buf_add_i64(name, *(const int64_t *)member);
    }
}

static int name_both(const struct ntk_system_lines *lines, const struct ntk_system_event_row *row,
                     char *process, size_t process_bytes, char *line, size_t line_bytes)
{
    const struct ntk_system_grouping *by = &lines->grouping;
    struct ntk_buf name = { 0 };
    bool has_core = false;

    for (size_t i = 0; i < by->primary_count; i++) {
        add_field(&name, by->primary[i], row);
    }
    int ret = ntk_buf_ok(&name) ? 0 : -ENOMEM;
    (void)snprintf(process, process_bytes, "%s", ret == 0 ? ntk_buf_text_get(&name) : "");
    ntk_buf_reset(&name);
    ntk_buf_add_text(&name, row->source);
    for (size_t i = 0; i < by->secondary_count; i++) {
        add_field(&name, by->secondary[i], row);
        has_core = has_core || by->secondary[i] == FIELD_PCORE;
    }
    if (!has_core) { /* both cores of a logical core work at the same time */
        add_field(&name, FIELD_PCORE, row);
    }
    ret = ntk_buf_ok(&name) ? ret : -ENOMEM;
    (void)snprintf(line, line_bytes, "%s", ret == 0 ? ntk_buf_text_get(&name) : "");
    ntk_buf_fini(&name);
    return ret;
}

/* ---- lines ---- */

void ntk_system_lines_init(struct ntk_system_lines *lines,
                           const struct ntk_system_grouping *grouping)
{
    *lines = (struct ntk_system_lines){ .grouping = *grouping };
    ntk_vec_init(&lines->processes, sizeof(struct ntk_system_process));
    ntk_vec_init(&lines->lines, sizeof(struct ntk_system_line));
}

void ntk_system_lines_fini(struct ntk_system_lines *lines)
{
    ntk_vec_each(struct ntk_system_line, line, &lines->lines) {
        ntk_vec_each(struct ntk_system_lane, lane, &line->lanes) {
            ntk_vec_fini(&lane->ends_ns);
        }
        ntk_vec_fini(&line->lanes);
    }
    ntk_vec_fini(&lines->lines);
    ntk_vec_fini(&lines->processes);
    ntk_map_fini(&lines->process_indices);
    ntk_map_fini(&lines->line_indices);
}

static int find_process(struct ntk_system_lines *lines, const char *name, size_t *out_index)
{
    uintptr_t known = (uintptr_t)ntk_map_get(&lines->process_indices, name);

    if (!known) {
        struct ntk_system_process *process = ntk_vec_add(&lines->processes);
        known = lines->processes.count;
        if (!process || ntk_map_put(&lines->process_indices, name, (void *)known) < 0) {
            return -ENOMEM;
        }
        (void)snprintf(process->name, sizeof process->name, "%s", name);
    }
    *out_index = known - 1;
    return 0;
}

static int find_line(struct ntk_system_lines *lines, size_t process, const char *name,
                     struct ntk_system_line **out_line)
{
    char key[200];
    (void)snprintf(key, sizeof key, "%zu %s", process, name);
    uintptr_t known = (uintptr_t)ntk_map_get(&lines->line_indices, key);

    if (!known) {
        struct ntk_system_line *line = ntk_vec_add(&lines->lines);
        known = lines->lines.count;
        if (!line) {
            return -ENOMEM;
        }
        ntk_vec_init(&line->lanes, sizeof(struct ntk_system_lane));
        line->process = process;
        (void)snprintf(line->name, sizeof line->name, "%s", name);
        if (ntk_map_put(&lines->line_indices, key, (void *)known) < 0) {
            return -ENOMEM;
        }
    }
    *out_line = ntk_vec_at(&lines->lines, known - 1);
    return 0;
}

/* Returns true if the span is after or inside all open spans; drops ended spans. */
static bool has_room(struct ntk_system_lane *lane, const struct ntk_system_event_row *row)
{
    while (lane->ends_ns.count > 0) {
        int64_t end_ns = *(int64_t *)ntk_vec_at(&lane->ends_ns, lane->ends_ns.count - 1);
        if (end_ns > row->start_ns) {
            return end_ns >= row->end_ns;
        }
        ntk_vec_remove(&lane->ends_ns, lane->ends_ns.count - 1);
    }
    return true;
}

static struct ntk_system_lane *find_lane(struct ntk_system_line *line,
                                         const struct ntk_system_event_row *row)
{
    ntk_vec_each(struct ntk_system_lane, lane, &line->lanes) {
        if (row->is_instant || has_room(lane, row)) {
            return lane;
        }
    }
    struct ntk_system_lane *added = ntk_vec_add(&line->lanes);
    if (added) {
        ntk_vec_init(&added->ends_ns, sizeof(int64_t));
    }
    return added;
}

int ntk_system_lines_take(struct ntk_system_lines *lines, const struct ntk_system_event_row *row,
                          struct ntk_system_place *out_place)
{
    char process_name[160];
    char line_name[160];
    struct ntk_system_line *line = NULL;
    size_t process = 0;
    int ret = name_both(lines, row, process_name, sizeof process_name, line_name, sizeof line_name);

    ret = ret == 0 ? find_process(lines, process_name, &process) : ret;
    ret = ret == 0 ? find_line(lines, process, line_name, &line) : ret;
    if (ret < 0) {
        return ret;
    }
    struct ntk_system_lane *lane = find_lane(line, row);
    if (!lane || (!row->is_instant && row->end_ns > row->start_ns &&
                  ntk_vec_push(&lane->ends_ns, &row->end_ns) < 0)) {
        return -ENOMEM;
    }
    *out_place = (struct ntk_system_place){ ntk_vec_at(&lines->processes, process), line, lane,
                                            ntk_vec_at(&line->lanes, 0) };
    return 0;
}
