// What the page holds, unpacked: nodes, atoms, coefficients, and the mix of a point in time.

const page = JSON.parse(document.getElementById('content').textContent);

function decode(text, Type) {
  if (text === null) return null;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Type(bytes.buffer);
}

// Names are shown as they are, but control signs must not break lines, XML or the order of text.
function readable(name) {
  const plain = name.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu,
    '\u2423',
  );
  return plain.trim() || '(no name)';
}

// Long names lose their middle: what tells them apart is often at the end.
function shortened(name, length) {
  const letters = Array.from(name);
  if (letters.length <= length) return name;
  const tail = Math.floor((length - 1) * 0.45);
  return `${letters.slice(0, length - 1 - tail).join('')}…${letters.slice(-tail).join('')}`;
}

// Labels of at most `length` letters; if names are longer, what all of them begin with is left out.
function labelsOf(names, length) {
  const letters = names.map((name) => Array.from(name));
  let shared = 0;
  if (names.length > 2 && letters.some((name) => name.length > length)) {
    while (shared < letters[0].length - 1 && letters.every((name) => name[shared] === letters[0][shared]))
      shared += 1;
    while (shared > 0 && /[\p{L}\p{N}]/u.test(letters[0][shared - 1])) shared -= 1; // no half words
  }
  return letters.map((name) =>
    shortened((shared > 3 ? '…' : '') + name.slice(shared > 3 ? shared : 0).join(''), length),
  );
}

// A name inside other text, so that its direction does not reorder its neighbours.
const isolated = (name) => `\u2068${name}\u2069`;

const nodes = {
  count: page.nodes.names.length,
  names: page.nodes.names,
  shown: page.nodes.names.map(readable),
  brief: labelsOf(page.nodes.names.map(readable), 20),
  x: decode(page.nodes.x, Float32Array),
  y: decode(page.nodes.y, Float32Array),
  reachX: d3.max(decode(page.nodes.x, Float32Array), Math.abs) || 1,
  reachY: d3.max(decode(page.nodes.y, Float32Array), Math.abs) || 1,
  circle: page.nodes.layout === 'circle',
  given: page.nodes.layout === 'given',
};

// The two nodes of each edge, which is counted along the rows of the upper triangle.
const rowStart = new Float64Array(nodes.count);
for (let i = 1; i < nodes.count; i++) rowStart[i] = rowStart[i - 1] + (nodes.count - i);

const atoms = page.atoms.map((atom, k) => ({
  ...atom,
  name: `Atom ${k + 1}`,
  colour: `var(--a${k % 8})`,
  edges: decode(atom.edges, Uint32Array),
  weights: decode(atom.weights, Float32Array),
  probabilities: decode(atom.probabilities, Float32Array),
  degree: decode(atom.degree, Float32Array),
}));


// Edges of any atom, each with a slot; mixes are computed over slots.
const slots = (() => {
  const all = new Set();
  for (const atom of atoms) for (const edge of atom.edges) all.add(edge);
  const edges = Uint32Array.from(all).sort();
  const slotOf = new Map();
  edges.forEach((edge, slot) => slotOf.set(edge, slot));
  const from = new Uint32Array(edges.length);
  const to = new Uint32Array(edges.length);
  edges.forEach((edge, slot) => {
    const row = d3.bisectRight(rowStart, edge, 0, nodes.count - 1) - 1;
    from[slot] = row;
    to[slot] = row + 1 + edge - rowStart[row];
  });
  for (const atom of atoms) atom.slots = Uint32Array.from(atom.edges, (edge) => slotOf.get(edge));
  return { count: edges.length, from, to };
})();

// What is plain counting is not carried: where samples start, and their times if they have none.
const starts =
  decode(page.time.start, Uint32Array) || Uint32Array.from({ length: page.time.points }, (_, i) => i);
const samplesOf = (point) => [
  starts[point],
  (point + 1 < starts.length ? starts[point + 1] : page.samples) - 1,
];
const merged = page.time.size > 1;

const time = {
  ...page.time,
  first: decode(page.time.first, Float64Array) || Float64Array.from(starts, (start) => start + 1), // as atoms are counted
  last:
    decode(page.time.last || (merged ? null : page.time.first), Float64Array) ||
    Float64Array.from(starts, (_, point) => samplesOf(point)[1] + 1),
  mean: decode(page.time.mean, Float32Array),
  low: decode(page.time.low, Float32Array),
  high: decode(page.time.high, Float32Array),
  silent: decode(page.time.silent, Uint8Array),
};

const coefficientsAt = (point) => time.mean.subarray(point * atoms.length, (point + 1) * atoms.length);

// Coefficients that count: atoms below `least` stay out, the strongest always stays.
function counted(coefficients, least) {
  const top = coefficients.indexOf(d3.max(coefficients));
  return Array.from(coefficients, (c, k) => (c >= least || k === top ? c : 0));
}

// Averaged atoms all count, but edges that are less probable than `least` are not there.
const improbable = (absent, least) => absent > 1 - least;
const has = (atom, e, least) => atom.probabilities === null || !improbable(1 - atom.probabilities[e], least);

const isSilent = (point, node) => {
  const bit = point * nodes.count + node;
  return time.silent !== null && ((time.silent[bit >> 3] >> (bit & 7)) & 1) === 1;
};

// The graph of a point in time; `absent` are the probabilities that edges of averages are not there.
function mixAt(point, least) {
  const raw = coefficientsAt(point);
  const coefficients = page.averaged ? Array.from(raw) : counted(raw, least);
  const weights = new Float64Array(slots.count);
  const absent = page.averaged ? new Float64Array(slots.count).fill(1) : null;
  atoms.forEach((atom, k) => {
    const c = coefficients[k];
    if (c > 0) for (let e = 0; e < atom.slots.length; e++) weights[atom.slots[e]] += c * atom.weights[e];
    if (absent) for (let e = 0; e < atom.slots.length; e++) absent[atom.slots[e]] *= 1 - c * atom.probabilities[e];
  });
  if (absent || time.silent)
    for (let slot = 0; slot < slots.count; slot++)
      if (
        (absent && improbable(absent[slot], least)) ||
        isSilent(point, slots.from[slot]) ||
        isSilent(point, slots.to[slot])
      )
        weights[slot] = 0;
  return { coefficients, weights, absent };
}

// Degrees of the nodes from edges { slot, weight }.
function degreesOf(edges) {
  const degree = new Float64Array(nodes.count);
  for (const { slot, weight } of edges) {
    degree[slots.from[slot]] += Math.abs(weight);
    degree[slots.to[slot]] += Math.abs(weight);
  }
  return degree;
}

// Weights drawn at full strength: the strongest edge of any atom, and of a few hundred mixes.
const strongest = {
  atom: d3.max(atoms, (atom) => d3.max(atom.weights, (w, e) => (has(atom, e, page.least) ? Math.abs(w) : 0))) || 1,
  mix: 0,
};
for (let s = 0; s < Math.min(300, time.points); s++) {
  const point = Math.floor((s * time.points) / Math.min(300, time.points));
  strongest.mix = Math.max(strongest.mix, d3.max(mixAt(point, page.least).weights, Math.abs) || 0);
}
strongest.mix = strongest.mix || strongest.atom;

const state = {
  point: 0,
  level: 0, // edges from this fraction of the heaviest of their graph are drawn
  least: page.least,
  focus: null, // { nodes: Set, inside: whether only edges between them count }
};
