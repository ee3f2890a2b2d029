// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {by_id, clock, list, make, say, si, step_of, trace_text} from './dom.js';
import {ask, marks, Plot, View} from './drawing.js';
import {kCodes, kLost, kUnseen, Rows, Waterfall} from './waterfall.js';

const kPanes = 4, kMarkers = 16, kSplit = 0.34, kFoot = 16;
const is_on = (id = '') => by_id(id).getAttribute('aria-pressed') === 'true';
/** @param {Trace} t */
const key_of = (t) => `${t.trace} ${t.pipeline} ${t.port} ${t.name}`;

/** One trace: its rows, its waterfall, and its lines. */
class Pane {
  /** @type {Waterfall | undefined} */
  fall;
  /** @type {Head | undefined} */
  last;
  rows = new Rows();
  life = 0;
  /** In dB: the newest row, its mean powers, and the held largest. */
  lines = {now: new Float32Array(), mean: new Float32Array(), hold: new Float32Array()};

  /** @param {Trace} trace */
  constructor(trace) { this.trace = trace; }

  /** False for a row that it has already. @param {Head} head @param {number} life of the iqd that sent it */
  take(head, life) {
    const {last = head} = this, row_s = this.trace.row_s || 1 / 30, is_same = life === this.life;
    const ahead = (head.seq - last.seq) | 0;
    if (this.last && is_same && ahead <= 0 && head.time <= last.time) return false;
    const unseen = is_same && ahead > 0 ? ahead - 1 : Math.round((head.time - last.time) / row_s) - 1 - head.lost;
    if (this.rows.bins !== head.count) this.rows = new Rows(head.count);
    this.rows.skip(kUnseen, unseen, head.time - head.lost * row_s, row_s);
    this.rows.skip(kLost, head.lost, head.time, row_s);
    this.rows.add(head);
    const db = (code = 0) => (code ? head.low + (code - 1) * head.step : NaN),
          is_other = last.first !== head.first || last.span !== head.span;
    const now = Float32Array.from(head.codes, db), held = is_on('hold') && !is_other ? this.lines.hold : now;
    this.lines = {
      now,
      mean: Float32Array.from(head.mean ?? [], db),
      hold: now.map((v, k) => (held[k] > v || v !== v ? held[k] : v))
    };
    this.last = head;
    this.life = life;
    return true;
  }

  /** The place of the newest row with values. */
  newest() {
    const y = this.rows.at(0);
    return y >= 0 && this.rows.facts[y].state === kCodes ? y : -1;
  }

  /** The frequency of the largest bin in a view; NaN without values. @param {View} view */
  peak({first, span}) {
    const {last, lines: {now}} = this;
    let best = -Infinity, peak = NaN;
    now.forEach((v, k) => {
      const hz = last ? last.first + (k + 0.5) / now.length * last.span : NaN;
      if (hz > first && hz < first + span && v > best) {
        best = v;
        peak = hz;
      }
    });
    return peak;
  }
}

/** Lines above and waterfalls below, of one to four traces, on one axis of true frequencies. */
export class Spectrum {
  view = new View();
  /** @type {Trace[]} */
  traces = [];
  /** @type {Pane[]} */
  panes = [];
  /** @type {Place | undefined} */
  cursor;
  /** Where a click left the cursor, and where the mouse left the picture. @type {{pin?: Place, left?: Place}} */
  places = {};
  /** @type {{name: string, hz: number}[]} */
  markers = [];
  is_fitted = false;
  life = 0;

  /** @param {() => void} chosen other traces are wanted */
  constructor(chosen) {
    this.chosen = chosen;
    this.draw = this.draw.bind(this);
    this.due = () => ask(this.draw);
  }

  /** @param {Trace[]} traces of all pipelines @param {number} life */
  offer(traces, pipeline = '', life) {
    const has = this.panes.map((p) => key_of(p.trace));
    this.traces = traces.filter((t) => t.kind === 'row');
    this.life = life;
    const still = this.traces.filter((t) => has.includes(key_of(t))),
          own = this.traces.filter((t) => t.pipeline === pipeline);
    this.choose(still.some((t) => own.includes(t)) ? still : own.slice(0, 1));
  }

