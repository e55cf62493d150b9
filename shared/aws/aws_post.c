/* SPDX-License-Identifier: MIT */
/* aws_post - a table of headers sorted by name, followed by the signature. */
#include "shared/aws/aws_post.h"

#include <errno.h>
#include <string.h>

#include "shared/aws/aws_sigv4.h"

int ntk_aws_post_sign(const struct ntk_aws_post *post, struct ntk_aws_post_lines *out_lines,
                      struct ntk_err *err)
{
    struct ntk_aws_scope scope = { post->keys->access_key, post->keys->secret_key, post->region,
                                   post->service, "" };
    const char *host = strstr(post->url, "://") + 3;
    const char *path = strchr(host, '/');
    struct ntk_buf host_text = { 0 };
    struct ntk_aws_header headers[NTK_AWS_POST_LINES_MAX];
    size_t count = 0;

    memset(out_lines, 0, sizeof *out_lines);
    ntk_aws_date(scope.date, post->unix_seconds);
    ntk_buf_add(&host_text, host, path ? (size_t)(path - host) : strlen(host));
    const struct ntk_aws_header all[] = {
        { "content-encoding", post->content_encoding },
        { "content-type", post->content_type },
        { "host", ntk_buf_text_get(&host_text) },
        { "if-none-match", post->if_none_match },
        { "x-amz-content-sha256", post->body_sha256 },
        { "x-amz-date", scope.date },
        { "x-amz-security-token", post->keys->session_token },
        { "x-amz-target", post->target },
    };
    bool is_ok = ntk_buf_ok(&host_text);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].value) {
            headers[count] = all[i];
            ntk_buf_add_format(&out_lines->texts[count++], "%s: %s", all[i].name, all[i].value);
        }
    }
    const struct ntk_aws_request request = { .method = post->method ? post->method : "POST",
                                             .path = path ? path : "/",
                                             .headers = headers,
                                             .header_count = count,
                                             .body = post->body,
                                             .body_bytes = post->body_bytes,
                                             .body_sha256 = post->body_sha256 };
    ntk_buf_add_text(&out_lines->texts[count], "authorization: ");
    ntk_aws_sign(&request, &scope, &out_lines->texts[count]);
    for (size_t i = 0; i <= count; i++) {
        is_ok = is_ok && ntk_buf_ok(&out_lines->texts[i]);
        out_lines->lines[i] = ntk_buf_text_get(&out_lines->texts[i]);
    }
    ntk_buf_fini(&host_text);
    return is_ok ? 0 : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot sign the request");
}

void ntk_aws_post_fini(struct ntk_aws_post_lines *lines)
{
    for (size_t i = 0; i < NTK_AWS_POST_LINES_MAX; i++) {
        if (lines->texts[i].bytes) {
            explicit_bzero(lines->texts[i].bytes, lines->texts[i].bytes_count);
        }
        ntk_buf_fini(&lines->texts[i]);
    }
    memset(lines, 0, sizeof *lines);
}
