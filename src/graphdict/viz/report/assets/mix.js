// The graph of the point in time, and what it is made of: atoms, shares, heaviest edges.

// Rows of the table that fit beside the drawing, whose height style.css decides.
function rowsBeside() {
  if (window.innerWidth <= 820) return 6;
  const drawing = Math.max(300, Math.min(560, window.innerHeight - 490));
  return Math.max(3, Math.min(14, Math.floor((drawing - 78 - byId('coefficients').clientHeight) / 28)));
}

const mixView = (() => {
  let mix = null;
  let top = 1; // the heaviest edge of this mix
  const parts = new Array(slots.count).fill(null); // of each edge drawn: [[colour, share, atom], ...]

  function compute() {
    mix = mixAt(state.point, state.least);
    parts.fill(null);
    top = d3.max(mix.weights, Math.abs) || 1;
    const least = state.level * top;
    const list = [];
    let all = 0;
    let degree = new Float64Array(nodes.count);
    mix.weights.forEach((weight, slot) => {
      if (weight !== 0) all += 1;
      if (weight !== 0 && Math.abs(weight) >= least) list.push({ slot, weight });
    });
    const { drawn, passed } = edgesAbove(list, least);
    for (const edge of drawn) parts[edge.slot] = [];
    atoms.forEach((atom, k) => {
      const c = mix.coefficients[k];
      if (c === 0) return;
      atom.slots.forEach((slot, e) => {
        if (parts[slot] !== null && atom.weights[e] !== 0)
          parts[slot].push([atom.colour, Math.abs((c * atom.weights[e]) / mix.weights[slot]), k]);
      });
      for (let i = 0; i < nodes.count; i++) degree[i] += c * atom.degree[i];
    });
    if (page.averaged || time.silent)
      degree = degreesOf(Array.from(mix.weights, (weight, slot) => ({ slot, weight })));
    listHeaviest(drawn);
    byId('mix-hint').textContent =
      edgeCount(drawn.length, passed, all) +
      (atoms.length > 1 && all > 0 ? ' Each edge is divided in proportion to what each atom gives it.' : '') +
      (all > 0 && top < 0.5 * strongest.mix
        ? ` On its own scale: the heaviest edge has ${number(top)}, up to ${number(strongest.mix)} at other times.`
        : '');
    return {
      edges: drawn,
      top,
      degree,
      colours: (slot) => parts[slot],
      label: `Graph of ${sampleText(state.point)}: ${plural(nodes.count, 'node')}, ${plural(drawn.length, 'edge')} drawn`,
    };
  }

  // The heaviest edges in words, as many as the panel has room for.
  function listHeaviest(drawn) {
    const heaviest = drawn.slice(-rowsBeside()).reverse();
    byId('strong').tBodies[0].replaceChildren(
      ...heaviest.map(({ slot, weight }) => {
        const split = make('span', { class: 'split' });
        split.style.width = `${Math.max(3, 84 * Math.min(1, Math.abs(weight) / top))}px`;
        for (const [colour, share] of parts[slot]) {
          const piece = make('i');
          piece.style.background = weight < 0 ? NEGATIVE : colour;
          piece.style.flex = `${share} 0 0`;
          split.append(piece);
        }
        return make(
          'tr',
          {},
          make('td', { title: edgeName(slot) }, edgeName(slot, nodes.brief)),
          make('td', {}, split),
          make('td', { class: 'n' }, number(weight)),
        );
      }),
    );
    byId('strong').hidden = heaviest.length === 0;
  }

  function tell(found, current) {
    if (found.node !== undefined)
      return `${nodes.shown[found.node]}\ndegree ${number(current.degree[found.node])}`;
    const { slot, weight } = found.edge;
    const lines = parts[slot].map(([, share, k]) => `${atoms[k].name}: ${percent(share)}`);
    return [edgeName(slot), weightText(weight, mix.absent && 1 - mix.absent[slot]), ...lines].join('\n');
  }

  return { ...liveGraph(byId('mix'), compute, tell), current: () => mix };
})();

const probabilityText = (probability) => (probability > 0.999 ? '> 0.999' : number(probability)); // nothing is certain
const weightText = (weight, probability) =>
  `weight ${number(weight)}${probability === null ? '' : `\nprobability ${probabilityText(probability)}`}`;

function edgeCount(drawn, passed, all) {
  if (all === 0) return 'No edges.';
  if (drawn < passed) return `The strongest ${whole(drawn)} of ${plural(all, 'edge')} are drawn.`;
  if (all === 1 && drawn === 1) return 'The only edge is drawn.';
  return drawn === all
    ? `All ${plural(all, 'edge')} drawn.`
    : `${whole(drawn)} of ${plural(all, 'edge')} drawn.`;
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
    row.append(
      make('span', {}, chip(atom.colour), short),
      make('span', { class: 'track' }, fill),
      value,
      share,
    );
    rows.push({ row, fill, value, share });
    list.append(row);
    const piece = make('span');
    piece.style.background = atom.colour;
    shares.append(piece);
    return piece;
  });

  function draw() {
    const raw = coefficientsAt(state.point);
    const { coefficients: kept, weights } = mixView.current();
    const amounts = kept.map((c, k) => {
      const { slots: own, weights: given } = atoms[k];
      return c === 0 ? 0 : c * d3.sum(own, (slot, e) => (weights[slot] !== 0 ? Math.abs(given[e]) : 0));
    });
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
    byId('mixture-hint').textContent =
      'Bar: coefficient, 0 to 1. Percent: share of all edge weight.' +
      (out ? ` Left out, being below ${number(state.least, 2)}: ${plural(out, 'atom')}.` : '') +
      (page.averaged && state.least > 0
        ? ` Left out: edges less probable than ${number(state.least, 2)}.`
        : '');
  }
  return { draw };
})();
