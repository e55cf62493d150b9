/* SPDX-License-Identifier: MIT */
/* day_life - the lives of one agent. */
#include "tests/e2e/day/day_life.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/http_ask.h"
#include "tests/support/process.h"

/* Threads of the agent that wait by its clock: the loop, the store, the archive, and one for each
 * queue: remote write, OTLP's metrics and traces. */
#define THREADS "6"
#define SCRAPE_STEP_NS (10 * NTK_NS_PER_SECOND)
#define COMMIT_NS (2 * NTK_NS_PER_SECOND) /* more than between two commits of the store */

static void give_up(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

/* -- totals ------------------------------------------------------------------------------------ */

static struct day_total *total_get(struct day_life *life, const char *name)
{
    for (size_t i = 0; i < life->total_count; i++) {
        if (strcmp(life->totals[i].name, name) == 0) {
            return &life->totals[i];
        }
    }
    if (life->total_count == NTK_OUTPUT_COUNTS_MAX) {
        give_up("too many outputs");
    }
    struct day_total *total = &life->totals[life->total_count++];
    (void)snprintf(total->name, sizeof total->name, "%s", name);
    return total;
}

const struct day_total *day_life_total(const struct day_life *life, const char *name)
{
    for (size_t i = 0; i < life->total_count; i++) {
        if (strcmp(life->totals[i].name, name) == 0) {
            return &life->totals[i];
        }
    }
    return NULL;
}

static void add_counts(struct day_life *life, const struct ntk_output_counts *counts,
                       bool is_killed)
{
    struct day_total *total = total_get(life, counts->name);

    total->sent += counts->sent_items;
    total->refused += counts->refused_items;
    total->lost += counts->lost_items;
    total->killed += is_killed ? counts->memory_items : 0;
    total->waiting = counts->spool_items + (is_killed ? 0 : counts->memory_items);
}

/* Items emitted by exporters in the test process. */
void day_life_add_own(struct day_life *life)
{
    struct day_emitted rows[DAY_EMITTED_MAX];
    size_t count = day_emitted_read(rows);

    for (size_t i = 0; i < count; i++) {
        total_get(life, rows[i].name)->emitted += rows[i].items;
    }
}

/* The agent's counts in its last answer. */
static void add_life(struct day_life *life, bool is_killed)
{
    for (size_t i = 0; i < life->last.output_count; i++) {
        add_counts(life, &life->last.outputs[i], is_killed);
    }
    for (size_t i = 0; i < life->last.emitted_count; i++) {
        total_get(life, life->last.emitted[i].name)->emitted += life->last.emitted[i].items;
    }
    memset(&life->last, 0, sizeof life->last);
}

/* -- commands ---------------------------------------------------------------------------------- */

static void receive(struct day_life *life)
{
    if (recv(life->link_fd, &life->last, sizeof life->last, 0) != (ssize_t)sizeof life->last) {
        give_up("the agent does not answer");
    }
}

static void command(struct day_life *life, enum day_action action, int64_t ns)
{
    const struct day_command command = { .action = action, .ns = ns };

    if (send(life->link_fd, &command, sizeof command, 0) != (ssize_t)sizeof command) {
        give_up("the agent takes no commands");
    }
    receive(life);
}

void day_life_run(struct day_life *life, uint64_t ns)
{
    if (life->pid) {
        command(life, DAY_RUN, (int64_t)ns);
        life->line_count += day_cloudwatch_read(life->cloudwatch);
    }
    test_clock_run(life->clock, ns, life->cloudwatch ? 1 : 0);
}

void day_life_step(struct day_life *life, int64_t ns)
{
    if (life->pid) {
        command(life, DAY_STEP, ns);
    }
    test_clock_step_wall(life->clock, ns);
}

/* -- begin, end -------------------------------------------------------------------------------- */

static void run_agent(struct day_life *life, int link_fd, int lines_fd)
{
    char numbers[4][32];
    char urls[2][128];
    char spools[2][300];
    char archive[] = "s3://bucket/fleet";
    const char *program = getenv("NTK_BUILD_DIR");
    char path[1024];
    int log_fd = open(life->log, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    (void)snprintf(path, sizeof path, "%s/tests/tests_e2e_day_agent", program ? program : ".");
    /* Jobs record when they attach, by the system's clock: older ones must be older for it. */
    (void)snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, ntk_clock_monotonic_ns());
    (void)snprintf(numbers[1], sizeof numbers[1], "%" PRIu64,
                   ntk_clock_wall_ns(&life->clock->clock));
    (void)snprintf(numbers[2], sizeof numbers[2], "%" PRIu64, life->period_ns);
    (void)snprintf(numbers[3], sizeof numbers[3], "%" PRIu64, life->db_bytes);
    (void)snprintf(urls[0], sizeof urls[0], "http://127.0.0.1:%u/write", life->port);
    (void)snprintf(urls[1], sizeof urls[1], "--otlp=http://127.0.0.1:%u", life->port);
    (void)snprintf(spools[0], sizeof spools[0], "%s/spool-write", life->folder);
    (void)snprintf(spools[1], sizeof spools[1], "%s/spool-otlp", life->folder);
    const char *const argv[] = { path,
                                 numbers[0],
                                 numbers[1],
                                 THREADS,
                                 numbers[2],
                                 life->db,
                                 numbers[3],
                                 archive,
                                 "--remote-write",
                                 urls[0],
                                 "--remote-write-spool",
                                 spools[0],
                                 urls[1],
                                 "--otlp-spool",
                                 spools[1],
                                 "--otlp-traces=every=1",
                                 "--prometheus",
                                 "127.0.0.1:0",
                                 NULL };

    if (dup2(log_fd, STDERR_FILENO) < 0 || dup2(lines_fd, STDOUT_FILENO) < 0 ||
        dup2(link_fd, DAY_LINK_FD) < 0 || close_range(DAY_LINK_FD + 1, ~0u, 0) < 0) {
        _exit(126);
    }
    execv(path, (char *const *)argv);
    _exit(127);
}

void day_life_begin(struct day_life *life)
{
    int link[2];
    int lines[2];
    char url[128];
    char spool[300];

    life->number++;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", life->port);
    (void)setenv("AWS_ENDPOINT_URL_S3", url, 1);
    (void)snprintf(life->db, sizeof life->db, "%s/agent.db", life->folder);
    (void)snprintf(life->log, sizeof life->log, "%s/agent-%02u.log", life->folder, life->number);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0 ||
        pipe2(lines, O_CLOEXEC) < 0) {
        give_up("no sockets");
    }
    (void)fcntl(lines[0], F_SETPIPE_SZ, 1 << 20);
    life->pid = fork();
    if (life->pid == 0) {
        run_agent(life, link[1], lines[1]);
    }
    close(link[1]);
    close(lines[1]);
    life->link_fd = link[0];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/cloudwatch", life->port);
    (void)snprintf(spool, sizeof spool, "%s/spool-cloudwatch", life->folder);
    life->cloudwatch = day_cloudwatch_start(lines[0], url, spool, life->clock);
    day_life_run(life, 0); /* it has started */
}

