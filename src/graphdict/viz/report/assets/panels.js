// What stands around the drawings: the mix in numbers, cards of atoms, convergence, settings.

const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? '' : 's'}`;

// The graph of the point in time, and what it consists of --------------------------------------

// Rows of the table that fit beside the drawing, whose height style.css decides.
function rowsBeside() {
  if (window.innerWidth <= 820) return 6;
  const drawing = Math.max(300, Math.min(560, window.innerHeight - 490));
  return Math.max(3, Math.min(14, Math.floor((drawing - 78 - byId('coefficients').clientHeight) / 28)));
}

const mixView = (() => {
  let mix = null;
  const parts = new Array(slots.count).fill(null); // of each edge drawn: [[colour, share, atom], ...]

  function compute() {
    mix = mixAt(state.point, state.least);
    parts.fill(null);
    const least = state.level * strongest.mix;
    const list = [];
    let all = 0;
    mix.weights.forEach((weight, slot) => {
      if (weight > 0) all += 1;
      if (weight > 0 && weight >= least) list.push({ slot, weight });
    });
    const { drawn, passed } = edgesAbove(list, least);
    for (const edge of drawn) parts[edge.slot] = [];
    const degree = new Float64Array(nodes.count);
    atoms.forEach((atom, k) => {
      const c = mix.coefficients[k];
      if (c === 0) return;
      atom.slots.forEach((slot, e) => {
        if (parts[slot] !== null && atom.weights[e] > 0) parts[slot].push([atom.colour, (c * atom.weights[e]) / mix.weights[slot], k]);
      });
      for (let i = 0; i < nodes.count; i++) degree[i] += c * atom.degree[i];
    });
    listHeaviest(drawn);
    byId('mix-hint').textContent = edgeCount(drawn.length, passed, all)
      + (atoms.length > 1 && all > 0 ? ' Each edge is divided in proportion to what each atom gives it.' : '');
    return {
      edges: drawn, top: strongest.mix, degree, colours: (slot) => parts[slot],
      label: `Graph of ${sampleText(state.point)}: ${plural(nodes.count, 'node')}, ${plural(drawn.length, 'edge')} drawn`,
    };
  }

  // The heaviest edges in words, as many as the panel has room for.
  function listHeaviest(drawn) {
    const heaviest = drawn.slice(-rowsBeside()).reverse();
    byId('strong').tBodies[0].replaceChildren(...heaviest.map(({ slot, weight }) => {
      const split = make('span', { class: 'split' });
      split.style.width = `${Math.max(3, 84 * Math.min(1, weight / strongest.mix))}px`;
      for (const [colour, share] of parts[slot]) {
        const piece = make('i');
        piece.style.background = colour;
        piece.style.flex = `${share} 0 0`;
        split.append(piece);
      }
      return make('tr', {}, make('td', { title: edgeName(slot) }, edgeName(slot, nodes.brief)), make('td', {}, split), make('td', { class: 'n' }, number(weight)));
    }));
    byId('strong').hidden = heaviest.length === 0;
  }

  function tell(found, current) {
    if (found.node !== undefined) return `${nodes.shown[found.node]}\ndegree ${number(current.degree[found.node])}`;
    const { slot, weight } = found.edge;
    const lines = parts[slot].map(([, share, k]) => `${atoms[k].name}: ${percent(share)}`);
    return [edgeName(slot), `weight ${number(weight)}`, ...lines].join('\n');
  }

  return { ...liveGraph(byId('mix'), compute, tell), current: () => mix };
})();

function edgeCount(drawn, passed, all) {
  if (all === 0) return 'No edges.';
  if (drawn < passed) return `The strongest ${whole(drawn)} of ${plural(all, 'edge')} are drawn.`;
  if (all === 1 && drawn === 1) return 'The only edge is drawn.';
  return drawn === all ? `All ${plural(all, 'edge')} drawn.` : `${whole(drawn)} of ${plural(all, 'edge')} drawn.`;
}

const mixture = (() => {
  const rows = [];
  const list = byId('coefficients');
  list.classList.toggle('many', atoms.length > 9);
  const shares = byId('shares');
  const pieces = atoms.map((atom) => {
    const row = make('div', { class: 'part' });
    const fill = make('span', { class: 'fill' });
    fill.style.background = atom.colour;
    const value = make('span', { class: 'number' });
    const share = make('span', { class: 'share' });
    const short = atoms.length > 9 && window.innerWidth < 480 ? atom.name.slice(5) : atom.name;
    row.append(make('span', {}, chip(atom.colour), short), make('span', { class: 'track' }, fill), value, share);
    rows.push({ row, fill, value, share });
    list.append(row);
    const piece = make('span');
    piece.style.background = atom.colour;
    shares.append(piece);
    return piece;
  });
  const totals = atoms.map((atom) => d3.sum(atom.weights));

  function draw() {
    const raw = coefficientsAt(state.point);
    const kept = counted(raw, state.least);
    const amounts = kept.map((c, k) => c * totals[k]);
    const all = d3.sum(amounts);
    const words = [];
    rows.forEach(({ row, fill, value, share }, k) => {
      const part = all > 0 ? amounts[k] / all : 0;
      row.classList.toggle('out', kept[k] === 0);
      fill.style.width = `${Math.min(100, 100 * raw[k])}%`;
      value.textContent = raw[k].toFixed(2);
      share.textContent = percent(part);
      pieces[k].style.flex = `${part} 0 0`;
      if (part > 0) words.push(`${atoms[k].name} ${percent(part)}`);
    });
    shares.setAttribute('aria-label', words.length ? `Shares: ${words.join(', ')}` : 'No atom contributes');
    const out = raw.filter((c, k) => c >= 0.005 && kept[k] === 0).length;
    byId('mixture-hint').textContent = 'Bar: coefficient, 0 to 1. Percent: share of all edge weight.'
      + (out ? ` Left out, being below ${number(state.least, 2)}: ${plural(out, 'atom')}.` : '');
  }
  return { draw };
})();

// Atoms ------------------------------------------------------------------------------------------

function atomDrawing(svg, k) {
  const atom = atoms[k];
  const list = Array.from(atom.slots, (slot, e) => ({ slot, weight: atom.weights[e] }));
  const parts = [[atom.colour, 1]];
  const compute = () => {
    const { drawn, passed } = edgesAbove(list, state.level * strongest.atom);
    const count = edgeCount(drawn.length, passed, list.length);
    svg.dispatchEvent(new CustomEvent('counted', { detail: count }));
    return {
      edges: drawn, top: strongest.atom, degree: atom.degree, colours: () => parts,
      label: `${atom.name}: ${plural(nodes.count, 'node')}, ${plural(drawn.length, 'edge')} drawn`,
    };
  };
  const tell = (found) => {
    if (found.node === undefined) return `${edgeName(found.edge.slot)}\nweight ${number(found.edge.weight)}`;
    const group = atom.community[found.node];
    const words = group < 0 ? 'no edges' : `community ${group + 1}`;
    return `${nodes.shown[found.node]}\ndegree ${number(atom.degree[found.node])}, ${words}`;
  };
  return liveGraph(svg, compute, tell);
}

function groupsOf(atom) {
  const found = [];
  atom.community.forEach((group, node) => { if (group >= 0) (found[group] = found[group] || []).push(node); });
  return found;
}

const hubs = (atom, count) => d3.range(nodes.count).filter((i) => atom.degree[i] > 0)
  .sort((a, b) => atom.degree[b] - atom.degree[a] || a - b).slice(0, count);

function groupButtons(atom, most) {
  const groups = groupsOf(atom);
  const shown = groups.slice(0, most).map((members, g) => {
    const names = members.map((i) => nodes.shown[i]);
    const words = `${members.length}: ${members.slice(0, 4).map((i) => isolated(shortened(nodes.brief[i], 12))).join(', ')}${names.length > 4 ? ' …' : ''}`;
    const button = make('button', {
      type: 'button', class: 'group', 'aria-pressed': 'false', title: names.slice(0, 60).join(', '),
      'aria-label': `${words} (community ${g + 1} of ${atom.name})`,
    }, words);
    button.addEventListener('click', () => markGroup(button, members));
    return button;
  });
  if (groups.length > most) shown.push(make('span', { class: 'facts' }, `and ${groups.length - most} more`));
  return make('div', { class: 'groups' }, ...shown);
}

function atomFacts(atom) {
  if (atom.joined === 0) return [make('p', { class: 'facts' }, make('b', {}, 'No edges'), ': this atom is empty.')];
  const linked = atom.community.filter((group) => group >= 0).length;
  const fact = (value, words) => [make('b', {}, value), ` ${words}`];
  const groups = groupsOf(atom).length;
  return [
    make('p', { class: 'facts' }, ...fact(number(atom.mean, 2), 'mean coefficient · '), ...fact(percent(atom.often), 'of samples at 0.5 or more')),
    make('p', { class: 'facts' }, ...fact(whole(atom.joined), `of ${whole(page.pairs)} pairs joined · `), ...fact(number((2 * atom.joined) / nodes.count, 2), 'edges a node · '),
      ...fact(`${whole(linked)}/${whole(nodes.count)}`, 'nodes linked')),
    make('p', { class: 'facts' }, 'Strongest nodes: ', ...hubs(atom, 3).map((i, n) =>
      `${n ? ', ' : ''}${isolated(nodes.brief[i])} (${number(atom.degree[i])})`)),
    make('p', { class: 'facts' }, ...fact(whole(groups), `${groups === 1 ? 'community' : 'communities'}`)),
  ];
}

function blankDrawing(label) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'graph');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  return svg;
}

const cards = atoms.map((atom, k) => {
  const svg = blankDrawing(atom.name);
  const count = make('p', { class: 'facts' });
  svg.addEventListener('counted', (event) => { count.textContent = event.detail; });
  const drawing = atomDrawing(svg, k);
  const enlarge = make('button', { type: 'button', class: 'small', 'aria-label': `Enlarge ${atom.name}`, onclick: () => showAtom(k) }, 'Enlarge');
  const card = make('article', { class: 'panel atom', 'data-atom': k + 1 },
    make('div', { class: 'bar' }, make('h3', {}, chip(atom.colour), atom.name), make('span', { class: 'buttons' }, enlarge, ...pictureButtons(svg, `atom-${k + 1}`, atom.name))),
    svg, count, ...atomFacts(atom), groupButtons(atom, 6));
  byId('atoms').append(card);
  return { svg, draw: drawing.draw, redraw: drawing.redraw, seen: false, stale: true };
});

function showAtom(k) {
  const atom = atoms[k];
  const dialog = byId('large');
  const svg = blankDrawing(atom.name);
  const drawing = atomDrawing(svg, k);
  const table = (head, rows) => make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((h, n) => make('th', n === head.length - 1 ? { class: 'n' } : {}, h)))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell, n) => make('td', n === row.length - 1 ? { class: 'n' } : { dir: 'auto' }, cell))))));
  const order = d3.range(atom.slots.length).sort((a, b) => atom.weights[b] - atom.weights[a]).slice(0, 15);
  const edges = order.map((e) => [nodes.shown[slots.from[atom.slots[e]]], nodes.shown[slots.to[atom.slots[e]]], number(atom.weights[e])]);
  dialog.replaceChildren(
    make('div', { class: 'bar' }, make('h2', { id: 'large-title' }, chip(atom.colour), atom.name),
      make('span', { class: 'buttons' }, ...pictureButtons(svg, `atom-${k + 1}`, atom.name),
        make('button', { type: 'button', onclick: () => dialog.close() }, 'Close'))),
    svg, groupButtons(atom, 12),
    make('div', { class: 'columns' }, table(['Strongest edges', '', 'weight'], edges),
      table(['Strongest nodes', 'degree'], hubs(atom, 15).map((i) => [nodes.shown[i], number(atom.degree[i])]))));
  dialog.drawing = drawing;
  dialog.showModal();
  drawing.draw();
}

// Convergence, settings, remarks -----------------------------------------------------------------

function drawConvergence() {
  const place = byId('convergence');
  place.replaceChildren();
  for (const [name, log] of [['objective', false], ['residual', true]]) {
    const points = page.history[name].map((value, i) => [page.history.iteration[i], value])
      .filter(([, value]) => value !== null && (!log || value > 0));
    if (points.length < 2) continue;
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    place.append(svg);
    const width = svg.clientWidth || 320;
    const [height, left, bottom] = [130, 58, 22];
    const root = d3.select(svg).attr('height', height).attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'img')
      .attr('aria-label', `${name} by iteration, from ${number(points[0][1])} to ${number(points[points.length - 1][1])}`);
    const x = d3.scaleLinear().domain(d3.extent(points, (p) => p[0])).range([left, width - 10]);
    const y = (log ? d3.scaleLog() : d3.scaleLinear()).domain(d3.extent(points, (p) => p[1])).nice().range([height - bottom, 20]);
    const axes = [d3.axisBottom(x).ticks(5).tickSizeOuter(0), log ? d3.axisLeft(y).ticks(3, '.0e') : d3.axisLeft(y).ticks(4, 's')];
    axes.forEach((axis, n) => {
      const group = root.append('g').attr('transform', n ? `translate(${left},0)` : `translate(0,${height - bottom})`).call(axis);
      group.attr('font-family', null).selectAll('path,line').attr('stroke', 'var(--line)');
      group.selectAll('text').attr('fill', 'var(--muted)');
    });
    root.append('text').text(log ? 'residual, relative' : name).attr('x', left).attr('y', 12).attr('font-size', 12).attr('fill', 'var(--ink)');
    root.append('path').attr('d', d3.line().x((p) => x(p[0])).y((p) => y(p[1]))(points))
      .attr('fill', 'none').attr('stroke', 'var(--accent)').attr('stroke-width', 1.8);
  }
  const bad = page.history.objective.filter((value) => value === null).length;
  if (bad) place.append(make('p', { class: 'hint' }, `${plural(bad, 'value')} of the objective ${bad === 1 ? 'is' : 'are'} not finite and left out.`));
  if (!place.hasChildNodes()) place.append(make('p', { class: 'hint' }, 'The model holds no history of its fit.'));
}

function fillTexts() {
  byId('title').textContent = readable(page.title);
  const facts = [page.model, plural(atoms.length, 'atom'), plural(nodes.count, 'node'), plural(page.samples, 'sample')];
  byId('summary').textContent = facts.join(' · ') + (page.source ? ` · ${readable(page.source)}` : '');
  const rows = [['model', page.model], ['graphdict', page.version], ...page.results, ...page.settings];
  byId('settings').append(make('table', {}, make('tbody', {}, ...rows.map(([name, value]) => make('tr', {}, make('th', { scope: 'row' }, name), make('td', { dir: 'auto' }, value))))));
  const drawn = { given: 'Nodes stand where their positions say.', circle: 'Nodes stand on a circle, linked ones close to each other.', stress: 'Nodes stand so that distances resemble those in the graph of all atoms.' };
  const remarks = [...page.remarks, drawn[page.nodes.layout], 'Pairs count as joined from 1 % of an atom’s heaviest edge. Communities maximise modularity, step by step (Louvain).'];
  byId('remarks').append(...remarks.map((text) => make('li', { dir: 'auto' }, readable(text))));
  byId('atoms-hint').textContent = `All on one scale: the wider and darker a line, the heavier the edge, up to ${number(strongest.atom)}; the larger a dot, the higher its degree. Point at a node or an edge for its values, press a community to mark it.`;
  byId('footer').textContent = `Written by graphdict ${page.version}. This page is one file and needs no network.`;
}
