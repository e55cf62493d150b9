/* SPDX-License-Identifier: MIT */
/* tier - reads rows of one tier with the columns of another, and merges rows into the next tier. */
#include "shared/store/tier.h"

#include <errno.h>

#include "shared/base/clock.h"
#include "shared/store/columns.h"
#include "shared/store/packed.h"
#include "shared/store/store_sql.h"

/* the rows of the tier below that a step merges */
#define IN_STEP " WHERE time_ns > :start_ns AND time_ns <= :end_ns"
#define DAY_NS (24 * 3600 * NTK_NS_PER_SECOND)

const char *const ntk_tier_names[NTK_STORE_TIER_COUNT] = { "second", "minute", "hour" };
const uint64_t ntk_tier_step_ns[NTK_STORE_TIER_COUNT] = {
    NTK_NS_PER_SECOND,
    60 * NTK_NS_PER_SECOND,
    3600 * NTK_NS_PER_SECOND,
};
const uint64_t ntk_tier_keep_ns[NTK_STORE_TIER_COUNT] = {
    7 * DAY_NS,
    90 * DAY_NS,
    3 * 365 * DAY_NS,
};
const double ntk_tier_shares[NTK_STORE_TIER_COUNT] = { 0.7, 0.2, 0.1 };
const char *const ntk_tier_suffixes[NTK_STORE_TIER_COUNT] = { "_sample", "_minute", "_hour" };
const char *const ntk_tier_families[NTK_FAMILY_COUNT] = {
    [NTK_FAMILY_MACHINE] = "machine",     [NTK_FAMILY_DEVICE] = "device",
    [NTK_FAMILY_PROCESS] = "process",     [NTK_FAMILY_CORE] = "core",
    [NTK_FAMILY_EXECUTION] = "execution", [NTK_FAMILY_MODEL] = "model",
    [NTK_FAMILY_RANK] = "rank",
};

