/* SPDX-License-Identifier: MIT */
/* http_transfer - passes a request to libcurl, and reads its response. */
#include "shared/http/http_transfer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/url.h"
#include "shared/http/http_authorities.h"

#define HEAD_BYTES_MAX ((size_t)64 * 1024)
#define SECRET_BYTES 4096
#define RETRY_AFTER_SECONDS_MAX UINT64_C(3600)

int http_transfer_init(struct http_transfer *transfer)
{
    transfer->easy = http_curl.easy_init();
    return transfer->easy ? 0 : -ENOMEM;
}

void http_transfer_fini(struct http_transfer *transfer)
{
    if (transfer->easy) {
        http_curl.easy_cleanup(transfer->easy);
    }
    transfer->easy = NULL;
}

/* -- libcurl's callbacks ----------------------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_transfer *transfer = ctx;
    size_t bytes_count = size * count;
    long status = 0;

    http_curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->question->on_bytes && status >= 200 && status < 300) {
        transfer->is_stopped =
            !transfer->question->on_bytes(bytes, bytes_count, transfer->question->ctx);
        return transfer->is_stopped ? 0 : bytes_count;
    }
    if (transfer->answer->body.bytes_count + bytes_count > transfer->body_bytes_max) {
        transfer->is_too_long = true;
        return 0;
    }
    ntk_buf_add(&transfer->answer->body, bytes, bytes_count);
    return ntk_buf_ok(&transfer->answer->body) ? bytes_count : 0;
}

/* Receives a line of the headers or, after the body, trailers. A status line starts over (100
 * Continue). */
static size_t on_head(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_transfer *transfer = ctx;
    struct ntk_buf *head = &transfer->answer->head;
    size_t bytes_count = size * count;
    const char *colon = memchr(bytes, ':', bytes_count);
    size_t length = bytes_count;

    transfer->has_head = true;
    if (bytes_count >= 5 && !memcmp(bytes, "HTTP/", 5)) {
        ntk_buf_reset(head);
        return bytes_count;
    }
    if (!colon) {
        return bytes_count;
    }
    if (head->bytes_count + bytes_count + 1 > HEAD_BYTES_MAX) {
        transfer->is_too_long = true;
        return 0;
    }
    while (length && isspace((unsigned char)bytes[length - 1])) {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        bool is_name = bytes + i < colon;
        ntk_buf_add_char(head, is_name ? (char)tolower((unsigned char)bytes[i]) : bytes[i]);
    }
    ntk_buf_add_char(head, '\n');
    return bytes_count;
}

/* libcurl calls this function about once per second, and more often during transfers. */
static int on_progress(void *ctx, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
                       curl_off_t sent)
{
    struct http_transfer *transfer = ctx;

    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    transfer->is_too_late = !transfer->has_head && ntk_clock_monotonic_ns() - transfer->begin_ns >
                                                       transfer->question->head_ns;
    return transfer->is_too_late;
}

/* Passes the body of the request to libcurl; these bytes may then have reached the peer. */
static size_t on_read(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_transfer *transfer = ctx;
    size_t rest = transfer->question->body_bytes - transfer->sent_bytes;
    size_t now = size * count < rest ? size * count : rest;

    if (now) {
        memcpy(bytes, (const char *)transfer->question->body + transfer->sent_bytes, now);
    }
    transfer->sent_bytes += now;
    return now;
}

/* libcurl sends the body again if the connection turns out to be closed. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct http_transfer *transfer = ctx;

    if (origin != SEEK_SET || offset < 0 || (size_t)offset > transfer->question->body_bytes) {
        return CURL_SEEKFUNC_CANTSEEK;
    }
    transfer->sent_bytes = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* -- one request ------------------------------------------------------------------------------- */

static long ms_of(uint64_t ns, uint64_t default_ns)
{
    uint64_t ms = (ns ? ns : default_ns) / NTK_NS_PER_MS;

    return ns == UINT64_MAX ? 0 : ms ? (long)ms : 1;
}

/* Returns true for a direct connection: link-local services and sockets of this machine are never
 * behind a proxy. */
static bool is_local(const struct ntk_http_question *question)
{
    return question->no_proxy || question->unix_socket_path ||
           strstr(question->url, "://169.254.") || strstr(question->url, "://[fe80:") ||
           strstr(question->url, "://[fd00:ec2:");
}

static void set_body(CURL *easy, struct http_transfer *transfer)
{
    const struct ntk_http_question *question = transfer->question;

    if (!question->body) {
        return;
    }
    http_curl.easy_setopt(easy, CURLOPT_POST, 1L);
    http_curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->body_bytes);
    http_curl.easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    http_curl.easy_setopt(easy, CURLOPT_READDATA, transfer);
    http_curl.easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
    http_curl.easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
    /* Do not wait a second for "100 Continue" before a large body. */
    http_curl.easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
}

