/* SPDX-License-Identifier: MIT */
/* aws_answer - reads JSON with jansson, and the few XML elements that are needed. */
#include "shared/aws/aws_answer.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/aws/aws_config.h"
#include "shared/base/str.h"

/* -- times ------------------------------------------------------------------------------------- */

/* Converts date and time to seconds since 1970; -EBADMSG unless the time is between 1970 and
 * 9999. */
static int seconds_of(int year, int month, int day, int hour, int minute, int second,
                      uint64_t *out_unix_seconds)
{
    struct tm parts = { .tm_year = year - 1900,
                        .tm_mon = month - 1,
                        .tm_mday = day,
                        .tm_hour = hour,
                        .tm_min = minute,
                        .tm_sec = second };

    if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
        return -EBADMSG;
    }
    time_t at = timegm(&parts);
    if (at < 0) {
        return -EBADMSG;
    }
    *out_unix_seconds = (uint64_t)at;
    return 0;
}

int ntk_aws_time_parse(const char *text, uint64_t *out_unix_seconds)
{
    int part[6];
    int end = 0;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &part[0], &part[1], &part[2], &part[3], &part[4],
               &part[5], &end) != 6 ||
        !end) {
        return -EBADMSG;
    }
    text += end;
    if (*text == '.') {
        text += 1 + strspn(text + 1, "0123456789");
    }
    if (strcmp(text, "Z") != 0 && strcmp(text, "+00:00") != 0) {
        return -EBADMSG;
    }
    return seconds_of(part[0], part[1], part[2], part[3], part[4], part[5], out_unix_seconds);
}

int ntk_aws_http_date_parse(const char *text, uint64_t *out_unix_seconds)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4] = "";
    int part[5];

    if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT", &part[0], month, &part[1],
               &part[2], &part[3], &part[4]) != 6 ||
        strlen(month) != 3) {
        return -EBADMSG;
    }
    const char *found = strstr(months, month);
    if (!found || (found - months) % 3 != 0) {
        return -EBADMSG;
    }
    return seconds_of(part[1], (int)(found - months) / 3 + 1, part[0], part[2], part[3], part[4],
                      out_unix_seconds);
}

/* -- keys -------------------------------------------------------------------------------------- */

static bool is_key(const char *text)
{
    size_t bytes = strlen(text);

    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return bytes > 0 && bytes <= NTK_AWS_VALUE_BYTES_MAX;
}

int ntk_aws_keys_set(struct ntk_aws_keys *out_keys, const char *access_key, const char *secret_key,
                     const char *session_token, struct ntk_err *err)
{
    struct ntk_aws_keys keys = { 0 };

    if (!is_key(access_key) || strchr(access_key, '/')) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "invalid access key id");
    }
    if (!is_key(secret_key)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "invalid secret access key");
    }
    if (session_token && !is_key(session_token)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "invalid session token");
    }
    keys.access_key = strdup(access_key);
    keys.secret_key = strdup(secret_key);
    keys.session_token = session_token ? strdup(session_token) : NULL;
    if (!keys.access_key || !keys.secret_key || (session_token && !keys.session_token)) {
        ntk_aws_keys_fini(&keys);
        return ntk_err_no_memory(err);
    }
    *out_keys = keys;
    return 0;
}

static void wipe(char *text)
{
    if (text) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

void ntk_aws_keys_fini(struct ntk_aws_keys *keys)
{
    wipe(keys->access_key);
    wipe(keys->secret_key);
    wipe(keys->session_token);
    memset(keys, 0, sizeof *keys);
}

static int set_temporary(struct ntk_aws_keys *out_keys, const char *access_key,
                         const char *secret_key, const char *session_token, const char *expiration,
                         struct ntk_err *err)
{
    struct ntk_aws_keys keys = { 0 };
    uint64_t expires = 0;

    if (!access_key || !secret_key) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the response has no keys");
    }
    if (expiration && ntk_aws_time_parse(expiration, &expires) < 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "the keys in the response have an invalid expiry");
    }
    int ret = ntk_aws_keys_set(&keys, access_key, secret_key, session_token, err);
    if (ret < 0) {
        return ret;
    }
    keys.expires_unix_seconds = expires;
    *out_keys = keys;
    return 0;
}

static const char *member(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name)); /* NULL unless it is a string */
}

