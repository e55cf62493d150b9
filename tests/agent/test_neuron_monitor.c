/* SPDX-License-Identifier: MIT */
/* Method: the whole program as a user starts it, in its own hooks folder. */
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/http/http_server.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define TRY "Try 'neuron-monitor --help'.\n"

struct fixture {
    char *folder;
    char hooks[512];
    const char *environment[2];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    snprintf(f->hooks, sizeof f->hooks, "NEURON_HOOKS_DIR=%s", f->folder);
    f->environment[0] = f->hooks;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

#define RUN(f, ...) \
    test_run_program((const char *const[]){ "neuron-monitor", __VA_ARGS__, NULL }, (f)->environment)

static void expect(struct fixture *f, const char *a, const char *b, int code, const char *text)
{
    struct test_run run = RUN(f, a, b);

    assert_string_equal(run.err, text);
    assert_string_equal(run.out, "");
    assert_int_equal(run.exit_code, code);
    test_run_fini(&run);
}

static void usage_errors_print_one_line_and_exit_with_2(void **state)
{
    expect(*state, "--wat", NULL, 2, "neuron-monitor: unknown option '--wat'\n" TRY);
    expect(*state, "--config-file", NULL, 2,
           "neuron-monitor: option '--config-file' requires a value (FILE)\n" TRY);
    expect(*state, "hello", NULL, 2,
           "neuron-monitor: unknown command 'hello': use attach, diag, export, hang, health, job, "
           "query, run or slow\n" TRY);
    expect(*state, "--period", "soon", 2,
           "neuron-monitor: invalid value 'soon' for --period: expected a time such as 500ms, 2s "
           "or 1m30s\n" TRY);
    expect(*state, "--period", "25h", 2,
           "neuron-monitor: --period must be between 100ms and one day\n" TRY);
    expect(*state, "--period", "99ms", 2,
           "neuron-monitor: --period must be between 100ms and one day\n" TRY);
    expect(*state, "--http-host", "a.example", 2,
           "neuron-monitor: --http-host requires --http or a listening exporter\n" TRY);
    /* An option without any effect is an error. */
    expect(*state, "--db-keep", "1h", 2, "neuron-monitor: --db-keep requires --db\n" TRY);
    expect(*state, "--db-size", "1G", 2, "neuron-monitor: --db-size requires --db\n" TRY);
    expect(*state, "--db-size", "1000", 2, "neuron-monitor: --db-size must be at least 1M\n" TRY);
    expect(
        *state, "--zero-fill", NULL, 2,
        "neuron-monitor: --zero-fill requires --http or an exporter, such as --prometheus\n" TRY);
    expect(*state, "--label", "node=a7", 2,
           "neuron-monitor: --label requires --http or an exporter, such as --prometheus\n" TRY);
    expect(*state, "--web.config.file", "x.yml", 2,
           "neuron-monitor: --web.config.file requires --http or a listening exporter\n" TRY);
    expect(*state, "--prometheus", "localhost", 2,
           "neuron-monitor: invalid value 'localhost' for --prometheus: expected '[ADDRESS:]PORT' "
           "with a port up to 65535\n" TRY);
    expect(*state, "--once", "--count=2", 2,
           "neuron-monitor: --once and --count are mutually exclusive\n" TRY);
    expect(*state, "--verbose", "9", 2,
           "neuron-monitor: invalid value '9' for --verbose: expected 0 to 4\n" TRY);
}

static void an_invalid_configuration_prints_one_line_and_exits_with_1(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "c.json");
    char expected[1024];

    snprintf(expected, sizeof expected,
             "neuron-monitor: cannot open '%s': No such file or directory\n", path);
    expect(f, "-c", path, 1, expected);

    assert_int_equal(ntk_fs_write(path, "{\"system_metrics\":[{\"type\":\"gpu\"}]}", 35, NULL), 0);
    snprintf(expected, sizeof expected,
             "neuron-monitor: %s: line 1: system_metrics[0].type: unknown metric type 'gpu'; known "
             "types are memory_info, neuron_hw_counters, self_stats, vcpu_usage\n",
             path);
    expect(f, "-c", path, 1, expected);

