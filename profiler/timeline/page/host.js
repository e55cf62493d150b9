// Shows host activity: gaps between executions, device memory at its peak, late ranks, as in `neuron-profile analyze -d`.

import { make } from './dom.js';
import { bytes, whole } from './format.js';
import { answer } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { duration } from './time.js';
import { glideTo, state } from './state.js';

const CAUSES = { tensors: 'tensor copies', model: 'model loads and unloads', execution: 'execution call', other_call: 'other calls', application: 'application' };

// ns since 1970, which a double holds with an error of 256 ns, as ps of the timeline.
const psOf = (ns) => (ns - state.meta.zero_ns) * 1000 - state.meta.begin;

function gaps(box) {
  const processes = answer(box, 'host', 'host gaps', () => state.source.host('host-gaps'));
  if (!processes) return;
  const ofGap = (ns) => (ns === undefined ? { value: -1, text: '-' } : { value: ns, text: duration(ns * 1000) }); // absent
  const rows = processes.flatMap(({ process_id: pid, cores }) => cores.map((core) => ({ pid, ...core })));
  box.append(make('h3', {}, 'Gaps between executions'), table([['Process'], ['Core'], ['Executions'], ['Gaps'], ['Total'], ['Share of the time from first to last'], ['Median'], ['Longest'], ['Host activity', true]], rows.map((row) => ({
    onclick: row.gap_count ? () => glideTo(psOf(row.longest_at_ns), psOf(row.longest_at_ns) + row.longest_ns * 1000, 0.4) : null,
    cells: [String(row.pid ?? 'unknown'), String(row.nc), { value: row.run_count, text: whole(row.run_count) }, { value: row.gap_count, text: whole(row.gap_count) },
      { value: row.gap_ns, text: duration(row.gap_ns * 1000) }, row.span_ns ? bar(row.gap_ns / row.span_ns) : '', ofGap(row.median_ns), ofGap(row.longest_ns),
      Object.entries(row.causes_ns).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]).map(([cause, ns]) => `${CAUSES[cause] ?? cause} ${duration(ns * 1000)}`).join(', ')],
  }))));
}

function memory(box) {
  const processes = answer(box, 'host', 'host memory', () => state.source.host('memory'));
  if (!processes) return;
  for (const { process_id: pid, peak_bytes: peak, peak_ns: at, uses } of processes) {
    if (!uses?.length) continue; // the trace has no allocations
    box.append(make('h3', {}, `Device memory of process ${pid ?? 'unknown'}: ${bytes(peak)} at ${duration(psOf(at) + state.meta.begin)}`),
      table([['Use', true], ['At the peak'], ['Share of peak'], ['Own peak']], uses.map((use) => ({
        cells: [use.name, { value: use.peak_bytes, text: bytes(use.peak_bytes) }, bar(use.peak_bytes / peak), { value: use.own_peak_bytes, text: bytes(use.own_peak_bytes) }],
      }))));
  }
}

function ranks(box) {
  box.append(make('h3', {}, 'Ranks'));
  const kinds = answer(box, 'host', 'host ranks', () => state.source.host('ranks'));
  for (const kind of kinds ?? []) {
    box.append(make('h3', {}, `${kind.type}: ${whole(kind.step_count)} steps, median skew ${duration(kind.median_ns * 1000)}, maximum ${duration(kind.greatest_ns * 1000)}`),
      table([['Worker'], ['Spans'], ['Total'], ['Was last (share of steps)'], ['Behind the first'], ['Waited for the last']], kind.workers.map((row) => ({
        cells: [String(row.worker_gid), { value: row.span_count, text: whole(row.span_count) }, { value: row.total_ns, text: duration(row.total_ns * 1000) },
          kind.step_count ? bar(row.last_count / kind.step_count) : '', { value: row.behind_ns, text: duration(row.behind_ns * 1000) }, { value: row.waited_ns, text: duration(row.waited_ns * 1000) }],
      }))));
  }
}

const PARTS = { run: 'compute', host: 'host', wait: 'wait', link: 'communicate', inside: 'in a collective', unknown: 'unknown' };
const ROWS = 600;

function joined(box) {
  const job = answer(box, 'host', 'host joined', () => state.source.host('joined'));
  if (!job || job.unknown) return;
  const share = (ns, of) => ({ value: ns, text: of ? `${((100 * ns) / of).toFixed(1)}%` : '' });
  const sum = (parts) => Object.values(parts).reduce((all, ns) => all + ns, 0);
  box.append(make('h3', {}, `${whole(job.workers.length)} ranks at ${whole(job.collective_count)} collectives; critical path ${duration(job.total_ns * 1000)}; shares are of the rank's own time`),
    table([['Rank'], ['Machine', true], ...Object.values(PARTS).map((name) => [name]), ['Waited'], ['Last'], ['On critical path']], job.workers.slice(0, ROWS).map((row) => ({
      cells: [{ value: row.number, text: String(row.number) }, row.host, ...Object.keys(PARTS).map((part) => share(row.parts_ns[part], row.span_ns)),
        { value: row.waited_ns, text: duration(row.waited_ns * 1000) }, { value: row.last_count, text: whole(row.last_count) }, { value: sum(row.path_ns), text: duration(sum(row.path_ns) * 1000) }],
    }))));
}

function render(box) {
  const left = make('div', {});
  const right = make('div', {});
  if (state.meta.tracks.some((track) => track.kind === 'rank')) joined(left);
  if (state.meta.tracks.some((track) => track.kind === 'host')) {
    gaps(left);
    ranks(left);
  }
  memory(right);
  box.append(make('div', { class: 'two' }, left, right));
}

export const start = () => addTab('host', 'Host', render);
