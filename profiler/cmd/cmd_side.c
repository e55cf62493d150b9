/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analysis/device_errors.h"
#include "profiler/analysis/incomplete.h"
#include "profiler/cmd/cmd.h"
#include "profiler/system/session_find.h"
#include "profiler/trace/long_list.h"
#include "shared/base/memory.h"
#include "shared/base/str.h"

static void note_lacks(const struct ntk_program *program, void *ctx)
{
    struct ntk_side *side = ctx;
    struct ntk_buf text = { 0 };
    unsigned lacks = ntk_program_lacks(program);

    if (lacks && ++side->lacking_count == 1 && ntk_incomplete_text(program, lacks, &text) &&
        ntk_buf_ok(&text)) {
        (void)ntk_str_copy(side->lacks, sizeof side->lacks, ntk_buf_text_get(&text));
    }
    side->hides_figures = side->hides_figures || ntk_program_lacks_most(program) != 0;
    ntk_buf_fini(&text);
}

static void note_errors(struct ntk_side *side, const struct ntk_trace *trace)
{
    struct ntk_device_errors errors;

    ntk_analysis_device_errors(trace, &errors);
    side->error_count += errors.count;
    side->has_stopped = side->has_stopped || errors.has_stopped;
}

static int measure(struct ntk_side *side, bool wants_units, const struct ntk_trace *trace,
                   const char *path)
{
    note_errors(side, trace);
    return ntk_execution_measures_add(&side->executions, trace, NULL, ntk_str_base_name(path),
                                      wants_units, note_lacks, side);
}

static bool is_of_another(const struct ntk_side *side, const struct ntk_ntff *ntff)
{
    unsigned known = side->uuid_known_bytes < ntff->neff_uuid_known_bytes
                         ? side->uuid_known_bytes
                         : ntff->neff_uuid_known_bytes;

    return memcmp(side->uuid, ntff->neff_uuid, known) != 0;
}

/* Adds a capture; returns 0, or 1 with the message printed. */
static int capture_add(struct ntk_side *side, bool wants_units, const char *path, const char *neff)
{
    struct ntk_profile profile = { 0 };
    struct ntk_err err = { 0 };
    int ret = 0;
    int code = ntk_profile_open(path, neff, &profile);

    if (code) {
        return code;
    }
    side->metrics = profile.trace->metrics; /* version of the command, common to all captures */
    side->is_incomplete = side->is_incomplete || profile.is_incomplete;
    side->capture_count++;
    side->neff_count += profile.neff != NULL;
    if (side->instance_type[0] && profile.ntff->instance_type[0] &&
        strcmp(side->instance_type, profile.ntff->instance_type) != 0) {
        ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "%s was recorded on %s, but the earlier captures were recorded on %s: only "
                    "executions on the same machine type can be combined",
                    path, profile.ntff->instance_type, side->instance_type);
        code = ntk_profile_fail(&err);
    } else if (is_of_another(side, profile.ntff)) {
        ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "%s and the earlier captures are from different programs: only "
                    "executions of the same program can be compared",
                    path);
        code = ntk_profile_fail(&err);
    } else if ((ret = measure(side, wants_units, profile.trace, path)) < 0) {
        ntk_long_list_err_set(&err, ret, profile.trace->folder);
        code = ntk_profile_fail(&err);
    } else if (side->uuid_known_bytes < profile.ntff->neff_uuid_known_bytes) {
        side->uuid_known_bytes = profile.ntff->neff_uuid_known_bytes;
        memcpy(side->uuid, profile.ntff->neff_uuid, sizeof side->uuid);
    }
    if (code == 0 && side->instance_type[0] == '\0') {
        (void)ntk_str_copy(side->instance_type, sizeof side->instance_type,
                           profile.ntff->instance_type);
    }
    profile.is_incomplete = false; /* reported once for the whole side */
    return ntk_profile_close(&profile, code);
}

static int path_add(struct ntk_side *side, bool wants_units, const char *path, const char *neff)
{
    struct ntk_vec files = { 0 };
    struct ntk_err err = { 0 };
    struct stat status;
    int code = 0;

    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
        return capture_add(side, wants_units, path, neff);
    }
    if (ntk_session_files(path, ".ntff", &files) < 0 || files.count == 0) {
        ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET, "%s: no captures (*.ntff) found", path);
        code = ntk_profile_fail(&err);
    }
    ntk_vec_each(char *, file, &files) {
        code = code ? code : capture_add(side, wants_units, *file, neff);
    }
    ntk_session_paths_fini(&files);
    return code;
}

static int open_all(struct ntk_side *sides, const struct ntk_side_wanted *wanted, size_t count,
                    bool has_neffs)
{
    int code = 0;

    for (size_t s = 0; s < count; s++) {
        sides[s] = (struct ntk_side){ 0 };
    }
    for (size_t s = 0; s < count && code == 0; s++) {
        const char *neff = has_neffs ? wanted[s].neff : NTK_PROFILE_NO_NEFF;
        for (size_t p = 0; p < wanted[s].path_count && code == 0; p++) {
            code = path_add(&sides[s], wanted[s].wants_units, wanted[s].paths[p], neff);
        }
        sides[s].has_failed = code != 0;
    }
    return code;
}

int ntk_sides_open(struct ntk_side *sides, const struct ntk_side_wanted *wanted, size_t count)
{
    size_t neff_count = 0;
    size_t capture_count = 0;
    bool is_named = false;

    ntk_memory_keep_freed(); /* captures are opened one after the other */
    int code = open_all(sides, wanted, count, true);
    for (size_t s = 0; s < count; s++) {
        neff_count += sides[s].neff_count;
        capture_count += sides[s].capture_count;
        is_named = is_named || wanted[s].neff;
    }
    if (code || is_named || neff_count == 0 || neff_count == capture_count) {
        return code;
    }
    fprintf(stderr, "neuron-profile: no NEFF used: only some of the captures have one next to "
                    "them (pass it with -n)\n");
    for (size_t s = 0; s < count; s++) {
        ntk_side_fini(&sides[s]);
    }
    return open_all(sides, wanted, count, false);
}

void ntk_side_fini(struct ntk_side *side)
{
    ntk_execution_measures_fini(&side->executions);
}
