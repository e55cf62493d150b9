// Reads histograms of latency from reports: 64 buckets per octave of nanoseconds.

const SUB_BITS = 6;
const SUB = 1 << SUB_BITS;

// Returns the lower bound and the width of a bucket in ns.
export function bounds(bucket) {
  const octave = bucket >> SUB_BITS;
  if (octave === 0) return [bucket, 1];
  const width = 2 ** (octave - 1);
  return [(SUB + (bucket & (SUB - 1))) * width, width];
}

export function merge(histograms) {
  const counts = new Map();
  let sum = 0;
  for (const histogram of histograms) {
    if (!histogram) continue;
    sum += histogram.sum_ns;
    for (const [bucket, count] of histogram.buckets) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  const buckets = [...counts].sort((a, b) => a[0] - b[0]);
  return { sum_ns: sum, buckets, count: buckets.reduce((all, [, count]) => all + count, 0) };
}

// Returns a percentile in ns; null without an execution. Rule of all outputs: rank floor(p (n - 1)), middle of the bucket.
export function percentile(histogram, percent) {
  if (!histogram || histogram.count === 0) return null;
  const rank = Math.min(Math.floor((percent / 100) * (histogram.count - 1)), histogram.count - 1);
  let before = 0;
  for (const [bucket, count] of histogram.buckets) {
    before += count;
    if (before > rank) {
      const [low, width] = bounds(bucket);
      return low + (width - 1) / 2;
    }
  }
  return null;
}