  /** @param {Trace[]} traces */
  choose(traces) {
    const before = this.panes, several = this.traces.some((t) => t.pipeline !== this.traces[0].pipeline);
    this.panes =
        traces.map((t) => Object.assign(before.find((p) => key_of(p.trace) === key_of(t)) ?? new Pane(t), {trace: t}));
    for (const pane of before)
      if (!this.panes.includes(pane)) pane.fall?.remove();
    say(by_id('menu').firstElementChild, traces.length === 1 ? trace_text(traces[0]) : `${traces.length} traces`);
    list(
        by_id('traces'), this.traces, key_of,
        (t) => make(
            'label', {}, make('input', {type: 'checkbox', onchange: () => this.toggle(t)}), make('i'),
            several ? `${t.pipeline}: ${trace_text(t)}` : trace_text(t)),
        ({children: [box, ink]}, t) => {
          const at = traces.findIndex((own) => key_of(own) === key_of(t));
          box.checked = at >= 0;
          box.disabled = at < 0 && traces.length >= kPanes;
          ink.className = `ink tint${at}`;
        });
    this.follow();
    this.chosen();
  }

  /** @param {Trace} trace */
  toggle(trace) {
    const all = this.panes.map((p) => p.trace), left = all.filter((t) => key_of(t) !== key_of(trace));
    this.choose(left.length === all.length ? [...all, trace] : left.length ? left : all);
  }

  /** The waterfalls lie in the order of the traces; the first one has the axis. */
  follow() {
    this.panes.forEach((pane, i) => {
      if (pane.last && pane.fall?.rows !== pane.rows) {
        pane.fall?.remove();
        pane.fall = new Waterfall(by_id('falls'), pane.rows, this.due);
      }
      if (pane.fall && by_id('falls').children[i] !== pane.fall.canvas) by_id('falls').append(pane.fall.canvas);
    });
    const last = this.panes[0]?.last;
    by_id('nothing').hidden = Boolean(last);
    if (last) this.view.follow(last.first, last.span, last.count);
    if (last && !this.is_fitted) this.fit();
    this.due();
  }

  /** @param {Head} head */
  head(head) {
    const pane = this.panes.find((p) => p.trace.trace === head.trace);
    if (!pane || is_on('pause') || !pane.take(head, this.life)) return;
    this.follow();
  }

  wants() { return this.panes.map((p) => p.trace.trace); }

  /** Rows a pixel. */
  each() { return Number(by_id('speed').value); }

  draw() {
    const {view, panes} = this, low = Number(by_id('low').value);
    const levels = {low, high: Math.max(low + 5, by_id('high').value)}, one = panes.length === 1;
    if (!panes[0]?.last || !by_id('line').clientWidth) return;
    for (const pane of panes) pane.fall?.draw(view, levels, this.each());
    const plot = new Plot(by_id('line'), view.first, view.span, low, levels.high, kFoot),
          most = Math.max(2, plot.width / plot.r / 120);
    plot.columns(marks(view.first, view.span, most), (hz) => this.text(hz, step_of(view.span, most)));
    plot.rows();
    panes.forEach(({last, lines: {now, mean, hold}}, i) => {
      if (last && is_on('hold')) plot.bins(one ? 'warn' : `line${i}`, hold, last);
      if (last && mean.length) plot.bins(one ? 'soft' : `line${i}`, mean, last);
      if (last) plot.bins(`line${i}`, now, last, one);
    });
    plot.rows(undefined, 0);
    this.draw_over(levels);
    this.say();
  }

  /** Times, markers and the cursor, above lines and waterfalls. @param {Levels} levels */
  draw_over({low, high}) {
    const plot = new Plot(by_id('over'), this.view.first, this.view.span, low, high, 0, 0), {r, height, width} = plot,
          {cursor} = this;
    for (let y = kSplit + 0.06; y < 1; y += 0.13)
      if (this.row(y).time) plot.label(clock(this.row(y).time), 0, y * height);
    for (const {name, hz} of this.markers) {
      const x = plot.x(hz), y = plot.y(this.level(hz)) / height * (kSplit * height - kFoot * r);
      if (x < 0 || x > width) continue;
      plot.bar(x, 16 * r, r, height, 'warn', 0.6);
      plot.bar(x - 3 * r, y - 3 * r, 7 * r, 7 * r, 'warn');
      plot.label(name, x, 13 * r, 'warn');
    }
    if (cursor) plot.bar(Math.round(plot.x(cursor.hz)), 0, r, height, 'text', 0.7);
  }

