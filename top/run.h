/* SPDX-License-Identifier: MIT */
/*
 * run - one run of neuron-top: what its loops share. run_screen.c draws for a person, run_batch.c
 * prints for others.
 *
 * Owner:   main.c, which fills it and frees what hangs on it. Threads: one.
 */
#ifndef NTK_TOP_RUN_H
#define NTK_TOP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "top/model/model.h"
#include "top/model/settings.h"
#include "top/screen/screen.h"
#include "top/source/past.h"
#include "top/source/source.h"

struct ntk_top_run {
    struct ntk_top_source *source;
    struct ntk_top_model *model;
    struct ntk_top_model *hosts_model; /* the list, while the model shows one host of it */
    struct ntk_screen *screen;
    int signal_fd;
    uint64_t next_ns; /* when the source is read again */
    uint64_t delay_ns;
    struct ntk_top_settings settings;
    char message[NTK_ERR_TEXT_BYTES]; /* of this program, until a key is typed */
    bool reads_events;
    bool reads_latency;
    bool reads_models; /* the latency of models */
    bool reads_usage;
    bool has_more_past; /* the next wait is none */

    /* of the screen */
    int key_fd;               /* the terminal, when stdin is something else */
    bool is_stdin_taken;      /* it is */
    bool is_frozen;           /* what comes is not shown */
    struct ntk_top_past past; /* of a source that cannot be steered */
    bool is_in_past;          /* a moment of it is shown; frozen too */
    /* the application to signal; pid 0: none */
    struct {
        uint32_t pid;
        uint64_t start_time;
        char tag[64];
    } signalled;
    bool no_mouse;           /* regardless of the settings */
    bool ascii;              /* the same */
    unsigned int generation; /* of the settings that are in force */

    /* of --batch */
    uint64_t count;  /* samples, 0: until stopped */
    bool json;       /* instead of frames as text */
    const char *csv; /* a table, instead of them; NULL: no */
};

/* Blocks the signals that end or resize us, so that they arrive between two frames; a descriptor
 * for them, or -1. */
int ntk_top_run_signals_take(void);
/* Events, latencies and /proc cost more than counters: events are read once a view has shown them,
 * the others while a view shows them. */
void ntk_top_run_ask_for_more(struct ntk_top_run *run);
/* The most urgent line below the title. */
void ntk_top_run_set_note(struct ntk_top_run *run);
/* A step back, forward, or (0) to now, in the history; at least distance_ns where there is as
 * much. */
void ntk_top_run_walk(struct ntk_top_run *run, int direction, uint64_t distance_ns);
/* The application of the row or tab, or the only one; NULL: the message says why it cannot be
 * `what`. */
const struct ntk_runtime_sample *ntk_top_run_choose(struct ntk_top_run *run, const char *what);
/* Asks which signal the selected application shall get, or says why it cannot get one. */
void ntk_top_run_ask_signal(struct ntk_top_run *run);
/* The answer; any other key is none. */
void ntk_top_run_send_signal(struct ntk_top_run *run, int key);
/* Has ten seconds of it recorded and the profile shown, instead of the screen. False: end. */
bool ntk_top_run_capture(struct ntk_top_run *run);
/* Opens the host that the list needs; false: none, and the list stays. */
bool ntk_top_run_open_host(struct ntk_top_run *run);
/* Back to the list from the first screen of a host; false: that is not where we are. */
bool ntk_top_run_close_host(struct ntk_top_run *run);
/* The key of the list of hosts where that is not open: back to it, or a message that there is one
 * machine only. False: the list is open, or the key is for a box. */
bool ntk_top_run_show_hosts(struct ntk_top_run *run);
/* A snapshot into the model when the source has one: 1 new, 0 none, negative the end. */
int ntk_top_run_feed(struct ntk_top_run *run, struct ntk_err *err);
/* Reads the past of the shown moment for the graphs that are drawn, for at most that long. Whether
 * there was some. */
bool ntk_top_run_take_past(struct ntk_top_run *run, uint64_t longest_ns);
/* Before the first frame there is nothing to show but what is wrong: then a message and -EIO, else
 * 0. */
int ntk_top_run_check_first(const struct ntk_top_run *run, bool has_frame, struct ntk_err *err);
/* Waits until `until_ns`, a key or a signal. 1 to continue, 0 to end. */
int ntk_top_run_wait_until(const struct ntk_top_run *run, uint64_t until_ns, int key_fd,
                           bool *out_key);

/* Prints samples until their number is reached, the source ends, the output has no reader, or a
 * signal arrives. 0 or negative. */
int ntk_top_run_batch(struct ntk_top_run *run, struct ntk_err *err);
/* Draws for the person at the terminal until they leave. 0 or negative. */
int ntk_top_run_screen(struct ntk_top_run *run, struct ntk_err *err);
/* The memory tree as the settings want it at the start. */
void ntk_top_run_set_tree(struct ntk_top_run *run);
/* Columns and order of the lists as they were kept. */
void ntk_top_run_set_lists(struct ntk_top_run *run);
/* Keeps what was changed on the page of settings and in the lists; what goes wrong is the
 * message. */
void ntk_top_run_save_settings(struct ntk_top_run *run);

#endif
