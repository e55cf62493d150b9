/* SPDX-License-Identifier: MIT */
#include "agent/http/local.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/hosts/hosts.h"
#include "shared/http/http_server.h"

struct answer {
    struct ntk_local *local;
    struct ntk_http_body *body; /* NULL if there is none yet */
    bool is_private;
};

struct ntk_local {
    struct ntk_local_options options;
    pthread_mutex_t lock; /* protects bodies */
    struct answer answers[NTK_LOCAL_ANSWER_COUNT];
    struct ntk_http_route routes[NTK_LOCAL_ANSWER_COUNT + 1];
    struct ntk_http_server *server;
};

/* Returns NULL without a body. */
static struct ntk_http_body *body_get(struct answer *answer)
{
    struct ntk_local *local = answer->local;

    pthread_mutex_lock(&local->lock);
    struct ntk_http_body *body = ntk_http_body_ref(answer->body);
    pthread_mutex_unlock(&local->lock);
    return body;
}

static void give(const struct ntk_http_request *request, struct ntk_http_response *response,
                 void *ctx)
{
    struct answer *answer = ctx;
    struct ntk_local *local = answer->local;
    uint32_t uid;

    if (answer->is_private &&
        (!ntk_http_request_user_get(request, &uid) || (uid != 0 && uid != (uint32_t)geteuid()))) {
        response->status = 403;
        response->text = "permission denied: only root and the agent's user have access\n";
        return;
    }
    bool is_true = !local->options.refresh || local->options.refresh(local->options.refresh_ctx);
    response->body = is_true ? body_get(answer) : NULL;
    response->content_type = response->body ? "application/json" : NULL;
    response->status = response->body ? 200 : 503;
    response->text = "no current report\n";
}

/* Creates the folder of the socket, if it belongs to agents. */
static void make_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (slash && (size_t)(slash - path) < sizeof folder) {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
        if (mkdir(folder, 0755) == 0) {
            (void)chmod(folder, 0755); /* independent of the umask of a service */
        }
    }
}

int ntk_local_create(const struct ntk_local_options *options, struct ntk_local **out_local,
                     struct ntk_err *err)
{
    static const struct {
        const char *path;
        bool is_private;
    } rows[] = { [NTK_LOCAL_DEVICES] = { NTK_HOSTS_REPORT, false },
                 [NTK_LOCAL_RANKS] = { NTK_HOSTS_RANKS, true } };
    struct ntk_local *local = calloc(1, sizeof *local);

    if (!local) {
        return ntk_err_no_memory(err);
    }
    local->options = *options;
    pthread_mutex_init(&local->lock, NULL);
    for (size_t i = 0; i < NTK_LOCAL_ANSWER_COUNT; i++) {
        local->answers[i] = (struct answer){ .local = local, .is_private = rows[i].is_private };
        local->routes[i] = (struct ntk_http_route){ rows[i].path, give, &local->answers[i] };
    }
    const struct ntk_http_options http = { .unix_path = options->path, .routes = local->routes };
    make_folder(options->path);
    int ret = ntk_http_server_create(&http, &local->server, err);
    if (ret < 0) {
        ntk_local_destroy(local);
        return ret;
    }
    *out_local = local;
    return 0;
}

void ntk_local_destroy(struct ntk_local *local)
{
    if (!local) {
        return;
    }
    ntk_http_server_destroy(local->server);
    for (size_t i = 0; i < NTK_LOCAL_ANSWER_COUNT; i++) {
        ntk_http_body_unref(local->answers[i].body);
    }
    pthread_mutex_destroy(&local->lock);
    free(local);
}

void ntk_local_put(struct ntk_local *local, enum ntk_local_answer answer,
                   const struct ntk_buf *line)
{
    struct ntk_buf copy = { 0 };

    ntk_buf_add(&copy, line->bytes, line->bytes_count);
    struct ntk_http_body *body = ntk_http_body_create(&copy);
    if (body) { /* if out of memory, the previous body stays */
        pthread_mutex_lock(&local->lock);
        struct ntk_http_body *before = local->answers[answer].body;
        local->answers[answer].body = body;
        pthread_mutex_unlock(&local->lock);
        ntk_http_body_unref(before);
    }
}
