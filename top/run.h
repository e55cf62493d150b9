/* SPDX-License-Identifier: MIT */
/*
 * run - holds the state that the loops of neuron-top share. run_screen.c draws on a terminal,
 * run_batch.c prints for scripts.
 *
 * Owner: main.c, which fills it and frees its parts. Threads: one.
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

/* Realtime at which each reading began; 0 if it has not started. A reading never stops, because the
 * past and a frozen screen would lack figures. */
struct ntk_top_reads {
    uint64_t latency_ns; /* latencies of applications and cores */
    uint64_t models_ns;  /* latencies of models */
    uint64_t usage_ns;   /* CPU time and memory of processes */
};

#define NTK_TOP_RUN_NAME_BYTES 64

struct ntk_top_run {
    struct ntk_top_source *source;
    struct ntk_top_model *model;
    /* model of the list, while the model shows one of its hosts */
    struct ntk_top_model *hosts_model;
    struct ntk_screen *screen;
    int signal_fd;
    uint64_t next_ns; /* time of the next read of the source */
    uint64_t delay_ns;
    struct ntk_top_settings settings;
    char message[NTK_ERR_TEXT_BYTES]; /* message of this program, until a key is typed */
    bool reads_events;
    struct ntk_top_reads reads;
    bool is_next_early; /* the refresh after the next does not wait for the whole delay */
    bool has_more_past; /* the next wait is skipped */

    /* Members for the screen. */
    int key_fd;               /* terminal, if stdin is not one */
    bool is_stdin_taken;      /* stdin is not a terminal */
    bool is_frozen;           /* new snapshots are not shown */
    struct ntk_top_past past; /* for a source without access to the past */
    bool is_in_past;          /* a moment of the past is shown; also frozen */
    /* Application that gets the signal; pid 0 if none */
    struct {
        uint32_t pid;
        uint64_t start_time;
        char name[NTK_TOP_RUN_NAME_BYTES];
    } signalled;
    bool no_mouse;           /* independent of the settings */
    bool ascii;              /* independent of the settings */
    unsigned int generation; /* generation of the applied settings */

    /* Members for --batch. */
    uint64_t count;  /* number of samples; 0: until stopped */
    bool json;       /* JSON instead of text frames */
    const char *csv; /* CSV of this table instead of text frames; NULL if none */
};

/* Blocks the signals that end or resize the program, so that they arrive between two frames;
 * returns a descriptor for them, or -1. */
int ntk_top_run_signals_take(void);
/* Starts to read events, latencies and /proc for the first view that shows them, because they cost
 * more than counters. */
void ntk_top_run_ask_for_more(struct ntk_top_run *run);
/* Sets the time of the next refresh of a screen. */
void ntk_top_run_plan_next(struct ntk_top_run *run);
/* Sets the most urgent line below the title. */
void ntk_top_run_set_note(struct ntk_top_run *run);
/* Moves back, forward, or (0) to now, in the history, by at least distance_ns if there is as
 * much. */
void ntk_top_run_walk(struct ntk_top_run *run, int direction, uint64_t distance_ns);
/* Returns the application of the row or tab, or the only one; NULL after setting a message with the
 * reason why it cannot be `what`. */
const struct ntk_runtime_sample *ntk_top_run_choose(struct ntk_top_run *run, const char *what);
/* Writes its tag or, if that is only its process id, the name of its program. */
void ntk_top_run_name_of(const struct ntk_runtime_sample *runtime,
                         char name[NTK_TOP_RUN_NAME_BYTES]);
/* Asks for the signal to send to the selected application, or reports why it cannot get one. */
void ntk_top_run_ask_signal(struct ntk_top_run *run);
/* Handles the answer; any other key sends no signal. */
void ntk_top_run_send_signal(struct ntk_top_run *run, int key);
/* Records ten seconds of the application and shows the profile instead of the screen. Returns false
 * to end. */
bool ntk_top_run_capture(struct ntk_top_run *run);
/* Opens the host that the list requests; returns false if there is none, and the list stays. */
bool ntk_top_run_open_host(struct ntk_top_run *run);
/* Goes back to the list from the first screen of a host; returns false if that is not open. */
bool ntk_top_run_close_host(struct ntk_top_run *run);
/* Handles the key of the list of hosts if the list is not open: goes back to it, or sets a message
 * that there is only one machine. Returns false if the list is open, or if the key is for a box. */
bool ntk_top_run_show_hosts(struct ntk_top_run *run);
/* Passes a snapshot to the model if the source has one. Returns 1 if there was one, 0 if not,
 * negative at the end. */
int ntk_top_run_feed(struct ntk_top_run *run, struct ntk_err *err);
/* Reads the past of the shown moment for the graphs on screen, for at most that long. Returns true
 * if there was any. */
bool ntk_top_run_take_past(struct ntk_top_run *run, uint64_t longest_ns);
/* Checks for errors before the first frame: returns -EIO with a message, else 0. */
int ntk_top_run_check_first(const struct ntk_top_run *run, bool has_frame, struct ntk_err *err);
/* Waits until `until_ns`, a key or a signal. Returns 1 to continue, 0 to end. */
int ntk_top_run_wait_until(const struct ntk_top_run *run, uint64_t until_ns, int key_fd,
                           bool *out_key);

/* Prints samples until their number is reached, the source ends, the output has no reader, or a
 * signal arrives. Returns 0 or negative. */
int ntk_top_run_batch(struct ntk_top_run *run, struct ntk_err *err);
/* Draws for the user at the terminal until they leave. Returns 0 or negative. */
int ntk_top_run_screen(struct ntk_top_run *run, struct ntk_err *err);
/* Applies the settings for the memory tree at the start. */
void ntk_top_run_set_tree(struct ntk_top_run *run);
/* Applies the stored columns and order of the lists. */
void ntk_top_run_set_lists(struct ntk_top_run *run);
/* Stores changed settings and lists. If that fails, the screen shows the error. */
void ntk_top_run_save_settings(struct ntk_top_run *run);

#endif
