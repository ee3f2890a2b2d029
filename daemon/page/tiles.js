// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {by_id, clock, count, list, make, Rates, rows, say, set, short, short_name, si, trace_text} from './dom.js';
import {ask, kLines, marks, palette, Plot} from './drawing.js';

const kFew = 8, kMost = 32;  // tiles: in the overview, and in their own view
const kColours = new Uint32Array(palette().buffer);

/** A card with a tile for each trace of a kind. Who extends it draws them. */
class Tiles {
  /** @type {Trace[]} */
  all = [];
  most = kFew;
  /** What came last for a trace. @type {Map<number, any>} */
  newest = new Map();

  /** @param {(t: Trace) => boolean} is_own */
  constructor(id = '', is_own) {
    this.card = by_id(id);
    this.tiles = this.card.lastElementChild;
    this.is_own = is_own;
    this.redraw = () => {
      if (this.tiles.clientWidth) this.draw();
    };
  }

  /** @param {Trace[]} traces of the pipeline */
  offer(traces) {
    this.all = traces.filter(this.is_own);
    this.card.dataset.empty = this.all.length ? '' : 'yes';
    this.alone(this.most === kMost);
  }

  alone(is_alone = false) {
    this.most = is_alone ? kMost : kFew;
    const has_one = this.all.every((t) => t.port === this.all[0].port);
    this.show(this.traces().map((t) => {
      const name = short_name(t), caption = has_one || name === t.port ? name : `${name} · ${t.port}`;
      return [`${t.trace}`, caption, trace_text(t)];
    }));
  }

  traces() { return this.all.slice(0, this.most); }
  wants() { return this.traces().map((t) => t.trace); }

  /** @param {string[][]} all key, caption, and title if it says more */
  show(all) {
    list(
        this.tiles, all, (t) => t.join(),
        ([, caption, title = caption]) => make(
            'figure', {}, make('figcaption', {title}, make('span', {}, caption), make('small')),
            make('canvas', {role: 'img', 'aria-label': title}), make('ul', {class: 'legend'})));
  }

  /** @param {Head} head */
  head(head) {
    this.newest.set(head.trace, this.keep(head, this.newest.get(head.trace)));
    ask(this.redraw);
  }

  /** @param {Head} head @param {any} _before @returns {any} */
  keep(head, _before) { return head; }

  draw() {
    this.traces().forEach((t, i) => {
      const {children: [{lastChild}, canvas]} = this.tiles.children[i], newest = this.newest.get(t.trace);
      if (newest) say(lastChild, this.paint(canvas, newest, t));
    });
  }

  /** @param {HTMLCanvasElement} _canvas @param {any} _newest @param {Trace} _trace */
  paint(_canvas, _newest, _trace) { return ''; }
}

/** Densities of symbols: a constellation for each kind, user or layer. */
export class Symbols extends Tiles {
  constructor() { super('symbols', (t) => t.kind === 'density'); }

  /** @param {HTMLCanvasElement} canvas @param {Head} head */
  paint(canvas, {codes, span}) {
    const side = Math.sqrt(codes.length), image = new ImageData(side, side);
    canvas.width = canvas.height = side;
    new Uint32Array(image.data.buffer).set([...codes].map((code) => kColours[Math.max(0, code - 1)]));
    canvas.getContext('2d')?.putImageData(image, 0, 0);
    return `±${short(span / 2)}`;
  }
}

/** Histograms of the last messages: of soft values, or of latencies against the deadline. */
export class Counts extends Tiles {
  constructor(id = '', scale = '', kept = 1) {
    super(id, (t) => t.kind === 'counts' && t.scale === scale);
    this.kept = kept;
  }

  /** @param {Head} head @param {Head[]} before */
  keep(head, before = []) {
    return [...before.slice(1 - this.kept).filter((h) => h.first === head.first && h.span === head.span), head];
  }

  /** @param {HTMLCanvasElement} canvas @param {Head[]} all @param {Trace} t */
  paint(canvas, all, {scale, deadline_s = 1}) {
    const [{first, span, count: bins}] = all;
    const sums = Array.from({length: bins}, (_, k) => all.reduce((sum, h) => sum + h.counts[k], 0));
    const is_log = scale === 'log2', width = span / bins, limit = is_log ? Math.log2(deadline_s) : Infinity,
          total = sums.reduce((a, b) => a + b);
    const plot = new Plot(canvas, first, span, 0, 1.15 * Math.max(1, ...sums), 16);
    plot.columns(
        is_log ? [-5, -4, -3, -2, -1, 0].map((n) => n * Math.log2(10)) : marks(first, span, 6),
        (v = 0) => (is_log ? si(2 ** v, 's', 2 ** v) : short(v)));
    sums.forEach(
        (n, k) => plot.bar(
            plot.x(first + k * width), plot.y(n), plot.width / bins - 1, plot.height - plot.y(n),
            first + k * width >= limit ? 'bad' : 'line0'));
    if (!is_log) return `${count(total)} values`;
    plot.bar(plot.x(limit), 0, 2 * plot.r, plot.height, 'warn');
    plot.label(`deadline ${si(deadline_s, 's')}`, plot.x(limit), 13 * plot.r, 'warn');
    return `${count(total)} blocks`;
  }
}

