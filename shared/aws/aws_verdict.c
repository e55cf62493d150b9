/* SPDX-License-Identifier: MIT */
/* aws_verdict - a table of error codes and the right reaction to each. */
#include "shared/aws/aws_verdict.h"

#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define RETRY_AFTER_MS_MAX 3600000u

static const struct {
    const char *code; /* without "Exception" at its end */
    enum ntk_aws_verdict verdict;
} verdicts[] = {
    { "Throttling", NTK_AWS_AGAIN },
    { "Throttled", NTK_AWS_AGAIN },
    { "RequestThrottled", NTK_AWS_AGAIN },
    { "TooManyRequests", NTK_AWS_AGAIN },
    { "RequestLimitExceeded", NTK_AWS_AGAIN },
    { "BandwidthLimitExceeded", NTK_AWS_AGAIN },
    { "LimitExceeded", NTK_AWS_AGAIN },
    { "SlowDown", NTK_AWS_AGAIN },
    { "PriorRequestNotComplete", NTK_AWS_AGAIN },
    { "RequestTimeout", NTK_AWS_AGAIN },
    { "InternalServiceFault", NTK_AWS_AGAIN },
    { "InternalServiceError", NTK_AWS_AGAIN },
    { "InternalFailure", NTK_AWS_AGAIN },
    { "ServiceUnavailable", NTK_AWS_AGAIN },
    { "ExpiredToken", NTK_AWS_RENEW },
    { "RequestExpired", NTK_AWS_RENEW },
    { "RequestTimeTooSkewed", NTK_AWS_RENEW },
    { "SignatureDoesNotMatch", NTK_AWS_RENEW },
    { "InvalidSignature", NTK_AWS_RENEW },
    { "IncompleteSignature", NTK_AWS_RENEW },
    { "InvalidClientTokenId", NTK_AWS_RENEW },
    { "UnrecognizedClient", NTK_AWS_RENEW },
    { "MissingAuthenticationToken", NTK_AWS_RENEW },
    { "AccessDenied", NTK_AWS_RENEW },
    { "OptInRequired", NTK_AWS_RENEW },
};

enum ntk_aws_verdict ntk_aws_judge(long status, const struct ntk_aws_error *error)
{
    static const char end[] = "Exception";
    size_t bytes = strlen(error->code);

    if (status >= 200 && status < 300) {
        return NTK_AWS_TAKEN;
    }
    if (ntk_str_ends_with(error->code, end)) {
        bytes -= sizeof end - 1;
    }
    for (size_t i = 0; bytes && i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strlen(verdicts[i].code) == bytes && !memcmp(verdicts[i].code, error->code, bytes)) {
            return verdicts[i].verdict;
        }
    }
    if (status == 401 || status == 403) {
        return NTK_AWS_RENEW;
    }
    /* Only a verdict on the content of a request is final. For example, a 404 of a proxy may be
     * temporary. */
    return status == 400 || status == 413 ? NTK_AWS_REFUSED : NTK_AWS_AGAIN;
}

uint64_t ntk_aws_pause_ns(const struct ntk_http_answer *answer)
{
    char text[32];
    uint64_t count;

    if (ntk_http_answer_header_get(answer, "x-amz-retry-after", text, sizeof text) &&
        ntk_str_parse_u64(text, &count) >= 0 && count <= RETRY_AFTER_MS_MAX) {
        return count * NTK_NS_PER_MS;
    }
    return answer->retry_after_ns;
}
