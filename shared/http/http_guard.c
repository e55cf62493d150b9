/* SPDX-License-Identifier: MIT */
/* http_guard - protects a server from pages of other sites, and from clients without the token. */
#include "shared/http/http_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define HOST_BYTES 256
#define SESSION_BYTES 32
#define COOKIE_NAME_BYTES 32
#define STATUS_SEE_OTHER 303
#define STATUS_UNAUTHORIZED 401
#define STATUS_MISDIRECTED 421
#define STATUS_BROKEN 500

struct ntk_http_guard {
    struct ntk_http_guard_options options;
    char machine[HOST_BYTES];
    char token[NTK_HTTP_TOKEN_BYTES_MAX + 1]; /* token that the session belongs to */
    char session[2 * SESSION_BYTES + 1];
    char cookie[COOKIE_NAME_BYTES + 2 * SESSION_BYTES + 64];
};

/* -- the token --------------------------------------------------------------------------------- */

static bool is_token(const char *text, size_t length)
{
    if (length < NTK_HTTP_TOKEN_BYTES_MIN || length > NTK_HTTP_TOKEN_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    return true;
}

/* Reads the current token. If it changed, begins a new session. */
static int read_token(struct ntk_http_guard *guard, struct ntk_err *err)
{
    uint8_t random[SESSION_BYTES];
    char *text = NULL;
    size_t length;
    int ret = ntk_fs_read(guard->options.token_path, 4096, (uint8_t **)&text, &length, err);

    if (ret < 0) {
        return ret;
    }
    while (length > 0 && strchr(" \t\r\n", text[length - 1])) {
        length--;
    }
    if (!is_token(text, length)) {
        ret = ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s: invalid token: expected %d to %d printable characters without blanks",
            guard->options.token_path, NTK_HTTP_TOKEN_BYTES_MIN, NTK_HTTP_TOKEN_BYTES_MAX);
    } else if (strlen(guard->token) != length || memcmp(guard->token, text, length) != 0) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
            ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET,
                              "cannot get random numbers from the kernel");
        } else {
            ntk_str_hex(guard->session, random, sizeof random);
            memcpy(guard->token, text, length);
            guard->token[length] = '\0';
        }
    }
    explicit_bzero(text, length);
    free(text);
    return ret;
}

/* Compares in a time that does not depend on where the texts differ. */
static bool equal(const char *given, const char *expected)
{
    size_t length = strlen(expected);

    return given && strlen(given) == length && gnutls_memcmp(given, expected, length) == 0;
}

static void cookie_name(char *buf, size_t buf_bytes, uint16_t port)
{
    /* the port is in the name, because all ports of a host share cookies */
    snprintf(buf, buf_bytes, "neuron-monitor-%u", port);
}

static bool has_token(const struct ntk_http_guard *guard, const struct ntk_http_request *request,
                      uint16_t port)
{
    static const char bearer[] = "Bearer ";
    const char *value = ntk_http_request_header_get(request, "Authorization");
    char name[COOKIE_NAME_BYTES];

    if (value && strncasecmp(value, bearer, sizeof bearer - 1) == 0 &&
        equal(value + sizeof bearer - 1, guard->token)) {
        return true;
    }
    cookie_name(name, sizeof name, port);
    return equal(ntk_http_request_cookie_get(request, name), guard->session);
}

static bool check_token(struct ntk_http_guard *guard, const struct ntk_http_request *request,
                        uint16_t port, bool secure, struct ntk_http_response *answer)
{
    const char *path = ntk_http_request_path_get(request);
    char name[COOKIE_NAME_BYTES];

    if (ntk_str_starts_with(path, "/-/")) {
        return true;
    }
    if (read_token(guard, NULL) < 0) {
        answer->status = STATUS_BROKEN;
        answer->text = "the token file cannot be used\n";
        return false;
    }
    if (strcmp(path, "/") == 0 &&
        equal(ntk_http_request_query_get(request, "token"), guard->token)) {
        cookie_name(name, sizeof name, port);
        snprintf(guard->cookie, sizeof guard->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s",
                 name, guard->session, secure ? "; Secure" : "");
        answer->status = STATUS_SEE_OTHER;
        answer->location = "/"; /* redirect, to remove the token from the address */
        answer->set_cookie = guard->cookie;
        answer->text = "welcome\n";
        return false;
    }
    if (has_token(guard, request, port)) {
        return true;
    }
    answer->status = STATUS_UNAUTHORIZED;
    answer->authenticate = "Bearer realm=\"neuron-monitor\"";
    answer->text = "a token is required: open /?token=TOKEN once, or send it as 'Authorization: "
                   "Bearer TOKEN'\n";
    return false;
}

