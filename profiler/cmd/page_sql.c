/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/page_sql.h"

#include <assert.h>

#include "profiler/cmd/cmd_cut.h"

void ntk_page_sql_init(struct ntk_page_sql *sql)
{
    ntk_vec_init(&sql->sources, sizeof(struct ntk_timeline_sql_source));
}

void ntk_page_sql_fini(struct ntk_page_sql *sql)
{
    ntk_vec_fini(&sql->sources);
}

struct argument {
    const char *option, *value; /* value is NULL if the option is not given */
};

static int add(struct ntk_page_sql *sql, struct ntk_timeline_sql_source source,
               const struct argument *arguments, size_t count)
{
    size_t words = 0;

    for (size_t a = 0; a < count; a++) {
        if (arguments[a].value) {
            assert(words + 2 < NTK_TIMELINE_SQL_ARGUMENTS_MAX);
            source.arguments[words++] = arguments[a].option;
            source.arguments[words++] = arguments[a].value;
        }
    }
    return ntk_vec_push(&sql->sources, &source);
}

int ntk_page_sql_add(struct ntk_page_sql *sql, const struct ntk_page_options *options,
                     const struct ntk_profile *profile, const char *name, const char *neff)
{
    const struct argument arguments[] = {
        { "-s", profile->ntff_path },
        { "-n", neff },
        { "--metrics-version", ntk_metrics_version_name(profile->trace->metrics) },
        { "--nki-root", options->nki_root },
        { "--framework-root", options->framework_root },
        { "--from", ntk_cut_from() },
        { "--to", ntk_cut_to() },
        { "--execution", ntk_cut_execution() },
        { "--core", ntk_cut_cores() },
    };

    return add(sql, (struct ntk_timeline_sql_source){ .name = name }, arguments,
               sizeof arguments / sizeof *arguments);
}

int ntk_page_sql_add_folder(struct ntk_page_sql *sql, const struct ntk_page_options *options)
{
    const struct argument arguments[] = {
        { "-d", options->folder }, { "-n", options->neff },       { "--from", ntk_cut_from() },
        { "--to", ntk_cut_to() },  { "--core", ntk_cut_cores() },
    };

    return add(sql, (struct ntk_timeline_sql_source){ .name = "folders", .is_of_folders = true },
               arguments, sizeof arguments / sizeof *arguments);
}
