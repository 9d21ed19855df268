// A graph as nodes and lines. Edges of like strength and colour share one path, so that graphs of
// hundreds of nodes stay light; an edge of a mix is divided in proportion to what each atom gives.

const LEVELS = 10;
const MOST_DRAWN = 2000;
const NEGATIVE = '#b2182b'; // edges of negative weight, which are dashed as well

// Edges to draw, strongest last: { slot, weight }, and how many passed the threshold.
function edgesAbove(list, least) {
  const kept = list.filter((edge) => edge.weight !== 0 && Math.abs(edge.weight) >= least);
  kept.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight) || a.slot - b.slot);
  return { drawn: kept.slice(-MOST_DRAWN), passed: kept.length };
}

function textWidth(text, size) {
  let width = 0;
  for (const letter of text) width += letter.codePointAt(0) > 0x2e7f ? 1.05 : 0.6;
  return width * size;
}

// Where nodes and labels go in a drawing of this size.
function frame(svg) {
  const { width, height } = svg.getBoundingClientRect();
  const room = Math.min(width, height);
  const font = room < 300 ? 9.5 : 11;
  const letters = room < 300 ? 10 : 16;
  const labels = labelsOf(nodes.shown, letters);
  const radial = nodes.circle && nodes.count > 12;
  const longest = d3.max(labels, (label) => textWidth(label, font));
  const base = Math.max(1.3, Math.min(7, room / (12 + 7 * Math.sqrt(nodes.count))));
  const marginX = nodes.circle ? Math.min(longest + base + 8, 0.26 * width) : base * 1.6 + 12;
  const marginY = radial ? Math.min(longest + base + 8, 0.24 * height) : base * 1.6 + font + 4;
  const [fullX, fullY] = [width / 2 - marginX, height / 2 - marginY].map((half) => Math.max(half, 20));
  let wide = Math.min(fullX, fullY);
  let tall = wide;
  if (!nodes.circle) {
    // points reach less far up than sideways, or the other way round
    const scale = Math.min(fullX / nodes.reachX, fullY / nodes.reachY);
    const stretch = nodes.given ? 1 : 1.6; // given positions keep their shape
    wide = Math.min(fullX / nodes.reachX, stretch * scale);
    tall = Math.min(fullY / nodes.reachY, stretch * scale);
  }
  return {
    width,
    height,
    font,
    labels,
    radial,
    base,
    x: Array.from(nodes.x, (x) => width / 2 + wide * x),
    y: Array.from(nodes.y, (y) => height / 2 - tall * y),
  };
}

// `colours(slot)` tells the parts of an edge: [[colour, share], ...].
function drawGraph(svg, { edges, top, colours, degree, label, focus }) {
  const at = frame(svg);
  const root = d3.select(svg);
  root.selectAll('*').remove();
  root
    .attr('aria-label', label)
    .attr('data-edges', edges.length)
    .attr('viewBox', `0 0 ${at.width} ${at.height}`);
  if (at.width < 40) return at;
  drawEdges(
    root.append('g').attr('fill', 'none').attr('stroke-linecap', 'butt'),
    at,
    edges,
    top,
    colours,
    focus,
  );
  drawNodes(root.append('g'), at, degree, focus);
  drawLabels(root.append('g').attr('font-size', at.font), at, degree, focus);
  return at;
}

function lit(focus, from, to) {
  if (!focus) return true;
  const a = focus.nodes.has(from);
  const b = focus.nodes.has(to);
  return focus.inside ? a && b : a || b;
}

