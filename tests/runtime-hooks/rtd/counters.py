# SPDX-License-Identifier: MIT
"""Compares figures of neuron-rtd with the actions of a client.

counters.py ENDPOINT GENERATED_FOLDER MODEL_FOLDER: the daemon has an inf1.6xlarge. Every fifth execution has
three corrected memory errors, all on core 0, and core 4 is slow from its twelfth execution on."""
import re
import sys
import time

from client import PATIENCE, Client, eg, expect, io, nn, pb, until

BEGAN = time.monotonic()
OK, BAD_INPUT = pb.IST_OK, pb.IST_BAD_INPUT
FEATURES = 128  # of mlp.neff: 512 columns through a layer four times as wide, and back


def check(what, holds):
    if not holds:
        sys.exit(f'counters.py: {what}')


class Figures:
    def __init__(self, c):
        self.all = c.read_all_counters()
        expect('status', self.all.status.code, 0)
        self.nmgr = self.all.nmgr_counters
        self.memory = {m.infa_id: m for m in self.all.system_counters.memory_counters}
        self.status = {s.infer_status: s.count for s in self.nmgr.infer_status_counts}
        self.nc = {n.virtual_nc_id: n for n in self.all.nc_counters}
        self.in_use = {n: c.read_nc_time_in_use(vnc_id=n).nc_time_in_use.time_in_use for n in self.nc}
        one = c.read_inference_counters().nmgr_counters
        expect('one truth', one.SerializeToString(), self.nmgr.SerializeToString())
        for n, counters in self.nc.items():
            expect(f'core {n}', c.read_nc_counters(vnc_id=n).nc_counters.SerializeToString(), counters.SerializeToString())


def metrics(c, period=0):
    asked = time.time_ns()
    answer = c.read_all_metrics(summarize_period=period)
    expect('status', answer.status.code, 0)
    for metric in answer.nmgr_metrics:
        a = metric.data[0].value_agg
        expect('data', (len(metric.data), len(a.values)), (1, len(a.counts)))
        expect('all samples', sum(a.counts), a.count)
        expect('order', list(a.values), sorted(a.values))
        check(f'bounds of {metric}', a.min <= a.values[0] and a.max <= a.values[-1] and a.min <= a.max)
        check(f'sum of {metric}', a.min * a.count * 0.999 <= a.sum <= a.max * a.count * 1.001)
        check('time', asked <= metric.data[0].ts_nanos_since_epoch <= time.time_ns())
    return {m.metric_type: m.data[0].value_agg for m in answer.nmgr_metrics}, {m.metric_type: m.overflow for m in answer.nmgr_metrics}


def counters_are_zero_before_any_work(c):
    first = Figures(c)
    expect('cores', sorted(first.nc), list(range(16)))
    expect('devices', sorted(first.memory), list(range(4)))
    for n, counters in first.nc.items():
        expect(f'core {n}', counters, pb.nc_counters(virtual_nc_id=n))
    expect('in use', set(first.in_use.values()), {0})
    expect('inferences', (first.nmgr.infer_count, first.status[OK]), (0, 0))
    expect('no metric without a sample', metrics(c)[0], {})
    for code, answer in ((2, c.read_nc_counters(vnc_id=16)), (2, c.read_nc_time_in_use(vnc_id=1 << 31))):
        expect(f'no such core: {answer.status.details}', answer.status.code, code)


