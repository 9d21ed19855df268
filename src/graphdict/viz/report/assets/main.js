// What the reader does: move in time, choose edges and nodes, change the theme, take things along.

// Cards in sight are drawn at once, the others one by one when there is time.
let drain = null;
function drawLater() {
  const next = cards.find((card) => card.stale);
  if (next) {
    next.stale = false;
    next.draw();
  }
  drain = next ? setTimeout(drawLater, 0) : null;
}

function drawCards() {
  for (const card of cards) {
    card.stale = !card.seen;
    if (card.seen) card.redraw();
  }
  if (drain === null) drain = setTimeout(drawLater, 60);
  const dialog = byId('large');
  if (dialog.open) dialog.drawing.redraw();
}

const showPoint = eachFrame(() => {
  byId('where').textContent = sampleText(state.point);
  byId('when').textContent = time.kind === 'index' ? '' : momentText(state.point);
  mixView.draw();
  mixture.draw();
  timeline.follow();
});

function go(point) {
  state.point = Math.max(0, Math.min(time.points - 1, Math.round(point)));
  showPoint();
}

// Moving in time ---------------------------------------------------------------------------------

const player = (() => {
  let last = null;
  let carry = 0;
  const button = make('button', { type: 'button', 'aria-label': 'Play', onclick: () => toggle() }, '▶ Play');

  function step(now) {
    if (last === null) return;
    const seen = Math.max(1, ((view.domain[1] - view.domain[0]) / (fullView[1] - fullView[0])) * time.points);
    carry += ((now - last) / 1000) * Math.max(4, seen / 25); // what is in view takes 25 seconds
    last = now;
    if (carry >= 1) {
      const next = state.point + Math.floor(carry);
      carry %= 1;
      if (next >= time.points) {
        go(time.points - 1);
        toggle();
        return;
      }
      go(next);
    }
    requestAnimationFrame(step);
  }

  function toggle() {
    const start = last === null;
    last = start ? performance.now() : null;
    if (start && state.point === time.points - 1) go(0);
    button.textContent = start ? '❚❚ Pause' : '▶ Play';
    button.setAttribute('aria-label', start ? 'Pause' : 'Play');
    if (start) requestAnimationFrame(step);
  }
  return { button, toggle };
})();

const simple = (text, label, onclick) =>
  make('button', { type: 'button', 'aria-label': label, onclick }, text);

byId('timeline-buttons').append(
  player.button,
  simple('‹', 'Previous', () => go(state.point - 1)),
  simple('›', 'Next', () => go(state.point + 1)),
  simple('+', 'Zoom in', () => timeline.zoom(0.5)),
  simple('−', 'Zoom out', () => timeline.zoom(2)),
  simple('All', 'Show all', () => timeline.setView(...fullView)),
  ...pictureButtons(timeline.svg, 'coefficients', 'the coefficients'),
);
byId('now-buttons').append(
  make(
    'button',
    { type: 'button', class: 'small', 'aria-label': 'Save this graph as CSV', onclick: saveGraph },
    'CSV',
  ),
  ...pictureButtons(byId('mix'), 'graph', 'this graph'),
);

function onKey(event) {
  const jump = Math.max(1, Math.round(time.points / 20));
  const moves = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -jump,
    PageUp: jump,
    Home: -time.points,
    End: time.points,
  };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const onTimeline = event.target === timeline.svg;
  const sideways = event.key === 'ArrowLeft' || event.key === 'ArrowRight';
  if (
    event.key in moves &&
    (onTimeline ||
      (sideways && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && !byId('large').open))
  ) {
    event.preventDefault();
    go(state.point + moves[event.key] * (event.shiftKey ? 10 : 1));
  } else if (event.key === ' ' && onTimeline) {
    event.preventDefault();
    player.toggle();
  } else if (onTimeline && (event.key === '+' || event.key === '-')) {
    timeline.zoom(event.key === '+' ? 0.5 : 2);
  }
}
document.addEventListener('keydown', onKey);

(() => {
  const svg = timeline.svg;
  let dragging = null;
  const act = (event) => {
    const box = svg.getBoundingClientRect();
    if (dragging === 'scroll') {
      const [left, right] = timeline.lanes.x.range();
      const middle =
        fullView[0] + ((event.clientX - box.left - left) / (right - left)) * (fullView[1] - fullView[0]);
      const wide = view.domain[1] - view.domain[0];
      timeline.setView(middle - wide / 2, middle + wide / 2);
    } else if (dragging === 'cursor') {
      go(timeline.pointAt(event.clientX - box.left));
    }
  };
  svg.addEventListener('pointerdown', (event) => {
    const low = event.clientY - svg.getBoundingClientRect().top > timeline.lanes.bottom + 20;
    dragging = low && zoomed() ? 'scroll' : 'cursor';
    svg.setPointerCapture(event.pointerId);
    act(event);
  });
  svg.addEventListener('pointermove', (event) => {
    if (dragging) {
      act(event);
      return;
    }
    const box = svg.getBoundingClientRect();
    const k = Math.floor((event.clientY - box.top - TOP) / (timeline.lanes.lane + timeline.lanes.gap));
    if (k < 0 || k >= atoms.length || event.clientX - box.left < timeline.lanes.gutter) {
      hideTip();
      return;
    }
    const point = timeline.pointAt(event.clientX - box.left);
    showTip(
      `${atoms[k].name}: ${number(coefficientsAt(point)[k])}\n${sampleText(point)}${time.kind === 'index' ? '' : `\n${momentText(point)}`}`,
      event,
    );
  });
  for (const end of ['pointerup', 'pointercancel'])
    svg.addEventListener(end, () => {
      dragging = null;
    });
  svg.addEventListener('pointerleave', hideTip);
  svg.addEventListener(
    'wheel',
    (event) => {
      // pinching a touch pad, or the wheel with Ctrl
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const x = Number(timeline.lanes.x.invert(event.clientX - svg.getBoundingClientRect().left));
      timeline.zoom(event.deltaY > 0 ? 1.25 : 0.8, x);
    },
    { passive: false },
  );
})();

