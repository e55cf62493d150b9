/* SPDX-License-Identifier: MIT */
/* aws_sigv4 - the canonical request, its hash, and a chain of keyed hashes. */
#include "shared/aws/aws_sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <time.h>

#include "shared/base/str.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define HASH_BYTES 32u
#define HEX_BYTES (2 * HASH_BYTES + 1)
#define DAY_CHARACTERS 8

void ntk_aws_date(char date[NTK_AWS_DATE_BYTES], uint64_t seconds)
{
    time_t at = (time_t)seconds;
    struct tm parts = { 0 };

    gmtime_r(&at, &parts);
    if (strftime(date, NTK_AWS_DATE_BYTES, "%Y%m%dT%H%M%SZ", &parts) != NTK_AWS_DATE_BYTES - 1) {
        date[0] = '\0'; /* the year is after 9999 */
    }
}

int ntk_aws_path_check(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

    return path[0] == '/' && !strstr(path, "//") && !strstr(path, "/.") &&
                   path[strspn(path, plain)] == '\0'
               ? 0
               : -1;
}

static int hash_hex(const void *bytes, size_t bytes_count, char hex[HEX_BYTES])
{
    unsigned char hash[EVP_MAX_MD_SIZE];

    if (EVP_Digest(bytes, bytes_count, hash, NULL, EVP_sha256(), NULL) != 1) {
        return -1;
    }
    ntk_str_hex(hex, hash, HASH_BYTES);
    return 0;
}

int ntk_aws_sha256(const void *bytes, size_t bytes_count, char hex[NTK_AWS_SHA256_BYTES])
{
    return hash_hex(bytes, bytes_count, hex);
}

static int keyed_hash(const void *key, size_t key_bytes, const void *bytes, size_t bytes_count,
                      unsigned char hash[HASH_BYTES])
{
    unsigned int hash_bytes = HASH_BYTES;

    return HMAC(EVP_sha256(), key, (int)key_bytes, bytes, bytes_count, hash, &hash_bytes) ? 0 : -1;
}

/* Blanks around a value are dropped, and several inside become one. */
static void add_value(struct ntk_buf *buf, const char *value)
{
    bool is_blank = false;

    value += strspn(value, " \t");
    for (; *value; value++) {
        if (*value == ' ' || *value == '\t') {
            is_blank = true;
            continue;
        }
        if (is_blank) {
            ntk_buf_add_char(buf, ' ');
        }
        is_blank = false;
        ntk_buf_add_char(buf, *value);
    }
}

static void add_names(struct ntk_buf *buf, const struct ntk_aws_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        ntk_buf_add_text(buf, i ? ";" : "");
        ntk_buf_add_text(buf, request->headers[i].name);
    }
}

/* Hashes the request in its canonical form. */
static int hash_request(const struct ntk_aws_request *request, char hex[HEX_BYTES])
{
    struct ntk_buf buf = { 0 };
    char body_hex[HEX_BYTES];

    ntk_buf_add_format(&buf, "%s\n%s\n\n", request->method, request->path);
    for (size_t i = 0; i < request->header_count; i++) {
        ntk_buf_add_text(&buf, request->headers[i].name);
        ntk_buf_add_char(&buf, ':');
        add_value(&buf, request->headers[i].value);
        ntk_buf_add_char(&buf, '\n');
    }
    ntk_buf_add_char(&buf, '\n');
    add_names(&buf, request);
    int ret = request->body_sha256
                  ? 0
                  : hash_hex(request->body ? request->body : "", request->body_bytes, body_hex);
    ntk_buf_add_format(&buf, "\n%s", request->body_sha256 ? request->body_sha256 : body_hex);
    ret = ret < 0 || !ntk_buf_ok(&buf) ? -1 : hash_hex(buf.bytes, buf.bytes_count, hex);
    if (buf.bytes) {
        explicit_bzero(buf.bytes, buf.bytes_count); /* it contains the session token */
    }
    ntk_buf_fini(&buf);
    return ret;
}

/* Derives the signing key for a day, region and service. */
static int make_key(const struct ntk_aws_scope *scope, unsigned char key[HASH_BYTES])
{
    const char *const links[] = { scope->region, scope->service, "aws4_request" };
    struct ntk_buf secret = { 0 };
    int ret = -1;

    ntk_buf_add_text(&secret, "AWS4");
    ntk_buf_add_text(&secret, scope->secret_key);
    if (ntk_buf_ok(&secret)) {
        ret = keyed_hash(secret.bytes, secret.bytes_count, scope->date, DAY_CHARACTERS, key);
        explicit_bzero(secret.bytes, secret.bytes_count);
    }
    ntk_buf_fini(&secret);
    for (size_t i = 0; i < sizeof links / sizeof *links && ret >= 0; i++) {
        unsigned char next[HASH_BYTES];
        ret = keyed_hash(key, HASH_BYTES, links[i], strlen(links[i]), next);
        memcpy(key, next, HASH_BYTES);
    }
    return ret;
}

void ntk_aws_sign(const struct ntk_aws_request *request, const struct ntk_aws_scope *scope,
                  struct ntk_buf *out)
{
    struct ntk_buf text = { 0 };
    unsigned char key[HASH_BYTES];
    unsigned char signature[HASH_BYTES] = { 0 };
    char hex[HEX_BYTES];

    int ret = hash_request(request, hex);
    ntk_buf_add_format(&text, ALGORITHM "\n%s\n%.*s/%s/%s/aws4_request\n%s", scope->date,
                       DAY_CHARACTERS, scope->date, scope->region, scope->service, hex);
    if (ret < 0 || !ntk_buf_ok(&text) || make_key(scope, key) < 0 ||
        keyed_hash(key, HASH_BYTES, text.bytes, text.bytes_count, signature) < 0) {
        out->failed = true;
    }
    ntk_buf_fini(&text);
    explicit_bzero(key, sizeof key);
    ntk_buf_add_format(
        out, ALGORITHM " Credential=%s/%.*s/%s/%s/aws4_request, SignedHeaders=", scope->access_key,
        DAY_CHARACTERS, scope->date, scope->region, scope->service);
    add_names(out, request);
    ntk_str_hex(hex, signature, HASH_BYTES);
    ntk_buf_add_format(out, ", Signature=%s", hex);
}