static void set_options(CURL *easy, struct http_transfer *transfer, struct curl_slist *headers)
{
    const struct ntk_http_question *question = transfer->question;

    http_curl.easy_reset(easy); /* this keeps connections */
    http_curl.easy_setopt(easy, CURLOPT_URL, question->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    http_curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    http_curl.easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    http_curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    http_curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Makes a request that ends early not wait for a silent name server. */
    http_curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    http_curl.easy_setopt(easy, CURLOPT_USERAGENT, "neuron-toolkit/" NTK_VERSION);
    /* accept all encodings that libcurl supports */
    http_curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    http_curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                          ms_of(question->connect_ns, NTK_HTTP_CONNECT_NS));
    http_curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                          ms_of(question->timeout_ns, NTK_HTTP_TIMEOUT_NS));
    http_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    http_curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    http_curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    http_curl.easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    if (question->head_ns > 0) {
        http_curl.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
        http_curl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        http_curl.easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
    }
    set_body(easy, transfer);
    if (question->method && !strcmp(question->method, "HEAD")) {
        http_curl.easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (question->method) {
        http_curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, question->method);
    }
    if (is_local(question)) {
        http_curl.easy_setopt(easy, CURLOPT_NOPROXY, "*");
    }
    http_curl.easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, question->unix_socket_path);
    http_curl.easy_setopt(easy, CURLOPT_HTTP_VERSION,
                          !question->http2 ? (long)CURL_HTTP_VERSION_1_1
                          : strncmp(question->url, "https:", 6) == 0
                              ? (long)CURL_HTTP_VERSION_2TLS
                              : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    /* libcurl 7.88 (Debian 12) cannot reuse an HTTP/2 connection: every later request fails with
     * "Error in the HTTP2 framing layer", and nothing is sent; also seen with gRPC's server. */
    http_curl.easy_setopt(easy, CURLOPT_FRESH_CONNECT, question->http2 ? 1L : 0L);
    http_curl.easy_setopt(easy, CURLOPT_FORBID_REUSE, question->http2 ? 1L : 0L);
    if (question->user_password) {
        http_curl.easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        http_curl.easy_setopt(easy, CURLOPT_USERPWD, question->user_password);
    }
    const char *ca_file =
        question->ca_file
            ? question->ca_file
            : http_authorities_file("", http_curl.version_info(CURLVERSION_NOW)->cainfo);
    if (ca_file) {
        http_curl.easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    }
    if (question->cert_file) {
        http_curl.easy_setopt(easy, CURLOPT_SSLCERT, question->cert_file);
        http_curl.easy_setopt(easy, CURLOPT_SSLKEY,
                              question->key_file ? question->key_file : question->cert_file);
    }
    if (question->is_insecure) {
        http_curl.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        http_curl.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    http_curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

static int add_header(struct curl_slist **headers, const char *header)
{
    struct curl_slist *more = http_curl.slist_append(*headers, header);

    *headers = more ? more : *headers;
    return more ? 0 : -ENOMEM;
}

/* Reads the first line of a file; `what` names it in messages. */
static int read_secret(const char *path, const char *what, char secret[SECRET_BYTES],
                       struct ntk_err *err)
{
    ssize_t got = ntk_fs_read_text(path, secret, SECRET_BYTES);

    secret[got > 0 ? strcspn(secret, "\r\n") : 0] = '\0';
    return got > 0 && secret[0]
               ? 0
               : ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot read the %s from '%.200s': %s",
                             what, path, got < 0 ? strerror((int)-got) : "the first line is empty");
}

static int add_token(struct curl_slist **headers, const char *path, struct ntk_err *err)
{
    static const char name[] = "Authorization: Bearer ";
    char header[sizeof name + SECRET_BYTES];

    memcpy(header, name, sizeof name);
    int ret = read_secret(path, "token", header + sizeof name - 1, err);
    ret = ret < 0 ? ret : add_header(headers, header);
    explicit_bzero(header, sizeof header);
    return ret;
}

static int set_password(CURL *easy, const char *path, struct ntk_err *err)
{
    char secret[SECRET_BYTES];
    int ret = read_secret(path, "password", secret, err);

    if (ret >= 0 && !strchr(secret, ':')) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET,
                          "'%.200s': the first line is not 'user:password'", path);
    } else if (ret >= 0) {
        http_curl.easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        ret = http_curl.easy_setopt(easy, CURLOPT_USERPWD, secret) == CURLE_OK
                  ? 0
                  : ntk_err_no_memory(err);
    }
    explicit_bzero(secret, sizeof secret);
    return ret;
}

