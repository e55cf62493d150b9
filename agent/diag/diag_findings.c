/* SPDX-License-Identifier: MIT */
/* diag_findings - stores results of diagnoses by core, for the health verdict. */
#include <stdio.h>

#include "agent/diag/diag.h"
#include "shared/base/log.h"
#include "shared/base/timestamp.h"
#include "shared/collect/findings.h"

void ntk_diag_findings_keep(const struct ntk_diag *run, bool all)
{
    for (size_t i = 0; i < run->core_count; i++) {
        uint32_t core = run->cores[i];
        uint32_t physical = core % run->plan.cores_per_device * run->plan.lnc;
        bool is_corrupt = false;
        bool is_well = all;
        bool has_answer = false;
        struct ntk_err err = { 0 };

        ntk_vec_each(struct ntk_diag_result, result, &run->results) {
            if (result->core == (int32_t)core) {
                is_corrupt = is_corrupt || result->is_corruption;
                is_well = is_well && result->verdict != NTK_DIAG_FAIL;
                has_answer = has_answer || (result->test == NTK_DIAG_ANSWER_TEST &&
                                            result->verdict == NTK_DIAG_PASS);
            }
        }
        if ((is_corrupt || (is_well && has_answer)) &&
            ntk_findings_change(NULL, core / run->plan.cores_per_device, physical, is_corrupt,
                                &err) < 0) {
            ntk_log_warn(NULL, "%s: other programs cannot see this finding", err.text);
        }
    }
}

static struct ntk_diag_result finding_judge(const struct ntk_diag *diag, uint32_t core,
                                            const struct ntk_finding *findings, size_t count)
{
    uint32_t device = core / diag->plan.cores_per_device;
    uint32_t physical = core % diag->plan.cores_per_device * diag->plan.lnc;
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_FINDINGS_TEST, NTK_DIAG_PASS, (int)device, (int)core);

    result.has_figure = true;
    for (size_t i = 0; i < count; i++) {
        char since[NTK_TIMESTAMP_BYTES];

        if (findings[i].device == device && findings[i].core >= physical &&
            findings[i].core - physical < diag->plan.lnc) {
            ntk_timestamp_format(findings[i].since_ns, since, sizeof since);
            result.verdict = NTK_DIAG_FAIL;
            result.figure += (double)findings[i].count;
            ntk_diag_say(
                &result,
                "silently wrong answers since %s; cleared when all answers at level 2 are correct",
                since);
        }
    }
    return result;
}

void ntk_diag_findings_look(struct ntk_diag *diag)
{
    static struct ntk_finding findings[NTK_FINDINGS_MAX];
    size_t count = ntk_findings_read(NULL, findings, NTK_FINDINGS_MAX);

    for (size_t i = 0; i < diag->core_count; i++) {
        struct ntk_diag_result result = finding_judge(diag, diag->cores[i], findings, count);

        ntk_diag_add(diag, &result);
    }
}