/** @param {number[]} point */
const mean = ([, sum, , , n]) => sum / n;
const kPoints = 1000, kMostCharts = 24, kMostLines = 16;
/** A part of events, all of them, and what their ratio is called. @type {[string, string[], string][]} */
const kErrors = [
  ['bit_errors', ['bits'], 'Bit error rate'], ['packet_errors', ['packets'], 'Packets in error'],
  ['bad_crc', ['good', 'bad_crc', 'bad_length'], 'CRC errors'], ['failed', ['words'], 'Words failed'],
  ['erased', ['vectors', 'frames'], 'Erased']
];

/** What the stages count and measure, and the facts of packets and frames, over time. */
export class Charts extends Tiles {
  rates = new Rates(5);
  rms_dbfs = NaN;
  key = '';
  /** Lines by chart and name; their points are time, sum, lowest, highest, number.
   * @type {Map<string, {unit: string, is_log: boolean, lines: Map<string, number[][]>}>} */
  charts = new Map();

  constructor() { super('packets', (t) => t.kind === 'items'); }

  /** Another key: other charts. @param {Trace[]} traces */
  start(traces, key = '') {
    if (key !== this.key) this.charts.clear();
    this.key = key;
    this.all = traces.filter(this.is_own);
  }

  /** What comes within a second is one point. @param {number[]} values */
  add(title = '', name = '', time = 0, values, unit = '', is_log = false) {
    const chart = this.charts.get(title) ?? {unit, is_log, lines: new Map()}, {lines} = chart,
          line = lines.get(name) ?? [];
    if (!values.length || this.charts.size >= kMostCharts + Number(this.charts.has(title)) ||
        lines.size >= kMostLines + Number(lines.has(name)))
      return;
    let last = line[line.length - 1];
    if (last && time < last[0] - 60) line.length = 0;  // the source's time began again
    if (!last || Math.abs(time - last[0]) >= 1) line.push(last = [time, 0, Infinity, -Infinity, 0]);
    for (const v of values.filter((each) => each === each)) {
      last[1] += v;
      last[2] = Math.min(last[2], v);
      last[3] = Math.max(last[3], v);
      ++last[4];
    }
    if (line.length > 2 * kPoints) line.splice(0, kPoints);
    lines.set(name, line);
    this.charts.set(title, chart);
    ask(this.redraw);
  }

  /** @param {Pipeline} p @param {number} now seconds since 1970 */
  status({channels, events, levels}, now) {
    const groups = new Map(), name_of = (of = {}) => Object.entries(of).flat().join(' ');
    this.rms_dbfs = channels[0]?.rms_dbfs ?? NaN;
    for (const {stage, event, count, ...of} of events) {
      const key = `${stage} ${name_of(of)}`;
      groups.set(key, {...groups.get(key) ?? {stage, name: name_of(of)}, [event]: count});
    }
    for (const [key, {stage, name, ...counts}] of groups) {
      const shown = new Set(['found']);
      for (const [part, all, title] of kErrors) {
        const names = all.filter((n) => n in counts),
              errors = this.rates.change(`${key} ${part}`, counts[part] ?? 0, now);
        const total = this.rates.change(`${key} of ${part}`, names.reduce((sum, n) => sum + counts[n], 0), now);
        if (part in counts) [part, ...names].forEach((n) => shown.add(n));
        if (part in counts && errors && total?.grown)
          this.add(title, name || stage, now, [errors.grown / total.grown], '', true);
      }
      for (const [event, n] of Object.entries(counts))
        if (n && (!shown.has(event) || event === 'found'))
          this.add(`${stage}, per second`, `${event} ${name}`, now, [this.rates.of(`${key} ${event}`, n, now)]);
    }
    for (const {stage, level, value, ...of} of levels)
      if (this.all.every((t) => !t.facts?.includes(level)))
        this.add(`${stage} ${level}`, name_of(of) || level, now, [value ?? NaN], level.endsWith('db') ? 'dB' : '');
    this.card.dataset.empty = this.charts.size ? '' : 'yes';
  }

  /** @param {NonNullable<Message['items']>} message */
  items({trace, items}) {
    const {facts = [], name = ''} = this.all.find((t) => t.trace === trace) ?? {};
    const time = items[items.length - 1]?.time_s;
    const add = (fact = '', values = [0], unit = fact.endsWith('_hz') ? 'Hz' : '') =>
        this.add(`${name} ${fact}`, fact, time, values.filter(Number.isFinite), unit);
    for (const fact of facts) {
      const values = items.map((i) => i[fact]), db = (all = values) => all.map((v) => 10 * Math.log10(v)),
            is_noise = fact === 'noise';
      add(fact, is_noise ? db() : values, is_noise ? 'dB' : undefined);
      // Noise of packets is in units of the samples, so the first channel's level says how far the signal is above it.
      if (is_noise && name === 'packet') add('SNR', db(values.map((v) => 10 ** (this.rms_dbfs / 10) / v - 1)), 'dB');
    }
  }