static int make_headers(const struct ntk_http_question *question, struct curl_slist **out_headers,
                        struct ntk_err *err)
{
    int ret = 0;

    *out_headers = NULL;
    for (const char *const *header = question->headers; header && *header && ret >= 0; header++) {
        ret = add_header(out_headers, *header);
    }
    if (question->token_file && ret >= 0) {
        ret = add_token(out_headers, question->token_file, err);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

/* Wipes and frees the headers, because the copies may contain a token. */
static void free_headers(struct curl_slist *headers)
{
    for (struct curl_slist *header = headers; header; header = header->next) {
        explicit_bzero(header->data, strlen(header->data));
    }
    http_curl.slist_free_all(headers);
}

static const struct {
    CURLcode code;
    int error;
} errors[] = {
    { CURLE_URL_MALFORMAT, -EINVAL },         { CURLE_UNSUPPORTED_PROTOCOL, -EINVAL },
    { CURLE_COULDNT_CONNECT, -ECONNREFUSED }, { CURLE_COULDNT_RESOLVE_HOST, -ECONNREFUSED },
    { CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT }, { CURLE_ABORTED_BY_CALLBACK, -ECANCELED },
    { CURLE_OUT_OF_MEMORY, -ENOMEM },
};

static int fail(const struct http_transfer *transfer, CURLcode code, struct ntk_err *err)
{
    char shown[NTK_URL_SHOWN_BYTES];
    const char *url = ntk_url_redact(shown, sizeof shown, transfer->question->url);
    const char *said = transfer->error;
    int error = -EIO;

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        error = errors[i].code == code ? errors[i].error : error;
    }
    if (transfer->is_too_long) {
        return ntk_err_set(err, -EMSGSIZE, NTK_ERR_NO_OFFSET,
                           "%s: the response is longer than %zu bytes", url,
                           transfer->body_bytes_max);
    }
    if (transfer->is_too_late) {
        return ntk_err_set(err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                           "%s: no response within %llu seconds", url,
                           (unsigned long long)(transfer->question->head_ns / NTK_NS_PER_SECOND));
    }
    if (transfer->is_stopped || error == -ECANCELED) {
        return ntk_err_set(err, -ECANCELED, NTK_ERR_NO_OFFSET, "%s: cancelled", url);
    }
    return ntk_err_set(err, error, NTK_ERR_NO_OFFSET, "%s: %s", url,
                       said[0] ? said : http_curl.easy_strerror(code));
}

int http_transfer_begin(struct http_transfer *transfer, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err)
{
    CURL *easy = transfer->easy;

    *transfer = (struct http_transfer){ .easy = easy,
                                        .question = question,
                                        .begin_ns = ntk_clock_monotonic_ns(),
                                        .answer = answer,
                                        .body_bytes_max = question->answer_bytes_max
                                                              ? question->answer_bytes_max
                                                              : NTK_HTTP_ANSWER_BYTES };
    answer->status = 0;
    answer->is_sent = false;
    ntk_buf_reset(&answer->head);
    ntk_buf_reset(&answer->body);
    int ret = make_headers(question, &transfer->headers, err);
    if (ret < 0) {
        free_headers(transfer->headers);
        transfer->headers = NULL;
        return ret;
    }
    set_options(easy, transfer, transfer->headers);
    ret = question->password_file ? set_password(easy, question->password_file, err) : 0;
    if (ret < 0) {
        free_headers(transfer->headers);
        transfer->headers = NULL;
    }
    return ret;
}

int http_transfer_end(struct http_transfer *transfer, CURLcode code, struct ntk_err *err)
{
    struct ntk_http_answer *answer = transfer->answer;
    long request_bytes = 0;
    curl_off_t retry_after = 0;

    http_curl.easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after);
    answer->retry_after_ns = retry_after <= 0 ? 0
                             : (uint64_t)retry_after < RETRY_AFTER_SECONDS_MAX
                                 ? (uint64_t)retry_after * NTK_NS_PER_SECOND
                                 : RETRY_AFTER_SECONDS_MAX * NTK_NS_PER_SECOND;
    http_curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &answer->status);
    http_curl.easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    answer->is_sent = request_bytes > 0 && transfer->sent_bytes == transfer->question->body_bytes;
    http_curl.easy_reset(transfer->easy); /* remove all data of the request */
    free_headers(transfer->headers);
    transfer->headers = NULL;
    if (code != CURLE_OK) {
        answer->status = 0;
        return fail(transfer, code, err);
    }
    return 0;
}
