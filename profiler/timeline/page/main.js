// The timeline page of neuron-profile: rows of slices over time, and analyses of them.

import { byId, setText } from './dom.js';
import { whole } from './format.js';
import * as advice from './advice.js';
import * as bubbles from './bubbles.js';
import * as compare from './compare.js';
import * as details from './details.js';
import * as drawing from './draw.js';
import * as drop from './drop.js';
import * as engines from './engines.js';
import * as flame from './flame.js';
import * as flows from './flows.js';
import * as host from './host.js';
import * as idle from './idle.js';
import * as input from './input.js';
import * as keys from './keys.js';
import * as layers from './layers.js';
import * as legend from './legend.js';
import * as lines from './lines.js';
import * as link from './link.js';
import * as markers from './markers.js';
import * as memory from './memory.js';
import * as onchip from './onchip.js';
import * as panel from './panel.js';
import * as path from './path.js';
import * as place from './place.js';
import * as range from './range.js';
import * as regions from './regions.js';
import * as roofline from './roofline.js';
import * as rows from './rows.js';
import * as ruler from './ruler.js';
import * as search from './search.js';
import * as sql from './sql.js';
import * as summary from './summary.js';
import * as theme from './theme.js';
import * as tooltip from './tooltip.js';
import * as whatIf from './what-if.js';
import { server } from './source.js';
import { changed, on, onFrame, showAll, state, tell } from './state.js';
import { Tiles } from './tiles.js';
import { duration } from './time.js';

function say(text, isBad) {
  setText(byId('note'), text);
  byId('note').classList.toggle('bad', Boolean(isBad));
}

function head() {
  const { meta } = state;
  const [first] = meta.sources;
  setText(byId('title'), meta.title);
  document.title = `${meta.title} - neuron-profile`;
  setText(byId('facts'), meta.compares ? `before: ${first.name} (${duration(first.total ?? 0)}) · after: ${meta.sources[1].name} (${duration(meta.sources[1].total ?? 0)}) · ${first.instance}${meta.part ? ` · ${meta.part}` : ''}` : [meta.note, first?.neff.slice(first.neff.lastIndexOf('/') + 1), first?.instance, meta.sources.length > 1 ? `${meta.sources.length} captures` : '',
    first?.total !== undefined && meta.sources.length === 1 ? `execution ${duration(first.total)}` : '', `${whole(meta.slices)} records`, meta.part].filter(Boolean).join(' · '));
  byId('facts').title = meta.note ? meta.note_more : byId('facts').textContent;
}

function frame(now) {
  drawing.frame(now);
  ruler.draw();
  legend.draw(now);
  tooltip.draw();
}

function resize() {
  const before = state.width;
  drawing.resize();
  if (before !== state.width) state.scale *= before / state.width;
  tell('size');
  changed();
}

export async function start(source) {
  try {
    state.source = source;
    state.meta = await source.meta();
  } catch (error) {
    say(`Cannot load the capture: ${error.message}`, true);
    return;
  }
  state.tiles = new Tiles(source, state.meta, () => { say(''); tell('tiles'); changed(); }, (error) => say(`No data: ${error.message}. Check that neuron-profile is still running.`, true));
  state.meta.groups.forEach((group, g) => group.folded && state.folded.add(g));
  rows.unfoldWork();
  head();
  drawing.start();
  ruler.start();
  input.start();
  keys.start();
  legend.start();
  const parts = [details, flows, range, search, markers, drop];
  if (state.meta.compares) parts.push(compare);
  if (state.meta.zero_ns && source.host) parts.push(host, idle);
  if (state.meta.sources.length) parts.push(place, advice, whatIf, lines, summary, regions, engines, bubbles, path, layers, flame, roofline, memory, onchip);
  if (source.sql) parts.push(sql);
  for (const part of parts) part.start();
  panel.start();
  on('error', (error) => say(error.message, true));
  rows.layout();
  theme.start(() => { drawing.restyle(); ruler.restyle(); changed(); });
  resize();
  panel.showTab('slice');
  if (!link.read()) {
    showAll();
    regions.open();
  }
  link.start();
  state.meta.tracks.forEach((track, t) => state.tiles.want(t, state.meta.level_top, 0)); // the overview, shown until better tiles arrive
  state.tiles.flush();
  onFrame(frame);
  new ResizeObserver(resize).observe(byId('rows'));
  changed();
}

start(server);
