/* SPDX-License-Identifier: MIT */
/* http_security_config - parses YAML into settings: each section is a table of keys. */
#include "shared/http/http_security_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "shared/base/str.h"

struct reader {
    yaml_document_t *document;
    struct ntk_http_security_config *config;
    struct ntk_err *err;
};

typedef int (*read_value)(struct reader *reader, const char *key, yaml_node_t *value);

struct key {
    const char *name;
    read_value read;
};

static int fail(struct reader *reader, const yaml_node_t *node, const char *key, const char *text)
{
    return ntk_err_set(reader->err, -EINVAL, NTK_ERR_NO_OFFSET, "line %zu: '%.80s' %s",
                       node->start_mark.line + 1, key, text);
}

static const char *scalar(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* -- values ------------------------------------------------------------------------------------ */

static int copy_text(struct reader *reader, const char *key, yaml_node_t *value, char **out)
{
    const char *text = scalar(value);

    if (!text || strlen(text) != value->data.scalar.length) {
        return fail(reader, value, key, "is not a string");
    }
    free(*out);
    *out = strdup(text);
    return *out ? 0 : ntk_err_no_memory(reader->err);
}

#define TEXT_READER(member)                                                              \
    static int read_##member(struct reader *reader, const char *key, yaml_node_t *value) \
    {                                                                                    \
        return copy_text(reader, key, value, &reader->config->member);                   \
    }
TEXT_READER(cert_file)
TEXT_READER(key_file)
TEXT_READER(cert)
TEXT_READER(key)
TEXT_READER(client_ca_file)
TEXT_READER(client_ca)

static int read_client_auth(struct reader *reader, const char *key, yaml_node_t *value)
{
    static const struct {
        const char *name;
        enum ntk_http_client_auth auth;
    } rows[] = {
        { "NoClientCert", NTK_HTTP_CLIENT_AUTH_NONE },
        { "VerifyClientCertIfGiven", NTK_HTTP_CLIENT_AUTH_IF_GIVEN },
        { "RequireAndVerifyClientCert", NTK_HTTP_CLIENT_AUTH_REQUIRED },
    };
    const char *text = scalar(value);

    for (size_t i = 0; text && i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(text, rows[i].name)) {
            reader->config->client_auth = rows[i].auth;
            return 0;
        }
    }
    return fail(reader, value, key,
                "must be NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert");
}

static int tls_minor(struct reader *reader, const char *key, yaml_node_t *value, unsigned *out)
{
    const char *text = scalar(value);

    if (!text || strncmp(text, "TLS1", 4) || text[4] < '0' || text[4] > '3' || text[5]) {
        return fail(reader, value, key, "must be TLS10, TLS11, TLS12 or TLS13");
    }
    *out = (unsigned)(text[4] - '0');
    return 0;
}

static int read_min_version(struct reader *reader, const char *key, yaml_node_t *value)
{
    return tls_minor(reader, key, value, &reader->config->tls_minor_min);
}

static int read_max_version(struct reader *reader, const char *key, yaml_node_t *value)
{
    return tls_minor(reader, key, value, &reader->config->tls_minor_max);
}

static int read_bool(struct reader *reader, const char *key, yaml_node_t *value)
{
    const char *text = scalar(value);

    if (!text || (strcmp(text, "true") && strcmp(text, "false"))) {
        return fail(reader, value, key, "must be true or false");
    }
    return 0; /* accept any setting of HTTP/2, because all clients can use HTTP/1.1 */
}

static int refuse(struct reader *reader, const char *key, yaml_node_t *value)
{
    return fail(reader, value, key, "is not supported");
}

static int read_interval(struct reader *reader, const char *key, yaml_node_t *value)
{
    const char *text = scalar(value);

    if (!text || ntk_str_parse_duration_ns(text, &reader->config->rate_interval_ns) < 0) {
        return fail(reader, value, key, "must be a duration such as 1s or 100ms");
    }
    return 0;
}

