// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {short, step_of} from './dom.js';

/** What drawing costs, in milliseconds of script. */
export const tally = {
  frames: 0,
  ms: 0,
  slowest: 0
};
const due = new Set();

/** Draws in the next frame, once. @param {() => void} draw */
export function ask(draw) {
  if (!due.size) requestAnimationFrame(frame);
  due.add(draw);
}

function frame() {
  const from = performance.now(), all = [...due];
  due.clear();
  for (const draw of all) draw();
  const took = performance.now() - from;
  ++tally.frames;
  tally.ms += took;
  tally.slowest = Math.max(tally.slowest, took);
}

export const ratio = () => Math.min(window.devicePixelRatio || 1, 2);

/** The pixels of a canvas follow its size. @param {HTMLCanvasElement} canvas */
export function fit(canvas, across = ratio()) {
  const width = Math.round(canvas.clientWidth * ratio()) || 1, height = Math.round(canvas.clientHeight * across) || 1;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** @type {Record<string, string>} */
const tints = {};
/** A colour of the style as a canvas takes it. */
export function tint(name = '') {
  if (tints[name]) return tints[name];
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  tints[name] = getComputedStyle(probe).color;
  probe.remove();
  return tints[name];
}
export function forget_tints() {
  for (const name in tints) delete tints[name];
}
export const kLines = 6;

// From navy over teal to yellow. Lightness only rises, so colour-blind people read it. Only what is missing is black.
const kStops = [
  [0, 5, 8, 23], [0.18, 18, 26, 82], [0.36, 18, 82, 140], [0.54, 15, 148, 143], [0.7, 107, 199, 87],
  [0.84, 245, 212, 64], [1, 255, 250, 230]
];

/** 256 colours, RGBA. */
export function palette() {
  const bytes = new Uint8ClampedArray(1024).fill(255);
  for (let i = 0; i < 256; ++i) {
    const s = kStops.findIndex((stop) => stop[0] >= i / 255) || 1, a = kStops[s - 1], b = kStops[s];
    for (let c = 1; c < 4; ++c) bytes[4 * i + c - 1] = a[c] + (i / 255 - a[0]) / (b[0] - a[0]) * (b[c] - a[c]);
  }
  return bytes;
}

/** Round numbers within a span. */
export function marks(first = 0, span = 1, most = 2) {
  const step = step_of(span, Math.max(2, most)), from = Math.ceil(first / step - 1e-9);
  return Array.from(
      {length: Math.max(0, Math.floor((first + span) / step + 1e-9) - from + 1)}, (_, i) => (from + i) * step);
}

/** A canvas with axes: x from `first` over `span`, y from `low` to `high`, and a foot for texts. */
export class Plot {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas, first = 0, span = 1, low = 0, high = 1, foot = 0, ground = 1) {
    fit(canvas);
    this.first = first;
    this.span = span;
    this.low = low;
    this.high = high;
    this.r = ratio();
    this.c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.width = canvas.width;
    this.height = canvas.height - foot * this.r;
    this.c.clearRect(0, 0, canvas.width, canvas.height);
    this.bar(0, 0, canvas.width, canvas.height, 'plot', ground);
    this.c.font = `${11 * this.r}px system-ui, "DejaVu Sans", sans-serif`;
  }

  x(v = 0) { return (v - this.first) / this.span * this.width; }
  y(v = 0) { return (this.high - v) / (this.high - this.low) * this.height; }

  bar(x = 0, y = 0, width = 0, height = 0, name = '', alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = tint(name);
    this.c.fillRect(x, y, width, height);
    this.c.globalAlpha = 1;
  }

  /** Text on a ground that lets it be read, within the canvas. */
  label(text = '', x = 0, y = 0, name = 'soft') {
    const {c, r} = this, w = c.measureText(text).width;
    const left = Math.min(Math.max(x - w / 2, 4 * r), c.canvas.width - w - 4 * r);
    this.bar(left - 3 * r, y - 11 * r, w + 6 * r, 14 * r, 'plot', 0.8);
    c.fillStyle = tint(name);
    c.fillText(text, left, y);
  }

  /** Lines across at round values; with `alpha` 0 only what they say. */
  rows(text = short, alpha = 1) {
    for (const v of marks(this.low, this.high - this.low, this.height / this.r / 32)) {
      this.bar(0, Math.round(this.y(v)), this.width, 1, 'grid', alpha);
      if (this.y(v) > 9 * this.r && this.y(v) < this.height - 4 * this.r)
        this.label(text(v), 0, this.y(v) + 4 * this.r);
    }
  }

  /** Lines down at these values, and what they say at the lower edge. @param {number[]} values */
  columns(values, text = short, y = this.c.canvas.height - 4 * this.r) {
    for (const v of values) {
      this.bar(Math.round(this.x(v)), 0, 1, this.height, 'grid');
      this.label(text(v), this.x(v), y);
    }
  }

  /** A line with gaps where a value is NaN. @param {number[]} xs pixels @param {number[]} values */
  line(name = '', xs, values, fill = false) {
    const {c, height} = this, path = new Path2D();
    let pen = false;
    values.forEach((v, i) => {
      const y = v === v ? Math.min(height, this.y(v)) : height;
      if (pen && (v === v || fill))
        path.lineTo(xs[i], y);
      else
        path.moveTo(xs[i], y);
      pen = v === v || fill;
    });
    c.strokeStyle = tint(name);
    c.lineWidth = this.r;
    c.stroke(path);
    if (!fill) return;
    path.lineTo(xs[xs.length - 1], height);
    path.lineTo(xs[0], height);
    c.globalAlpha = 0.16;
    c.fillStyle = tint(name);
    c.fill(path);
    c.globalAlpha = 1;
  }

  /** The largest value of each pixel; of bins that are wider than pixels, each.
   * @param {Float32Array} values @param {Band} band */
  bins(name = '', values, band, fill = false) {
    const {width} = this, bins = values.length, wide = bins * this.span / band.span / width,
          start = (this.first - band.first) / band.span * bins, step = Math.max(1, wide), xs = [], ys = [];
    for (let k = Math.max(0, wide > 1 ? start : Math.floor(start) - 1); k < Math.min(bins, start + wide * width + 1);
         k += step) {
      let most = NaN;
      for (let i = Math.floor(k); i < Math.min(bins, Math.max(Math.floor(k) + 1, Math.floor(k + step))); ++i)
        if (!(most >= values[i])) most = values[i];
      xs.push(((wide > 1 ? k : k + 0.5) - start) / wide);
      ys.push(most);
    }
    this.line(name, xs, ys, fill);
  }
}

