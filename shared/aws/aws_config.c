/* SPDX-License-Identifier: MIT */
/* aws_config - parses a file line by line and keeps only the lines of one section. */
#include "shared/aws/aws_config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"

static const struct {
    const char *name;
    enum ntk_aws_key key;
} keys[] = {
    { "aws_access_key_id", NTK_AWS_ACCESS_KEY_ID },
    { "aws_secret_access_key", NTK_AWS_SECRET_ACCESS_KEY },
    { "aws_session_token", NTK_AWS_SESSION_TOKEN },
    { "aws_security_token", NTK_AWS_SESSION_TOKEN },
    { "region", NTK_AWS_REGION },
    { "endpoint_url", NTK_AWS_ENDPOINT_URL },
    { "role_arn", NTK_AWS_ROLE_ARN },
    { "source_profile", NTK_AWS_SOURCE_PROFILE },
    { "credential_source", NTK_AWS_CREDENTIAL_SOURCE },
    { "credential_process", NTK_AWS_CREDENTIAL_PROCESS },
    { "web_identity_token_file", NTK_AWS_WEB_IDENTITY_TOKEN_FILE },
    { "role_session_name", NTK_AWS_ROLE_SESSION_NAME },
    { "external_id", NTK_AWS_EXTERNAL_ID },
    { "duration_seconds", NTK_AWS_DURATION_SECONDS },
    { "mfa_serial", NTK_AWS_MFA_SERIAL },
    { "sso_session", NTK_AWS_UNSUPPORTED },
    { "sso_start_url", NTK_AWS_UNSUPPORTED },
    { "login_session", NTK_AWS_UNSUPPORTED },
};

struct span {
    const char *text;
    size_t bytes;
};

struct reader {
    struct span file; /* remaining text of the file */
    const char *begin;
    uint64_t line;
    enum ntk_aws_file kind;
    const char *name;
    struct ntk_aws_profile *profile;
    bool has_section; /* whether a section header was found */
    bool is_ours;     /* whether the current section is the requested one */
    bool has_key;     /* the section has a key, so an indented line belongs to that key */
    struct ntk_err *err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trim(struct span span)
{
    while (span.bytes && is_blank(*span.text)) {
        span.text++;
        span.bytes--;
    }
    while (span.bytes &&
           (is_blank(span.text[span.bytes - 1]) || span.text[span.bytes - 1] == '\r')) {
        span.bytes--;
    }
    return span;
}

static bool is_same(struct span span, const char *text)
{
    return span.bytes == strlen(text) && !memcmp(span.text, text, span.bytes);
}

/* Cuts off a comment that follows a blank. */
static struct span uncomment(struct span span)
{
    for (size_t i = 1; i < span.bytes; i++) {
        if ((span.text[i] == '#' || span.text[i] == ';') && is_blank(span.text[i - 1])) {
            span.bytes = i;
        }
    }
    return trim(span);
}

static int refuse(const struct reader *reader, const char *at, const char *what)
{
    return ntk_err_set(reader->err, -EBADMSG, (uint64_t)(at - reader->begin), "line %llu %s",
                       (unsigned long long)reader->line, what);
}

/* The name in "[name]" or "[profile name]"; empty for sections of other kinds. */
static struct span section_name(const struct reader *reader, struct span inner)
{
    static const char profile[] = "profile";
    size_t bytes = sizeof profile - 1;

