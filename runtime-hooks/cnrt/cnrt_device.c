/* SPDX-License-Identifier: MIT */
/* cnrt_device - initialisation of the library, its devices, and the device choice of each
 * thread. */
#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/cnrt/cnrt_public.h"

#define FLAG_FAKE 1U
/* A device handle is its ordinal plus this mark, so that 0 and random numbers are invalid. */
#define HANDLE_MARK UINT64_C(0x636e7274000000)
#define HANDLE_FAKE (HANDLE_MARK | 0xffU)
#define ORDINAL_FAKE (-1)

static int handle_get(cnrtDev_t *out_dev, int ordinal)
{
    if (!out_dev) {
        return CNRT_ERR_INVALID;
    }
    if (cnrt_front_is_fake() && ordinal == ORDINAL_FAKE) {
        *out_dev = HANDLE_FAKE;
        return CNRT_OK;
    }
    if (ordinal < 0 || (uint32_t)ordinal >= cnrt_front_device_count()) {
        return CNRT_ERR_NODEV;
    }
    *out_dev = HANDLE_MARK | (uint32_t)ordinal;
    return CNRT_OK;
}

int cnrt_device_of(uint64_t handle, uint32_t *out_ordinal)
{
    uint64_t ordinal = handle ^ HANDLE_MARK;

    if (cnrt_front_is_fake() && handle == HANDLE_FAKE) {
        *out_ordinal = 0;
        return CNRT_OK;
    }
    if (ordinal >= cnrt_front_device_count()) {
        return CNRT_ERR_NODEV;
    }
    *out_ordinal = (uint32_t)ordinal;
    return CNRT_OK;
}

static int choose(cnrtDev_t dev)
{
    uint32_t ordinal = 0;
    int code = cnrt_device_of(dev, &ordinal);

    if (code == CNRT_OK) {
        cnrt_front_current_device_set(ordinal);
    }
    return code;
}

static int chosen(cnrtDev_t *out_dev)
{
    return handle_get(out_dev,
                      cnrt_front_is_fake() ? ORDINAL_FAKE : (int)cnrt_front_current_device());
}

static int count(unsigned int *out_count)
{
    if (!out_count) {
        return CNRT_ERR_INVALID;
    }
    *out_count = cnrt_front_device_count();
    return CNRT_OK;
}

int cnrt_channel_choose(int channel, int lowest)
{
    if (channel < lowest || channel >= (int)CNRT_CHANNELS) {
        return CNRT_ERR_INVALID;
    }
    cnrt_front_channel_set(channel);
    return CNRT_OK;
}

/* The properties of a machine's cards, by generation of their cores (shared/abi/machine.def). */
static const struct {
    unsigned int generation;
    const char *name;
    uint32_t cluster_cores;
    int version_1, version_2, version_3;
} cards[] = {
    { 5, "MLU100", 8, 1, 1, 3 }, /* CNRT_1H16, CNRT_1H16, CNRT_MLU100 */
    { 6, "MLU270", 4, 2, 1, 5 }, /* CNRT_UNKNOWN, -, CNRT_MLU270 */
};

static size_t card(void)
{
    unsigned int generation = ntk_core_machine_get(cnrt_front_core())->generation;
    size_t i = sizeof cards / sizeof *cards - 1;

    while (i > 0 && cards[i].generation != generation) {
        i--;
    }
    return i;
}

int cnrt_core_version(int generation)
{
    size_t i = card();

    return generation == 1   ? cards[i].version_1
           : generation == 2 ? cards[i].version_2
                             : cards[i].version_3;
}

uint32_t cnrt_cluster_cores(void)
{
    return cards[card()].cluster_cores;
}

const char *cnrt_device_name(void)
{
    return cards[card()].name;
}

cnrtRet_t cnrtInit(unsigned int flags)
{
    if (flags > FLAG_FAKE) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    return cnrt_front_end(cnrt_front_open(flags == FLAG_FAKE));
}
CNRT_IN_1(Init);

void cnrtDestroy(void)
{
    cnrt_front_close();
}
CNRT_IN_1(Destroy);

cnrtRet_t cnrtGetVersion(unsigned int *ver)
{
    if (!ver) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    *ver = CNRT_VERSION;
    return CNRT_RET_SUCCESS;
}

const char *cnrtGetErrorStr(cnrtRet_t err)
{
    return cnrt_code_text((int)err, 2);
}

cnrtRet_t cnrtGetLastErr(void)
{
    return cnrt_front_last_error();
}
CNRT_IN_1(GetLastErr);

cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num)
{
    CNRT_INSIDE_ANY(count(dev_num));
}
CNRT_IN_1(GetDeviceCount);

cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal)
{
    CNRT_INSIDE_ANY(handle_get(dev, ordinal));
}
CNRT_IN_1(GetDeviceHandle);

cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev)
{
    CNRT_INSIDE_ANY(choose(dev));
}
CNRT_IN_1(SetCurrentDevice);

cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev)
{
    CNRT_INSIDE_ANY(chosen(dev));
}
CNRT_IN_1(GetCurrentDevice);

/* The third generation has an additional lowest value, which is not available here. */
cnrtRet_t cnrtSetCurrentChannel(cnrtChannelType_t channel)
{
    CNRT_INSIDE(cnrt_channel_choose((int)channel, CNRT_CHANNEL_TYPE_NONE));
}
CNRT_IN_1(SetCurrentChannel);

cnrtRet_t cnrtGetCurrentChannel(cnrtChannelType_t *channel)
{
    int entered = cnrt_front_enter();
    int code = entered;

    if (entered == CNRT_OK) {
        code = channel ? CNRT_OK : CNRT_ERR_INVALID;
        if (channel) {
            *channel = (cnrtChannelType_t)cnrt_front_channel();
        }
    }
    return cnrt_front_leave(entered, code);
}
CNRT_IN_1(GetCurrentChannel);
