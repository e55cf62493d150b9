/* SPDX-License-Identifier: MIT */
/* http_security - rereads changed files, checks passwords, and limits the request rate. */
#include "shared/http/http_security.h"

#include <crypt.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/http/http_tls.h"

#define MODULE "http"
#define PATH_BYTES 4096
/* Number of certificates that handshakes may still use; the ninth rotation frees the first. */
#define GENERATIONS 8
/* Number of correct passwords to remember, because bcrypt for every scrape would be too slow. */
#define REMEMBERED_MAX 16
#define REMEMBERED_BYTES 256
/* bcrypt of a random text. It is checked for unknown names, so that known and unknown names take
 * the same time. */
#define DUMMY_HASH "$2b$10$abcdefghijklmnopqrstuuT0xBIOWcgxkdsGFUgYR0cRRmGXU2Aa2"

/* Identifies the state of a file, to detect changes. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

struct ntk_http_security {
    char config_path[PATH_BYTES]; /* "": only cert_path and key_path are used */
    char cert_path[PATH_BYTES];   /* "": certificate text in the configuration, or no TLS */
    char key_path[PATH_BYTES];
    bool has_tls;         /* TLS was on at the start */
    pthread_mutex_t lock; /* protects everything below */
    struct ntk_http_security_config config;
    struct stamp config_stamp;
    struct stamp cert_stamp;
    struct stamp key_stamp;
    bool is_broken; /* the configuration is currently invalid */
    struct ntk_http_tls *generations[GENERATIONS];
    /* number of certificates created so far; the newest is (generation - 1) % GENERATIONS */
    size_t generation;
    char *client_ca;
    char priorities[160];
    uint64_t tokens_ns; /* token bucket of the rate limit: saved time, up to burst * interval */
    uint64_t tokens_at_ns;
    const struct ntk_clock *clock; /* NULL: the system's */
    /* texts "user\nhash\npassword" that were correct */
    char remembered[REMEMBERED_MAX][REMEMBERED_BYTES];
    size_t remembered_next;
};

/* -- files ------------------------------------------------------------------------------------- */

static struct stamp stamp_of(const char *path)
{
    struct stamp stamp = { 0 };
    struct stat stat_now;

    if (stat(path, &stat_now) == 0) {
        stamp.device = stat_now.st_dev;
        stamp.inode = stat_now.st_ino;
        stamp.size = stat_now.st_size;
        stamp.modified = stat_now.st_mtim;
    }
    return stamp;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static int read_file(const char *path, char **out_text, size_t *out_bytes, struct ntk_err *err)
{
    uint8_t *bytes;

    int ret = ntk_fs_read(path, NTK_HTTP_SECURITY_FILE_BYTES, &bytes, out_bytes, err);
    if (ret >= 0) {
        *out_text = (char *)bytes;
    }
    return ret;
}

/* Resolves a name in the configuration, which is relative to its folder. */
static int resolve(const struct ntk_http_security *security, const char *name, char *path,
                   struct ntk_err *err)
{
    const char *slash = strrchr(security->config_path, '/');
    int length = slash && name[0] != '/' ? (int)(slash - security->config_path) + 1 : 0;

    if (snprintf(path, PATH_BYTES, "%.*s%s", length, security->config_path, name) >= PATH_BYTES) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "'%.80s...': the path is too long", name);
    }
    return 0;
}

/* Reads certificate and key and makes them the newest generation. The caller must hold the lock. */
static int load_tls(struct ntk_http_security *security, struct ntk_err *err)
{
    const struct ntk_http_security_config *config = &security->config;
    char *cert = NULL;
    char *key = NULL;
    size_t cert_bytes = 0;
    size_t key_bytes = 0;
    struct ntk_http_tls *tls = NULL;
    int ret = 0;

    security->cert_stamp = stamp_of(security->cert_path);
    security->key_stamp = stamp_of(security->key_path);
    if (security->cert_path[0]) {
        ret = read_file(security->cert_path, &cert, &cert_bytes, err);
    } else {
        cert = strdup(config->cert);
        cert_bytes = cert ? strlen(cert) : 0;
    }
    if (ret >= 0 && security->key_path[0]) {
        ret = read_file(security->key_path, &key, &key_bytes, err);
    } else if (ret >= 0) {
        key = strdup(config->key);
        key_bytes = key ? strlen(key) : 0;
    }
    if (ret >= 0) {
        ret = ntk_http_tls_create(cert, cert_bytes, key, key_bytes, &tls, err);
        if (ret < 0 && security->cert_path[0]) {
            ntk_err_prefix(err, "%s", security->cert_path);
        }
    }
    free(cert);
    if (key) {
        explicit_bzero(key, key_bytes);
    }
    free(key);
    if (ret < 0) {
        return ret;
    }
    struct ntk_http_tls **place = &security->generations[security->generation++ % GENERATIONS];
    ntk_http_tls_destroy(*place);
    *place = tls;
    return 0;
}

