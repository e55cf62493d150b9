/* SPDX-License-Identifier: MIT */
/* ask_late - asks a process to record from an execution that has already ended: SEGMENT PID
 * EXECUTION FOLDER. Prints the status and the message. */
#include <stdio.h>
#include <stdlib.h>

#include "profiler/system/trigger.h"
#include "tests/support/process.h"

int main(int argc, char **argv)
{
    struct ntk_trigger_target target = { .pid = argc == 5 ? (uint32_t)atoi(argv[2]) : 0 };
    struct ntk_err err = { 0 };

    if (argc != 5 || ntk_trigger_take(&target, argv[1], &err) < 0) {
        fprintf(stderr, "ask_late: %s\n", argc == 5 ? err.text : "SEGMENT PID EXECUTION FOLDER");
        return 1;
    }
    ntk_trigger_ask_record(&target, strtoull(argv[3], NULL, 10), 1, 0, test_patience_ns(), argv[4]);
    bool is_answered = ntk_trigger_wait(NULL, &target, 1, test_patience_ns(), NULL, NULL);
    printf("%d %d %u %s\n", is_answered, target.status, target.file_count, target.err.text);
    ntk_trigger_release(&target);
    return 0;
}