  draw() {
    const all = [...this.charts].sort(([, a], [, b]) => Number(b.is_log) - Number(a.is_log));
    this.show(all.map(([title]) => [title, title]));
    all.forEach(([, {unit, is_log, lines}], i) => {
      const {children: [{lastChild}, canvas, legend]} = this.tiles.children[i], last = [
        ...lines
      ].map(([name, line]) => [name, `${short(mean(line[line.length - 1]))} ${unit}`]);
      say(lastChild, last.length > 1 ? '' : last[0][1]);
      rows(legend, last.length > 1 ? last.map(([name, value], n) => [['', `ink tint${n % kLines}`], name, value]) : []);
      draw_chart(canvas, [...lines.values()], is_log);
    });
  }
}

/** From the first point on: a quarter of a minute to a quarter of an hour.
 * @param {HTMLCanvasElement} canvas @param {number[][][]} lines */
function draw_chart(canvas, lines, is_log = false) {
  const end = Math.max(...lines.map((l) => l[l.length - 1][0])), begin = Math.min(...lines.map((l) => l[0][0]));
  const seconds = Math.min(900, Math.max(15, end - begin)), from = end - seconds,
        scale = (v = 0) => (is_log ? Math.log10(v) : v);
  const seen = lines.map((l) => l.filter(([t]) => t >= from).map((p) => [p[0], ...[mean(p), p[2], p[3]].map(scale)])),
        all = seen.flat().flatMap(([, ...v]) => v).filter(Number.isFinite);
  const low = all.length ? Math.min(...all) : -6, high = all.length ? Math.max(...all) : 0,
        margin = is_log ? 0.5 : 0.12 * (high - low) || 1;
  const plot =
      new Plot(canvas, from, seconds, !is_log && low >= 0 && low < 0.6 * high ? 0 : low - margin, high + margin, 16);
  plot.rows(is_log ? (v = 0) => (10 ** v).toExponential(0) : short);
  plot.columns([from + seconds / 4, from + 3 * seconds / 4], clock);
  seen.forEach((line, n) => {
    const xs = line.map(([t]) => plot.x(t)), name = `line${n % kLines}`;
    line.forEach(([, , a, b], i) => {
      if (b > a) plot.bar(xs[i] - 1, plot.y(b), 2, plot.y(a) - plot.y(b), name, 0.3);
    });
    plot.line(name, xs, line.map(([, v]) => Math.max(v, plot.low)));  // no errors: at the lower edge
  });
}

/** Levels and phases of the channels of an array, relative to channel 0. */
export class ArrayView extends Tiles {
  constructor() { super('array', (t) => t.kind === 'array'); }

  /** @param {string[][]} all */
  show(all) {
    list(
        this.tiles, all, (t) => t.join(),
        ([, title]) => make(
            'div', {class: 'array', tabindex: 0, role: 'group', 'aria-label': title},
            make(
                'svg', {viewBox: '-104 -104 208 208', role: 'img', 'aria-label': `Phases of ${title}`},
                make('circle', {r: 100}), make('circle', {r: 50}), make('path', {d: 'M-100 0H100M0-100V100'}),
                make('g')),
            make('table', {}, make('tbody'))));
  }

  /** @param {ArrayMessage} message */
  take({trace, channels}) {
    const tile = this.tiles.children[this.wants().indexOf(trace)],
          most = Math.max(...channels.map((c) => c.rms_dbfs ?? -200));
    if (!tile) return;
    list(
        tile.querySelector('g'), channels, (_, i) => `${i}`,
        () => make('g', {}, make('line'), make('circle', {r: 4}), make('text')),
        (hand, {rms_dbfs, phase_deg, coherence}, i) => {
          const length = phase_deg === null ? 0 : Math.max(5, 96 + 2.4 * (rms_dbfs - most)),
                x = length * Math.cos(phase_deg * Math.PI / 180), y = -length * Math.sin(phase_deg * Math.PI / 180),
                [line, end, text] = hand.children;
          set(hand, {class: `tint${i % kLines}`, opacity: 0.2 + 0.8 * coherence});
          set(line, {x2: x, y2: y});
          set(end, {cx: x, cy: y});
          say(set(text, {x: 0.86 * x, y: 0.86 * y - 5}), channels.length > 16 ? '' : `${i}`);
        });
    rows(
        tile.querySelector('tbody'),
        [
          ['ch', 'dBFS', 'phase', 'coherence'], ...channels.map((c, i) => {
            const phase = c.phase_deg === null ? '–' : `${c.phase_deg.toFixed(1)}°`, sure = c.coherence ?? NaN;
            return [
              `${i}`, c.rms_dbfs?.toFixed(1) ?? 'zeros', phase,
              sure === sure ? `${sure.toFixed(3)}${sure < 0.5 ? ' weak' : ''}` : '–'
            ];
          })
        ],
        'tr', 'td');
  }
}