static int load_config(struct ntk_http_security *security, struct ntk_err *err)
{
    struct ntk_http_security_config config = { 0 };
    char *text = NULL;
    size_t text_bytes = 0;

    security->config_stamp = stamp_of(security->config_path);
    int ret = read_file(security->config_path, &text, &text_bytes, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_http_security_config_parse(text, text_bytes, &config, err);
    free(text);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", security->config_path);
        return ret;
    }
    char cert_path[PATH_BYTES] = "";
    char key_path[PATH_BYTES] = "";
    if (config.cert_file) {
        ret = resolve(security, config.cert_file, cert_path, err);
    }
    if (ret >= 0 && config.key_file) {
        ret = resolve(security, config.key_file, key_path, err);
    }
    if (ret < 0) {
        ntk_http_security_config_fini(&config);
        return ret;
    }
    ntk_http_security_config_fini(&security->config);
    security->config = config;
    memcpy(security->cert_path, cert_path, sizeof cert_path);
    memcpy(security->key_path, key_path, sizeof key_path);
    memset(security->remembered, 0, sizeof security->remembered);
    return config.has_tls ? load_tls(security, err) : 0;
}

static bool has_changed(const char *path, const struct stamp *before)
{
    struct stamp now = stamp_of(path);

    return path[0] && !is_same(&now, before);
}

static void read_config_again(struct ntk_http_security *security)
{
    struct ntk_err err = { 0 };

    security->is_broken = load_config(security, &err) < 0;
    if (!security->is_broken && security->config.has_tls != security->has_tls) {
        security->is_broken = true;
        ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "%s: enabling or disabling TLS requires a restart", security->config_path);
    }
    if (security->is_broken) {
        ntk_log_warn(MODULE, "%s; responding to requests with status 500", err.text);
    } else {
        ntk_log_info(MODULE, "%s was reloaded", security->config_path);
    }
}

/* Rereads changed files; also rereads the configuration if its certificate or key was unusable. The
 * caller must hold the lock. */
static void look_again(struct ntk_http_security *security)
{
    struct ntk_err err = { 0 };
    bool has_new_pair = has_changed(security->cert_path, &security->cert_stamp) ||
                        has_changed(security->key_path, &security->key_stamp);

    if (has_changed(security->config_path, &security->config_stamp) ||
        (has_new_pair && security->is_broken)) {
        read_config_again(security);
    } else if (has_new_pair && load_tls(security, &err) < 0) {
        ntk_log_warn(MODULE, "%s; keeping the previous certificate", err.text);
    }
}

/* -- open and close ---------------------------------------------------------------------------- */

static void make_priorities(struct ntk_http_security *security)
{
    size_t at = 0;

    at +=
        (size_t)snprintf(security->priorities, sizeof security->priorities, "NORMAL:-VERS-TLS-ALL");
    for (unsigned minor = security->config.tls_minor_min; minor <= security->config.tls_minor_max;
         minor++) {
        at += (size_t)snprintf(security->priorities + at, sizeof security->priorities - at,
                               ":+VERS-TLS1.%u", minor);
    }
}

static int load_client_ca(struct ntk_http_security *security, struct ntk_err *err)
{
    const struct ntk_http_security_config *config = &security->config;
    char path[PATH_BYTES];
    size_t bytes;

    if (config->client_auth == NTK_HTTP_CLIENT_AUTH_NONE) {
        return 0;
    }
    if (config->client_ca) {
        security->client_ca = strdup(config->client_ca);
        return security->client_ca ? 0 : -ENOMEM;
    }
    int ret = resolve(security, config->client_ca_file, path, err);
    return ret < 0 ? ret : read_file(path, &security->client_ca, &bytes, err);
}

