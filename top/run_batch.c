/* SPDX-License-Identifier: MIT */
/* run_batch - prints samples on stdout: frames as text, JSON or CSV. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "top/model/model_hosts.h"
#include "top/model/samples.h"
#include "top/run.h"
#include "top/view/view.h"

#define BATCH_COLUMNS 120

/* Writes the output of --batch for the current snapshot. */
static int write_sample(const struct ntk_top_run *run, int columns, bool is_first,
                        struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    int ret = 0;

    if (run->json && run->model->hosts) {
        ntk_top_model_hosts_json(run->model, &text);
    } else if (run->json) {
        ntk_top_samples_json(run->model, &text);
    } else if (run->csv) {
        ntk_top_samples_csv(run->model, ntk_top_samples_table_find(run->csv), is_first, &text);
    } else {
        ntk_buf_add_text(&text, is_first ? "" : "\n");
        ntk_screen_text_resize(run->screen, ntk_top_view_natural_rows(run->model, columns, false),
                               columns);
        ntk_top_view_draw(run->model, run->screen, false);
        ntk_screen_text_write(run->screen, &text);
    }
    if (!ntk_buf_ok(&text)) {
        ret = ntk_err_no_memory(err);
    } else if (fwrite(text.bytes, 1, text.bytes_count, stdout) != text.bytes_count ||
               fflush(stdout) != 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                          strerror(errno));
    }
    ntk_buf_fini(&text);
    return ret;
}

static int batch_columns(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns;

    if (text && ntk_str_parse_u64(text, &columns) == 0 && columns >= 1 &&
        columns <= NTK_SCREEN_COLUMNS_MAX) {
        return (int)columns;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return BATCH_COLUMNS;
}

int ntk_top_run_batch(struct ntk_top_run *run, struct ntk_err *err)
{
    int columns = batch_columns();
    bool has_key;
    int ret = ntk_screen_text_create(1, columns, &run->screen, err);

    if (ret < 0) {
        return ret;
    }
    for (uint64_t frame = 0; run->count == 0 || frame < run->count;) {
        if (!ntk_top_run_wait_until(run, run->next_ns, -1, &has_key)) {
            return 0;
        }
        if (run->source->fd < 0 && ntk_clock_monotonic_ns() < run->next_ns) {
            continue; /* a signal without a meaning here */
        }
        run->next_ns = ntk_clock_monotonic_ns() + run->delay_ns;
        ret = ntk_top_run_feed(run, err);
        if (ret == -ENODATA && frame > 0) {
            return 0;
        }
        ret = ret < 0 ? ret : ret == 0 ? ntk_top_run_check_first(run, frame > 0, err) : ret;
        if (ret < 0) {
            return ret;
        }
        if (ret == 0) {
            continue;
        }
        (void)ntk_top_run_take_past(run, UINT64_MAX);
        ret = write_sample(run, columns, frame == 0, err);
        if (ret < 0) {
            return ret == -EPIPE ? 0 : ret;
        }
        frame++;
    }
    return 0;
}
