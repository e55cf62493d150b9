/* SPDX-License-Identifier: MIT */
#include "tests/support/vendor_clock_rule.h"

#include <stdlib.h>
#include <string.h>

#include "shared/formats/ntrace/vendor_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

enum kind {
    OTHER,
    SYNC,
    RUN,
    DEVICE, /* any other event of a run */
};

struct moment {
    enum kind kind;
    unsigned phase;
    uint64_t nc, exec, tracking_id, time_ns, device_ns, cpu_ns, core;
    bool has_device, has_core, has_exec;
};

struct reading {
    const struct ntk_vendor_trace_info *info;
    struct ntk_vec moments;
};

static bool number_of(const struct ntk_vendor_trace_record *record, const char *key, uint64_t *out)
{
    for (size_t i = 0; i < record->pair_count; i++) {
        const struct ntk_vendor_trace_pair *pair = &record->pairs[i];
        char text[24] = "";

        if (pair->key.bytes == strlen(key) && memcmp(pair->key.text, key, pair->key.bytes) == 0) {
            memcpy(text, pair->value.text, pair->value.bytes < 23 ? pair->value.bytes : 23);
            *out = strtoull(text, NULL, 10);
            return true;
        }
    }
    return false;
}

static int take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    static const struct {
        const char *type;
        enum kind kind;
    } kinds[] = {
        { "timestamp_sync_point", SYNC }, { "nc_exec_running", RUN },
        { "nc_model_switch", DEVICE },    { "nrt_model_switch", DEVICE },
        { "numerical_err", DEVICE },
    };
    struct reading *reading = ctx;
    struct ntk_vendor_trace_record record;
    struct moment moment = { 0 };

    (void)offset;
    assert_true(ntk_vendor_trace_record_read(bytes, count, &record));
    const char *type =
        ntk_vendor_trace_name_find(reading->info, NTK_VENDOR_TRACE_TYPES, record.type);
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++) {
        moment.kind = strcmp(kinds[i].type, type) == 0 ? kinds[i].kind : moment.kind;
    }
    if (moment.kind == OTHER) {
        return 0;
    }
    moment.phase = record.phase;
    moment.tracking_id = record.tracking_id;
    moment.time_ns = record.time_ns;
    assert_true(number_of(&record, "nc_idx", &moment.nc));
    assert_true(number_of(&record, "nc_timestamp_ns", &moment.device_ns));
    moment.has_core = number_of(&record, "device_core_idx", &moment.core);
    moment.has_exec = number_of(&record, "exec_id", &moment.exec);
    assert_true(number_of(&record, "cpu_timestamp_ns", &moment.cpu_ns) == (moment.kind == SYNC));
    /* As in the vendor's files: sync points do not name a core, and stops name neither core nor
     * execution. */
    assert_true(moment.has_core == (moment.kind != SYNC && record.phase != NTK_VENDOR_TRACE_STOP));
    assert_true(moment.has_exec == (record.phase != NTK_VENDOR_TRACE_STOP));
    return ntk_vec_push(&reading->moments, &moment);
}

/* Sync points belong to the cores of their execution's runs, in order. */
static void cores_find(struct ntk_vec *moments)
{
    struct moment *all = moments->items;

    for (size_t i = 0; i < moments->count; i++) {
        size_t before = 0; /* sync points of the execution before it */

        for (size_t k = 0; k < i && all[i].kind == SYNC; k++) {
            before += all[k].kind == SYNC && all[k].nc == all[i].nc && all[k].exec == all[i].exec;
        }
        for (size_t k = 0; k < moments->count && all[i].kind == SYNC && !all[i].has_core; k++) {
            if (all[k].kind == RUN && all[k].phase == NTK_VENDOR_TRACE_START &&
                all[k].nc == all[i].nc && all[k].exec == all[i].exec && before-- == 0) {
                all[i].core = all[k].core;
                all[i].has_core = true;
            }
        }
        for (size_t k = 0; k < moments->count && all[i].phase == NTK_VENDOR_TRACE_STOP; k++) {
            if (all[k].phase == NTK_VENDOR_TRACE_START &&
                all[k].tracking_id == all[i].tracking_id) {
                all[i].core = all[k].core;
                all[i].has_core = true;
            }
        }
        assert_true(all[i].has_core);
    }
}

size_t vendor_clock_rule_check(const char *folder)
{
    char *info_path = test_scratch_path(folder, "trace_info.pb");
    char *path = test_scratch_path(folder, "ntrace.pb");
    struct ntk_vendor_trace_info *info = NULL;
    struct reading reading = { .moments = NTK_VEC_INIT(struct moment) };
    struct ntk_err err = { 0 };
    size_t checked = 0;

    assert_int_equal(ntk_vendor_trace_info_read(info_path, &info, &err), 0);
    reading.info = info;
    assert_int_equal(ntk_vendor_trace_each(path, take, &reading, &err), 0);
    cores_find(&reading.moments);
    const struct moment *all = reading.moments.items;
    for (size_t i = 0; i < reading.moments.count; i++) {
        const struct moment *sync = NULL;

        for (size_t k = i; k-- > 0 && all[i].kind != SYNC && !sync;) {
            sync = all[k].kind == SYNC && all[k].nc == all[i].nc && all[k].core == all[i].core
                       ? &all[k]
                       : NULL;
        }
        if (all[i].kind != SYNC) {
            assert_non_null(sync);
            assert_true(all[i].time_ns == all[i].device_ns + (sync->cpu_ns - sync->device_ns));
            checked++;
        }
    }
    ntk_vec_fini(&reading.moments);
    ntk_vendor_trace_info_free(info);
    free(info_path);
    free(path);
    return checked;
}