function drawEdges(group, at, edges, top, colours, focus) {
  const paths = new Map();
  const thin = Math.max(0.35, Math.min(1, 12 / Math.sqrt(edges.length + 1)));
  for (const { slot, weight } of edges) {
    const a = slots.from[slot];
    const b = slots.to[slot];
    const level = Math.min(LEVELS - 1, Math.floor(LEVELS * Math.sqrt(Math.abs(weight) / top)));
    const shown = lit(focus, a, b);
    let done = 0;
    for (const [colour, share] of weight < 0 ? [[NEGATIVE, 1]] : colours(slot)) {
      const next = done + share;
      const key = `${shown ? 1 : 0}|${String(level).padStart(2, '0')}|${colour}`;
      const step = (t, p) => (p[a] + (p[b] - p[a]) * t).toFixed(1);
      const line = `M${step(done, at.x)} ${step(done, at.y)}L${step(next, at.x)} ${step(next, at.y)}`;
      paths.set(key, (paths.get(key) || '') + line);
      done = next;
    }
  }
  for (const key of Array.from(paths.keys()).sort()) {
    const [shown, level, colour] = key.split('|');
    const strength = (Number(level) + 0.5) / LEVELS;
    group
      .append('path')
      .attr('d', paths.get(key))
      .attr('stroke', colour)
      .attr('stroke-dasharray', colour === NEGATIVE ? '5 3' : null)
      .attr('stroke-width', ((0.8 + 4.4 * strength ** 2) * thin).toFixed(2))
      .attr('stroke-opacity', (shown === '1' ? 0.2 + 0.75 * strength : 0.07).toFixed(2));
  }
}

function drawNodes(group, at, degree, focus) {
  const most = d3.max(degree) || 1;
  for (let i = 0; i < nodes.count; i++) {
    const inside = focus !== null && focus.nodes.has(i);
    group
      .append('circle')
      .attr('cx', at.x[i].toFixed(1))
      .attr('cy', at.y[i].toFixed(1))
      .attr('r', (at.base * (0.55 + 0.75 * Math.sqrt(Math.max(degree[i], 0) / most))).toFixed(2))
      .attr('fill', inside ? 'var(--mark)' : degree[i] > 0 ? 'var(--rim)' : 'var(--node)')
      .attr('stroke', degree[i] > 0 || inside ? 'var(--panel)' : 'var(--muted)')
      .attr('stroke-width', 1.2)
      .attr('opacity', focus !== null && !inside ? 0.45 : 1);
  }
}

function drawLabels(group, at, degree, focus) {
  const order = d3.range(nodes.count).sort((a, b) => {
    const first = (focus && focus.nodes.has(b) ? 1 : 0) - (focus && focus.nodes.has(a) ? 1 : 0);
    return first || degree[b] - degree[a] || a - b;
  });
  const taken = [];
  const mean = d3.mean(at.labels, (label) => textWidth(label, at.font));
  const room = at.width * at.height;
  const most = nodes.circle
    ? nodes.count
    : nodes.count > 40 && room < 120000
      ? 10 // a small drawing of many nodes names the strongest only
      : Math.min(nodes.count <= 100 ? 100 : 45, Math.round(room / (7 * at.font * mean)));
  for (const i of order) {
    const inside = focus !== null && focus.nodes.has(i);
    if (taken.length >= most && !inside) break;
    const text = group
      .append('text')
      .text(at.labels[i])
      .attr('unicode-bidi', 'isolate')
      .attr('fill', inside ? 'var(--mark)' : 'var(--ink)')
      .attr('font-weight', inside ? 700 : 400)
      .attr('paint-order', 'stroke')
      .attr('stroke', 'var(--panel)')
      .attr('stroke-width', 2.5)
      .attr('stroke-linejoin', 'round')
      .attr('dominant-baseline', 'central')
      .attr('opacity', focus !== null && !inside ? 0.55 : 1);
    const place = nodes.circle ? beside(at, i) : free(at, i, taken);
    if (place === null) {
      text.remove();
      continue;
    }
    text.attr('x', place.x.toFixed(1)).attr('y', place.y.toFixed(1)).attr('text-anchor', place.anchor);
    if (place.turn)
      text.attr('transform', `rotate(${place.turn.toFixed(1)} ${place.x.toFixed(1)} ${place.y.toFixed(1)})`);
  }
}

