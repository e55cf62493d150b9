/* SPDX-License-Identifier: MIT */
/* Declares the runtime's close function as older programs do: with a status. */
#define NRT_CLOSE_RETURNS_STATUS
#include <nrt/nrt.h>

int main(void)
{
    NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_TENSORFLOW, NULL, NULL);

    return status == NRT_SUCCESS && nrt_close() == NRT_SUCCESS ? 0 : 1;
}