static struct ntk_http_security *create(struct ntk_err *err)
{
    struct ntk_http_security *security = calloc(1, sizeof *security);

    if (!security) {
        ntk_err_no_memory(err);
        return NULL;
    }
    pthread_mutex_init(&security->lock, NULL);
    return security;
}

static int finish_open(struct ntk_http_security *security, int ret,
                       struct ntk_http_security **out_security)
{
    if (ret < 0) {
        ntk_http_security_close(security);
        return ret;
    }
    security->has_tls = security->config.has_tls;
    make_priorities(security);
    *out_security = security;
    return 0;
}

int ntk_http_security_open_config(const char *path, struct ntk_http_security **out_security,
                                  struct ntk_err *err)
{
    struct ntk_http_security *security = create(err);

    if (!security) {
        return -ENOMEM;
    }
    int ret = 0;
    if (strlen(path) >= PATH_BYTES) {
        ret = ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "the path is too long");
    } else {
        ntk_str_copy(security->config_path, PATH_BYTES, path);
        ret = load_config(security, err);
    }
    ret = ret < 0 ? ret : load_client_ca(security, err);
    return finish_open(security, ret, out_security);
}

int ntk_http_security_open_pair(const char *cert_path, const char *key_path,
                                struct ntk_http_security **out_security, struct ntk_err *err)
{
    struct ntk_http_security *security = create(err);

    if (!security) {
        return -ENOMEM;
    }
    int ret = 0;
    if (strlen(cert_path) >= PATH_BYTES || strlen(key_path) >= PATH_BYTES) {
        ret = ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "the path is too long");
    } else {
        ntk_str_copy(security->cert_path, PATH_BYTES, cert_path);
        ntk_str_copy(security->key_path, PATH_BYTES, key_path);
        security->config = (struct ntk_http_security_config){ .has_tls = true,
                                                              .tls_minor_min = 2,
                                                              .tls_minor_max = 3 };
        ret = load_tls(security, err);
    }
    return finish_open(security, ret, out_security);
}

void ntk_http_security_set_clock(struct ntk_http_security *security, const struct ntk_clock *clock)
{
    pthread_mutex_lock(&security->lock);
    security->clock = clock;
    pthread_mutex_unlock(&security->lock);
}

void ntk_http_security_close(struct ntk_http_security *security)
{
    if (!security) {
        return;
    }
    for (size_t i = 0; i < GENERATIONS; i++) {
        ntk_http_tls_destroy(security->generations[i]);
    }
    ntk_http_security_config_fini(&security->config);
    free(security->client_ca);
    explicit_bzero(security->remembered, sizeof security->remembered);
    pthread_mutex_destroy(&security->lock);
    free(security);
}

/* -- for the server ---------------------------------------------------------------------------- */

bool ntk_http_security_has_tls(const struct ntk_http_security *security)
{
    return security->has_tls;
}

struct ntk_http_tls *ntk_http_security_tls_get(struct ntk_http_security *security)
{
    pthread_mutex_lock(&security->lock);
    look_again(security);
    struct ntk_http_tls *tls = security->generations[(security->generation - 1) % GENERATIONS];
    pthread_mutex_unlock(&security->lock);
    return tls;
}

const char *ntk_http_security_priorities_get(const struct ntk_http_security *security)
{
    return security->priorities;
}

const char *ntk_http_security_client_ca_get(const struct ntk_http_security *security)
{
    return security->client_ca;
}

enum ntk_http_client_auth
ntk_http_security_client_auth_get(const struct ntk_http_security *security)
{
    return security->config.client_auth;
}

/* -- passwords --------------------------------------------------------------------------------- */

/* Takes the same time for any two texts of the same length. */
static bool is_equal(const char *a, const char *b)
{
    size_t bytes = strlen(a);
    unsigned char different = 0;

    if (bytes != strlen(b)) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        different |= (unsigned char)(a[i] ^ b[i]);
    }
    return !different;
}

