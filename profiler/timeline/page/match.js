// A worker that matches names with a regular expression. Some expressions take practically forever; the user may cancel it.

onmessage = ({ data: { text, lists } }) => {
  const pattern = new RegExp(text, 'i');
  pattern.test(''); // compiles it: an expression that is too deep fails here
  postMessage(null); // it is running: later time is spent by the expression
  postMessage(lists.map((names) => names.flatMap((name, i) => (pattern.test(name) ? [i] : []))));
};
