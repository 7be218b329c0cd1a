'use strict';
// What comes from the server is put in as text only: no key, name or argument can become markup.

const POINTS_MAX = 300;
const byId = id => document.getElementById(id);

/** An element; attributes by name, children as elements or text. */
function make(name, attributes, ...children) {
  const drawn = ['svg', 'g', 'line', 'path', 'text', 'rect'].includes(name);
  const node = drawn ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Figures as people read them; the exact one is the title.

const grouped = new Intl.NumberFormat('en-US');
function count(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(2)} G`;
  if (size >= 1e7) return `${(value / 1e6).toFixed(1)} M`;
  return size < 100 && value % 1 !== 0 ? value.toFixed(1) : grouped.format(Math.round(value));
}
function bytes(value) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (value = Number(value); Math.abs(value) >= 1024 && unit < 4; unit++) value /= 1024;
  return `${unit === 0 || Math.abs(value) >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
function span(seconds) {
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return '0 s';
  const [size, unit] = parts[first], [next, nextUnit] = parts[first + 1] ?? [];
  const rest = next ? Math.floor((seconds % size) / next) : 0;
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${nextUnit}` : ''}`;
}
function micros(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} s`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(value >= 1e4 ? 1 : 2)} ms`;
  return `${value >= 100 ? Math.round(value) : value.toFixed(value >= 10 ? 1 : 2)} µs`;
}
const percent = value => `${Number(value).toFixed(1)} %`;
const formats = { count: value => count(Number(value)), bytes, percent, span: value => span(Number(value)) };

// Tables: made anew only when what they show has changed, so that a selection in one stays.

const shown = new Map();
function table(id, columns, rows, none) {
  const text = JSON.stringify([rows.map(row => columns.map(column => String(column.of(row)))), none]);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  const place = byId(id);
  if (rows.length === 0) {
    for (const name of ['tabindex', 'role', 'aria-label']) place.removeAttribute(name);
    place.replaceChildren(make('p', { class: 'none' }, none));
    return;
  }

  const head = make('tr', null, ...columns.map(
    column => make('th', { scope: 'col', class: column.class ?? '' }, column.name)));
  const body = rows.map(row => make('tr', row.class ? { class: row.class } : null, ...columns.map(column => {
    const cell = make('td', { class: column.class ?? '' }, column.draw ? column.draw(row) : String(column.of(row)));
    if (column.title) cell.title = column.title(row);
    return cell;
  })));
  // So that the keyboard scrolls it.
  place.setAttribute('tabindex', '0');
  place.setAttribute('role', 'region');
  place.setAttribute('aria-label', (place.previousElementSibling?.closest('h3')
    ?? place.closest('section').querySelector('h2')).textContent);
  place.replaceChildren(make('table', null, make('thead', null, head), make('tbody', null, ...body)));
}
const column = (name, of, more) => ({ name, of, ...more });
const number = (name, of, more) => column(name, of, { class: 'n', ...more });

/** "calls=1,usec=2" of INFO as an object. */
const pairs = text => Object.fromEntries(text.split(',').map(pair => {
  const equals = pair.indexOf('=');
  return [pair.slice(0, equals), pair.slice(equals + 1)];
}));
const lines = (section, prefix) => Object.entries(section ?? {}).filter(([name]) => name.startsWith(prefix))
  .map(([name, text]) => ({ name: name.slice(prefix.length), ...pairs(text) }));

// Charts: lines over the last minutes, from what this page has seen since it was opened.

const moments = [];
function chart(id, series, format, most) {
  const figure = byId(id), caption = figure.firstElementChild, now = make('span', { class: 'now' });
  const svg = make('svg', { role: 'img', tabindex: '0', 'aria-label': caption.textContent });
  caption.append(now);
  figure.append(svg);
  let pointed = null;
  const legend = point => series.flatMap(one => [
    ...(series.length > 1 ? [make('i', { class: `key ${one.class}` }), `${one.name} `] : []),
    point?.[one.key] == null ? '–' : format(point[one.key])]);

  function draw() {
    const points = moments, last = points.at(-1);
    const at = pointed == null ? last : points[pointed];
    const ago = pointed == null || !at ? [] : [` · ${span((last.time - at.time) / 1000)} ago`];
    now.replaceChildren(...legend(at), ...ago);
    const width = svg.clientWidth || 500, height = svg.clientHeight || 190, left = 52, bottom = height - 18, top = 6;
    const values = points.flatMap(point => series.map(one => point[one.key] ?? 0));
    const high = most ?? ceiling(Math.max(1, ...values), format === bytes ? 1024 : 10);
    const x = i => left + (width - left - 2) * (1 - (points.length - 1 - i) / Math.max(60, points.length - 1));
    const y = value => bottom - (bottom - top) * Math.min(1, value / high);
    const parts = [0, 0.5, 1].flatMap(part => [
      make('line', { class: 'grid', x1: left, x2: width, y1: y(part * high), y2: y(part * high) }),
      make('text', { x: left - 8, y: y(part * high) + 4, 'text-anchor': 'end' }, format(part * high))]);
    if (points.length > 1) {
      const seen = (last.time - points[0].time) / 1000;
      const begin = Math.max(left, Math.min(x(0), width - 90));
      parts.push(make('text', { x: begin, y: height - 3 }, `${span(seen)} ago`),
        make('text', { x: width, y: height - 3, 'text-anchor': 'end' }, 'now'));
    }
    for (const one of series) {
      const steps = points.map((point, i) => point[one.key] == null ? null
        : `${x(i).toFixed(1)},${y(point[one.key]).toFixed(1)}`);
      const run = steps.filter(step => step != null);
      const first = steps.findIndex(step => step != null), end = steps.findLastIndex(step => step != null);
      if (run.length === 0) continue;
      parts.push(make('path', { class: one.class.replace('s', 'a'),
        d: `M${x(first).toFixed(1)},${bottom}L${run.join('L')}L${x(end).toFixed(1)},${bottom}Z` }));
      parts.push(make('path', { class: `line ${one.class}`, d: `M${run.join('L')}`, 'data-points': run.length }));
    }
    if (pointed != null && at) {
      parts.push(make('line', { class: 'cursor', x1: x(pointed), x2: x(pointed), y1: top, y2: bottom }));
    }
    svg.replaceChildren(...parts);
  }

  function point(index) {
    pointed = index == null ? null : Math.max(0, Math.min(moments.length - 1, index));
    draw();
  }
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), shownMax = Math.max(60, moments.length - 1);
    const part = (event.clientX - box.left - 52) / (box.width - 54);
    point(Math.round(moments.length - 1 - (1 - part) * shownMax));
  });
  svg.addEventListener('pointerleave', () => point(null));
  svg.addEventListener('blur', () => point(null));
  svg.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) point((pointed ?? moments.length - 1) + step);
    else if (event.key === 'Escape') point(null);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(svg);
  return draw;
}
/** The next of 1, 2, 2.5, 5 and 10 times a power of ten, of the largest unit. */
function ceiling(value, unit) {
  const size = unit ** Math.floor(Math.log(value) / Math.log(unit));
  const power = size * 10 ** Math.floor(Math.log10(value / size));
  return power * ([1, 2, 2.5, 5].find(step => step * power >= value) ?? 10);
}