static json_t *object_of(const char *bytes, size_t bytes_count, struct ntk_err *err)
{
    json_error_t said;
    json_t *root = json_loadb(bytes, bytes_count, JSON_REJECT_DUPLICATES, &said);

    if (!json_is_object(root)) {
        json_decref(root);
        (void)ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the response is not a JSON object");
        return NULL;
    }
    return root;
}

int ntk_aws_keys_from_json(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                           struct ntk_err *err)
{
    json_t *root = object_of(bytes, bytes_count, err);

    if (!root) {
        return -EBADMSG;
    }
    const char *code = member(root, "Code");
    int ret;
    if (code && strcmp(code, "Success") != 0) {
        char shown[64];
        ntk_str_copy_clean(shown, sizeof shown, code, strlen(code));
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the response code is '%s'", shown);
    } else {
        ret = set_temporary(out_keys, member(root, "AccessKeyId"), member(root, "SecretAccessKey"),
                            member(root, "Token"), member(root, "Expiration"), err);
    }
    json_decref(root);
    return ret;
}

int ntk_aws_keys_from_process(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                              struct ntk_err *err)
{
    json_t *root = object_of(bytes, bytes_count, err);

    if (!root) {
        return -EBADMSG;
    }
    int ret =
        json_integer_value(json_object_get(root, "Version")) == 1
            ? set_temporary(out_keys, member(root, "AccessKeyId"), member(root, "SecretAccessKey"),
                            member(root, "SessionToken"), member(root, "Expiration"), err)
            : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "unsupported version: expected 1");
    json_decref(root);
    return ret;
}

/* A copy of the text in the first <name> element between at and end; NULL if there is none. */
static char *element(const char *at, const char *end, const char *name)
{
    char open[64];
    char close[64];
    int open_bytes = snprintf(open, sizeof open, "<%s>", name);
    int close_bytes = snprintf(close, sizeof close, "</%s>", name);
    const char *from = memmem(at, (size_t)(end - at), open, (size_t)open_bytes);

    if (!from) {
        return NULL;
    }
    from += open_bytes;
    const char *to = memmem(from, (size_t)(end - from), close, (size_t)close_bytes);
    if (!to) {
        return NULL;
    }
    while (from < to && isspace((unsigned char)*from)) {
        from++;
    }
    while (from < to && isspace((unsigned char)to[-1])) {
        to--;
    }
    return strndup(from, (size_t)(to - from));
}

int ntk_aws_keys_from_sts(const char *bytes, size_t bytes_count, struct ntk_aws_keys *out_keys,
                          struct ntk_err *err)
{
    const char *end = bytes + bytes_count;
    const char *part = memmem(bytes, bytes_count, "<Credentials>", 13);
    const char *from = part ? part : end;
    char *access_key = element(from, end, "AccessKeyId");
    char *secret_key = element(from, end, "SecretAccessKey");
    char *session_token = element(from, end, "SessionToken");
    char *expiration = element(from, end, "Expiration");

    int ret = set_temporary(out_keys, access_key, secret_key, session_token, expiration, err);
    wipe(access_key);
    wipe(secret_key);
    wipe(session_token);
    free(expiration);
    return ret;
}

/* -- errors ------------------------------------------------------------------------------------ */

/* The code may have text around its name: "aws.protocol#ThrottlingException:http://...". */
static void set_code(struct ntk_aws_error *error, const char *text)
{
    const char *hash = strrchr(text, '#');

    ntk_str_copy_clean(error->code, sizeof error->code, hash ? hash + 1 : text,
                       strcspn(hash ? hash + 1 : text, ":"));
}

static void set_text(struct ntk_aws_error *error, const char *text)
{
    ntk_str_copy_clean(error->text, sizeof error->text, text, strlen(text));
}

void ntk_aws_error_parse(const char *bytes, size_t bytes_count, struct ntk_aws_error *out_error)
{
    json_error_t said;
    json_t *root = json_loadb(bytes, bytes_count, 0, &said);

    memset(out_error, 0, sizeof *out_error);
    if (json_is_object(root)) {
        const char *type = member(root, "__type");
        const char *text = member(root, "message");
        text = text ? text : member(root, "Message");
        set_code(out_error, type ? type : "");
        set_text(out_error, text ? text : "");
    } else if (bytes_count) {
        char *code = element(bytes, bytes + bytes_count, "Code");
        char *text = element(bytes, bytes + bytes_count, "Message");
        set_code(out_error, code ? code : "");
        set_text(out_error, text ? text : "");
        free(code);
        free(text);
    }
    json_decref(root);
}
