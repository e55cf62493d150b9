/* SPDX-License-Identifier: MIT */
/* archive_path - builds the paths of parts in an archive. */
#include "agent/archive/archive_path.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"

#define NO_NAME "__HIVE_DEFAULT_PARTITION__"
#define DAY_NS (86400 * NTK_NS_PER_SECOND)

void ntk_archive_path_add_name(struct ntk_buf *path, const char *name)
{
    static const char special[] = "\"#%'*/:=?\\{}[]^";
    struct ntk_buf clean = { 0 };

    for (const char *at = name; *at; at++) { /* these characters would also be escaped */
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            ntk_buf_add_format(&clean, "%%%02X", (unsigned char)*at);
        } else if (strchr(special, *at)) {
            ntk_buf_add_format(&clean, "%%%02X", (unsigned char)*at);
        } else {
            ntk_buf_add_char(&clean, *at);
        }
    }
    if (name[0]) {
        ntk_buf_add_clean(path, ntk_buf_text_get(&clean));
    } else {
        ntk_buf_add_text(path, NO_NAME);
    }
    path->failed = path->failed || !ntk_buf_ok(&clean);
    ntk_buf_fini(&clean);
}

int ntk_archive_path_check(const char *what, const char *name, struct ntk_err *err)
{
    struct ntk_buf path = { 0 };

    ntk_buf_add_format(&path, "%s=", what);
    ntk_archive_path_add_name(&path, name);
    int ret = !ntk_buf_ok(&path) ? ntk_err_no_memory(err)
              : path.bytes_count > NTK_ARCHIVE_COMPONENT_BYTES_MAX
                  ? ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                                "the name of the %s is too long for a folder name", what)
                  : 0;
    ntk_buf_fini(&path);
    return ret;
}

void ntk_archive_path_add(struct ntk_buf *path, const struct ntk_archive_place *place)
{
    time_t seconds = (time_t)(place->start_ns / NTK_NS_PER_SECOND);
    struct tm parts = { 0 };
    char date[32], step[32];

    gmtime_r(&seconds, &parts);
    (void)strftime(date, sizeof date, "%Y-%m-%d", &parts);
    (void)strftime(step, sizeof step,
                   ntk_store_datasets[place->dataset].step_ns < DAY_NS ? "%Y%m%dT%H" : "%Y%m%d",
                   &parts);
    ntk_buf_add_format(path, "%s/cluster=", ntk_store_datasets[place->dataset].name);
    ntk_archive_path_add_name(path, place->cluster);
    ntk_buf_add_format(path, "/date=%s/host=", date);
    ntk_archive_path_add_name(path, place->host);
    ntk_buf_add_format(path, "/part-%s-%016llx", step, (unsigned long long)place->store_id);
    if (place->piece) {
        ntk_buf_add_format(path, "-%u", place->piece);
    }
    ntk_buf_add_text(path, ".parquet");
}
