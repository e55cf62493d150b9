// A worker: which names a regular expression matches. Some expressions take longer than anyone
// lives; the user may cancel it.

onmessage = ({ data: { text, lists } }) => {
  postMessage(null); // it runs: what it takes from here on is the expression's
  const pattern = new RegExp(text, 'i');
  postMessage(lists.map((names) => names.flatMap((name, i) => (pattern.test(name) ? [i] : []))));
};
