// Starts the page of neuron-monitor: reports of the stream at the top, history of the database below.

import { byId, make, setText } from './dom.js';
import * as cores from './cores.js';
import * as format from './format.js';
import * as history from './history.js';
import * as latency from './latency.js';
import * as tables from './tables.js';
import * as theme from './theme.js';
import { follow } from './live.js';
import { state, take, totals } from './state.js';

// Rates exclude processes with uncounted executions.
const rateOf = (t) => (t.uncounted ? `/s, ${t.uncounted} not counted` : '/s');

// [id, name, text, details, raw, bad]
const TILES = [
  ['busy', 'Busy cores', (t) => (t.cores && t.busy !== null ? t.busy.toFixed(2) : '-'), (t) => (t.cores ? `of ${t.cores}` : ''), (t) => t.busy],
  ['rate', 'Executions', (t) => format.rate(t.rate), rateOf, (t) => t.rate],
  ['failed', 'Failures', (t) => format.rate(t.failureRate), rateOf, (t) => t.failureRate, (t) => t.failureRate > 0],
  ['p50', 'Latency p50', (t) => format.nanoseconds(t.p50), () => '', (t) => t.p50],
  ['p99', 'Latency p99', (t) => format.nanoseconds(t.p99), () => '', (t) => t.p99],
  ['flops', 'FLOP/s', (t) => format.count(t.flops), () => '', (t) => t.flops],
  ['device', 'Device memory', (t) => format.bytes(t.used), (t) => [t.capacity && `of ${format.bytes(t.capacity)}`, t.used !== null && t.unreported && `${t.unreported} not reported`].filter(Boolean).join(', '), (t) => t.used],
  ['host', 'Host memory', (t) => format.bytes(t.memory), (t) => `of ${format.bytes(t.memoryTotal)}`, (t) => t.memory],
  ['vcpu', 'vCPU', (t) => format.percent(t.vcpu), () => '', (t) => t.vcpu],
];

function drawTiles() {
  const list = byId('tiles');
  const now = totals();
  TILES.forEach(([id, name, text, behind, raw, bad], i) => {
    let tile = list.children[i];
    if (!tile) {
      tile = make('div', { id: `tile-${id}` }, make('dt', {}, name), make('dd', {}, make('span'), make('small')));
      list.append(tile);
    }
    setText(tile.querySelector('span'), text(now));
    setText(tile.querySelector('small'), behind(now));
    tile.dataset.value = raw(now) ?? '';
    tile.classList.toggle('bad', Boolean(bad && bad(now)));
  });
}

function drawHeader() {
  const { report } = state;
  const info = report.neuron_hardware_info ?? {};
  const host = report.neuron_ext?.host_name || 'neuron-monitor';
  const kind = report.instance_info?.instance_type || report.neuron_ext?.hardware?.instance_type || '';
  setText(byId('host'), host);
  document.title = `${host} - neuron-monitor`;
  setText(byId('machine'), [kind, info.neuron_device_count ? `${info.neuron_device_count} × ${info.neuron_device_type || 'device'}` : 'no Neuron device',
    state.cores.size ? `${state.cores.size} cores` : '',
    state.lnc > 1 ? `LNC ${state.lnc}` : '', report.neuron_ext?.hardware?.software ? 'software cores: times are host time' : ''].filter(Boolean).join(' · '));
  setText(byId('connection'), state.period ? `live, ${state.period.toFixed(1)}s` : 'live');
}

function draw() {
  if (!state.report) return;
  drawHeader();
  drawTiles();
  cores.draw();
  tables.draw();
  latency.draw();
}

cores.start(history.showCore);
latency.start();
history.start().catch((error) => setText(byId('history-note'), error.message));
theme.start(() => { draw(); history.draw(); });
window.addEventListener('resize', () => { draw(); history.draw(); });
document.addEventListener('visibilitychange', () => history.tick(Date.now()));
setInterval(() => history.tick(Date.now()), 1000);
follow('/api/v1/live', (report, isNewest) => {
  take(report);
  if (isNewest && !document.hidden) draw();
}, (how, sentence) => {
  byId('connection').dataset.state = how;
  setText(byId('connection'), sentence);
});
