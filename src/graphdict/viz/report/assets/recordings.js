// Several recordings, one after the other: choose one, compare two, and the table of all.

const recordings = (() => {
  if (!page.recordings) return null;
  const start = decode(page.recordings.start, Uint32Array);
  const means = decode(page.recordings.means, Float32Array);
  return {
    names: page.recordings.names.map(readable),
    start,
    end: Array.from(start, (_, r) => (r + 1 < start.length ? start[r + 1] : page.samples)),
    mean: (r, k) => means[r * page.atoms.length + k],
    switches: decode(page.recordings.switches, Float32Array),
    of: (sample) => d3.bisectRight(start, sample) - 1,
  };
})();

// The points of the timeline that a recording has: [first, last].
function pointsOf(r) {
  const first = d3.bisectLeft(starts, recordings.start[r]);
  return [first, d3.bisectLeft(starts, recordings.end[r]) - 1];
}

// Where recordings begin, as lines across the lanes, with names where there is room.
function drawBreaks(root, lanes) {
  if (!recordings) return;
  const group = root.append('g').attr('class', 'breaks').attr('pointer-events', 'none');
  let free = -Infinity;
  recordings.names.forEach((name, r) => {
    const [first, last] = pointsOf(r);
    const x = lanes.x(span.left[first]);
    const right = Math.min(lanes.x(span.right[last]), lanes.width - 12);
    const left = Math.max(x, lanes.gutter);
    if (right <= left) return;
    if (x > lanes.gutter + 1)
      group
        .append('line')
        .attr('x1', x)
        .attr('x2', x)
        .attr('y1', 0)
        .attr('y2', lanes.bottom)
        .attr('stroke', 'var(--ink)')
        .attr('stroke-width', recordings.names.length > 60 ? 0.3 : 0.8)
        .attr('stroke-dasharray', '2 2');
    const text = shortened(name, 18);
    if (!zoomed() && left > free && right - left > textWidth(text, 10)) {
      group
        .append('text')
        .text(text)
        .attr('x', left + 3)
        .attr('y', lanes.bottom + 36)
        .attr('font-size', 10)
        .attr('fill', 'var(--muted)');
      free = left + textWidth(text, 10);
    }
  });
}

function setUpRecordings() {
  if (!recordings) return;
  byId('recordings').hidden = false;
  const chosen = [byId('recording'), byId('other')];
  chosen[0].append(make('option', { value: '-1' }, 'all'));
  chosen[1].append(make('option', { value: '-1' }, 'the mean of all'));
  for (const box of chosen)
    box.append(...recordings.names.map((name, r) => make('option', { value: String(r) }, name)));
  const all = d3.range(recordings.names.length);
  const shareOf = (r, k) => (r < 0 ? d3.mean(all, (other) => recordings.mean(other, k)) : recordings.mean(r, k));
  const switchesOf = (r) => (r < 0 ? d3.mean(recordings.switches) : recordings.switches[r]);

  function choose() {
    const [one, other] = chosen.map((box) => Number(box.value));
    if (one < 0) timeline.setView(...fullView);
    else {
      const [first, last] = pointsOf(one);
      timeline.setView(span.left[first], span.right[last]);
      go(first);
    }
    strips.show(one, other);
    compare(one, other);
    for (const row of byId('recordings-table').tBodies[0].rows)
      row.classList.toggle('chosen', one >= 0 && row.dataset.recording === String(one));
  }

  const bar = (share, colour) => {
    const fill = make('span', { class: 'fill' });
    fill.style.width = `${Math.min(100, 100 * share)}%`;
    fill.style.background = colour;
    return make('span', { class: 'track' }, fill);
  };

  function compare(one, other) {
    const names = [one < 0 ? 'mean of all' : recordings.names[one], other < 0 ? 'mean of all' : recordings.names[other]];
    const signed = (value) => `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(value).toFixed(2)}`;
    const rows = atoms.map((atom, k) => {
      const [a, b] = [shareOf(one, k), shareOf(other, k)];
      return make(
        'tr',
        {},
        make('td', {}, chip(atom.colour), atom.name),
        make('td', {}, bar(a, atom.colour), ` ${a.toFixed(2)}`),
        make('td', {}, bar(b, atom.colour), ` ${b.toFixed(2)}`),
        make('td', { class: 'n' }, signed(a - b)),
      );
    });
    const [a, b] = [switchesOf(one), switchesOf(other)];
    rows.push(
      make(
        'tr',
        {},
        make('td', {}, `switches in ${whole(page.recordings.per)} samples`),
        make('td', {}, number(a)),
        make('td', {}, number(b)),
        make('td', { class: 'n' }, signed(a - b)),
      ),
    );
    byId('beside').hidden = one === other;
    byId('beside').replaceChildren(
      make('thead', {}, make('tr', {}, ...['Mean coefficient', ...names, 'difference'].map((h, n) => make('th', { scope: 'col', ...(n === 3 ? { class: 'n' } : {}) }, h)))),
      make('tbody', {}, ...rows),
    );
  }

  const head = ['Recording', 'samples', ...atoms.map((atom) => atom.name), `switches in ${whole(page.recordings.per)}`];
  const body = all.map((r) => {
    const row = make(
      'tr',
      { 'data-recording': String(r) },
      make('td', { dir: 'auto' }, recordings.names[r]),
      make('td', { class: 'n' }, whole(recordings.end[r] - recordings.start[r])),
      ...atoms.map((atom, k) => {
        const cell = make('td', { class: 'n' }, recordings.mean(r, k).toFixed(2));
        cell.style.background = `color-mix(in srgb, ${atom.colour} ${Math.round(60 * Math.min(1, recordings.mean(r, k)))}%, transparent)`;
        return cell;
      }),
      make('td', { class: 'n' }, number(recordings.switches[r])),
    );
    row.addEventListener('click', () => {
      chosen[0].value = String(r);
      choose();
    });
    return row;
  });
  byId('recordings-table').append(
    make('thead', {}, make('tr', {}, ...head.map((h, n) => make('th', { scope: 'col', ...(n ? { class: 'n' } : {}) }, h)))),
    make('tbody', {}, ...body),
  );
  byId('recordings-hint').textContent =
    `${whole(all.length)} recordings, one after the other in the timeline. Cells: mean coefficient of an atom. A switch is a sample whose strongest atom is another than before. Press a row to see its recording; choose another beside it to see both, in samples from the beginning of each.`;
  for (const box of chosen) box.addEventListener('change', choose);
  compare(-1, -1);
}
