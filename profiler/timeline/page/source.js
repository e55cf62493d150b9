// The data source: this server. An alternative source is an object with the same functions, `tiles` in the format of
// docs/formats/timeline-tile.md, passed to start() of main.js.

async function ask(path, parameters) {
  const answer = await fetch(`/api/v1/${path}${parameters ? `?${new URLSearchParams(parameters)}` : ''}`);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `${path}: ${answer.status}`);
  return answer;
}

const askJson = async (path, parameters) => (await ask(path, parameters)).json();

// If the files do not record it, the answer is the reason.
async function askValue(path, parameters) {
  const { value, absent } = await askJson(path, parameters);
  if (absent) throw new Error(absent);
  return value;
}

// [0, 1, 2, 5] as "0-2,5".
function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length; i++) {
    const first = numbers[i];
    while (numbers[i + 1] === numbers[i] + 1) i++;
    parts.push(numbers[i] === first ? `${first}` : `${first}-${numbers[i]}`);
  }
  return parts.join(',');
}

export const server = {
  meta: () => askJson('meta'),
  tiles: async (level, tile, tracks) => (await ask('tiles', { level, tile, tracks: ranges(tracks) })).arrayBuffer(),
  // Names of the tensors of slices, and tiles with their numbers, from 1 on, instead of the kinds of slices.
  tensors: () => askJson('tensors'),
  tensorTiles: async (level, tile, tracks) => (await ask('tensor_tiles', { level, tile, tracks: ranges(tracks) })).arrayBuffer(),
  slice: (track, slice) => askJson('slice', { track, slice }),
  stats: (from, to) => askJson('stats', { from: Math.floor(from), to: Math.ceil(to) }),
  // The first hits that start at or after from; with isBack the last that start before it. For these whats, or instructions at a
  // place of their program ({ pc }), or of a source line ({ source, file, line }).
  hits: (whats, from, isBack, where) => askJson('hits', { ...(where ?? { whats: ranges(whats) }), from: Math.floor(from), back: isBack ? 1 : 0 }),
  analysis: (source, name) => askValue('analysis', { source, name, brief: 1 }), // steps of the path are requested by range
  whatIf: (source, changes) => askValue('analysis', { source, name: 'what-if', changes }),
  host: (name) => askValue('host', { name }),
  flows: (track, slice) => askJson('flows', { track, slice }),
  path: (source, from, to) => askJson('path', { source, from: Math.floor(from), to: Math.ceil(to) }),
  compare: () => askJson('compare'),
  flame: (source, from, to) => askJson('flame', { source, from: Math.floor(from), to: Math.ceil(to) }),
  flameStacks: (source) => askJson('flame_stacks', { source }), // of the whole capture
  lines: (source) => askJson('lines', { source }),
  iterations: (source, loop) => askJson('iterations', { source, loop }),
  sourceFile: (source, file) => askJson('source_file', { source, file }), // null: it has no text
  position: (track, slice) => askJson('position', { track, slice }), // null: unknown
  summary: (source) => askJson('summary', { source }),
  // Queries over the tables of captures (timeline_sql.h); a source without a server has none.
  sql: {
    sources: () => askJson('sql_sources'),
    begin: ({ sql, source, rows, seconds }) => askJson('sql', { sql, source, rows, seconds }),
    answer: (id) => askJson('sql_answer', { id }),
    cancel: (id) => askJson('sql_cancel', { id }),
  },
  // Shows other files: the address, and messages about them.
  drop: async (files) => {
    const query = new URLSearchParams(files.map((file) => ['file', `${file.size},${file.name}`]));
    const answer = await fetch(`/api/v1/drop?${query}`, { method: 'PUT', body: new Blob(files) });
    if (!answer.ok) throw new Error((await answer.text()).trim() || `drop: ${answer.status}`);
    return answer.json();
  },
};
