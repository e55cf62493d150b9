/* SPDX-License-Identifier: MIT */
/* err - the message that explains a negative return value. */
#include "shared/base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/url.h"

static void make_safe(struct ntk_err *err)
{
    size_t bytes = ntk_str_clean(err->text, sizeof err->text);

    err->text[ntk_url_redact_text(err->text, bytes)] = '\0';
}

int ntk_err_set(struct ntk_err *err, int code, uint64_t offset, const char *format, ...)
{
    if (err) {
        va_list args;

        err->code = code;
        err->offset = offset;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        make_safe(err);
    }
    return code;
}

int ntk_err_no_memory(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}

void ntk_err_prefix(struct ntk_err *err, const char *format, ...)
{
    char prefix[NTK_ERR_TEXT_BYTES];
    char text[NTK_ERR_TEXT_BYTES];
    va_list args;

    if (!err) {
        return;
    }
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    memcpy(text, err->text, sizeof text);
    size_t prefix_bytes = strlen(prefix);
    size_t room = sizeof err->text - 1;
    if (prefix_bytes > room - 2) {
        prefix_bytes = room - 2;
    }
    memcpy(err->text, prefix, prefix_bytes);
    memcpy(err->text + prefix_bytes, ": ", 2);
    size_t text_bytes = strlen(text);
    if (text_bytes > room - prefix_bytes - 2) {
        text_bytes = room - prefix_bytes - 2;
    }
    memcpy(err->text + prefix_bytes + 2, text, text_bytes);
    err->text[prefix_bytes + 2 + text_bytes] = '\0';
    make_safe(err);
}

const char *ntk_err_format(const struct ntk_err *err, char *buf, size_t buf_bytes)
{
    if (err->offset == NTK_ERR_NO_OFFSET) {
        snprintf(buf, buf_bytes, "%s", err->text);
    } else {
        snprintf(buf, buf_bytes, "%s (at byte %" PRIu64 ")", err->text, err->offset);
    }
    return buf;
}