    if (geteuid() != 0) { /* root reads everything */
        assert_int_equal(chmod(path, 0), 0);
        snprintf(expected, sizeof expected, "neuron-monitor: cannot open '%s': Permission denied\n",
                 path);
        expect(f, "-c", path, 1, expected);
    }
    snprintf(expected, sizeof expected, "neuron-monitor: cannot read '%s': not a regular file\n",
             f->folder);
    expect(f, "-c", f->folder, 1, expected);
    free(path);
}

static void no_route(const struct ntk_http_request *request, struct ntk_http_response *response,
                     void *ctx)
{
    (void)request;
    (void)ctx;
    response->text = "taken\n";
}

static void a_port_in_use_prints_one_line_and_exits_with_1(void **state)
{
    static const struct ntk_http_route routes[] = { { "/", no_route, NULL }, { NULL, NULL, NULL } };
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 }, .routes = routes };
    struct ntk_http_server *server = NULL;
    char address[64];
    char expected[256];

    assert_int_equal(ntk_http_server_create(&options, &server, NULL), 0);
    unsigned int port = ntk_http_server_port_get(server);
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    snprintf(expected, sizeof expected,
             "neuron-monitor: cannot listen on 127.0.0.1 port %u: the port is in use\n", port);
    expect(*state, "--prometheus", address, 1, expected);
    expect(*state, "--http", address, 1, expected);
    ntk_http_server_destroy(server);
}

static void failure_to_create_the_database_prints_one_line_and_exits_with_1(void **state)
{
    struct test_run run = RUN((struct fixture *)*state, "--db", "/nonexistent/folder/x.db");

    assert_int_equal(run.exit_code, 1);
    assert_string_equal(run.out, "");
    assert_non_null(strstr(run.err, "/nonexistent/folder/x.db"));
    assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
    test_run_fini(&run);
}

static void option_once_prints_one_complete_report(void **state)
{
    struct test_run run = RUN((struct fixture *)*state, "--once", "--period", "200ms");
    json_t *root = json_loads(run.out, 0, NULL);

    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.err, "");
    assert_non_null(root);
    assert_ptr_equal(strchr(run.out, '\n'), run.out + run.out_bytes - 1);
    json_t *group = json_object_get(json_object_get(root, "system_data"), "memory_info");
    assert_true(json_number_value(json_object_get(group, "period")) > 0);
    assert_true(json_is_array(json_object_get(root, "neuron_runtime_data")));
    json_decref(root);
    test_run_fini(&run);
}

static void option_count_prints_the_requested_number_of_reports(void **state)
{
    struct test_run run =
        RUN((struct fixture *)*state, "--count", "3", "--period", "100ms", "--timestamps");
    char *line = run.out;

    assert_int_equal(run.exit_code, 0);
    for (int i = 1; i <= 3; i++) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        json_t *root = json_loads(line, 0, NULL);
        json_t *memory = json_object_get(json_object_get(root, "system_data"), "memory_info");
        assert_int_equal(json_integer_value(json_object_get(root, "sequence")), i);
        assert_true(json_number_value(json_object_get(memory, "period")) > 0);
        json_decref(root);
        line = end + 1;
    }
    assert_string_equal(line, "");
    test_run_fini(&run);
}