static void end(struct day_life *life, bool is_killed)
{
    struct ntk_output_counts counts;

    life->line_count += day_cloudwatch_end(life->cloudwatch, !life->is_cloudwatch_down, &counts);
    life->cloudwatch = NULL;
    add_counts(life, &counts, false);
    add_life(life, is_killed);
    close(life->link_fd);
    life->pid = 0;
    life->scrape_port = 0;
}

/* Whether a queue has a message that was never sent; the message would be lost. */
static bool has_unsent(const struct day_life *life)
{
    for (size_t i = 0; i < life->last.output_count; i++) {
        if (life->last.outputs[i].memory_items > 0) {
            return true;
        }
    }
    return false;
}

void day_life_kill(struct day_life *life)
{
    day_life_scraped(life);
    do {
        day_life_run(life, COMMIT_NS);
    } while (has_unsent(life));
    (void)kill(life->pid, SIGKILL);
    (void)waitpid(life->pid, NULL, 0);
    end(life, true);
}

int day_life_stop(struct day_life *life)
{
    int status = 0;

    day_life_scraped(life);
    command(life, DAY_STOP, 0);
    (void)waitpid(life->pid, &status, 0);
    end(life, false);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void day_life_fini(struct day_life *life)
{
    if (life->pid) {
        (void)kill(life->pid, SIGKILL);
        (void)waitpid(life->pid, NULL, 0);
    }
    free(life->page);
}

/* -- looking ----------------------------------------------------------------------------------- */

static uint16_t read_port(const struct day_life *life)
{
    static const char said[] = "serving metrics on port ";
    FILE *file = fopen(life->log, "r");
    char line[1024];
    unsigned long port = 0;

    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, said);
        port = at ? strtoul(at + sizeof said - 1, NULL, 10) : port;
    }
    if (file) {
        (void)fclose(file);
    }
    return (uint16_t)port;
}

static void *get_page(void *ctx)
{
    struct day_life *life = ctx;

    life->page = test_http_get(life->scrape_port, "/metrics", "");
    atomic_store(&life->has_scraped, true);
    return NULL;
}

void day_life_scrape(struct day_life *life)
{
    day_life_scraped(life);
    life->scrape_port = life->scrape_port ? life->scrape_port : read_port(life);
    if (!life->scrape_port) {
        give_up("the agent names no port");
    }
    free(life->page);
    life->page = NULL;
    atomic_store(&life->has_scraped, false);
    if (pthread_create(&life->scraper, NULL, get_page, life) != 0) {
        give_up("no thread");
    }
    life->is_scraping = true;
}

/* The agent answers when its loop has collected for the page, so its clock must advance. */
void day_life_scraped(struct day_life *life)
{
    while (life->is_scraping && !atomic_load(&life->has_scraped)) {
        day_life_run(life, SCRAPE_STEP_NS);
    }
    if (life->is_scraping) {
        pthread_join(life->scraper, NULL);
        life->is_scraping = false;
    }
}

void day_life_set_full(struct day_life *life, bool is_full)
{
    const struct rlimit limit = { is_full ? 1 : RLIM_INFINITY, RLIM_INFINITY };

    if (prlimit(life->pid, RLIMIT_FSIZE, &limit, NULL) < 0) {
        give_up("prlimit");
    }
}

uint64_t day_life_heap_bytes(const struct day_life *life)
{
    return life->pid ? life->last.heap_bytes : 0;
}
