// Draws the page's charts as SVG, from the data in it, and makes a table and a CSV file of each. No network, no library.
'use strict';
(() => {
  const sections = JSON.parse(document.getElementById('data').textContent);
  const watermark = document.body.dataset.watermark;
  const Colors = 8, FontPx = 12, PrintWidth = 680;
  let printing = false, patterns = 0;

  const full = value => value == null ? '–' : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US')
    : String(+value.toPrecision(4));
  function short(value) {
    for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
      if (Math.abs(value) >= size) return +(value / size).toPrecision(3) + unit;
    return String(+value.toPrecision(3));
  }
  function add(parent, name, attributes = {}, text) {
    const svg = parent.namespaceURI === 'http://www.w3.org/2000/svg' || name === 'svg';
    const child = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
    for (const key in attributes) if (attributes[key] != null) child.setAttribute(key, attributes[key]);
    if (text != null) child.textContent = text;
    return parent.appendChild(child);
  }
  const color = series => `var(--c${series.color % Colors})`;

  // ---- scales: a function from a value to a place, with its ticks
  function linear(low, high, from, to) {
    const span = high - low || 1, rough = span / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
    const start = Math.floor(low / step + 1e-9) * step, end = Math.ceil(high / step - 1e-9) * step;
    const scale = value => from + (value - start) / (end - start || 1) * (to - from);
    scale.ticks = [];
    for (let i = 0; start + i * step <= end + step / 2; i++) scale.ticks.push(+(start + i * step).toPrecision(12));
    scale.low = start;
    return scale;
  }
  function logarithmic(low, high, from, to, decades) {
    const whole = decades || high / low > 30;
    const floor = v => { const p = 10 ** Math.floor(Math.log10(v) + 1e-9); return whole ? p : Math.max(...[1, 2, 5].map(m => m * p).filter(s => s <= v * 1.000001)); };
    const start = floor(low), end = Math.max(high, start * 2);
    const scale = value => from + Math.log(Math.max(value, start) / start) / Math.log(end / start) * (to - from);
    scale.ticks = [];
    for (let p = 10 ** Math.floor(Math.log10(start)); p <= end; p *= 10)
      for (const m of whole ? [1] : [1, 2, 5]) if (m * p >= start * 0.999 && m * p <= end * 1.001) scale.ticks.push(m * p);
    scale.low = start;
    return scale;
  }

  const textWidth = text => String(text).length * FontPx * 0.58;
  const points = chart => chart.series.flatMap(s => s.points.filter(p => p.y != null));

  function fillOf(svg, series, hatched) {
    if (!hatched) return color(series);
    const id = `hatch${patterns++}`;
    const pattern = add(svg, 'pattern', { id, width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' });
    add(pattern, 'rect', { width: 7, height: 7, style: `fill:${color(series)};opacity:.18` });
    add(pattern, 'rect', { width: 2.5, height: 7, style: `fill:${color(series)}` });
    return `url(#${id})`;
  }
  function tip(mark, chart, series, point) {
    const range = point.low != null ? ` [${full(point.low)}, ${full(point.high)}]` : '';
    add(mark, 'title', {}, `${series.name}, ${xText(chart, point)}: ${full(point.y)}${range}${point.note ? ' ' + point.note : ''}`);
  }
  const xText = (chart, point) => chart.categories ? chart.categories[point.x] : point.label ?? full(point.x);

  // ---- frame: axes, grid, labels; returns the scales
  function frame(svg, chart, width, height) {
    const all = points(chart);
    const values = all.flatMap(p => [p.y, p.low ?? p.y, p.high ?? p.y]).filter(v => !chart.y_log || v > 0);
    const stacked = chart.kind === 'stack' ? chart.categories.map((_, x) => all.filter(p => p.x === x).reduce((sum, p) => sum + p.y, 0)) : [];
    const top = Math.max(...values, ...stacked, chart.y_log ? 1e-9 : 0) * (chart.kind === 'lines' ? 1.02 : 1.08);
    const right = 14, head = 24;
    let slot = (width - 64) / (chart.categories?.length || 1);
    const longest = Math.max(0, ...(chart.categories ?? []).map(textWidth));
    const slanted = chart.categories && longest > slot - 4;
    const SlantedMax = 21, slantedHeight = Math.min(longest, SlantedMax * FontPx * 0.58) * 0.64 + 20;
    const foot = height - (slanted ? slantedHeight + 18 : 40);
    const y = chart.y_log ? logarithmic(Math.min(...values), top, foot, head, chart.kind === 'bars') : linear(0, top, foot, head);
    const left = Math.max(40, ...y.ticks.map(t => textWidth(short(t)) + 12));
    slot = (width - left - right) / (chart.categories?.length || 1);
    for (const tick of y.ticks) {
      add(svg, 'line', { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: 'grid' });
      add(svg, 'text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, short(tick));
    }
    add(svg, 'text', { x: 4, y: 12, class: 'label' }, chart.y_label + (chart.y_log ? ' (log)' : ''));
    let x;
    if (chart.categories) {
      x = index => left + (index + 0.5) * slot;
      chart.categories.forEach((name, index) => {
        const at = x(index), clipped = slanted && name.length > SlantedMax ? name.slice(0, SlantedMax - 1) + '…' : name;
        add(svg, 'text', slanted ? { x: at, y: foot + 14, 'text-anchor': 'end', transform: `rotate(-40 ${at} ${foot + 14})` }
          : { x: at, y: foot + 16, 'text-anchor': 'middle' }, clipped);
      });
    } else {
      const xs = all.map(p => p.x), low = Math.min(...xs), high = Math.max(...xs);
      x = chart.x_log ? logarithmic(low, high, left, width - right) : linear(low, high, left, width - right);
      let last = -1e9;
      for (const tick of chart.x_ticks?.filter(t => t.x >= low && t.x <= high * 1.001) ?? x.ticks.map(t => ({ x: t, label: short(t) }))) {
        if (x(tick.x) > width - right + 1 || x(tick.x) - last < textWidth(tick.label) + 8) continue;
        last = x(tick.x);
        add(svg, 'line', { x1: last, x2: last, y1: head, y2: foot, class: 'grid' });
        add(svg, 'text', { x: last, y: foot + 16, 'text-anchor': last > width - 40 ? 'end' : 'middle' }, tick.label);
      }
    }
    add(svg, 'text', { x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle', class: 'label' }, chart.x_label);
    add(svg, 'line', { x1: left, x2: width - right, y1: foot, y2: foot, class: 'axis' });
    for (const [index, marker] of (chart.markers ?? []).entries()) {
      add(svg, 'line', { x1: x(marker.x), x2: x(marker.x), y1: head, y2: foot, class: 'marker' });
      const late = x(marker.x) > width * 0.7;
      add(svg, 'text', { x: x(marker.x) + (late ? -4 : 4), y: head + 10 + index % 3 * 13, 'text-anchor': late ? 'end' : 'start', class: 'label' }, marker.label);
    }
    return { x, y, foot, slot };
  }

  // ---- kinds of charts
  function bars(svg, chart, width, height) {
    const { x, y, foot, slot } = frame(svg, chart, width, height);
    const stack = chart.kind === 'stack', columns = stack ? 1 : chart.series.length;
    const wide = Math.min(46, slot * 0.84 / columns), labelled = !stack && wide >= 30;
    const bottom = chart.categories.map(() => 0);
    chart.series.forEach((series, index) => {
      for (const point of series.points) {
        const left = x(point.x) + (index % columns - columns / 2) * wide;
        if (point.y == null) {
          if (point.note) add(svg, 'text', { x: left + wide / 2, y: foot - 4, 'text-anchor': 'middle' }, point.note);
          continue;
        }
        const from = stack ? bottom[point.x] : y.low, high = y(stack ? from + point.y : point.y), low = y(from);
        bottom[point.x] += point.y;
        tip(add(svg, 'rect', { x: left + 0.5, y: high, width: Math.max(1, wide - 1), height: Math.max(0.5, low - high), class: 'mark',
          style: `fill:${fillOf(svg, series, point.hatched)};stroke:${color(series)}` }), chart, series, point);
        if (point.low != null) whisker(svg, left + wide / 2, y(point.low), y(point.high), true);
        if (labelled) add(svg, 'text', { x: left + wide / 2, y: Math.min(high, y(point.high ?? point.y)) - 3, 'text-anchor': 'middle', class: 'value' }, short(point.y));
      }
    });
  }
  function whisker(svg, at, from, to, upright) {
    const line = (a, b, c, d) => add(svg, 'line', upright ? { x1: a, y1: b, x2: c, y2: d, class: 'whisker' } : { x1: b, y1: a, x2: d, y2: c, class: 'whisker' });
    line(at, from, at, to);
    for (const end of [from, to]) line(at - 4, end, at + 4, end);
  }
  function lines(svg, chart, width, height) {
    const { x, y } = frame(svg, chart, width, height);
    for (const series of chart.series) {
      const known = series.points.filter(p => p.y != null && (!chart.y_log || p.y > 0));
      if (!known.length) continue;
      add(svg, 'path', { class: 'mark', d: 'M' + known.map(p => `${x(p.x).toFixed(1)} ${y(p.y).toFixed(1)}`).join('L'),
        style: `fill:none;stroke:${color(series)};stroke-width:2;stroke-dasharray:${['', '6 4', '2 3'][series.dash ?? 0]}` });
      if (known.length > 60) continue;
      for (const point of known)
        tip(add(svg, 'circle', { cx: x(point.x), cy: y(point.y), r: 3.5, class: 'mark',
          style: `fill:${point.hatched ? 'var(--page)' : color(series)};stroke:${color(series)};stroke-width:1.5` }), chart, series, point);
    }
  }
  function ratios(svg, chart, width, height) {
    const rows = chart.categories, named = Math.min(width * 0.36, Math.max(...rows.map(textWidth)) + 12), step = (height - 64) / rows.length;
    const all = points(chart), ends = all.flatMap(p => [p.y, p.low ?? p.y, p.high ?? p.y]);
    const far = Math.max(1.1, ...ends.map(v => Math.max(v, 1 / v))) * 1.05;
    const x = logarithmic(1 / far, far, named, width - 16);
    const place = value => named + (Math.log(value * far) / (2 * Math.log(far))) * (width - 16 - named);
    let last = -1e9;
    for (const tick of far > 3 ? x.ticks.filter(t => t >= 1 / far) : [0.5, 0.67, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2].filter(t => t > 1 / far && t < far)) {
      if (place(tick) - last < 36) continue;
      last = place(tick);
      add(svg, 'line', { x1: last, x2: last, y1: 20, y2: height - 40, class: 'grid' });
      add(svg, 'text', { x: last, y: height - 24, 'text-anchor': 'middle' }, short(tick));
    }
    add(svg, 'line', { x1: place(1), x2: place(1), y1: 20, y2: height - 40, class: 'axis' });
    add(svg, 'text', { x: (named + width) / 2, y: height - 6, 'text-anchor': 'middle', class: 'label' }, chart.x_label);
    rows.forEach((name, index) => add(svg, 'text', { x: named - 8, y: 24 + (index + 0.5) * step + 4, 'text-anchor': 'end' },
      textWidth(name) > named ? name.slice(0, Math.floor(named / FontPx / 0.58) - 2) + '…' : name));
    for (const series of chart.series) for (const point of series.points) {
      if (point.y == null) continue;
      const at = 24 + (point.x + 0.5) * step, shade = point.hatched ? 'var(--faint)' : color(series);
      if (point.low != null) whisker(svg, at, place(point.low), place(point.high), false);
      tip(add(svg, 'circle', { cx: place(point.y), cy: at, r: 4, class: 'mark', style: `fill:${point.hatched ? 'var(--page)' : shade};stroke:${shade};stroke-width:2` }), chart, series, point);
    }
  }

  // ---- a chart with its legend, table and file
  function legend(figure, chart) {
    const line = add(figure, 'p', { class: 'legend' });
    if (chart.series.length > 1 || chart.kind === 'lines')
      for (const series of chart.series) {
        const key = add(line, 'span');
        add(key, 'i', { style: series.dash ? `border-top:3px ${['', 'dashed', 'dotted'][series.dash]} ${color(series)};height:0` : `background:${color(series)}` });
        key.append(series.name);
      }
    if (points(chart).some(p => p.hatched)) {
      const key = add(line, 'span');
      add(key, 'i', { class: chart.kind === 'bars' || chart.kind === 'stack' ? 'hatched' : 'hollow' });
      key.append('bound by client or machine');
      key.title = 'no figure of the server';
    }
  }
  function rowsOf(chart) {
    const ranged = chart.series.map(s => s.points.some(p => p.low != null)), noted = chart.series.map(s => s.points.some(p => p.note));
    const head = [chart.x_label], keys = [...new Set(chart.series.flatMap(s => s.points.map(p => p.x)))].sort((a, b) => a - b);
    chart.series.forEach((s, i) => head.push(s.name, ...ranged[i] ? [`${s.name} low`, `${s.name} high`] : [], ...noted[i] ? [`${s.name} note`] : []));
    return [head, ...keys.map(x => {
      const found = chart.series.map(s => s.points.find(p => p.x === x)), one = found.find(p => p);
      return [xText(chart, one), ...found.flatMap((p, i) => [p?.y, ...ranged[i] ? [p?.low, p?.high] : [], ...noted[i] ? [p?.note ?? ''] : []])];
    })];
  }
  function table(figure, chart) {
    const rows = rowsOf(chart), details = add(figure, 'details'), scroll = (add(details, 'summary', {}, 'Table and CSV'), add(details, 'div', { class: 'scroll' }));
    const csv = rows.map(row => row.map(v => v == null ? '' : /[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v).join(',')).join('\n') + '\n';
    const name = (chart.title || 'chart').toLowerCase().replace(/[^a-z0-9]+/g, '-') + '.csv';
    add(scroll, 'a', { download: name, href: 'data:text/csv;charset=utf-8,' + encodeURIComponent(csv) }, 'Download ' + name);
    const grid = add(scroll, 'table');
    if (watermark) add(grid, 'caption', {}, watermark);
    rows.forEach((row, index) => {
      const line = add(grid, 'tr');
      for (const value of row) add(line, index ? 'td' : 'th', { class: typeof value === 'number' ? 'number' : null }, typeof value === 'number' ? full(value) : value ?? '–');
    });
  }
  function draw(figure, chart) {
    if (chart.title) add(figure, 'figcaption', {}, chart.title);
    legend(figure, chart);
    const width = Math.max(300, Math.floor(printing ? Math.min(figure.clientWidth, PrintWidth) : figure.clientWidth));
    const height = chart.kind === 'ratio' ? 70 + chart.categories.length * 26 : Math.round(Math.min(380, Math.max(260, width * 0.5)));
    const svg = add(figure, 'svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': chart.title || chart.y_label });
    if (points(chart).length) (chart.kind === 'lines' ? lines : chart.kind === 'ratio' ? ratios : bars)(svg, chart, width, height);
    else add(svg, 'text', { x: width / 2, y: height / 2, 'text-anchor': 'middle' }, 'too few values');
    if (watermark) add(svg, 'text', { x: width / 2, y: height / 2, 'text-anchor': 'middle', class: 'watermark', transform: `rotate(-14 ${width / 2} ${height / 2})`,
      style: `font-size:${Math.min(22, width * 0.92 / watermark.length / 0.58)}px` }, watermark);
    figure.dataset.marks = svg.querySelectorAll('.mark').length;
    table(figure, chart);
  }

  function drawAll() {
    for (const section of sections) {
      const place = document.getElementById(section.id), host = place.querySelector('.charts');
      const charts = section.variants[place.querySelector('select')?.value ?? 0].charts;
      host.replaceChildren();
      host.classList.toggle('wide', charts.length === 4);
      // All places first: how many there are decides how wide each is.
      const figures = charts.map(() => add(host, 'figure'));
      charts.forEach((chart, index) => draw(figures[index], chart));
    }
  }
  for (const section of sections) document.querySelector(`#${section.id} select`)?.addEventListener('change', drawAll);
  let width = innerWidth;
  addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  addEventListener('beforeprint', () => { printing = true; drawAll(); });
  addEventListener('afterprint', () => { printing = false; drawAll(); });
  document.getElementById('theme').addEventListener('click', () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
  drawAll();
})();