const kFewestBins = 8, kWidest = 4;

/** The part of the frequency axis that is shown: the band of the first trace until somebody zooms, and again after a
 * retune to where nothing of it is left. */
export class View {
  first = 0;
  span = 0;
  is_whole = true;
  band = {first: 0, span: 0, bins: 1};

  follow(first = 0, span = 0, bins = 1) {
    this.band = {first, span, bins};
    if (this.is_whole || this.first >= first + span || this.first + this.span <= first) this.whole();
  }

  whole() { Object.assign(this, this.band, {is_whole: true}); }

  /** Keeps x, 0 … 1, in place; a factor below 1 shows less. False: there is no more. */
  zoom(x = 0, factor = 1) {
    const {band, span} = this;
    this.span = Math.min(kWidest * band.span, Math.max(kFewestBins * band.span / band.bins, span * factor));
    this.first += x * (span - this.span);
    this.is_whole &&= this.span === span;
    if (span < band.span && this.span >= band.span) this.whole();
    this.pan(0);
    return this.span !== span;
  }

  /** By a part of the view; at least half of it shows the band. */
  pan(part = 0) {
    const {band, span} = this, half = Math.min(span, band.span) / 2;
    if (!this.is_whole)
      this.first =
          Math.min(band.first + band.span - half, Math.max(band.first + half - span, this.first + part * span));
  }

  hz(x = 0) { return this.first + x * this.span; }
}
