// Tables to take along, as CSV: names quoted, and never read as a formula by a spreadsheet.

function cell(value) {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function saveTable(name, head, rows) {
  const lines = [head, ...rows].map((row) => row.map(cell).join(','));
  save(new Blob(['\ufeff', lines.join('\r\n'), '\r\n'], { type: 'text/csv;charset=utf-8' }), `${name}.csv`);
}

const ends = (slot) => [nodes.names[slots.from[slot]], nodes.names[slots.to[slot]]];

function saveAtoms() {
  const rows = [];
  atoms.forEach((atom, k) =>
    edgesOf(atom).forEach(({ slot, weight, probability }) =>
      rows.push([k + 1, ...ends(slot), weight, ...(probability === null ? [] : [probability])]),
    ),
  );
  saveTable(
    'atoms',
    ['atom', 'source', 'target', 'weight', ...(page.averaged ? ['probability'] : [])],
    rows,
  );
}

function saveNodes() {
  const rows = [];
  atoms.forEach((atom, k) =>
    nodes.names.forEach((name, i) =>
      rows.push([k + 1, name, atom.degree[i], atom.community[i] < 0 ? '' : atom.community[i] + 1]),
    ),
  );
  saveTable('nodes', ['atom', 'node', 'degree', 'community'], rows);
}

function saveCoefficients() {
  const say = time.kind === 'date' ? (t) => new Date(t).toISOString() : (t) => t;
  const timed = time.kind !== 'index';
  const head = [
    ...(merged ? ['first_sample', 'last_sample'] : ['sample']),
    ...(timed ? (merged ? ['first_time', 'last_time'] : ['time']) : []),
    ...atoms.map((_, k) => `atom_${k + 1}`),
  ];
  const rows = d3.range(time.points).map((point) => {
    const samples = (merged ? samplesOf(point) : [point]).map((sample) => sample + 1);
    const moments = !timed
      ? []
      : merged
        ? [say(time.first[point]), say(time.last[point])]
        : [say(time.first[point])];
    return [...samples, ...moments, ...coefficientsAt(point)];
  });
  saveTable('coefficients', head, rows);
}

function saveGraph() {
  const { weights, absent } = mixAt(state.point, state.least);
  const rows = [];
  weights.forEach((weight, slot) => {
    if (weight !== 0) rows.push([...ends(slot), weight, ...(absent ? [1 - absent[slot]] : [])]);
  });
  saveTable(
    `graph-${sampleText(state.point).replace(/[^0-9a-z]+/g, '-')}`,
    ['source', 'target', 'weight', ...(page.averaged ? ['probability'] : [])],
    rows,
  );
}
