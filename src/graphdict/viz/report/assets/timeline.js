// Coefficients in time: a lane for each atom, drawn in steps, with a cursor that moves along.

const TOP = 5; // room for the cursor's dots

const timeline = (() => {
  const svg = byId('timeline');
  const lanes = {};

  function measure() {
    const width = svg.clientWidth;
    const count = atoms.length;
    const lane = count <= 4 ? 46 : Math.max(7, Math.min(34, Math.round(360 / count)));
    const gap = lane > 20 ? 5 : 2;
    const gutter = width < 500 ? 26 : 62;
    const bottom = TOP + count * (lane + gap);
    Object.assign(lanes, { width, lane, gap, gutter, bottom, height: bottom + 43 });
    const scale = time.kind === 'date' ? d3.scaleUtc() : d3.scaleLinear();
    lanes.x = scale.domain(view.domain).range([gutter, Math.max(width - 12, gutter + 20)]);
    const most = Math.max(1, d3.max(time.high || time.mean));
    lanes.y = (k) =>
      d3
        .scaleLinear()
        .domain([0, most])
        .range([TOP + (k + 1) * (lane + gap) - gap, TOP + k * (lane + gap)]);
  }

  // Points in view, merged where several share a pixel: { l, r, mean, low, high } for one atom.
  function columns(k) {
    const count = atoms.length;
    const from = Math.max(0, d3.bisectLeft(span.right, view.domain[0]));
    const to = Math.min(time.points, d3.bisectRight(span.left, view.domain[1]));
    const found = [];
    let open = null;
    for (let i = from; i < to; i++) {
      const at = i * count + k;
      const low = time.low ? time.low[at] : time.mean[at];
      const high = time.high ? time.high[at] : time.mean[at];
      const l = lanes.x(span.left[i]);
      const r = lanes.x(span.right[i]);
      if (open && r - open.l < 1) {
        open.r = r;
        open.sum += time.mean[at];
        open.n += 1;
        open.low = Math.min(open.low, low);
        open.high = Math.max(open.high, high);
      } else {
        open = { l, r, sum: time.mean[at], n: 1, low, high };
        found.push(open);
      }
    }
    return found;
  }

  // Outline of steps between two heights, broken at gaps.
  function outline(found, upper, lower) {
    const runs = [];
    found.forEach((c, n) => {
      if (n === 0 || c.l - found[n - 1].r > 0.75) runs.push([]);
      runs[runs.length - 1].push(c);
    });
    const f = (v) => v.toFixed(1);
    return runs
      .map((run) => {
        const there = run.map((c) => `L${f(c.l)} ${f(upper(c))}L${f(c.r)} ${f(upper(c))}`).join('');
        const back = run
          .slice()
          .reverse()
          .map((c) => `L${f(c.r)} ${f(lower(c))}L${f(c.l)} ${f(lower(c))}`)
          .join('');
        return `M${there.slice(1)}${back}Z`;
      })
      .join('');
  }

  function draw() {
    measure();
    const root = d3
      .select(svg)
      .attr('height', lanes.height)
      .attr('viewBox', `0 0 ${lanes.width} ${lanes.height}`);
    root.selectAll('*').remove();
    if (lanes.width < 40) return;
    root
      .append('clipPath')
      .attr('id', 'lanes')
      .append('rect')
      .attr('x', lanes.gutter)
      .attr('width', lanes.width - 12 - lanes.gutter)
      .attr('height', lanes.bottom + 4);
    const body = root.append('g').attr('clip-path', 'url(#lanes)');
    let shared = merged;
    atoms.forEach((atom, k) => {
      const y = lanes.y(k);
      const base = y.range()[0];
      if (lanes.lane >= 9 || k % 2 === 0)
        root
          .append('text')
          .text(lanes.gutter > 40 ? atom.name : k + 1)
          .attr('x', lanes.gutter - 8)
          .attr('y', base - lanes.lane / 2)
          .attr('text-anchor', 'end')
          .attr('dominant-baseline', 'central')
          .attr('font-size', Math.max(8, Math.min(12.5, lanes.lane * 0.85)))
          .attr('fill', atom.colour);
      body
        .append('rect')
        .attr('x', lanes.gutter)
        .attr('width', lanes.width - 12 - lanes.gutter)
        .attr('y', base - lanes.lane)
        .attr('height', lanes.lane)
        .attr('fill', 'var(--soft)')
        .attr('opacity', 0.6);
      const found = columns(k);
      shared = shared || found.some((c) => c.n > 1);
      body
        .append('path')
        .attr(
          'd',
          outline(
            found,
            (c) => y(c.high),
            (c) => y(c.low),
          ),
        )
        .attr('fill', atom.colour)
        .attr('opacity', 0.3);
      body
        .append('path')
        .attr(
          'd',
          outline(
            found,
            (c) => y(c.sum / c.n),
            () => base,
          ),
        )
        .attr('fill', atom.colour)
        .attr('opacity', 0.75);
    });
    drawBreaks(root, lanes);
    drawAxis(root);
    root.append('g').attr('class', 'cursor').attr('pointer-events', 'none');
    hint(shared);
    move();
  }

  // Years have no comma for thousands.
  const plainTick = (format) => (t) => (Math.abs(t) < 10000 ? format(t).replace(/,/g, '') : format(t));

  function drawAxis(root) {
    const ticks = Math.max(2, Math.floor((lanes.width - lanes.gutter) / 105));
    const axis = root
      .append('g')
      .attr('transform', `translate(0,${lanes.bottom + 1})`)
      .attr('color', 'var(--muted)')
      .call(
        d3
          .axisBottom(lanes.x)
          .ticks(ticks)
          .tickSize(5)
          .tickSizeOuter(0)
          .tickPadding(7)
          .tickFormat(time.kind === 'date' ? null : plainTick(lanes.x.tickFormat(ticks)))
          .tickValues(time.kind === 'index' ? lanes.x.ticks(ticks).filter(Number.isInteger) : null),
      );
    axis.attr('font-size', 11).attr('font-family', null).selectAll('path,line').attr('stroke', 'var(--line)');
    axis.selectAll('text').attr('fill', 'var(--muted)');
    if (!zoomed()) return;
    const track = d3.scaleLinear().domain(fullView).range(lanes.x.range());
    const bar = root.append('g').attr('class', 'scroll');
    bar
      .append('rect')
      .attr('x', lanes.x.range()[0])
      .attr('width', lanes.x.range()[1] - lanes.x.range()[0])
      .attr('y', lanes.bottom + 31)
      .attr('height', 8)
      .attr('rx', 4)
      .attr('fill', 'var(--soft)');
    bar
      .append('rect')
      .attr('x', track(view.domain[0]))
      .attr('width', Math.max(8, track(view.domain[1]) - track(view.domain[0])))
      .attr('y', lanes.bottom + 31)
      .attr('height', 8)
      .attr('rx', 4)
      .attr('fill', 'var(--muted)');
  }

  function hint(shared) {
    const parts = [];
    if (merged)
      parts.push(
        `${whole(page.samples)} samples, shown as ${whole(time.points)} windows of ${time.even ? '' : 'up to '}${whole(time.size)}: means, with bands from smallest to largest.`,
      );
    else if (shared)
      parts.push(
        'Samples that share a pixel are merged: the mean, with a band from smallest to largest. Zoom in to see each.',
      );
    if (span.gaps && time.kind !== 'index')
      parts.push(`${whole(span.gaps)} ${span.gaps === 1 ? 'gap' : 'gaps'} in time left empty.`);
    parts.push(
      time.kind === 'index'
        ? 'Samples are counted from 1.'
        : time.kind === 'date'
          ? 'Times in UTC.'
          : `Time in ${time.unit}.`,
    );
    byId('timeline-hint').textContent = parts.join(' ');
  }

  // The cursor alone, without drawing the lanes again.
  function move() {
    const cursor = d3.select(svg).select('.cursor');
    cursor.selectAll('*').remove();
    const x = lanes.x(span.middle[state.point]);
    svg.setAttribute('aria-valuemin', 0);
    svg.setAttribute('aria-valuemax', time.points - 1);
    svg.setAttribute('aria-valuenow', state.point);
    svg.setAttribute('aria-valuetext', `${sampleText(state.point)}, ${momentText(state.point)}`);
    if (!(x >= lanes.gutter - 1 && x <= lanes.width - 11)) return;
    cursor
      .append('line')
      .attr('x1', x)
      .attr('x2', x)
      .attr('y1', 0)
      .attr('y2', lanes.bottom + 2)
      .attr('stroke', 'var(--ink)')
      .attr('stroke-width', 1.5);
    cursor
      .append('path')
      .attr('d', `M${x - 6} ${lanes.bottom + 10}L${x + 6} ${lanes.bottom + 10}L${x} ${lanes.bottom + 1}Z`)
      .attr('fill', 'var(--ink)');
    coefficientsAt(state.point).forEach((c, k) => {
      cursor
        .append('circle')
        .attr('cx', x)
        .attr('cy', lanes.y(k)(c))
        .attr('r', lanes.lane > 20 ? 3.5 : 2.5)
        .attr('fill', atoms[k].colour)
        .attr('stroke', 'var(--panel)')
        .attr('stroke-width', 1.2);
    });
  }

  function pointAt(px) {
    const t = Number(lanes.x.invert(px));
    const i = Math.min(time.points - 1, d3.bisectLeft(span.middle, t));
    return i > 0 && t - span.middle[i - 1] < span.middle[i] - t ? i - 1 : i;
  }

  function setView(from, to) {
    const full = fullView[1] - fullView[0];
    const wide = Math.min(full, Math.max(to - from, Math.min(full, 4 * span.usual)));
    const start = Math.max(fullView[0], Math.min(fullView[1] - wide, (from + to - wide) / 2));
    view.domain = [start, start + wide];
    draw();
  }

  function zoom(factor, around = span.middle[state.point]) {
    const [from, to] = view.domain;
    const inside = around >= from && around <= to ? around : (from + to) / 2;
    setView(inside - (inside - from) * factor, inside + (to - inside) * factor);
  }

  // Keep the cursor in sight when it is moved by keys or by playing.
  function follow() {
    const x = span.middle[state.point];
    const wide = view.domain[1] - view.domain[0];
    if (x < view.domain[0]) setView(x - 0.1 * wide, x + 0.9 * wide);
    else if (x > view.domain[1]) setView(x - 0.1 * wide, x + 0.9 * wide);
    else move();
  }

  return { svg, lanes, draw, redraw: eachFrame(draw), follow, pointAt, setView, zoom };
})();
