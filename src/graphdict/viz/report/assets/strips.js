// Coefficients of two recordings beside one another, on one scale of time.

const strips = (() => {
  const LANE = 22;
  const GAP = 3;
  const FOOT = 22;

  // Steps of one atom over the points of a recording, merged where several share a pixel.
  function steps(r, k, x) {
    const [first, last] = pointsOf(r);
    const found = [];
    for (let point = first; point <= last; point++) {
      const [from, to] = samplesOf(point).map((sample) => sample - recordings.start[r]);
      const open = found[found.length - 1];
      const mean = time.mean[point * atoms.length + k];
      if (open && x(to + 1) - open.l < 1) {
        open.r = x(to + 1);
        open.sum += mean;
        open.n += 1;
      } else found.push({ l: x(from), r: x(to + 1), sum: mean, n: 1 });
    }
    return found;
  }

  function draw(svg, r, longest) {
    const width = svg.clientWidth || 300;
    const bottom = atoms.length * (LANE + GAP);
    const root = d3
      .select(svg)
      .attr('height', bottom + FOOT)
      .attr('viewBox', `0 0 ${width} ${bottom + FOOT}`);
    root.selectAll('*').remove();
    const x = d3.scaleLinear([0, longest], [2, width - 24]);
    const end = x(recordings.end[r] - recordings.start[r]);
    const most = Math.max(1, d3.max(time.high || time.mean));
    atoms.forEach((atom, k) => {
      const base = (k + 1) * (LANE + GAP) - GAP;
      const f = (v) => v.toFixed(1);
      const path = steps(r, k, x)
        .map((c) => `L${f(c.l)} ${f(base - (LANE * c.sum) / c.n / most)}H${f(c.r)}`)
        .join('');
      root
        .append('rect')
        .attr('x', x(0))
        .attr('width', end - x(0))
        .attr('y', base - LANE)
        .attr('height', LANE)
        .attr('fill', 'var(--soft)')
        .attr('opacity', 0.6);
      root
        .append('path')
        .attr('d', `M${x(0)} ${base}${path}V${base}Z`)
        .attr('fill', atom.colour)
        .attr('opacity', 0.75)
        .append('title')
        .text(`${atom.name} in ${recordings.names[r]}`);
    });
    const axis = root
      .append('g')
      .attr('transform', `translate(0,${bottom})`)
      .call(d3.axisBottom(x).ticks(Math.max(2, Math.floor(width / 110))).tickSize(4).tickSizeOuter(0));
    axis.attr('font-size', 10.5).attr('font-family', null).selectAll('path,line').attr('stroke', 'var(--line)');
    axis.selectAll('text').attr('fill', 'var(--muted)');
    svg.onclick = (event) => {
      const sample = x.invert(event.clientX - svg.getBoundingClientRect().left);
      const at = Math.max(recordings.start[r], Math.min(recordings.end[r] - 1, recordings.start[r] + Math.round(sample)));
      go(Math.max(0, d3.bisectRight(starts, at) - 1));
    };
  }

  // Show two recordings, or nothing where fewer are chosen.
  function show(one, other) {
    const box = byId('strips');
    const there = one >= 0 && other >= 0 && one !== other;
    box.hidden = !there;
    if (!there) return;
    const shown = [one, other];
    const longest = d3.max(shown, (r) => recordings.end[r] - recordings.start[r]);
    const drawings = shown.map((r) => {
      const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', `Coefficients in ${recordings.names[r]}`);
      return svg;
    });
    box.replaceChildren(
      ...shown.map((r, n) => make('figure', {}, make('figcaption', { dir: 'auto' }, recordings.names[r]), drawings[n])),
    );
    const redraw = () => drawings.forEach((svg, n) => draw(svg, shown[n], longest));
    box.redraw = redraw;
    redraw();
  }

  window.addEventListener('resize', () => {
    const box = byId('strips');
    if (box && !box.hidden && box.redraw) box.redraw();
  });
  return { show };
})();
