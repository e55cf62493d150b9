/* SPDX-License-Identifier: MIT */
#include "profiler/output/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int ntk_sink_open(struct ntk_sink *sink, const char *path, struct ntk_err *err)
{
    *sink = (struct ntk_sink){ .is_stdout = strcmp(path, "-") == 0 };
    return sink->is_stdout ? 0 : ntk_fs_replace_begin(&sink->replace, path, err);
}

int ntk_sink_flush(struct ntk_sink *sink)
{
    FILE *file = sink->is_stdout ? stdout : sink->replace.file;

    if (!ntk_buf_ok(&sink->buf) && !sink->failed) {
        sink->failed = -ENOMEM;
    }
    if (!sink->failed && sink->buf.bytes_count > 0) {
        errno = 0;
        if (fwrite(sink->buf.bytes, 1, sink->buf.bytes_count, file) != sink->buf.bytes_count) {
            sink->failed = errno ? -errno : -EIO;
        }
        sink->flushed_bytes += sink->buf.bytes_count;
    }
    ntk_buf_reset(&sink->buf);
    return sink->failed;
}

static int finish_stdout(struct ntk_sink *sink, struct ntk_err *err)
{
    if (!sink->failed && fflush(stdout) != 0) {
        sink->failed = -errno;
    }
    if (!sink->failed || sink->failed == -EPIPE) {
        return 0;
    }
    return ntk_err_set(err, sink->failed, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                       strerror(-sink->failed));
}

int ntk_sink_commit(struct ntk_sink *sink, struct ntk_err *err)
{
    int ret = ntk_sink_flush(sink);

    if (sink->is_stdout) {
        ret = finish_stdout(sink, err);
    } else if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", sink->replace.path,
                    strerror(-ret));
    } else {
        ret = ntk_fs_replace_commit(&sink->replace, err);
    }
    ntk_sink_abort(sink);
    return ret;
}

void ntk_sink_abort(struct ntk_sink *sink)
{
    ntk_fs_replace_abort(&sink->replace);
    ntk_buf_fini(&sink->buf);
    *sink = (struct ntk_sink){ 0 };
}