  /** The row below a height of the picture, 0 … 1; above the waterfalls it is the newest. */
  row(y = 0) {
    const shown = this.panes.filter((p) => p.fall), part = Math.max(0, (y - kSplit) / (1 - kSplit)) * shown.length,
          pane = shown[Math.min(shown.length - 1, Math.floor(part))];
    if (y <= kSplit) return {pane, place: pane.newest(), time: 0};
    const place = pane.rows.at(Math.floor((part % 1) * (pane.fall?.canvas.height ?? 0) * this.each()));
    return {pane, place, time: pane.rows.facts[place]?.time ?? 0};
  }

  level(hz = 0) { return this.panes.map((p) => p.rows.level(p.newest(), hz)).find((db) => db === db) ?? NaN; }

  say() {
    const {cursor, view, markers} = this, {pane, place, time} = this.row(cursor?.y), hz = cursor?.hz ?? pane.peak(view);
    const unit = pane.trace.unit || 'dB', text = (v = 0) => this.text(v, view.band.span / view.band.bins / 10),
          level = (db = NaN, of = unit) => (db === db ? `${db.toFixed(1)} ${of}` : 'no data');
    const when = time ? `  ${clock(time, 1)}` : '';
    say(by_id('cursor'), `${cursor ? '' : 'peak '}${text(hz)}  ${level(pane.rows.level(place, hz))}${when}`);
    by_id('markers').hidden = !markers.length;
    list(by_id('markers'), markers, (m) => m.name, ({name}) => this.item(name), ({children}, {hz}) => {
      const [zero] = markers, own = this.level(hz), less = level(own - this.level(zero.hz), 'dB');
      say(children[1], `${text(hz)}  ${level(own)}`);
      say(children[2], hz === zero.hz ? '' : `Δ ${text(hz - zero.hz)}, ${less}`);
    });
  }

  /** False if the axis counts bins, since their frequencies are not known. */
  has_hz() { return this.panes[0]?.trace.axis !== 'bin'; }

  text(hz = 0, step = 1) { return this.has_hz() ? si(hz, 'Hz', step) : `bin ${Math.floor(hz)}`; }

  /** A marker in the list, and a button that removes it. */
  item(name = '') {
    const onclick = () => {
      this.markers = this.markers.filter((m) => m.name !== name);
      by_id('mark').focus();
    };
    return make(
        'li', {}, make('span', {}, name), make('span'), make('span'),
        make('button', {'aria-label': `Remove ${name}`, onclick}, '×'));
  }

  /** The frequency of the cursor, or of the peak. */
  seen(at = this.cursor) { return at?.hz ?? this.panes[0]?.peak(this.view) ?? NaN; }

  /** The mouse leaves: the cursor goes to where a click left it. */
  leave() {
    this.places.left = this.cursor;
    this.cursor = this.places.pin;
  }

  forget() {
    this.cursor = undefined;
    this.places = {};
  }

  /** A marker at the cursor, or where it was last; where one is, it goes. */
  mark() {
    const hz = this.seen(this.cursor ?? this.places.left),
          left = this.markers.filter((m) => Math.abs(m.hz - hz) > this.view.span / 100);
    if (left.length === this.markers.length && hz === hz && left.length < kMarkers)
      left.push({name: `M${Math.max(0, ...left.map((m) => Number(m.name.slice(1)))) + 1}`, hz});
    this.markers = left;
  }

  /** Fits the levels to the newest rows. */
  fit() {
    const all = Float32Array.from(this.panes.flatMap((p) => [...p.lines.now]).filter((v) => v === v)).sort(),
          five = (v = 0) => 5 * Math.round(v / 5);
    if (!all.length) return;
    this.is_fitted = true;
    by_id('low').value = five(all[Math.floor(all.length / 10)] - 6);
    by_id('high').value = five(all[all.length - 1] + 8);
    this.due();
  }
}