int ntk_tier_load_extents(sqlite3 *db, struct ntk_tier_extent *extents, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, "SELECT first_ns, done_ns FROM tier ORDER BY step_ns",
                                    &statement, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        if (!ntk_store_sql_next(db, statement, &ret, err)) {
            ret = ret < 0 ? ret
                          : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                        "the table tier is incomplete");
            break;
        }
        extents[tier].first_ns = ntk_store_sql_u64(statement, "first_ns");
        extents[tier].done_ns =
            tier == NTK_STORE_SECOND ? INT64_MAX : ntk_store_sql_u64(statement, "done_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

uint64_t ntk_tier_start(enum ntk_store_tier tier, uint64_t time_ns)
{
    uint64_t step_ns = ntk_tier_step_ns[tier];

    return time_ns == 0 ? 0 : (time_ns - 1) / step_ns * step_ns;
}

/* Adds the text for each element of a set of counts. */
static void add_counts(struct ntk_buf *sql, const struct ntk_column *column, const char *text)
{
    struct ntk_buf set = { 0 };

    ntk_buf_add_format(&set, "{%s|%s}", column->name, text);
    ntk_columns_tell(sql, ntk_buf_ok(&set) ? ntk_buf_text_get(&set) : "");
    ntk_buf_fini(&set);
}

/* Adds ", name" for a column, or for the columns of a set; or ", pack(name)". */
static void add_name(struct ntk_buf *sql, const struct ntk_column *column, bool is_packed,
                     const char *name)
{
    if (column->merge == NTK_COLUMN_COUNTS) {
        add_counts(sql, column, is_packed ? ", pack(%)" : ", %");
    } else {
        ntk_buf_add_format(sql, is_packed ? ", pack(%s)" : ", %s", name);
    }
}

void ntk_tier_add_select(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier)
{
    ntk_buf_add_text(sql, "SELECT time_ns");
    ntk_column_each(column, family)
    {
        if (column->merge == NTK_COLUMN_DERIVED) {
            continue;
        }
        if (tier == NTK_STORE_SECOND && column->from) {
            ntk_buf_add_format(sql, ", %s AS %s", column->from, column->name);
        } else {
            add_name(sql, column, false, column->name);
        }
    }
    ntk_buf_add_format(sql, " FROM %s%s", ntk_tier_families[family], ntk_tier_suffixes[tier]);
}

void ntk_tier_add_keys(struct ntk_buf *sql, enum ntk_tier_family family, const char *before)
{
    ntk_column_each(column, family)
    {
        if (column->merge == NTK_COLUMN_KEY) {
            ntk_buf_add_format(sql, "%s%s", before, column->name);
            before = ", ";
        }
    }
}

static void add_merged(struct ntk_buf *sql, const struct ntk_column *column)
{
    static const char *const functions[] = {
        [NTK_COLUMN_SUM] = "add_up",
        [NTK_COLUMN_LARGEST] = "max",
        [NTK_COLUMN_NEWEST] = "newest",
        [NTK_COLUMN_HISTOGRAM] = "histogram_merge",
    };

    if (column->merge == NTK_COLUMN_KEY) {
        ntk_buf_add_format(sql, ", %s", column->name);
    } else if (column->merge == NTK_COLUMN_COUNTS) {
        add_counts(sql, column, ", add_up(%) AS %");
    } else {
        ntk_buf_add_format(sql, ", %s(%s%s) AS %s", functions[column->merge], column->name,
                           column->merge == NTK_COLUMN_NEWEST ? ", time_ns" : "", column->name);
    }
}

/* A row replaces one with the same key. A packed row replaces all rows of its time, so it includes
 * those that have nothing to merge: after the clock was set back, their rows below may be gone. */
static void add_kept(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier)
{
    ntk_buf_add_text(sql, " UNION ALL SELECT 1");
    ntk_column_each(column, family)
    {
        if (column->merge != NTK_COLUMN_DERIVED) {
            add_name(sql, column, false, column->name);
        }
    }
    ntk_buf_add_format(sql, " FROM %s%s WHERE time_ns = :end_ns", ntk_tier_families[family],
                       ntk_tier_suffixes[tier]);
    ntk_tier_add_keys(sql, family, " AND (");
    ntk_tier_add_keys(sql, family, ") NOT IN (SELECT ");
    ntk_buf_add_format(sql, " FROM %s%s" IN_STEP ")", ntk_tier_families[family],
                       ntk_tier_suffixes[tier - 1]);
}

void ntk_tier_add_merge(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier)
{
    bool is_packed = ntk_packed_is(family);

    ntk_buf_add_format(sql, "INSERT OR REPLACE INTO %s%s%s (time_ns%s", ntk_tier_families[family],
                       ntk_tier_suffixes[tier], is_packed ? "_packed" : "",
                       is_packed ? ", row_count" : "");
    ntk_column_each(column, family)
    {
        add_name(sql, column, false, column->name);
    }
    ntk_buf_add_format(sql, ") SELECT :end_ns%s", is_packed ? ", count(*)" : "");
    ntk_column_each(column, family)
    {
        add_name(sql, column, is_packed,
                 column->merge == NTK_COLUMN_DERIVED ? column->from : column->name);
    }
    ntk_buf_add_text(sql, " FROM (SELECT count(*) AS rows");
    ntk_column_each(column, family)
    {
        if (column->merge != NTK_COLUMN_DERIVED) {
            add_merged(sql, column);
        }
    }
    ntk_buf_add_text(sql, " FROM (");
    ntk_tier_add_select(sql, family, (enum ntk_store_tier)(tier - 1));
    ntk_buf_add_text(sql, IN_STEP ")");
    ntk_tier_add_keys(sql, family, " GROUP BY ");
    if (is_packed) {
        add_kept(sql, family, tier);
    }
    /* An aggregate without GROUP BY has a row even if there is nothing to merge. */
    ntk_buf_add_text(sql, ") WHERE rows > 0");
    ntk_buf_add_text(sql, is_packed ? " GROUP BY NULL" : "");
}