def work_is_counted_by_core_and_user(c):
    """Checks what is counted where, and for which user."""
    before = Figures(c)
    groups = [c.create_eg(nc_count=1).h_eg.id for _ in range(5)]  # the last one: device 1
    models = [c.load(NEFFS['mlp'], group=groups[1]).h_nn, c.load(NEFFS['model'], group=groups[4], ninfer=2).h_nn]
    loaded = Figures(c)
    for device in (0, 1):
        check('memory', loaded.memory[device].mem_used_infa_0 + loaded.memory[device].mem_used_infa_1 >
              before.memory[device].mem_used_infa_0 + before.memory[device].mem_used_infa_1)
        check('memory of the host', loaded.memory[device].mem_used_host > before.memory[device].mem_used_host)
    expect('memory elsewhere', loaded.memory[3], before.memory[3])
    for model in models:
        expect('start', c.start(h_nn=model).status.code, 0)
    began = time.monotonic_ns()
    for _ in range(7):
        answer = c.infer(h_nn=models[0], ifmap=MLP)
        expect(f'mlp: {answer.status.details}', answer.status.code, 0)
    for _ in range(11):
        expect('memcpy', c.infer(h_nn=models[1], ifmap=MEMCPY).status.code, 0)
    for _ in range(3):
        expect('no input', c.infer(h_nn=models[1]).status.code, 1002)
    cookies, full = [], 0
    end = time.monotonic() + PATIENCE
    while full < 4:
        check('the queue is full', time.monotonic() < end)
        posted = c.infer_post(h_nn=models[1], ifmap=MEMCPY)
        if posted.status.code == 7:
            full += 1
        else:
            cookies.append(posted.cookie)
    for cookie in cookies:
        expect('collected', c.infer_wait(cookie=cookie).status.code, 0)
    now = Figures(c)
    took = time.monotonic_ns() - began
    done = 18 + len(cookies)
    expect('completed', now.status[OK] - before.status[OK], done)
    expect('taken', now.nmgr.infer_count - before.nmgr.infer_count, done)
    expect('bad inputs', now.status[BAD_INPUT] - before.status[BAD_INPUT], 3)
    expect('queue full', now.nmgr.infer_queue_drop_count - before.nmgr.infer_queue_drop_count, 4)
    expect('models', (now.nmgr.model_load_count, now.nmgr.model_start_count), (2, 2))
    expect('largest', now.nmgr.neff_size_bytes_max, max(len(NEFFS['mlp']), len(NEFFS['model'])))
    # The tensor engine performed exactly the multiplications of matrices of that size, and no other engine any.
    expect('multiplications', {n: nc.macs_count for n, nc in now.nc.items() if nc.macs_count}, {1: 7 * 512 * 2 * 4 * FEATURES ** 2})
    busy = now.nc[1]
    check('instructions', busy.pe_num_executed_instr >= busy.pe_matmul_num_executed_instr > 0 and
          busy.pe_num_executed_instr % 7 == 0)
    check('it waited for its operands', busy.pe_num_wait_event_cycles >= busy.pe_matmul_num_wait_event_cycles >= 0 and
          busy.pe_num_wait_event_cycles > 0)
    for n in now.nc:
        check(f'core {n} in use', (now.in_use[n] > 0) == (n in (1, 4)) and now.in_use[n] <= took)
    for model in models:
        expect('stop', c.stop(h_nn=model).status.code, 0)
        expect('unload', c.unload(h_nn=model).status.code, 0)
    for group in groups:
        expect('destroy', c.destroy_eg(h_eg=eg(group)).status.code, 0)
    after = Figures(c)
    expect('memory is freed', after.memory, before.memory)
    expect('models', (after.nmgr.model_stop_count, after.nmgr.model_unload_count), (2, 2))
    return done


def metrics_cover_their_period(c, done):
    found, over = metrics(c)
    kinds = {pb.metric_type.Name(kind): a for kind, a in found.items()}
    expect('kinds', sorted(kinds), sorted(set(pb.metric_type.keys()) - {'NMGR_METRIC_NUM'}))
    expect('nothing is lost', set(over.values()), {False})
    for name in ('INFER_LATENCY', 'INFER_ON_INFA_LATENCY', 'INFER_ON_INFA_CYCLESx1k'):
        expect(name, kinds[f'NMGR_METRIC_{name}'].count, done)
    total, device = kinds['NMGR_METRIC_INFER_LATENCY'], kinds['NMGR_METRIC_INFER_ON_INFA_LATENCY']
    check('a part does not exceed the whole', device.sum <= total.sum and device.max <= total.max)
    check('seconds', 0 < total.min < time.monotonic() - BEGAN)
    for name in ('LOAD', 'UNLOAD', 'START', 'STOP'):
        expect(name, kinds[f'NMGR_METRIC_MODEL_{name}_LATENCY'].count, 2)
    size = kinds['NMGR_METRIC_MODEL_SIZE']
    expect('sizes', (size.min, size.max, size.sum), (min(map(len, NEFFS.values())), max(map(len, NEFFS.values())),
                                                    sum(map(len, NEFFS.values()))))
    expect('cores', [*zip(kinds['NMGR_METRIC_MODEL_NUM_NC'].values, kinds['NMGR_METRIC_MODEL_NUM_NC'].counts)], [(1, 2)])
    check('versions', kinds['NMGR_METRIC_MODEL_MAJOR_VERSION'].count == 2)
    # A period has its own events: none, then one.
    until('a second without work', lambda: not metrics(c, 1)[0])
    model = c.load(NEFFS['model']).h_nn
    expect('infer', c.infer(h_nn=model, ifmap=MEMCPY).status.code, 0)
    recent = metrics(c, 60)[0]
    expect('the last minute', recent[pb.NMGR_METRIC_MODEL_LOAD_LATENCY].count, 3)
    until('the latest', lambda: pb.NMGR_METRIC_INFER_LATENCY not in metrics(c, 1)[0])
    expect('ever', metrics(c)[0][pb.NMGR_METRIC_INFER_LATENCY].count, done + 1)
    # If a period has more events than can be kept individually, that is reported, and the sums include all.
    for _ in range(8200):
        expect('start', c.start(h_nn=model).status.code, 0)
        expect('stop', c.stop(h_nn=model).status.code, 0)
    found, over = metrics(c, 600)
    expect('kept', (found[pb.NMGR_METRIC_MODEL_STOP_LATENCY].count, over[pb.NMGR_METRIC_MODEL_STOP_LATENCY]), (8192, True))
    found, over = metrics(c)
    expect('all', (found[pb.NMGR_METRIC_MODEL_STOP_LATENCY].count, over[pb.NMGR_METRIC_MODEL_STOP_LATENCY]), (8202, False))
    expect('unload', c.unload(h_nn=model).status.code, 0)


