// How the dictionary was made: convergence, settings, remarks.

function drawConvergence() {
  const place = byId('convergence');
  place.replaceChildren();
  for (const [name, log] of [
    ['objective', false],
    ['residual', true],
  ]) {
    const points = page.history[name]
      .map((value, i) => [page.history.iteration[i], value])
      .filter(([, value]) => value !== null && (!log || value > 0));
    if (points.length < 2) continue;
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    place.append(svg);
    const width = svg.clientWidth || 320;
    const [height, left, bottom] = [130, 58, 22];
    const root = d3
      .select(svg)
      .attr('height', height)
      .attr('viewBox', `0 0 ${width} ${height}`)
      .attr('role', 'img')
      .attr(
        'aria-label',
        `${name} by iteration, from ${number(points[0][1])} to ${number(points[points.length - 1][1])}`,
      );
    const x = d3
      .scaleLinear()
      .domain(d3.extent(points, (p) => p[0]))
      .range([left, width - 10]);
    const y = (log ? d3.scaleLog() : d3.scaleLinear())
      .domain(d3.extent(points, (p) => p[1]))
      .nice()
      .range([height - bottom, 20]);
    const axes = [
      d3.axisBottom(x).ticks(5).tickSizeOuter(0),
      log ? d3.axisLeft(y).ticks(3, '.0e') : d3.axisLeft(y).ticks(4, 's'),
    ];
    axes.forEach((axis, n) => {
      const group = root
        .append('g')
        .attr('transform', n ? `translate(${left},0)` : `translate(0,${height - bottom})`)
        .call(axis);
      group.attr('font-family', null).selectAll('path,line').attr('stroke', 'var(--line)');
      group.selectAll('text').attr('fill', 'var(--muted)');
    });
    root
      .append('text')
      .text(log ? 'residual, relative' : name)
      .attr('x', left)
      .attr('y', 12)
      .attr('font-size', 12)
      .attr('fill', 'var(--ink)');
    root
      .append('path')
      .attr(
        'd',
        d3
          .line()
          .x((p) => x(p[0]))
          .y((p) => y(p[1]))(points),
      )
      .attr('fill', 'none')
      .attr('stroke', 'var(--accent)')
      .attr('stroke-width', 1.8);
  }
  const bad = page.history.objective.filter((value) => value === null).length;
  if (bad)
    place.append(
      make(
        'p',
        { class: 'hint' },
        `${plural(bad, 'value')} of the objective ${bad === 1 ? 'is' : 'are'} not finite and left out.`,
      ),
    );
  if (!place.hasChildNodes())
    place.append(make('p', { class: 'hint' }, 'The model holds no history of its fit.'));
}

function fillTexts() {
  byId('title').textContent = readable(page.title);
  const facts = [
    page.model,
    plural(atoms.length, 'atom'),
    plural(nodes.count, 'node'),
    plural(page.samples, 'sample'),
  ];
  byId('summary').textContent = facts.join(' · ') + (page.source ? ` · ${readable(page.source)}` : '');
  const rows = [['model', page.model], ['graphdict', page.version], ...page.results, ...page.settings];
  byId('settings').append(
    make(
      'table',
      {},
      make(
        'tbody',
        {},
        ...rows.map(([name, value]) =>
          make('tr', {}, make('th', { scope: 'row' }, name), make('td', { dir: 'auto' }, value)),
        ),
      ),
    ),
  );
  const drawn = {
    given: 'Nodes stand where their positions say.',
    circle: 'Nodes stand on a circle, linked ones close to each other.',
    stress: 'Nodes stand so that distances resemble those in the graph of all atoms.',
  };
  const remarks = [
    ...page.remarks,
    drawn[page.nodes.layout],
    'Pairs count as joined from 1 % of an atom’s heaviest edge and a confidence of one half. Communities maximise modularity, step by step (Louvain).',
  ];
  byId('findings').append(...page.findings.map((text) => make('li', { dir: 'auto' }, readable(text))));
  byId('found').hidden = page.findings.length === 0;
  byId('remarks').append(...remarks.map((text) => make('li', { dir: 'auto' }, readable(text))));
  byId('atoms-hint').textContent =
    'Each on its own scale: the wider and darker a line, the heavier the edge, up to the heaviest of the atom; the larger a dot, the higher its degree. Point at a node or an edge for its values, press a community to mark it.';
  byId('footer').textContent =
    `Written by graphdict ${page.version}. This page is one file and needs no network.`;
}
