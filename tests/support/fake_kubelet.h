/* SPDX-License-Identifier: MIT */
/*
 * fake_kubelet - a kubelet's pod-resources socket in a thread: hand-made HTTP/2 frames, so that it
 * can also send what no real server would, and hand-made messages of pods.
 *
 * It answers every request in the same way; tests/e2e/k8s uses a real gRPC server.
 */
#ifndef NTK_TESTS_SUPPORT_FAKE_KUBELET_H
#define NTK_TESTS_SUPPORT_FAKE_KUBELET_H

#include <pthread.h>
#include <stdbool.h>

#include "shared/base/buf.h"

enum fake_kubelet_manner {
    FAKE_KUBELET_ANSWERS, /* grpc-status 0 after the body */
    FAKE_KUBELET_REFUSES, /* `status` and a message, no body */
    FAKE_KUBELET_SILENT,  /* accepts the request and never answers */
    FAKE_KUBELET_CUTS,    /* hangs up within the body */
    FAKE_KUBELET_BABBLES, /* not HTTP/2 */
    FAKE_KUBELET_FORGETS, /* the body, but no grpc-status */
};

struct fake_kubelet {
    char path[108];
    int listener;
    pthread_t thread;
    pthread_mutex_t lock;
    enum fake_kubelet_manner manner; /* protected by the lock from here on */
    const char *status;              /* NULL: "12" */
    struct ntk_buf body;             /* including gRPC's frame */
    int connection;                  /* -1: none */
    unsigned questions;
    bool is_over;
};

void fake_kubelet_start(struct fake_kubelet *kubelet, const char *socket_path);
/* Applies from the next request on. */
void fake_kubelet_set(struct fake_kubelet *kubelet, enum fake_kubelet_manner manner,
                      const char *body, size_t body_bytes);
void fake_kubelet_stop(struct fake_kubelet *kubelet);

/* A bytes field of a protobuf message. */
void fake_kubelet_field(struct ntk_buf *message, unsigned number, const void *bytes,
                        size_t bytes_count);
/* A pod with one container that has these devices of a resource: a PodResources of the list. ids is
 * terminated by NULL. */
void fake_kubelet_pod(struct ntk_buf *list, const char *namespace_name, const char *pod,
                      const char *container, const char *resource, const char *const *ids);
/* The message in gRPC's frame; frees the message. */
void fake_kubelet_frame(struct ntk_buf *framed, struct ntk_buf *message);

#endif
