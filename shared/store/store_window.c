/* SPDX-License-Identifier: MIT */
/* store_window - selects the rows and tiers for a window. */
#include <errno.h>
#include <inttypes.h>

#include "shared/base/clock.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

int ntk_store_reader_begin(struct ntk_store_reader *reader, struct ntk_err *err)
{
    return ntk_store_sql_exec(reader->db, "SAVEPOINT answer", err);
}

void ntk_store_reader_end(struct ntk_store_reader *reader)
{
    sqlite3_exec(reader->db, "RELEASE answer", NULL, NULL, NULL);
}

int ntk_store_window_align(struct ntk_store_window *window, struct ntk_err *err)
{
    if (window->from_ns >= window->to_ns || window->to_ns > INT64_MAX / 2) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window is empty");
    }
    if (window->step_ns == 0) {
        window->step_ns = window->to_ns - window->from_ns;
        return 0;
    }
    if (window->step_ns > INT64_MAX / 2) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the step is too long");
    }
    window->from_ns = window->from_ns / window->step_ns * window->step_ns;
    window->to_ns = (window->to_ns + window->step_ns - 1) / window->step_ns * window->step_ns;
    uint64_t count = (window->to_ns - window->from_ns) / window->step_ns;
    if (count > NTK_STORE_POINTS_MAX) {
        return ntk_err_set(err, -E2BIG, NTK_ERR_NO_OFFSET,
                           "%" PRIu64 " steps in the window (at most %d)", count,
                           NTK_STORE_POINTS_MAX);
    }
    return 0;
}

static int add_piece(struct ntk_vec *pieces, enum ntk_store_tier tier, uint64_t from_ns,
                     uint64_t to_ns)
{
    struct ntk_store_piece piece = { tier, from_ns, to_ns };

    if (pieces->count > 0) {
        struct ntk_store_piece *last = ntk_vec_at(pieces, pieces->count - 1);
        if (last->tier == tier && last->to_ns == from_ns) {
            last->to_ns = to_ns;
            return 0;
        }
    }
    return ntk_vec_push(pieces, &piece);
}

static uint64_t step_end(enum ntk_store_tier tier, uint64_t time_ns)
{
    uint64_t step_ns = ntk_tier_step_ns[tier];

    return time_ns / step_ns * step_ns + step_ns;
}

/* The piece that begins at at_ns: the coarsest whole steps that fit; or else seconds up to the next
 * minute; or else, if the seconds were deleted, the finest tier that still contains the time. */
static struct ntk_store_piece next_piece(const struct ntk_tier_extent *extents,
                                         enum ntk_store_tier coarsest, uint64_t at_ns,
                                         uint64_t to_ns)
{
    for (int tier = (int)coarsest; tier > NTK_STORE_SECOND; tier--) {
        uint64_t end_ns = at_ns + ntk_tier_step_ns[tier];
        if (at_ns % ntk_tier_step_ns[tier] == 0 && end_ns <= to_ns &&
            end_ns <= extents[tier].done_ns && at_ns >= extents[tier].first_ns) {
            return (struct ntk_store_piece){ (enum ntk_store_tier)tier, at_ns, end_ns };
        }
    }
    uint64_t minute_end_ns = step_end(NTK_STORE_MINUTE, at_ns);
    if (at_ns >= extents[NTK_STORE_SECOND].first_ns) {
        return (struct ntk_store_piece){ NTK_STORE_SECOND, at_ns,
                                         minute_end_ns < to_ns ? minute_end_ns : to_ns };
    }
    for (int tier = NTK_STORE_MINUTE; tier < NTK_STORE_TIER_COUNT; tier++) {
        uint64_t end_ns = step_end((enum ntk_store_tier)tier, at_ns);
        if (end_ns <= extents[tier].done_ns &&
            end_ns - ntk_tier_step_ns[tier] >= extents[tier].first_ns) {
            return (struct ntk_store_piece){ (enum ntk_store_tier)tier, at_ns,
                                             end_ns < to_ns ? end_ns : to_ns };
        }
    }
    return (struct ntk_store_piece){ NTK_STORE_SECOND, at_ns,
                                     minute_end_ns < to_ns ? minute_end_ns : to_ns };
}

/* Finds the first time after which there can be a row, because windows may begin in 1970. */
static int skip_to_first(struct ntk_store_reader *reader, uint64_t *at_ns, struct ntk_err *err)
{
    int64_t first_ns = 0;
    int ret = ntk_store_sql_number(
        reader->db,
        "SELECT min(t) FROM (SELECT min(time_ns) - 3600000000000 AS t FROM machine_sample"
        " UNION ALL SELECT min(time_ns) - 3600000000000 FROM machine_minute"
        " UNION ALL SELECT min(time_ns) - 3600000000000 FROM machine_hour)",
        &first_ns, err);

    if (ret == 0 && first_ns > 0) {
        uint64_t hour_ns = ntk_tier_start(NTK_STORE_HOUR, (uint64_t)first_ns);
        *at_ns = hour_ns > *at_ns ? hour_ns : *at_ns;
    }
    return ret;
}