def hardware_counters_show_injected_errors(c):
    found = c.get_all_hw_counters()
    expect('status', found.status.code, 0)
    expect('devices', [h.device_index for h in found.counters], [0, 1, 2, 3])
    for h in found.counters:
        check(f'address {h.bdf}', re.fullmatch(r'[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]', h.bdf))
        for one in (c.get_hw_counters(bdf=h.bdf), c.get_hw_counters(device_id=h.device_index)):
            expect('one', (one.status.code, one.counters), (0, h))
    expect('addresses', len({h.bdf for h in found.counters}), 4)
    for what, answer in (('none', c.get_hw_counters()), ('unknown', c.get_hw_counters(bdf='ffff:00:00.0')),
                         ('beyond', c.get_hw_counters(device_id=4))):
        expect(what, (answer.status.code, len(answer.status.details) > 0), (2, True))
    # The configured faults affect the core on which this runs.
    before = found.counters[0].mem_ecc_corr
    model = c.load(NEFFS['model']).h_nn
    for _ in range(10):
        expect('infer', c.infer(h_nn=model, ifmap=MEMCPY).status.code, 0)
    expect('unload', c.unload(h_nn=model).status.code, 0)
    after = c.get_all_hw_counters().counters
    expect('corrected', [h.mem_ecc_corr for h in after], [before + 6, 0, 0, 0])
    expect('others', [(h.mem_ecc_uncorr, h.sram_ecc_corr, h.sram_ecc_uncorr) for h in after], [(0, 0, 0)] * 4)
    expect('set', c.set_static_transfer_adjustment(transfer_adjust_cnt=77).status.code, 0)
    expect('shown', {h.transfer_adjustment_cnt for h in c.get_all_hw_counters().counters}, {77})
    expect('set back', c.set_static_transfer_adjustment(transfer_adjust_cnt=0).status.code, 0)


def logged_errors_are_counted(c):
    before = c.read_all_counters().system_counters.num_logs_error
    expect('refused', c.load(b'nothing').status.code, 2)
    expect('a line', c.read_all_counters().system_counters.num_logs_error, before + 1)
    expect('none', c.infer(h_nn=nn(1)).status.code, 3)
    expect('no line', c.read_all_counters().system_counters.num_logs_error, before + 1)


def main():
    global NEFFS, MEMCPY, MLP
    folder = sys.argv[3]
    NEFFS = {name: open(f'{folder}/{name}.neff', 'rb').read() for name in ('model', 'mlp')}
    MEMCPY = [io('in', bytes(128 * 64 * 4))]
    MLP = [io('x', bytes(FEATURES * 512 * 4))]
    c = Client(sys.argv[1])
    counters_are_zero_before_any_work(c)
    done = work_is_counted_by_core_and_user(c)
    metrics_cover_their_period(c, done)
    hardware_counters_show_injected_errors(c)
    logged_errors_are_counted(c)
    final = Figures(c)
    print('counters.py: completed', final.status[OK])


main()
