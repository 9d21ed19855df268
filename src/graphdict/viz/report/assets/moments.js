// When the points of the timeline are: what each covers, what is in view, and in which words.

// Every point covers [left, right], half way to its neighbours; gaps are left empty.
const span = (() => {
  const count = time.points;
  const end = time.last;
  const middle = Float64Array.from(time.first, (t, i) => (t + end[i]) / 2);
  const left = Float64Array.from(time.first, (t) => t - time.step / 2);
  const right = Float64Array.from(end, (t) => t + time.step / 2);
  let gaps = 0;
  for (let i = 1; i < count; i++) {
    if (time.first[i] - end[i - 1] > time.gap) {
      gaps += 1;
      continue;
    }
    left[i] = (time.first[i] + end[i - 1]) / 2;
    right[i - 1] = left[i];
  }
  return { left, right, middle, usual: (time.step * page.samples) / count, gaps };
})();

const fullView = [span.left[0], span.right[time.points - 1]];
const view = { domain: fullView.slice() };
const zoomed = () => view.domain[1] - view.domain[0] < 0.999 * (fullView[1] - fullView[0]);

const dateText = (() => {
  const every = (step) =>
    time.kind === 'date' && time.first.every((t) => t % step === 0) && time.last.every((t) => t % step === 0);
  const format = d3.utcFormat(
    `%Y-%m-%d${every(86400000) ? '' : every(60000) ? ' %H:%M' : every(1000) ? ' %H:%M:%S' : ' %H:%M:%S.%L'}`,
  );
  return (t) => format(new Date(t));
})();

const digits = (() => {
  // enough to tell neighbours apart
  const size = d3.max([Math.abs(fullView[0]), Math.abs(fullView[1])]) / span.usual;
  return Math.max(4, Math.min(15, Math.ceil(Math.log10(size || 1)) + 2));
})();

function momentText(point) {
  const say = time.kind === 'date' ? dateText : (t) => `${Number(t.toPrecision(digits))}`;
  const end = time.last[point];
  const range = time.first[point] === end ? say(end) : `${say(time.first[point])} to ${say(end)}`;
  return time.kind === 'number' ? `${range} ${time.unit}` : range;
}

function sampleText(point) {
  let [first, last] = samplesOf(point);
  let where = '';
  if (recordings) {
    const r = recordings.of(first);
    [first, last] = [first - recordings.start[r], last - recordings.start[r]];
    where = ` of ${isolated(recordings.names[r])}`;
  }
  return first === last
    ? `sample ${whole(first + 1)}${where}`
    : `samples ${whole(first + 1)} to ${whole(last + 1)}${where}`;
}
