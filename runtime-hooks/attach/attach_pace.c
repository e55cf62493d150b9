/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_pace.h"

void ntk_attach_pace_put_off(struct ntk_attach_pace *pace, uint64_t now_ns)
{
    uint64_t wait_ns = pace->wait_ns ? pace->wait_ns : NTK_ATTACH_WAIT_NS;

    pace->next_ns = now_ns + wait_ns;
    pace->wait_ns = wait_ns * 2 < NTK_ATTACH_WAIT_MAX_NS ? wait_ns * 2 : NTK_ATTACH_WAIT_MAX_NS;
}

bool ntk_attach_judge_is_too_dear(struct ntk_attach_judge *judge, uint64_t exec_count,
                                  uint64_t exec_ns, uint64_t now_ns, double *out_execution_ns)
{
    uint64_t count = exec_count - judge->exec_count;
    uint64_t ns = exec_ns - judge->exec_ns;
    bool is_first = judge->exec_count == 0;

    if (count < NTK_ATTACH_JUDGE_MIN || (now_ns - judge->judged_ns < NTK_ATTACH_JUDGE_NS &&
                                         !(is_first && count >= NTK_ATTACH_JUDGE_FIRST))) {
        return false;
    }
    judge->exec_count = exec_count;
    judge->exec_ns = exec_ns;
    judge->judged_ns = now_ns;
    *out_execution_ns = (double)ns / (double)count;
    return (double)count * (double)judge->cost_ns > judge->cost_max * (double)ns;
}