// Outside the circle; along the radius where names would meet.
function beside(at, i) {
  const away = at.base * 1.3 + 4;
  const x = at.x[i] + away * nodes.x[i];
  const y = at.y[i] - away * nodes.y[i];
  const left = nodes.x[i] < -0.001;
  if (!at.radial) {
    const anchor = Math.abs(nodes.x[i]) < 0.3 ? 'middle' : left ? 'end' : 'start';
    return { x, y: y + (anchor === 'middle' ? -Math.sign(nodes.y[i]) * 3 : 0), anchor };
  }
  const angle = (Math.atan2(-nodes.y[i], nodes.x[i]) * 180) / Math.PI;
  return { x, y, anchor: left ? 'end' : 'start', turn: left ? angle + 180 : angle };
}

// Above, below or beside the node, clear of other labels and, if possible, of other nodes; null
// where there is no room.
function free(at, i, taken) {
  const half = textWidth(at.labels[i], at.font) / 2;
  const away = at.base * 1.2 + 2;
  const tall = at.font * 0.55;
  const places = [
    [0, -away - tall],
    [0, away + tall],
    [half + away, 0],
    [-half - away, 0],
  ]
    .map(([dx, dy]) => {
      const x = Math.max(half + 2, Math.min(at.width - half - 2, at.x[i] + dx));
      const y = at.y[i] + dy;
      return { x, y, l: x - half, r: x + half, t: y - tall, b: y + tall };
    })
    .filter((box) => !taken.some((o) => box.l < o.r && box.r > o.l && box.t < o.b && box.b > o.t));
  const covers = (box) =>
    d3
      .range(nodes.count)
      .some(
        (j) =>
          j !== i && at.x[j] > box.l - 2 && at.x[j] < box.r + 2 && at.y[j] > box.t - 2 && at.y[j] < box.b + 2,
      );
  const place = places.find((box) => !covers(box)) || places[0];
  if (!place) return null;
  taken.push(place);
  return { x: place.x, y: place.y, anchor: 'middle' };
}

// What is under the pointer: a node, else an edge, else nothing.
function under(at, edges, px, py) {
  let best = null;
  let nearest = Math.max(at.base * 1.4, 9) ** 2;
  for (let i = 0; i < nodes.count; i++) {
    const far = (at.x[i] - px) ** 2 + (at.y[i] - py) ** 2;
    if (far < nearest) {
      nearest = far;
      best = { node: i };
    }
  }
  if (best) return best;
  nearest = 36;
  for (const edge of edges) {
    const ax = at.x[slots.from[edge.slot]];
    const ay = at.y[slots.from[edge.slot]];
    const dx = at.x[slots.to[edge.slot]] - ax;
    const dy = at.y[slots.to[edge.slot]] - ay;
    const t = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
    const far = (ax + t * dx - px) ** 2 + (ay + t * dy - py) ** 2;
    if (far <= nearest) {
      nearest = far;
      best = { edge };
    }
  }
  return best;
}

const edgeName = (slot, names = nodes.shown) =>
  `${isolated(names[slots.from[slot]])} — ${isolated(names[slots.to[slot]])}`;

// A drawing that answers the pointer. `compute()` returns what drawGraph draws, and `tell(found)` words.
function liveGraph(svg, compute, tell) {
  let at = null;
  let current = null;
  let hovered = null;
  const draw = () => {
    current = compute();
    const focus = hovered === null ? state.focus : { nodes: new Set([hovered]), inside: false };
    at = drawGraph(svg, { ...current, focus });
  };
  const redraw = eachFrame(draw);
  const look = (event) => {
    if (!at) return;
    const box = svg.getBoundingClientRect();
    const found = under(at, current.edges, event.clientX - box.left, event.clientY - box.top);
    const node = found && found.node !== undefined ? found.node : null;
    if (node !== hovered) {
      hovered = node;
      redraw();
    }
    if (found) showTip(tell(found, current), event);
    else hideTip();
  };
  const leave = () => {
    hideTip();
    if (hovered !== null) {
      hovered = null;
      redraw();
    }
  };
  svg.addEventListener('pointermove', look);
  svg.addEventListener('pointerdown', look);
  svg.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch') leave();
  });
  document.addEventListener('pointerdown', (event) => {
    if (!svg.contains(event.target)) leave();
  });
  return { draw, redraw };
}
