// A card for each atom: its drawing, how much it is used, strongest nodes, communities.

// The edges that an atom has: { slot, weight, probability }, probability being null unless atoms are averages.
const edgesOf = (atom) =>
  Array.from(atom.slots, (slot, e) => ({
    slot,
    weight: atom.weights[e],
    probability: atom.probabilities && atom.probabilities[e],
  })).filter((_, e) => has(atom, e, state.least));

function atomDrawing(svg, k) {
  const atom = atoms[k];
  const parts = [[atom.colour, 1]];
  let [list, least, degree] = [edgesOf(atom), state.least, atom.degree];
  let top = d3.max(list, (edge) => Math.abs(edge.weight)) || 1;
  const compute = () => {
    if (page.averaged && least !== state.least) {
      [list, least] = [edgesOf(atom), state.least];
      degree = degreesOf(list);
      top = d3.max(list, (edge) => Math.abs(edge.weight)) || 1;
    }
    const { drawn, passed } = edgesAbove(list, state.level * top);
    const count = edgeCount(drawn.length, passed, list.length);
    svg.dispatchEvent(new CustomEvent('counted', { detail: count }));
    return {
      edges: drawn,
      top,
      degree,
      colours: () => parts,
      label: `${atom.name}: ${plural(nodes.count, 'node')}, ${plural(drawn.length, 'edge')} drawn`,
    };
  };
  const tell = (found) => {
    if (found.node === undefined)
      return `${edgeName(found.edge.slot)}\n${weightText(found.edge.weight, found.edge.probability)}`;
    const group = atom.community[found.node];
    const words = group < 0 ? (degree[found.node] > 0 ? 'no community' : 'no edges') : `community ${group + 1}`;
    return `${nodes.shown[found.node]}\ndegree ${number(degree[found.node])}, ${words}`;
  };
  return liveGraph(svg, compute, tell);
}

function groupsOf(atom) {
  const found = [];
  atom.community.forEach((group, node) => {
    if (group >= 0) (found[group] = found[group] || []).push(node);
  });
  return found;
}

const hubs = (atom, count) =>
  d3
    .range(nodes.count)
    .filter((i) => atom.degree[i] > 0)
    .sort((a, b) => atom.degree[b] - atom.degree[a] || a - b)
    .slice(0, count);

function groupButtons(atom, most) {
  const groups = groupsOf(atom);
  const shown = groups.slice(0, most).map((members, g) => {
    const names = members.map((i) => nodes.shown[i]);
    const words = `${members.length}: ${members
      .slice(0, 4)
      .map((i) => isolated(shortened(nodes.brief[i], 12)))
      .join(', ')}${names.length > 4 ? ' …' : ''}`;
    const button = make(
      'button',
      {
        type: 'button',
        class: 'group',
        'aria-pressed': 'false',
        title: names.slice(0, 60).join(', '),
        'aria-label': `${words} (community ${g + 1} of ${atom.name})`,
      },
      words,
    );
    button.addEventListener('click', () => markGroup(button, members));
    return button;
  });
  if (groups.length > most) shown.push(make('span', { class: 'facts' }, `and ${groups.length - most} more`));
  return make('div', { class: 'groups' }, ...shown);
}

function atomFacts(atom) {
  if (atom.joined === 0)
    return [
      make(
        'p',
        { class: 'facts' },
        make('b', {}, atom.learned ? 'No edge is sure' : 'No edges'),
        atom.learned
          ? `: of ${plural(atom.learned, 'edge')} that were learned, none is known well enough to be drawn.`
          : ': this atom is empty.',
      ),
    ];
  const linked = atom.community.filter((group) => group >= 0).length;
  const fact = (value, words) => [make('b', {}, value), ` ${words}`];
  const groups = groupsOf(atom).length;
  return [
    make(
      'p',
      { class: 'facts' },
      ...fact(number(atom.mean, 2), 'mean coefficient · '),
      ...fact(percent(atom.often), 'of samples at 0.5 or more'),
    ),
    make(
      'p',
      { class: 'facts' },
      ...fact(whole(atom.joined), `of ${whole(page.pairs)} pairs joined · `),
      ...fact(number((2 * atom.joined) / nodes.count, 2), 'edges a node · '),
      ...fact(`${whole(linked)}/${whole(nodes.count)}`, 'nodes linked · '),
      ...fact(number(d3.max(atom.weights, Math.abs) || 0), 'heaviest edge'),
    ),
    make(
      'p',
      { class: 'facts' },
      'Strongest nodes: ',
      ...hubs(atom, 3).map(
        (i, n) => `${n ? ', ' : ''}${isolated(nodes.brief[i])} (${number(atom.degree[i])})`,
      ),
    ),
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
  svg.addEventListener('counted', (event) => {
    count.textContent = event.detail;
  });
  const drawing = atomDrawing(svg, k);
  const enlarge = make(
    'button',
    { type: 'button', class: 'small', 'aria-label': `Enlarge ${atom.name}`, onclick: () => showAtom(k) },
    'Enlarge',
  );
  const card = make(
    'article',
    { class: 'panel atom', 'data-atom': k + 1 },
    make(
      'div',
      { class: 'bar' },
      make('h3', {}, chip(atom.colour), atom.name),
      make('span', { class: 'buttons' }, enlarge, ...pictureButtons(svg, `atom-${k + 1}`, atom.name)),
    ),
    svg,
    count,
    ...atomFacts(atom),
    groupButtons(atom, 6),
  );
  byId('atoms').append(card);
  return { svg, draw: drawing.draw, redraw: drawing.redraw, seen: false, stale: true };
});

function showAtom(k) {
  const atom = atoms[k];
  const dialog = byId('large');
  const svg = blankDrawing(atom.name);
  const drawing = atomDrawing(svg, k);
  const table = (head, rows) =>
    make(
      'table',
      {},
      make(
        'thead',
        {},
        make('tr', {}, ...head.map((h, n) => make('th', n === head.length - 1 ? { class: 'n' } : {}, h))),
      ),
      make(
        'tbody',
        {},
        ...rows.map((row) =>
          make(
            'tr',
            {},
            ...row.map((cell, n) =>
              make('td', n === row.length - 1 ? { class: 'n' } : { dir: 'auto' }, cell),
            ),
          ),
        ),
      ),
    );
  const edges = edgesOf(atom)
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
    .slice(0, 15)
    .map(({ slot, weight, probability }) => [
      nodes.shown[slots.from[slot]],
      nodes.shown[slots.to[slot]],
      ...(probability === null ? [] : [probabilityText(probability)]),
      number(weight),
    ]);
  dialog.replaceChildren(
    make(
      'div',
      { class: 'bar' },
      make('h2', { id: 'large-title' }, chip(atom.colour), atom.name),
      make(
        'span',
        { class: 'buttons' },
        ...pictureButtons(svg, `atom-${k + 1}`, atom.name),
        make('button', { type: 'button', onclick: () => dialog.close() }, 'Close'),
      ),
    ),
    svg,
    groupButtons(atom, 12),
    make(
      'div',
      { class: 'columns' },
      table(['Strongest edges', '', ...(page.averaged ? ['probability'] : []), 'weight'], edges),
      table(
        ['Strongest nodes', 'degree'],
        hubs(atom, 15).map((i) => [nodes.shown[i], number(atom.degree[i])]),
      ),
    ),
  );
  dialog.drawing = drawing;
  dialog.showModal();
  drawing.draw();
}