    if (reader->kind == NTK_AWS_FILE_CREDENTIALS || is_same(inner, "default")) {
        return inner;
    }
    if (inner.bytes <= bytes || memcmp(inner.text, profile, bytes) != 0 ||
        !is_blank(inner.text[bytes])) {
        return (struct span){ inner.text, 0 };
    }
    inner = trim((struct span){ inner.text + bytes, inner.bytes - bytes });
    if (inner.bytes >= 2 && (*inner.text == '"' || *inner.text == '\'') &&
        inner.text[inner.bytes - 1] == *inner.text) {
        inner = (struct span){ inner.text + 1, inner.bytes - 2 };
    }
    return inner;
}

static int read_section(struct reader *reader, struct span line)
{
    const char *end = memchr(line.text, ']', line.bytes);

    if (!end) {
        return refuse(reader, line.text, "is a section without ']'");
    }
    size_t rest = (size_t)(line.text + line.bytes - (end + 1));
    struct span after = trim((struct span){ end + 1, rest });
    if (after.bytes && *after.text != '#' && *after.text != ';') {
        return refuse(reader, after.text, "has unexpected text after a section");
    }
    struct span name =
        section_name(reader, trim((struct span){ line.text + 1, (size_t)(end - line.text) - 1 }));
    reader->has_section = true;
    reader->has_key = false;
    reader->is_ours = name.bytes && is_same(name, reader->name);
    reader->profile->is_found = reader->profile->is_found || reader->is_ours;
    return 0;
}

static int keep(struct reader *reader, enum ntk_aws_key key, struct span value)
{
    char **to = &reader->profile->value[key];

    if (value.bytes > NTK_AWS_VALUE_BYTES_MAX) {
        return refuse(reader, value.text, "has a value that is too long");
    }
    for (size_t i = 0; i < value.bytes; i++) {
        if (value.text[i] < ' ' || value.text[i] > '~') {
            return refuse(reader, value.text + i, "has a value with non-ASCII characters");
        }
    }
    if (*to) {
        explicit_bzero(*to, strlen(*to));
        free(*to);
        *to = NULL;
    }
    if (!value.bytes) {
        return 0; /* an empty value counts as absent */
    }
    *to = strndup(value.text, value.bytes);
    return *to ? 0 : ntk_err_no_memory(reader->err);
}

static int read_pair(struct reader *reader, struct span line)
{
    const char *equals = memchr(line.text, '=', line.bytes);

    if (!equals || equals == line.text) {
        return refuse(reader, line.text, "is neither a section nor 'key = value'");
    }
    if (!reader->has_section) {
        return refuse(reader, line.text, "appears before any section");
    }
    reader->has_key = true;
    if (!reader->is_ours) {
        return 0;
    }
    struct span name = trim((struct span){ line.text, (size_t)(equals - line.text) });
    struct span value =
        uncomment((struct span){ equals + 1, (size_t)(line.text + line.bytes - (equals + 1)) });
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (is_same(name, keys[i].name)) {
            bool is_name = keys[i].key == NTK_AWS_UNSUPPORTED && value.bytes;
            return keep(reader, keys[i].key, is_name ? name : value);
        }
    }
    return 0;
}

static int read_line(struct reader *reader, struct span raw)
{
    struct span line = trim(raw);

    if (memchr(raw.text, '\0', raw.bytes)) {
        return refuse(reader, raw.text, "has a NUL");
    }
    if (!line.bytes || *line.text == '#' || *line.text == ';') {
        return 0;
    }
    if (is_blank(*raw.text) && reader->has_key) {
        return 0; /* a nested key, which belongs to the key before it */
    }
    return *line.text == '[' ? read_section(reader, line) : read_pair(reader, line);
}

int ntk_aws_config_parse(const char *text, size_t bytes_count, enum ntk_aws_file file,
                         const char *name, struct ntk_aws_profile *out_profile, struct ntk_err *err)
{
    struct ntk_aws_profile profile = { 0 };
    struct reader reader = {
        .begin = text, .kind = file, .name = name, .profile = &profile, .err = err
    };
    int ret = 0;

    if (bytes_count >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* UTF-8 byte order mark */
        text += 3;
        bytes_count -= 3;
    }
    while (bytes_count && ret >= 0) {
        const char *end = memchr(text, '\n', bytes_count);
        size_t bytes = end ? (size_t)(end - text) : bytes_count;
        reader.line++;
        ret = read_line(&reader, (struct span){ text, bytes });
        bytes += end != NULL;
        text += bytes;
        bytes_count -= bytes;
    }
    if (ret < 0) {
        ntk_aws_profile_fini(&profile);
    }
    *out_profile = profile;
    return ret;
}

int ntk_aws_config_read(const char *path, enum ntk_aws_file file, const char *name,
                        struct ntk_aws_profile *out_profile, struct ntk_err *err)
{
    uint8_t *bytes;
    size_t count;

    memset(out_profile, 0, sizeof *out_profile);
    if (strcmp(path, "/dev/null") == 0) { /* users disable a file with it */
        return 0;
    }
    int ret = ntk_fs_read(path, NTK_AWS_CONFIG_BYTES_MAX, &bytes, &count, err);
    if (ret == -ENOENT || ret == -ENOTDIR) {
        return 0;
    }
    if (ret < 0) {
        return ret;
    }
    ret = ntk_aws_config_parse((const char *)bytes, count, file, name, out_profile, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    explicit_bzero(bytes, count);
    free(bytes);
    return ret;
}

void ntk_aws_profile_fini(struct ntk_aws_profile *profile)
{
    for (int i = 0; i < NTK_AWS_KEY_COUNT; i++) {
        if (profile->value[i]) {
            explicit_bzero(profile->value[i], strlen(profile->value[i]));
            free(profile->value[i]);
        }
    }
    memset(profile, 0, sizeof *profile);
}
