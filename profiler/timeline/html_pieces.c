/* SPDX-License-Identifier: MIT */
/* html_pieces - writes data as base64 in scripts that are not executed, as far as they fit in the
 * file. */
#include "profiler/timeline/html_private.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

static void add_base64(const void *data, size_t bytes_count, struct ntk_buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < bytes_count; i += 3) {
        size_t left = bytes_count - i;
        unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0U) |
                        (left > 2 ? bytes[i + 2] : 0U);
        char text[4] = { digits[word >> 18], digits[word >> 12 & 63],
                         left > 1 ? digits[word >> 6 & 63] : '=',
                         left > 2 ? digits[word & 63] : '=' };
        ntk_buf_add(out, text, sizeof text);
    }
}

int ntk_html_put_base64(struct ntk_html_writer *w, const void *data, size_t bytes_count)
{
    add_base64(data, bytes_count, &w->sink->buf);
    return ntk_sink_step(w->sink);
}

/* Appends <script type="text/plain" ATTRIBUTES>base64 of the deflated bytes</script> to text;
 * empties data. */
int ntk_html_add_data(const char *attributes, struct ntk_buf *data, struct ntk_buf *text)
{
    uLongf packed_bytes = compressBound(data->bytes_count);
    unsigned char *packed = malloc(packed_bytes);
    int ret = packed && ntk_buf_ok(data) ? 0 : -ENOMEM;

    if (ret == 0 && compress2(packed, &packed_bytes, (const Bytef *)ntk_buf_text_get(data),
                              data->bytes_count, Z_DEFAULT_COMPRESSION) != Z_OK) {
        ret = -ENOMEM;
    }
    if (ret == 0) {
        ntk_buf_add_format(text, "<script type=\"text/plain\" %s>", attributes);
        add_base64(packed, packed_bytes, text);
        ntk_buf_add_text(text, "</script>\n");
    }
    free(packed);
    ntk_buf_reset(data);
    return ret;
}

int ntk_html_put_data(struct ntk_html_writer *w, const char *attributes, struct ntk_buf *data)
{
    int ret = ntk_html_add_data(attributes, data, &w->sink->buf);

    return ret == 0 ? ntk_sink_step(w->sink) : ret;
}

/* Returns the number of bytes left in the file. */
uint64_t ntk_html_room_bytes(const struct ntk_html_writer *w)
{
    uint64_t used = w->sink->flushed_bytes + w->sink->buf.bytes_count + w->page_bytes;

    return used < w->bytes_max ? w->bytes_max - used : 0;
}

/* Writes the text if it fits; empties it. */
int ntk_html_put_if_room(struct ntk_html_writer *w, struct ntk_buf *text, bool *out_is_put)
{
    int ret = ntk_buf_ok(text) ? 0 : -ENOMEM;

    *out_is_put = text->bytes_count <= ntk_html_room_bytes(w);
    if (ret == 0 && *out_is_put) {
        ntk_buf_add(&w->sink->buf, text->bytes, text->bytes_count);
        ret = ntk_sink_step(w->sink);
    }
    ntk_buf_reset(text);
    return ret;
}

/* Returns memory of long lists that an answer or tile used to the system. */
void ntk_html_give_back(const struct ntk_html_writer *w)
{
    ntk_timeline_give_back_all(w->timeline);
    for (size_t s = 0; s < w->timeline->source_count; s++) {
        ntk_analyses_give_back(w->analyses[s]);
    }
}