static void lines_beyond_the_limit_are_reported_and_counted(void **state)
{
    struct fixture *f = *state;
    const char *any = "neuron-monitor: agent: a report is longer than --max-line";
    struct test_run whole = RUN(f, "--once", "--period", "100ms", "--no-imds");
    struct test_run bare =
        RUN(f, "--once", "--period", "100ms", "--no-imds", "--omit", "neuron_ext");
    char bound[32];

    /* Halfway between both: figures of the next run may have a few digits more or less. */
    assert_true(whole.out_bytes > bare.out_bytes + 100);
    snprintf(bound, sizeof bound, "%zu", (whole.out_bytes + bare.out_bytes) / 2);
    struct test_run cut =
        RUN(f, "--count", "3", "--period", "100ms", "--no-imds", "--max-line", bound);
    assert_int_equal(cut.exit_code, 0);
    assert_int_equal(strncmp(cut.err, any, strlen(any)), 0);
    assert_non_null(strstr(cut.err, "reports over the limit are written without neuron_ext\n"));
    assert_null(strstr(strchr(cut.err, '\n'), any)); /* once */
    assert_non_null(
        strstr(cut.err,
               "3 of 3 reports were longer than --max-line and were written without neuron_ext\n"));
    assert_null(strstr(cut.out, "neuron_ext"));

    struct test_run longer =
        RUN(f, "--once", "--period", "100ms", "--no-imds", "--max-line", "300");
    assert_int_equal(longer.exit_code, 0);
    assert_int_equal(strncmp(longer.err, any, strlen(any)), 0);
    assert_non_null(strstr(longer.err, " of 300 bytes) even without neuron_ext; writing it anyway "
                                       "(use --omit to shorten reports)\n"));
    json_t *root = json_loads(longer.out, 0, NULL);
    assert_non_null(root);
    json_decref(root);

    struct test_run quiet =
        RUN(f, "--quiet", "--once", "--period", "100ms", "--no-imds", "--max-line", "300");
    assert_int_equal(quiet.exit_code, 0);
    assert_string_equal(quiet.err, ""); /* the reader gets no line */
    test_run_fini(&whole);
    test_run_fini(&bare);
    test_run_fini(&cut);
    test_run_fini(&longer);
    test_run_fini(&quiet);
}

static void the_configuration_selects_the_report_groups(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "c.json");
    const char *text = "{\"period\":\"100ms\",\"system_metrics\":[{\"type\":\"memory_info\"}]}";

    assert_int_equal(ntk_fs_write(path, text, strlen(text), NULL), 0);
    struct test_run run = RUN(f, "-c", path, "--count=1");
    json_t *root = json_loads(run.out, 0, NULL);
    json_t *system = json_object_get(root, "system_data");
    assert_int_equal(json_object_size(system), 1);
    assert_non_null(json_object_get(system, "memory_info"));
    json_decref(root);
    test_run_fini(&run);
    free(path);
}

struct growing {
    const char *path;
    off_t bytes;
};

static int has_bytes(void *ctx)
{
    struct growing *growing = ctx;
    struct stat info;

    return stat(growing->path, &info) == 0 && info.st_size >= growing->bytes;
}

static void a_signal_ends_the_agent_with_exit_code_0(void **state)
{
    struct fixture *f = *state;
    char *out = test_scratch_path(f->folder, "out");
    static const int signals[] = { SIGINT, SIGTERM };

    for (size_t i = 0; i < 2; i++) {
        const char *const argv[] = { "neuron-monitor", "--period", "100ms", NULL };
        struct growing growing = { out, 10 };
        unlink(out);
        pid_t pid = test_start_program(argv, f->environment, out);
        assert_true(test_wait_until(has_bytes, &growing));
        assert_int_equal(test_stop_program(pid, signals[i]), 0);
    }
    free(out);
}

struct holding {
    const char *path;
    const char *text;
};

static int holds(void *ctx)
{
    const struct holding *holding = ctx;
    uint8_t *bytes;
    size_t count;

    if (ntk_fs_read(holding->path, 1 << 24, &bytes, &count, NULL) < 0) {
        return 0;
    }
    int found = memmem(bytes, count, holding->text, strlen(holding->text)) != NULL;
    free(bytes);
    return found;
}

/* Method: the receiver accepts the connection and never answers, so only the second signal ends the
 * wait. */
static void a_second_signal_ends_the_agent_at_once_with_reported_losses(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t address_bytes = sizeof address;
    char *log = test_scratch_path(f->folder, "log");
    char *out = test_scratch_path(f->folder, "out");
    char command[2048];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &address_bytes), 0);
    snprintf(command, sizeof command,
             "exec %s/neuron-monitor --period 100ms --no-imds --verbose 1 "
             "--remote-write http://127.0.0.1:%u/ 2>%s",
             getenv("NTK_BIN_DIR"), (unsigned)ntohs(address.sin_port), log);
    const char *const argv[] = { "/bin/bash", "-c", command, NULL };
    pid_t pid = test_start_program(argv, f->environment, out);
    assert_true(test_wait_until(has_bytes, &(struct growing){ out, 10 }));
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_true(test_wait_until(holds, &(struct holding){ log, "signal 15: stopping" }));

    assert_int_equal(test_stop_program(pid, SIGTERM), 1);

    assert_true(holds(&(struct holding){ log, "second stop signal: exiting without waiting" }));
    assert_true(holds(&(struct holding){ log, "stopped before everything was sent; " }));
    assert_true(holds(&(struct holding){ log, " samples lost" }));
    close(fd);
    free(out);
    free(log);
}