static int read_burst(struct reader *reader, const char *key, yaml_node_t *value)
{
    const char *text = scalar(value);

    if (!text || ntk_str_parse_u64(text, &reader->config->rate_burst) < 0 ||
        reader->config->rate_burst == 0 || reader->config->rate_burst > UINT32_MAX) {
        return fail(reader, value, key, "must be a number of requests");
    }
    return 0;
}

/* -- sections ---------------------------------------------------------------------------------- */

typedef int (*read_pair)(struct reader *reader, yaml_node_t *name, yaml_node_t *value, void *ctx);

static bool is_null(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0 &&
           node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_empty(const yaml_node_t *node)
{
    return is_null(node) || (node->type == YAML_MAPPING_NODE &&
                             node->data.mapping.pairs.start == node->data.mapping.pairs.top);
}

/* Calls a function for every pair of a mapping; an empty section has none. */
static int each_pair(struct reader *reader, const char *section, yaml_node_t *node, read_pair read,
                     void *ctx)
{
    if (is_null(node)) {
        return 0;
    }
    if (node->type != YAML_MAPPING_NODE) {
        return fail(reader, node, section, "must be a list of 'key: value'");
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
        yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
        if (!scalar(name)) {
            return fail(reader, name, section, "has a key that is not a string");
        }
        int ret = read(reader, name, value, ctx);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int read_row(struct reader *reader, yaml_node_t *name, yaml_node_t *value, void *ctx)
{
    const char *text = scalar(name);

    for (const struct key *key = ctx; key->name; key++) {
        if (!strcmp(key->name, text)) {
            return key->read(reader, text, value);
        }
    }
    return fail(reader, name, text, "is not a known key");
}

static int read_tls(struct reader *reader, const char *section, yaml_node_t *value)
{
    static const struct key keys[] = {
        { "cert_file", read_cert_file },
        { "key_file", read_key_file },
        { "cert", read_cert },
        { "key", read_key },
        { "client_auth_type", read_client_auth },
        { "client_ca_file", read_client_ca_file },
        { "client_ca", read_client_ca },
        { "min_version", read_min_version },
        { "max_version", read_max_version },
        { "prefer_server_cipher_suites", read_bool },
        { "cipher_suites", refuse },
        { "curve_preferences", refuse },
        { "client_allowed_sans", refuse },
        { 0 },
    };
    const struct ntk_http_security_config *config = reader->config;
    int ret = each_pair(reader, section, value, read_row, (void *)(uintptr_t)keys);

    if (ret < 0 || is_empty(value)) {
        return ret;
    }
    reader->config->has_tls = true;
    if (!config->cert_file == !config->cert || !config->key_file == !config->key) {
        return fail(reader, value, section,
                    "requires either cert_file or cert, and either key_file or key");
    }
    if (config->client_auth != NTK_HTTP_CLIENT_AUTH_NONE &&
        !config->client_ca_file == !config->client_ca) {
        return fail(reader, value, section,
                    "requires either client_ca_file or client_ca to verify clients");
    }
    if (config->tls_minor_min > config->tls_minor_max) {
        return fail(reader, value, section, "has a min_version above max_version");
    }
    return 0;
}

static int read_header(struct reader *reader, yaml_node_t *name, yaml_node_t *value, void *ctx)
{
    static const char *const names[] = { "Content-Security-Policy", "X-Frame-Options",
                                         "X-Content-Type-Options", "X-XSS-Protection",
                                         "Strict-Transport-Security" };
    struct ntk_http_security_config *config = reader->config;
    const char *text = scalar(name);

    (void)ctx;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(names[i], text) || config->header_count == NTK_HTTP_SECURITY_HEADERS_MAX) {
            continue;
        }
        struct ntk_http_security_header *header = &config->headers[config->header_count++];
        int ret = copy_text(reader, text, value, &header->value);
        if (ret < 0) {
            return ret;
        }
        if (strpbrk(header->value, "\r\n")) {
            return fail(reader, value, text, "has more than one line");
        }
        header->name = strdup(names[i]);
        return header->name ? 0 : -ENOMEM;
    }
    return fail(reader, name, text, "is not an allowed header");
}

static int read_headers(struct reader *reader, const char *key, yaml_node_t *value)
{
    return each_pair(reader, key, value, read_header, NULL);
}

static int read_http(struct reader *reader, const char *section, yaml_node_t *value)
{
    static const struct key keys[] = {
        { "http2", read_bool },
        { "headers", read_headers },
        { 0 },
    };

    return each_pair(reader, section, value, read_row, (void *)(uintptr_t)keys);
}

static int read_user(struct reader *reader, yaml_node_t *name, yaml_node_t *value, void *ctx)
{
    struct ntk_http_security_config *config = reader->config;
    const char *hash = scalar(value);

    (void)ctx;
    if (!hash || strlen(hash) != 60 ||
        (strncmp(hash, "$2a$", 4) && strncmp(hash, "$2b$", 4) && strncmp(hash, "$2y$", 4))) {
        return fail(reader, value, scalar(name), "has no bcrypt hash ($2y$...)");
    }
    if (strchr(scalar(name), ':') || config->user_count == NTK_HTTP_SECURITY_USERS_MAX) {
        return fail(reader, name, scalar(name),
                    "is not a valid user name, or exceeds the maximum number of users");
    }
    struct ntk_http_security_user *users =
        realloc(config->users, (config->user_count + 1) * sizeof *users);
    if (!users) {
        return ntk_err_no_memory(reader->err);
    }
    config->users = users;
    users[config->user_count] = (struct ntk_http_security_user){ 0 };
    config->user_count++;
    int ret = copy_text(reader, "user", name, &users[config->user_count - 1].name);
    return ret < 0 ? ret : copy_text(reader, "hash", value, &users[config->user_count - 1].hash);
}

static int read_users(struct reader *reader, const char *section, yaml_node_t *value)
{
    return each_pair(reader, section, value, read_user, NULL);
}

static int read_rate(struct reader *reader, const char *section, yaml_node_t *value)
{
    static const struct key keys[] = {
        { "interval", read_interval },
        { "burst", read_burst },
        { 0 },
    };
    int ret = each_pair(reader, section, value, read_row, (void *)(uintptr_t)keys);

    if (ret >= 0 && reader->config->rate_interval_ns && !reader->config->rate_burst) {
        return fail(reader, value, section, "requires a burst of at least 1");
    }
    return ret;
}

static const struct key sections[] = {
    { "tls_server_config", read_tls },
    { "http_server_config", read_http },
    { "basic_auth_users", read_users },
    { "rate_limit", read_rate },
    { 0 },
};

int ntk_http_security_config_parse(const char *text, size_t text_bytes,
                                   struct ntk_http_security_config *out_config, struct ntk_err *err)
{
    yaml_parser_t parser;
    yaml_document_t document;
    struct reader reader = { &document, out_config, err };
    int ret = 0;

    *out_config = (struct ntk_http_security_config){ .tls_minor_min = 2, .tls_minor_max = 3 };
    if (!yaml_parser_initialize(&parser)) {
        return ntk_err_no_memory(err);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, text_bytes);
    if (!yaml_parser_load(&parser, &document)) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %zu: %s",
                          parser.problem_mark.line + 1,
                          parser.problem ? parser.problem : "not a YAML file");
        yaml_parser_delete(&parser);
        return ret;
    }
    yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root) {
        ret = each_pair(&reader, "the file", root, read_row, (void *)(uintptr_t)sections);
    }
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    if (ret < 0) {
        ntk_http_security_config_fini(out_config);
    }
    return ret;
}

void ntk_http_security_config_fini(struct ntk_http_security_config *config)
{
    free(config->cert_file);
    free(config->key_file);
    free(config->cert);
    free(config->key);
    free(config->client_ca_file);
    free(config->client_ca);
    for (size_t i = 0; i < config->user_count; i++) {
        free(config->users[i].name);
        free(config->users[i].hash);
    }
    free(config->users);
    for (size_t i = 0; i < config->header_count; i++) {
        free(config->headers[i].name);
        free(config->headers[i].value);
    }
    *config = (struct ntk_http_security_config){ 0 };
}