/* -- names ------------------------------------------------------------------------------------- */

/* Extracts the name from "name:port", "[v6]:port" or "name.", in place; false if it is invalid. */
static bool take_name(char *host)
{
    size_t length;

    if (host[0] == '[') {
        char *end = strchr(host, ']');
        if (!end || (end[1] && end[1] != ':')) {
            return false;
        }
        *end = '\0';
        memmove(host, host + 1, strlen(host)); /* including the NUL */
        return true;
    }
    host[strcspn(host, ":")] = '\0';
    length = strlen(host);
    if (length > 0 && host[length - 1] == '.') {
        host[--length] = '\0';
    }
    return length > 0;
}

static bool is_address(const char *name)
{
    struct in6_addr address;

    return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

static bool is_listed(const char *names, const char *name)
{
    size_t name_length = strlen(name);

    while (names && *names) {
        size_t length = strcspn(names, ",");
        if (length == name_length && strncasecmp(names, name, length) == 0) {
            return true;
        }
        names += length + (names[length] == ',');
    }
    return false;
}

static bool is_machine(const char *machine, const char *name)
{
    size_t label = strcspn(machine, ".");

    return machine[0] && (strcasecmp(machine, name) == 0 ||
                          (strlen(name) == label && strncasecmp(machine, name, label) == 0));
}

bool ntk_http_guard_knows(const struct ntk_http_guard *guard, const char *host)
{
    static const char below[] = ".localhost";
    char name[HOST_BYTES];

    if (!ntk_str_copy(name, sizeof name, host) || !take_name(name)) {
        return false;
    }
    size_t length = strlen(name);
    return is_address(name) || strcasecmp(name, below + 1) == 0 ||
           (length >= sizeof below && strcasecmp(name + length - sizeof below + 1, below) == 0) ||
           (guard->options.host && strcasecmp(name, guard->options.host) == 0) ||
           is_listed(guard->options.names, name) || is_machine(guard->machine, name);
}

bool ntk_http_guard_check(struct ntk_http_guard *guard, const struct ntk_http_request *request,
                          uint16_t port, bool secure, struct ntk_http_response *answer)
{
    const char *host = ntk_http_request_header_get(request, "Host");

    if (host && !ntk_http_guard_knows(guard, host)) {
        answer->status = STATUS_MISDIRECTED;
        answer->text = "unknown host name: use --http-host NAME to allow it\n";
        return false;
    }
    return !guard->options.token_path || check_token(guard, request, port, secure, answer);
}

/* Warns if other users can read the file, because then it is not secret. */
static void say_mode(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && info.st_mode & (S_IRWXG | S_IRWXO)) {
        ntk_log_warn("http", "%s: token file is accessible to other users (mode %04o)", path,
                     (unsigned)info.st_mode & 07777);
    }
}

int ntk_http_guard_create(const struct ntk_http_guard_options *options,
                          struct ntk_http_guard **out_guard, struct ntk_err *err)
{
    struct ntk_http_guard *guard = calloc(1, sizeof *guard);
    int ret = 0;

    if (!guard) {
        return ntk_err_no_memory(err);
    }
    guard->options = *options;
    if (gethostname(guard->machine, sizeof guard->machine - 1) < 0) {
        guard->machine[0] = '\0';
    }
    if (options->token_path) {
        ret = read_token(guard, err);
        say_mode(options->token_path);
    }
    if (ret < 0) {
        ntk_http_guard_destroy(guard);
        return ret;
    }
    *out_guard = guard;
    return 0;
}

void ntk_http_guard_destroy(struct ntk_http_guard *guard)
{
    if (guard) {
        explicit_bzero(guard, sizeof *guard);
        free(guard);
    }
}