static void a_full_disk_for_stdout_does_not_stop_other_outputs(void **state)
{
    static const char said[] = "cannot write to stdout: No space left on device; ";
    struct fixture *f = *state;
    char *log = test_scratch_path(f->folder, "log");
    char *db = test_scratch_path(f->folder, "full.db");
    char *wal = test_scratch_path(f->folder, "full.db-wal");
    char command[2048];
    uint8_t *bytes;
    size_t count;

    if (access("/dev/full", W_OK) < 0) {
        skip();
    }
    snprintf(command, sizeof command,
             "exec %s/neuron-monitor --period 100ms --no-imds --db %s >/dev/full 2>%s",
             getenv("NTK_BIN_DIR"), db, log);
    const char *const argv[] = { "/bin/bash", "-c", command, NULL };
    pid_t pid = test_start_program(argv, f->environment, NULL);
    assert_true(test_wait_until(holds, &(struct holding){ log, said }));
    assert_true(test_wait_until(has_bytes, &(struct growing){ db, 4096 }));
    /* Later periods are stored, and the message is not repeated for them. */
    assert_true(test_wait_until(has_bytes, &(struct growing){ wal, 16 * 4096 }));
    assert_false(holds(&(struct holding){ log, "\nneuron" }));
    assert_int_equal(test_stop_program(pid, SIGTERM), 0);
    assert_int_equal(ntk_fs_read(log, 1 << 20, &bytes, &count, NULL), 0);
    assert_ptr_equal(memchr(bytes, '\n', count), bytes + count - 1);
    free(bytes);

    /* Without any other output the agent exits. */
    snprintf(command, sizeof command, "exec %s/neuron-monitor --period 100ms --no-imds >/dev/full",
             getenv("NTK_BIN_DIR"));
    struct test_run run = test_run_program(argv, f->environment);
    assert_int_equal(run.exit_code, 1);
    assert_string_equal(run.err,
                        "neuron-monitor: cannot write to stdout: No space left on device\n");
    test_run_fini(&run);
    free(db);
    free(wal);
    free(log);
}

/* Secrets that only their owner may know are in no core file, and a secret file that others can
 * read is reported. */
static void secrets_are_excluded_from_core_dumps_and_checked_for_permissions(void **state)
{
    struct fixture *f = *state;
    char *token = test_scratch_path(f->folder, "token");
    char *log = test_scratch_path(f->folder, "log");
    char *out = test_scratch_path(f->folder, "out");
    char command[2048];
    char limits[64];
    char text[4096];

    assert_int_equal(ntk_fs_write(token, "0123456789abcdef-token", 22, NULL), 0);
    assert_int_equal(chmod(token, 0644), 0);
    snprintf(command, sizeof command,
             "exec %s/neuron-monitor --period 100ms --no-imds --http 127.0.0.1:0 --http-token-file "
             "%s 2>%s",
             getenv("NTK_BIN_DIR"), token, log);
    const char *const argv[] = { "/bin/bash", "-c", command, NULL };
    pid_t pid = test_start_program(argv, f->environment, out);
    assert_true(test_wait_until(has_bytes, &(struct growing){ out, 10 }));
    snprintf(limits, sizeof limits, "/proc/%d/limits", (int)pid);
    assert_true(ntk_fs_read_text(limits, text, sizeof text) > 0);
    const char *core = strstr(text, "Max core file size");
    assert_non_null(core);
    unsigned int bytes = 0;
    assert_int_equal(sscanf(core, "Max core file size %u", &bytes), 1);
    assert_true(bytes <= 1);
    assert_true(holds(&(struct holding){ log, "(mode 0644)" }));
    assert_int_equal(test_stop_program(pid, SIGTERM), 0);
    free(out);
    free(log);
    free(token);
}

static void put_config(const char *path, const char *text)
{
    assert_int_equal(ntk_fs_write(path, text, strlen(text), NULL), 0);
}

