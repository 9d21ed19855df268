// Small things every drawing needs: elements, numbers, the tip, and pictures to take along.

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') element.addEventListener('click', value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const chip = (colour) => {
  const square = make('span', { class: 'chip' });
  square.style.background = colour;
  return square;
};

function number(value, digits = 3) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(digits - 1);
  return value.toLocaleString('en', { maximumSignificantDigits: digits });
}
const whole = (value) => value.toLocaleString('en');
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? '' : 's'}`;
const percent = (value) => (value > 0 && value < 0.01 ? '< 1 %' : `${Math.round(100 * value)} %`);

const tip = byId('tip');
function showTip(text, event) {
  if (tip.textContent !== text) tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const above = event.clientY - height - 12;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 4 ? above : event.clientY + 18}px`;
}
const hideTip = () => {
  tip.hidden = true;
};

function save(blob, name) {
  const link = make('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A drawing as an SVG file: colours spelled out, on the ground it stands on.
function asSvg(svg) {
  const { width, height } = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true);
  for (const name of ['id', 'class', 'tabindex', 'role']) copy.removeAttribute(name);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  copy.setAttribute('font-family', 'Helvetica, Arial, sans-serif');
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  ground.setAttribute('width', width);
  ground.setAttribute('height', height);
  ground.setAttribute('fill', 'var(--panel)');
  copy.prepend(ground);
  const style = getComputedStyle(document.documentElement);
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

function saveSvg(svg, name) {
  save(new Blob([asSvg(svg)], { type: 'image/svg+xml' }), `${name}.svg`);
}

function savePng(svg, name) {
  const { width, height } = svg.getBoundingClientRect();
  const picture = new Image();
  picture.onload = () => {
    const canvas = make('canvas', { width: Math.round(3 * width), height: Math.round(3 * height) });
    canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${name}.png`), 'image/png');
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asSvg(svg))}`;
}

function pictureButtons(svg, name, say) {
  return ['SVG', 'PNG'].map((kind) =>
    make(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-label': `Save ${say} as ${kind}`,
        onclick: () => (kind === 'SVG' ? saveSvg : savePng)(svg, name),
      },
      kind,
    ),
  );
}

// At most one call for each frame, however often it is asked for.
function eachFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}
