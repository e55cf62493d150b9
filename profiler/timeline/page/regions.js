// Repeats: loops, iterations, layers, with their outliers, each with a link.

import { make } from './dom.js';
import { whole } from './format.js';
import { analysis, source, sourceChoice } from './answers.js';
import { goTo } from './details.js';
import { psOf } from './engines.js';
import { addTab, bar, showTab, table } from './panel.js';
import { reveal } from './rows.js';
import { duration } from './time.js';
import { glideTo, showRange, state, tell } from './state.js';

const AROUND = 0.5; // share of the width that is shown before and after

const titleOf = (engine) => state.meta.tracks.find((track) => track.kind === 'engine' && track.name.toLowerCase() === engine)?.name ?? engine;

// The row of a region.
function trackOf(region) {
  const { meta } = state;
  const name = region.engine ? `${titleOf(region.engine)} regions` : 'Layers';
  return meta.tracks.findIndex((track) => track.kind === 'region' && track.name === name && meta.groups[track.group].source === source() &&
    meta.groups[track.group].name.split(',')[0] === `NeuronCore ${region.core}`);
}

// Shows one instance of a region, and selects it if the source can find it.
async function jump(region, startNs, endNs) {
  const from = psOf(startNs);
  const track = trackOf(region);
  if (track >= 0) reveal(track);
  glideTo(from, psOf(endNs), AROUND);
  const what = state.meta.whats.findIndex(({ name, family }) => family === 'region' && region.name.startsWith(name));
  if (track < 0 || what < 0) return;
  try {
    const { hits } = await state.source.hits([what], Math.max(0, Math.round(from)), false);
    const hit = hits.find((one) => one.track === track && Math.abs(one.start - from) < 2);
    if (hit) await goTo(hit.track, hit.slice);
    showTab('regions');
  } catch (error) {
    if (!/is not in this file/.test(error.message)) tell('error', error);
  }
}

function outliers(region) {
  const box = make('span', {});
  region.outliers.forEach((one, i) => box.append(i ? ', ' : '', make('button', {
    type: 'button', class: 'as-link', title: `Repetition ${whole(one.index)} of ${whole(region.count)}, at ${duration(one.start_ns * 1000)}`,
    onclick: (event) => {
      event.stopPropagation();
      jump(region, one.start_ns, one.end_ns);
    },
  }, `#${whole(one.index)} ${duration((one.end_ns - one.start_ns) * 1000)}`)));
  const more = region.outlier_count - region.outliers.length;
  if (more > 0) box.append(`, ${whole(more)} more`);
  return { value: region.outlier_count, element: box, text: '' };
}

function line(region) {
  const time = (ns) => ({ value: ns, text: duration(ns * 1000) });
  return {
    onclick: () => {
      const track = trackOf(region);
      if (track >= 0) reveal(track);
      glideTo(psOf(region.start_ns), psOf(region.end_ns), 0.9);
    },
    cells: [`${'· '.repeat(region.depth)}${region.name}`, region.kind, `NC ${region.core} ${region.engine ? titleOf(region.engine) : 'all'}`, { value: region.count, text: whole(region.count) },
      time(region.median_ns), {
        value: region.worst_ns, text: '', element: make('button', {
          type: 'button', class: 'as-link', title: `Repetition ${whole(region.worst)}`, onclick: (event) => {
            event.stopPropagation();
            jump(region, region.worst_at_ns, region.worst_at_ns + region.worst_ns);
          },
        }, duration(region.worst_ns * 1000)),
      }, time(region.total_ns), region.covered_ratio === null ? '' : bar(region.covered_ratio), outliers(region)],
  };
}

function render(box) {
  const choice = sourceChoice('regions');
  if (choice) box.append(choice);
  const found = analysis(box, 'regions', 'regions');
  if (!found) return;
  if (!found.regions.length) {
    box.append(make('p', { class: 'soft' }, 'No repetitions: no loop, iteration, layer or collective.'));
  } else {
    box.append(table([['Region', true], ['Kind', true], ['Where', true], ['Count'], ['Median'], ['Longest'], ['Total'], ['Share of execution'], ['Slow repetitions', true]], found.regions.map(line), { most: 300 }));
  }
  if (found.omitted) box.append(make('p', { class: 'soft' }, `${whole(found.omitted)} repetitions are omitted: too many different ones.`));
  if (found.has_unread_collectives) box.append(make('p', { class: 'soft' }, 'Collective-communication core records cannot be read: only collectives with known names are listed.'));
}

// Without a place in the link, the page starts at the region with the most time.
export function open() {
  const { busiest, compares, sources } = state.meta;
  if (!busiest || compares || sources.length !== 1) return;
  showRange(busiest.from, busiest.to, 0.9);
  showTab('regions');
}

export const start = () => addTab('regions', 'Regions', render);
