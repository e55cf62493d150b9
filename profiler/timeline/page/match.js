// A worker: which names a regular expression matches. Some expressions take longer than anyone
// lives; the user may cancel it.

onmessage = ({ data: { text, lists } }) => {
  const pattern = new RegExp(text, 'i');
  pattern.test(''); // compiles it: what is too deep fails here
  postMessage(null); // it runs: what it takes from here on is the expression's
  postMessage(lists.map((names) => names.flatMap((name, i) => (pattern.test(name) ? [i] : []))));
};
