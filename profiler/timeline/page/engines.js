// Shows how busy each engine is and what it waited for, as in `neuron-profile analyze idle`.

import { make } from './dom.js';
import { whole } from './format.js';
import { analysis, source, sourceChoice } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { reveal } from './rows.js';
import { duration } from './time.js';
import { glideTo, state } from './state.js';

const REASONS = [['busy', 'busy'], ['engine', 'waiting for an engine'], ['dma', 'waiting for DMA'], ['issue', 'issue'], ['runtime', 'runtime'], ['unknown', 'unknown'], ['end', 'no work left']];

function stacked(engine, total) {
  const parts = { busy: engine.busy_ns, ...engine.idle_by_reason_ns };
  const text = REASONS.filter(([key]) => parts[key] > 0).map(([key, name]) => `${name} ${((parts[key] / total) * 100).toFixed(1)}%`).join(', ');
  const box = make('span', { class: 'stack', role: 'img', 'aria-label': text, title: text });
  for (const [key] of REASONS) {
    if (!parts[key]) continue;
    const part = make('i', { class: `reason-${key}` });
    part.style.flexGrow = String(parts[key]);
    box.append(part);
  }
  return box;
}

// The name also shows that a core is idle.
export function trackOf(core, engine) {
  const { meta } = state;
  return meta.tracks.findIndex((track) => track.kind === 'engine' && track.name.toLowerCase() === engine.toLowerCase() &&
    meta.groups[track.group].source === source() && meta.groups[track.group].name.split(',')[0] === `NeuronCore ${core}`);
}

// ns of the execution of the chosen capture, as ps of the timeline.
export const psOf = (ns) => ns * 1000 + state.meta.sources[source()].offset - state.meta.begin;

function cause(wait) {
  if (wait.reason === 'engine' || wait.reason === 'dma') {
    const what = wait.semaphore !== undefined ? `semaphore ${wait.semaphore}` : `event ${wait.event}`;
    const of = wait.by_core !== undefined ? ` of core ${wait.by_core}` : '';
    if (wait.by_outside) return `${what}, changed by ${wait.by_outside === 'core' ? 'another core, not captured' : 'DMA that no captured instruction started'}`;
    return wait.reason === 'engine' ? `${what}, changed by ${wait.changed_by}${wait.opcode ? ` ${wait.opcode}` : ''}${of}` : `${what}, changed by DMA${wait.queue ? ` ${wait.queue}` : ''}${of}`;
  }
  return REASONS.find(([key]) => key === wait.reason)?.[1] ?? wait.reason;
}

// Root causes of waits: chains of at least two links, or with an unknown root.
function chains(idle) {
  const found = [];
  for (const engine of idle.engines) for (const chain of engine.chains ?? []) if (chain.links.length > 1 || chain.root_waited_for_unknown) found.push([engine, chain]);
  found.sort((a, b) => b[1].idle_ns - a[1].idle_ns);
  if (!found.length) return [];
  return [make('h3', {}, 'Causes of waits'),
    table([['Core', true], ['Engine', true], ['Root', true], ['Chain of waits, each with its share', true], ['Times'], ['Total'], ['Share of execution'], ['Longest']], found.map(([engine, chain]) => ({
      onclick: () => {
        reveal(trackOf(engine.core, engine.engine));
        glideTo(psOf(chain.longest_at_ns), psOf(chain.longest_at_ns + chain.longest_ns), 0.6);
      },
      cells: [String(engine.core), engine.engine, chain.root ?? 'unknown',
        chain.links.map((link) => `${link.name} (${((link.part_ns / chain.idle_ns) * 100).toFixed(0)}%)`).join(' > '),
        { value: chain.count, text: whole(chain.count) }, { value: chain.idle_ns, text: duration(chain.idle_ns * 1000) },
        bar(chain.idle_ratio), { value: chain.longest_ns, text: duration(chain.longest_ns * 1000) }],
    })))];
}

function render(box) {
  const choice = sourceChoice('engines');
  if (choice) box.append(choice);
  const idle = analysis(box, 'engines', 'idle');
  if (!idle) return;
  const waits = [];
  for (const engine of idle.engines) for (const wait of engine.waits) waits.push([engine, wait]);
  waits.sort((a, b) => b[1].idle_ns - a[1].idle_ns);
  box.append(make('p', { class: 'legend' }, make('span', {}, 'Where the time of the execution went:'), ...REASONS.map(([key, name]) => make('span', {}, make('i', { class: `reason-${key}` }), name))),
    make('div', { class: 'two' },
      table([['Core', true], ['Engine', true], ['Instructions'], ['Busy share of execution'], ['Time by reason', true]], idle.engines.map((engine) => ({
        onclick: () => reveal(trackOf(engine.core, engine.engine)),
        cells: [String(engine.core), engine.engine, { value: engine.instruction_count, text: whole(engine.instruction_count) }, bar(engine.busy_ratio), { element: stacked(engine, idle.total_ns), text: '' }],
      }))),
      table([['Core', true], ['Engine', true], ['Waited for', true], ['Count'], ['Total'], ['Share of execution'], ['Longest']], waits.map(([engine, wait]) => ({
        onclick: () => {
          reveal(trackOf(engine.core, engine.engine));
          if (wait.longest_ns) glideTo(psOf(wait.longest_at_ns), psOf(wait.longest_at_ns + wait.longest_ns), 0.6);
        },
        cells: [String(engine.core), engine.engine, cause(wait), { value: wait.count, text: whole(wait.count) }, { value: wait.idle_ns, text: duration(wait.idle_ns * 1000) },
          bar(wait.idle_ratio), { value: wait.longest_ns, text: duration(wait.longest_ns * 1000) }],
      })))), ...chains(idle));
}

export const start = () => addTab('engines', 'Engines', render);