int ntk_store_window_cut(struct ntk_store_reader *reader, const struct ntk_store_window *window,
                         bool whole, struct ntk_vec *pieces, struct ntk_err *err)
{
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT] = { 0 };
    enum ntk_store_tier coarsest = NTK_STORE_HOUR;
    uint64_t at_ns = window->from_ns;
    int ret = ntk_tier_load_extents(reader->db, extents, err);

    if (ret == 0) {
        ret = skip_to_first(reader, &at_ns, err);
    }
    while (!whole && coarsest > NTK_STORE_SECOND &&
           window->step_ns % ntk_tier_step_ns[coarsest] != 0) {
        coarsest--;
    }
    int64_t newest_ns = 0;
    if (ret == 0) {
        ret =
            ntk_store_sql_number(reader->db,
                                 "SELECT max(t) FROM (SELECT max(time_ns) AS t FROM machine_sample"
                                 " UNION ALL SELECT max(time_ns) FROM machine_minute"
                                 " UNION ALL SELECT max(time_ns) FROM machine_hour)",
                                 &newest_ns, err);
    }
    while (ret == 0 && at_ns < window->to_ns && at_ns <= (uint64_t)newest_ns) {
        struct ntk_store_piece piece = next_piece(extents, coarsest, at_ns, window->to_ns);
        if (add_piece(pieces, piece.tier, piece.from_ns, piece.to_ns) < 0) {
            ret = ntk_err_no_memory(err);
        }
        at_ns = piece.to_ns;
    }
    return ret;
}

void ntk_store_window_add_process(struct ntk_buf *sql, const char *prefix,
                                  const struct ntk_store_filter *filter)
{
    if (filter->process) {
        ntk_buf_add_format(sql, " AND (%stag = :process OR CAST(%spid AS TEXT) = :process)", prefix,
                           prefix);
    }
    if (filter->user) {
        ntk_buf_add_format(sql, " AND (%suser = :user OR CAST(%suid AS TEXT) = :user)", prefix,
                           prefix);
    }
}

void ntk_store_window_add_filter(struct ntk_buf *sql, enum ntk_tier_family family,
                                 const struct ntk_store_filter *filter)
{
    bool has_process = family == NTK_FAMILY_PROCESS || family == NTK_FAMILY_CORE ||
                       family == NTK_FAMILY_EXECUTION || family == NTK_FAMILY_MODEL ||
                       family == NTK_FAMILY_RANK;

    if ((filter->process || filter->user) && has_process) {
        ntk_buf_add_text(sql, " AND process_id IN (SELECT process_id FROM process WHERE 1");
        ntk_store_window_add_process(sql, "", filter);
        ntk_buf_add_char(sql, ')');
    }
    if (filter->model && family == NTK_FAMILY_MODEL) {
        ntk_buf_add_text(sql, " AND (process_id, model_id) IN (SELECT process_id, model_id"
                              " FROM model WHERE name = :name OR name = :name || '.neff')");
    }
    if (filter->has_core && (family == NTK_FAMILY_CORE || family == NTK_FAMILY_EXECUTION)) {
        ntk_buf_add_format(sql, " AND core = %" PRIu32, filter->core);
    }
    if (filter->job && family == NTK_FAMILY_RANK) {
        ntk_buf_add_text(sql, " AND (process_id, communicator) IN (SELECT process_id, communicator"
                              " FROM rank r JOIN process p USING (process_id)"
                              " WHERE r.rendezvous = :name OR p.tag = :name)");
    }
    if (filter->has_device && family == NTK_FAMILY_DEVICE) {
        ntk_buf_add_format(sql, " AND device = %" PRIu32, filter->device);
    }
}

void ntk_store_window_add_rows(struct ntk_buf *sql, const struct ntk_vec *pieces,
                               enum ntk_tier_family family, const struct ntk_store_filter *filter)
{
    static const struct ntk_store_piece nothing = { NTK_STORE_SECOND, 0, 0 };
    const char *separator = "(";
    size_t count = pieces->count > 0 ? pieces->count : 1;

    for (size_t i = 0; i < count; i++) {
        const struct ntk_store_piece *piece = pieces->count > 0 ? ntk_vec_at(pieces, i) : &nothing;
        ntk_buf_add_format(sql, "%sSELECT *, %" PRIu64 " AS row_step_ns FROM (", separator,
                           ntk_tier_step_ns[piece->tier]);
        ntk_tier_add_select(sql, family, piece->tier);
        ntk_buf_add_format(sql, " WHERE time_ns > %" PRIu64 " AND time_ns <= %" PRIu64,
                           piece->from_ns, piece->to_ns);
        ntk_store_window_add_filter(sql, family, filter);
        ntk_buf_add_char(sql, ')');
        separator = " UNION ALL ";
    }
    ntk_buf_add_char(sql, ')');
}

void ntk_store_window_bind(sqlite3_stmt *statement, const struct ntk_store_filter *filter)
{
    ntk_store_sql_bind_filter(statement, "process", filter->process);
    ntk_store_sql_bind_filter(statement, "name", filter->job ? filter->job : filter->model);
    ntk_store_sql_bind_filter(statement, "user", filter->user);
}