static bool is_hash_of(const char *password, const char *hash)
{
    struct crypt_data *data = calloc(1, sizeof *data); /* allocated, because it has 32 KiB */

    if (!data) {
        return false;
    }
    const char *made = crypt_r(password, hash, data);
    bool ret = made && is_equal(made, hash);
    explicit_bzero(data, sizeof *data);
    free(data);
    return ret;
}

static const char *find_hash(const struct ntk_http_security *security, const char *user)
{
    for (size_t i = 0; i < security->config.user_count; i++) {
        if (!strcmp(security->config.users[i].name, user)) {
            return security->config.users[i].hash;
        }
    }
    return NULL;
}

/* Makes "user\nhash\npassword"; false if it is too long to be remembered. */
static bool make_line(char *line, const char *user, const char *hash, const char *password)
{
    return snprintf(line, REMEMBERED_BYTES, "%s\n%s\n%s", user, hash, password) < REMEMBERED_BYTES;
}

/* The caller must hold the lock. */
static bool is_remembered(const struct ntk_http_security *security, const char *user,
                          const char *password)
{
    const char *hash = find_hash(security, user);
    char line[REMEMBERED_BYTES];
    bool found = false;

    if (hash && make_line(line, user, hash, password)) {
        for (size_t i = 0; i < REMEMBERED_MAX; i++) {
            found |= security->remembered[i][0] && is_equal(security->remembered[i], line);
        }
    }
    explicit_bzero(line, sizeof line);
    return found;
}

int ntk_http_security_compute(struct ntk_http_security *security, const char *user,
                              const char *password)
{
    char line[REMEMBERED_BYTES];

    pthread_mutex_lock(&security->lock);
    const char *found = find_hash(security, user);
    char *hash = strdup(found ? found : DUMMY_HASH);
    pthread_mutex_unlock(&security->lock);
    bool is_right = hash && is_hash_of(password, hash) && found;
    if (is_right && make_line(line, user, hash, password)) {
        pthread_mutex_lock(&security->lock);
        memcpy(security->remembered[security->remembered_next++ % REMEMBERED_MAX], line,
               sizeof line);
        pthread_mutex_unlock(&security->lock);
    }
    explicit_bzero(line, sizeof line); /* even if it is too long to be remembered */
    free(hash);
    return is_right ? 0 : 401;
}

/* Takes the token for one request out of the bucket; false if it is empty. */
static bool take_token(struct ntk_http_security *security)
{
    uint64_t interval_ns = security->config.rate_interval_ns;
    uint64_t now_ns = ntk_clock_now_ns(security->clock);
    uint64_t full_ns;

    if (!interval_ns) {
        return true;
    }
    if (__builtin_mul_overflow(interval_ns, security->config.rate_burst, &full_ns)) {
        full_ns = UINT64_MAX / 2;
    }
    uint64_t saved_ns = now_ns - security->tokens_at_ns;
    security->tokens_ns = security->tokens_at_ns == 0 || saved_ns > full_ns - security->tokens_ns
                              ? full_ns
                              : security->tokens_ns + saved_ns;
    security->tokens_at_ns = now_ns;
    if (security->tokens_ns < interval_ns) {
        return false;
    }
    security->tokens_ns -= interval_ns;
    return true;
}

int ntk_http_security_check(struct ntk_http_security *security, const char *user,
                            const char *password)
{
    int ret = 0;

    pthread_mutex_lock(&security->lock);
    look_again(security);
    if (security->is_broken) {
        ret = 500;
    } else if (!take_token(security)) {
        ret = 429;
    } else if (security->config.user_count > 0 && (!user || !password)) {
        ret = 401;
    } else if (security->config.user_count > 0) {
        ret = is_remembered(security, user, password) ? 0 : 1;
    }
    pthread_mutex_unlock(&security->lock);
    return ret;
}

void ntk_http_security_headers_each(struct ntk_http_security *security,
                                    void (*call)(const char *name, const char *value, void *ctx),
                                    void *ctx)
{
    pthread_mutex_lock(&security->lock);
    for (size_t i = 0; i < security->config.header_count; i++) {
        call(security->config.headers[i].name, security->config.headers[i].value, ctx);
    }
    pthread_mutex_unlock(&security->lock);
}
