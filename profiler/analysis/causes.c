/* SPDX-License-Identifier: MIT */
/* causes - finds out why an instruction did not start earlier: its change, or its engine. */
#include "profiler/analysis/dependencies.h"

/* Returns the time of the change that released an instruction while it ran; its start if there is
 * none. */
static int64_t let_go_ps(const struct ntk_program *program, size_t core_index,
                         const struct ntk_core_dependencies *dependencies, uint32_t item)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    uint32_t event = dependencies->releases[item].event;
    int64_t start_ps = core->instructions[item].start_ps;

    if (event == NTK_NO_INDEX ||
        !ntk_program_fact(program, core_index, &core->instructions[item])->code->waits_inside) {
        return start_ps;
    }
    int64_t change_ps = ntk_change_at(core, dependencies, event)->time_ps;
    return change_ps > start_ps ? change_ps : start_ps;
}

void ntk_cause_get(const struct ntk_program *program, size_t core_index,
                   const struct ntk_core_dependencies *dependencies, uint32_t item, int64_t at_ps,
                   struct ntk_cause *out)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    const struct ntk_trace_instruction *one = &core->instructions[item];
    const struct ntk_release *release = &dependencies->releases[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(program, core_index, one);
    struct ntk_cause cause = { .holder = ntk_holder_of(dependencies, item) };

    if (cause.holder != NTK_NO_INDEX) {
        const struct ntk_trace_instruction *holder = &core->instructions[cause.holder];
        /* An instruction that only waits may wait for the engine to drain. */
        cause.free_ps =
            ntk_only_waits(one) ? holder->end_ps : ntk_executes_until_ps(dependencies, holder);
        if (release->cuts_holder && cause.free_ps > one->start_ps) {
            cause.free_ps = one->start_ps;
        }
    }
    cause.own_ps = let_go_ps(program, core_index, dependencies, item);
    if (release->event != NTK_NO_INDEX) {
        cause.released_ps = ntk_change_at(core, dependencies, release->event)->time_ps;
        cause.is_released = cause.released_ps > cause.free_ps;
    }
    if (cause.is_released && release->by != NTK_NO_INDEX) {
        int64_t before_ps = cause.released_ps < at_ps ? cause.released_ps : at_ps;
        size_t by_core = ntk_release_core(core_index, release);
        /* An instruction that was released only after the change did not make the change. This also
         * prevents cycles: following releases always leads back in time. */
        cause.is_known =
            let_go_ps(program, by_core, &dependencies->all[by_core], release->by) < before_ps;
    }
    cause.is_unknown =
        fact->code->has_sync && fact->code->wait != NTK_WAIT_NONE && release->event == NTK_NO_INDEX;
    if (!cause.is_released && cause.free_ps > cause.own_ps) {
        cause.own_ps = cause.free_ps; /* earlier work is still executing */
    }
    *out = cause;
}
