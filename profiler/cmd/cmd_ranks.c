/* SPDX-License-Identifier: MIT */
/* cmd_ranks - shows all captures of one NEFF in a folder tree: ranks, cores and executions of a
 * run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/cmd/cmd.h"
#include "profiler/output/answers/output_ranks.h"
#include "profiler/system/session_find.h"

/* Orders paths so that "rank_2" sorts before "rank_10". */
static int compare_paths(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Finds the paths of all captures below the folder. */
static int captures_find(const char *folder, struct ntk_vec *out_paths, struct ntk_err *err)
{
    struct ntk_vec folders;
    int ret = ntk_session_find(folder, &folders, err);

    ntk_vec_init(out_paths, sizeof(char *));
    if (ret < 0) {
        return ret;
    }
    ntk_vec_each(char *, path, &folders) {
        struct ntk_vec files;
        ret = ret < 0 ? ret : ntk_session_files(*path, ".ntff", &files);
        if (ret < 0) {
            break;
        }
        ntk_vec_each(char *, file, &files) {
            if (ret == 0 && ntk_vec_push(out_paths, file) == 0) {
                *file = NULL; /* moved to the other list */
            } else {
                ret = -ENOMEM;
            }
        }
        ntk_session_paths_fini(&files);
    }
    ntk_session_paths_fini(&folders);
    ntk_vec_sort(out_paths, compare_paths);
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

/* Returns a name such as "run_rank_0" for "<folder>/run_rank_0.ntff". */
static char *name_of(const char *folder, const char *path)
{
    const char *rest = path + strlen(folder);
    const char *dot = strrchr(rest, '.');

    rest += strspn(rest, "/");
    return strndup(rest, (size_t)(dot - rest));
}

/* Returns 1 for a capture of another NEFF, which is not an error. */
static int is_of_another(const char *path, const struct ntk_neff *neff)
{
    struct ntk_ntff *ntff = NULL;
    int ret = ntk_ntff_open(path, &ntff, NULL);

    if (ret == 0) {
        ret = ntk_ntff_check_neff(ntff, neff->header.uuid, NULL);
        ntk_ntff_close(ntff);
    }
    return ret == -ENOEXEC;
}

/* Returns the exit code; *out_rank is set if the capture can be summarised. */
static int rank_load(const char *path, const char *folder, const char *neff_path,
                     struct ntk_rank_summary *out_rank)
{
    struct ntk_profile profile;
    int code = ntk_profile_open(path, neff_path, &profile);

    if (code) {
        return code;
    }
    char *name = name_of(folder, path);
    if (name && ntk_analysis_summary(profile.trace, &out_rank->summary) == 0) {
        out_rank->name = name;
    } else {
        struct ntk_err err = { 0 };
        ntk_err_no_memory(&err);
        free(name);
        code = ntk_profile_fail(&err);
    }
    return ntk_profile_close(&profile, code);
}

static int ranks_put(const struct ntk_rank_summary *ranks, size_t count,
                     const struct ntk_folder_options *options)
{
    struct ntk_buf text = { 0 };

    if (strcmp(options->format, "summary-json") == 0) {
        ntk_output_ranks_json(ranks, count, &text);
    } else {
        ntk_output_ranks_text(ranks, count, &text);
    }
    int code = ntk_profile_put(&text, options->output);
    ntk_buf_fini(&text);
    return code;
}

int ntk_profile_ranks(const struct ntk_folder_options *options, const char *neff_path)
{
    struct ntk_neff *neff = NULL;
    struct ntk_vec paths;
    struct ntk_err err = { 0 };
    size_t count = 0;
    size_t others = 0;
    int code = 0;

    if (ntk_neff_open(neff_path, &neff, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    if (captures_find(options->folder, &paths, &err) < 0) {
        ntk_session_paths_fini(&paths);
        ntk_neff_close(neff);
        return ntk_profile_fail(&err);
    }
    struct ntk_rank_summary *ranks = calloc(paths.count + 1, sizeof *ranks);
    for (size_t i = 0; i < paths.count && ranks; i++) {
        const char *path = *(char **)ntk_vec_at(&paths, i);
        if (is_of_another(path, neff)) {
            others++;
            continue;
        }
        int one = rank_load(path, options->folder, neff_path, &ranks[count]);
        code = code ? code : one;
        count += ranks[count].name != NULL;
    }
    ntk_neff_close(neff);
    ntk_session_paths_fini(&paths);
    if (count > 0) {
        int put = ranks_put(ranks, count, options);
        code = code ? code : put;
    } else if (code == 0) {
        ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET,
                    "%s has no capture of %s (%zu captures of other NEFFs)", options->folder,
                    neff_path, others);
        code = ntk_profile_fail(&err);
    }
    for (size_t i = 0; i < count; i++) {
        ntk_summary_fini(&ranks[i].summary);
        free((char *)ranks[i].name);
    }
    free(ranks);
    return code;
}