/* No report is missing and none is listed twice: their numbers go up by one. */
static void assert_numbered(const char *path)
{
    uint8_t *bytes;
    size_t count;
    char *save = NULL;
    int expected = 1;

    assert_int_equal(ntk_fs_read(path, 1 << 24, &bytes, &count, NULL), 0);
    for (char *line = strtok_r((char *)bytes, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        json_t *root = json_loads(line, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(root, "sequence")), expected++);
        json_decref(root);
    }
    assert_true(expected > 2);
    free(bytes);
}

static void sighup_reloads_a_valid_configuration_only(void **state)
{
    struct fixture *f = *state;
    char *config = test_scratch_path(f->folder, "c.json");
    char *out = test_scratch_path(f->folder, "out");
    char *log = test_scratch_path(f->folder, "log");
    char command[2048];

    put_config(config, "{\"period\":\"100ms\",\"system_metrics\":[{\"type\":\"memory_info\"}]}");
    snprintf(command, sizeof command, "exec %s/neuron-monitor -c %s --timestamps 2>%s",
             getenv("NTK_BIN_DIR"), config, log);
    const char *const argv[] = { "/bin/bash", "-c", command, NULL };
    pid_t pid = test_start_program(argv, f->environment, out);
    assert_true(test_wait_until(holds, &(struct holding){ out, "memory_info" }));

    put_config(config, "{\n\"perod\":\"1s\"}");
    assert_int_equal(kill(pid, SIGHUP), 0);
    char sentence[1024];
    snprintf(
        sentence, sizeof sentence,
        "%s: line 2: unknown key 'perod'; known keys are period, neuron_runtimes, system_metrics, "
        "k8s_info; keeping the previous configuration\n",
        config);
    assert_true(test_wait_until(holds, &(struct holding){ log, sentence }));

    put_config(config, "{\"period\":\"100ms\",\"k8s_info\":true,"
                       "\"system_metrics\":[{\"type\":\"vcpu_usage\"}]}");
    assert_int_equal(kill(pid, SIGHUP), 0);
    assert_true(test_wait_until(holds, &(struct holding){ out, "vcpu_usage" }));
    assert_true(holds(&(struct holding){ log, "k8s_info has changed: restart" }));
    assert_true(test_wait_until(holds, &(struct holding){ log, "configuration reloaded" }));
    assert_int_equal(test_stop_program(pid, SIGTERM), 0);
    assert_numbered(out);
    free(log);
    free(out);
    free(config);
}

/* Method: the reader takes one line and closes; the period is an hour, so no later write can
 * notice. */
static void the_agent_exits_at_once_when_its_reader_closes(void **state)
{
    struct fixture *f = *state;
    char command[1024];

    snprintf(command, sizeof command,
             "%s %s/neuron-monitor --period 1h | head -n 1 | wc -l; exit ${PIPESTATUS[0]}",
             f->hooks, getenv("NTK_BIN_DIR"));
    struct test_run run =
        test_run_program((const char *const[]){ "/bin/bash", "-c", command, NULL }, f->environment);
    assert_string_equal(run.out, "1\n");
    assert_int_equal(run.exit_code, 0);
    test_run_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(usage_errors_print_one_line_and_exit_with_2),
        CASE(an_invalid_configuration_prints_one_line_and_exits_with_1),
        CASE(a_port_in_use_prints_one_line_and_exits_with_1),
        CASE(failure_to_create_the_database_prints_one_line_and_exits_with_1),
        CASE(option_once_prints_one_complete_report),
        CASE(option_count_prints_the_requested_number_of_reports),
        CASE(lines_beyond_the_limit_are_reported_and_counted),
        CASE(the_configuration_selects_the_report_groups),
        CASE(a_signal_ends_the_agent_with_exit_code_0),
        CASE(a_second_signal_ends_the_agent_at_once_with_reported_losses),
        CASE(a_full_disk_for_stdout_does_not_stop_other_outputs),
        CASE(secrets_are_excluded_from_core_dumps_and_checked_for_permissions),
        CASE(sighup_reloads_a_valid_configuration_only),
        CASE(the_agent_exits_at_once_when_its_reader_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