// What is drawn ----------------------------------------------------------------------------------

function redrawGraphs() {
  mixView.redraw();
  drawCards();
}

const threshold = byId('threshold');
function onThreshold() {
  state.level = (threshold.value / 1000) ** 2;
  const text = state.level === 0 ? 'all edges' : `${number(100 * state.level, 2)} % of the heaviest`;
  byId('threshold-text').textContent = text;
  threshold.setAttribute('aria-valuetext', text);
  redrawGraphs();
}
threshold.addEventListener('input', onThreshold);
(() => {
  // at first, as many edges as can be told apart, and none that hardly are
  const all = [];
  for (const atom of atoms) {
    const edges = edgesOf(atom);
    const top = d3.max(edges, (edge) => Math.abs(edge.weight));
    for (const { weight } of edges) all.push(Math.abs(weight) / top);
  }
  all.sort((a, b) => b - a);
  const most = (nodes.count <= 32 ? 3 : 1.2) * nodes.count * atoms.length;
  const least = Math.max(
    all.length > most ? all[Math.floor(most)] : 0,
    all[all.length - 1] < 0.01 ? 0.01 : 0,
  );
  threshold.value = Math.ceil(1000 * Math.sqrt(least) - 1e-9);
})();

function focusOn(found, inside) {
  state.focus = found && found.length ? { nodes: new Set(found), inside } : null;
  redrawGraphs();
}

function unpress(except = null) {
  for (const button of document.querySelectorAll('.group[aria-pressed="true"]'))
    if (button !== except) button.setAttribute('aria-pressed', 'false');
}

function markGroup(button, members) {
  const press = button.getAttribute('aria-pressed') !== 'true';
  unpress(button);
  button.setAttribute('aria-pressed', String(press));
  byId('search').value = '';
  byId('search-text').textContent = '';
  focusOn(press ? members : null, true);
}

byId('search').addEventListener('input', (event) => {
  unpress();
  const wanted = event.target.value.trim().toLowerCase();
  const exact = wanted
    ? nodes.shown.map((_, i) => i).filter((i) => nodes.shown[i].toLowerCase() === wanted)
    : [];
  const found = exact.length
    ? exact
    : wanted
      ? nodes.shown.map((_, i) => i).filter((i) => nodes.shown[i].toLowerCase().includes(wanted))
      : [];
  byId('search-text').textContent = wanted ? (found.length ? plural(found.length, 'node') : 'none') : '';
  focusOn(found, false);
});
byId('names').append(...nodes.shown.slice(0, 2000).map((name) => make('option', { value: name })));

const least = byId('least');
if (page.averaged) byId('least-text').textContent = 'Leave out edges less probable than';
least.value = Number(state.least.toFixed(3));
least.addEventListener('input', () => {
  state.least = least.value === '' ? 0 : Math.max(0, Math.min(1, Number(least.value) || 0));
  showPoint();
  if (page.averaged) drawCards();
});
byId('tools').addEventListener('submit', (event) => event.preventDefault());

// Theme, sizes, start ----------------------------------------------------------------------------

const dark = window.matchMedia('(prefers-color-scheme: dark)');
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId('theme').textContent = name === 'dark' ? '☀ Light' : '☾ Dark';
  byId('theme').setAttribute('aria-label', name === 'dark' ? 'Use light colours' : 'Use dark colours');
}
setTheme(dark.matches ? 'dark' : 'light');
dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));
byId('theme').addEventListener('click', () =>
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
);

byId('downloads').append(
  ...[
    ['Edges of atoms', saveAtoms],
    ['Degrees and communities', saveNodes],
    ['Coefficients', saveCoefficients],
    ['This graph', saveGraph],
  ].map(([name, take]) => simple(`${name} (CSV)`, `${name} (CSV)`, take)),
);

fillTexts();
setUpRecordings();
onThreshold();
timeline.draw();
go(0);

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const card = cards.find((c) => c.svg === entry.target);
      card.seen = entry.isIntersecting;
      if (card.seen && card.stale) {
        card.stale = false;
        card.redraw();
      }
    }
  },
  { rootMargin: '300px' },
);
for (const card of cards) watcher.observe(card.svg);

let width = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  timeline.draw();
  drawConvergence();
  redrawGraphs();
}).observe(document.body);
new ResizeObserver(() => mixView.redraw()).observe(byId('mix'));

window.addEventListener('beforeprint', () => {
  for (const card of cards) {
    card.seen = true;
    card.draw();
  }
});
