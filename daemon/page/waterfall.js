// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {fit, palette} from './drawing.js';

export const kKept = 2048;
/** What a row is: values; samples that were lost; or rows that this page did not see. */
export const kCodes = 1, kLost = 2, kUnseen = 3;
const is_plain = new URLSearchParams(location.search).has('plain');

/** The newest rows of a trace, each with its own frequencies; row n is at place n % kKept. */
export class Rows {
  constructor(bins = 1) {
    this.bins = bins;
    this.count = 0;
    this.codes = new Uint8Array(bins * kKept);
    this.facts = Array.from({length: kKept}, () => ({state: 0, time: 0, first: 0, span: 1, low: 0, step: 0}));
  }

  /** @param {Head} head */
  add({codes, time, first, span, low, step}) {
    const y = this.count++ % kKept;
    this.codes.set(codes, y * this.bins);
    this.facts[y] = {state: kCodes, time, first, span, low, step};
  }

  /** Rows without values, up to now. */
  skip(state = kLost, rows = 0, until = 0, row_s = 0) {
    for (let i = Math.min(rows, kKept); i > 0; --i) {
      this.facts[this.count++ % kKept] = {state, time: until - i * row_s, first: 0, span: 1, low: 0, step: 0};
    }
  }

  /** The place of the row that is `age` rows old; -1: there is none. */
  at(age = 0) { return age >= 0 && age < Math.min(this.count, kKept) ? (this.count - 1 - age) % kKept : -1; }

  /** In dB; NaN where nothing is known. */
  level(y = 0, hz = 0) {
    const fact = this.facts[y], bin = fact ? Math.floor((hz - fact.first) / fact.span * this.bins) : -1;
    const code = fact?.state === kCodes && bin >= 0 && bin < this.bins ? this.codes[y * this.bins + bin] : 0;
    return code ? fact.low + (code - 1) * fact.step : NaN;
  }
}

/** Where rows lie in a view, four numbers each: x_row = (x_view - left) * scale, dB of code 1, dB of a step. The scale
 * is 0 without values, the step -1 for what this page did not see. */
class Places {
  constructor() {
    this.numbers = new Float32Array(4 * kKept);
    this.done = 0;
    this.key = '';
  }

  /** The first row whose place is new. @param {Rows} rows @param {Band} view */
  follow(rows, {first, span}) {
    const key = `${first} ${span}`, oldest = Math.max(0, rows.count - kKept),
          from = key === this.key ? Math.max(this.done, oldest) : oldest;
    for (let n = from; n < rows.count; ++n) {
      const y = n % kKept, fact = rows.facts[y], has = fact.state === kCodes;
      this.numbers.set(
          [
            has ? (fact.first - first) / span : 0, has ? span / fact.span : 0, fact.low,
            fact.state === kUnseen ? -1 : fact.step
          ],
          4 * y);
    }
    this.key = key;
    this.done = rows.count;
    return from;
  }
}

const kVertex = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0, 1); }`;
// The newest row is on top. A pixel shows the largest of the bins and rows that it covers. Code 0 is no value: black.
// Below the oldest row it is transparent.
const kFragment = `#version 300 es
precision highp float; precision highp sampler2D;
uniform sampler2D codes, places, colours;
uniform vec4 size;   // width, height; rows; rows a pixel
uniform vec4 scale;  // rows in the newest pixel - 1, bins, dB of the first colour, colours a dB
uniform float newest;
out vec4 colour;
void main() {
  float x = (gl_FragCoord.x - 0.5) / size.x, to = scale.x + floor(size.y - gl_FragCoord.y) * size.w, most = -1e9;
  bool unseen = false;
  colour = vec4(0);
  if (to - size.w + 1.0 >= size.z) return;
  for (float age = max(0.0, to - size.w + 1.0); age <= to && age < size.z; ++age) {
    int y = int(mod(newest - age + ${kKept}.0, ${kKept}.0));
    vec4 place = texelFetch(places, ivec2(0, y), 0);
    if (place.w < 0.0) unseen = true;
    float a = (x - place.x) * place.y, b = a + place.y / size.x;
    if (place.y <= 0.0 || b <= 0.0 || a >= 1.0) continue;
    int k = max(0, int(floor(a * scale.y))), end = min(max(k + 1, int(b * scale.y)), min(k + 64, int(scale.y)));
    float code = 0.0;
    for (; k < end; ++k) code = max(code, texelFetch(codes, ivec2(k, y), 0).r);
    if (code > 0.0) most = max(most, place.z + (code * 255.0 - 1.0) * place.w);
  }
  colour = vec4(0, 0, 0, 1);
  if (most > -1e8) colour = texelFetch(colours, ivec2(clamp((most - scale.z) * scale.w, 0.0, 1.0) * 255.0, 0), 0);
  else if (unseen && mod(gl_FragCoord.x + gl_FragCoord.y, 8.0) < 2.0) colour.rgb = vec3(0.25);
}`;

/** Draws rows with WebGL2: textures are rings, so a row is one small upload. */
class GlFall {
  /** @param {HTMLCanvasElement} canvas @param {any} gl @param {Rows} rows */
  constructor(canvas, gl, rows) {
    this.canvas = canvas;
    this.gl = gl;
    this.rows = rows;
    this.places = new Places();
    this.drawn = 0;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, kVertex], [gl.FRAGMENT_SHADER, kFragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    const textures = [
      ['codes', gl.R8, rows.bins, kKept, gl.RED, gl.UNSIGNED_BYTE, null],
      ['places', gl.RGBA32F, 1, kKept, gl.RGBA, gl.FLOAT, null],
      ['colours', gl.RGBA8, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(palette().buffer)]
    ];
    textures.forEach(([name, inside, width, height, ...data], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
        gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T])
        gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
      gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, ...data);
      gl.uniform1i(gl.getUniformLocation(program, name), unit);
    });
    this.at = ['size', 'scale', 'newest'].map((name) => gl.getUniformLocation(program, name));
  }

  /** @param {Band} view @param {Levels} levels @param {number} each rows a pixel */
  draw(view, levels, each) {
    const {gl, rows, rows: {bins, count}, canvas: {width, height}, places, at} = this;
    const moved = places.follow(rows, view);
    gl.activeTexture(gl.TEXTURE0);
    for (let n = Math.max(this.drawn, count - kKept); n < count; ++n) {
      const y = n % kKept;
      gl.texSubImage2D(
          gl.TEXTURE_2D, 0, 0, y, bins, 1, gl.RED, gl.UNSIGNED_BYTE, rows.codes.subarray(y * bins, (y + 1) * bins));
    }
    gl.activeTexture(gl.TEXTURE1);
    for (let n = moved, y = n % kKept; n < count; n += kKept - y, y = 0) {
      const end = Math.min(kKept, y + count - n);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, y, 1, end - y, gl.RGBA, gl.FLOAT, places.numbers.subarray(4 * y, 4 * end));
    }
    this.drawn = count;
    gl.viewport(0, 0, width, height);
    gl.uniform4f(at[0], width, height, Math.min(count, kKept), each);
    gl.uniform4f(at[1], (count - 1) % each, bins, levels.low, 1 / (levels.high - levels.low));
    gl.uniform1f(at[2], (count - 1) % kKept);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
}

/** The same on a 2D canvas. While only time moves, it moves its picture down and draws what is new. */
class PlainFall {
  /** @param {HTMLCanvasElement} canvas @param {any} context @param {Rows} rows */
  constructor(canvas, context, rows) {
    this.canvas = canvas;
    this.context = context;
    this.rows = rows;
    this.places = new Places();
    this.colours = new Uint32Array(palette().buffer);
    this.key = '';
    this.drawn = 0;
  }

  /** @param {Band} view @param {Levels} levels @param {number} each rows a pixel */
  draw(view, levels, each) {
    const {width, height} = this.canvas, {count} = this.rows, groups = (n = 0) => Math.floor((n - 1) / each);
    this.places.follow(this.rows, view);
    const key = [width, height, view.first, view.span, levels.low, levels.high, each].join(),
          moved = groups(count) - groups(this.drawn);
    const fresh = key === this.key ? Math.min(height, moved + 1) : height, newest = (count - 1) % each;
    if (key === this.key && moved && moved < height) this.context.drawImage(this.canvas, 0, moved);
    this.key = key;
    this.drawn = count;
    const image = this.context.createImageData(width, fresh), out = new Uint32Array(image.data.buffer),
          best = new Float32Array(width);
    for (let pixel = 0; pixel < fresh; ++pixel) {
      best.fill(NaN);
      let is_unseen = false;
      for (let age = newest + pixel * each; age > newest + (pixel - 1) * each; --age)
        is_unseen = this.gather(this.rows.at(age), best) || is_unseen;
      const is_kept = this.rows.at(Math.max(0, newest + (pixel - 1) * each + 1)) >= 0;
      for (let x = 0; x < width; ++x) {
        const v = (best[x] - levels.low) / (levels.high - levels.low);
        const missing = is_unseen && (x + kKept - pixel) % 8 < 2 ? 0xff404040 : is_kept ? 0xff000000 : 0;
        out[pixel * width + x] = v === v ? this.colours[Math.floor(Math.min(1, Math.max(0, v)) * 255)] : missing;
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  /** The largest dB of each pixel; whether the page did not see this row. @param {Float32Array} best */
  gather(y = 0, best) {
    if (y < 0) return false;
    const {rows: {bins, codes, facts}, places: {numbers}} = this, width = best.length, base = y * bins;
    const [left, scale, low, step] = numbers.subarray(4 * y, 4 * y + 4);
    for (let x = Math.max(0, Math.floor(left * width)); x < width && scale > 0; ++x) {
      const a = (x / width - left) * scale, b = a + scale / width;
      if (a >= 1) break;
      const from = Math.max(0, Math.floor(a * bins)), to = Math.min(bins, Math.max(from + 1, Math.floor(b * bins)));
      let code = 0;
      for (let k = from; k < to && b > 0; ++k)
        if (codes[base + k] > code) code = codes[base + k];
      if (code && !(best[x] >= low + (code - 1) * step)) best[x] = low + (code - 1) * step;
    }
    return facts[y].state === kUnseen;
  }
}

/** The picture of a trace's rows: by WebGL2, or on a plain canvas without it and after its context was lost. */
export class Waterfall {
  /** @param {HTMLElement} parent @param {Rows} rows @param {() => void} changed draws again */
  constructor(parent, rows, changed) {
    this.parent = parent;
    this.rows = rows;
    this.changed = changed;
    this.is_removed = false;
    this.start(is_plain);
  }

  start(plain = false) {
    const canvas = document.createElement('canvas'),
          gl = plain ? null : canvas.getContext('webgl2', {antialias: false, preserveDrawingBuffer: true});
    if (this.way)
      this.way.canvas.replaceWith(canvas);
    else
      this.parent.append(canvas);
    this.way = gl ? new GlFall(canvas, gl, this.rows) : new PlainFall(canvas, canvas.getContext('2d'), this.rows);
    document.documentElement.dataset.way = gl ? 'webgl2' : 'canvas';
    canvas.addEventListener('webglcontextlost', () => {
      if (this.is_removed || this.way?.canvas !== canvas) return;
      this.start(true);
      this.changed();
    });
  }

  /** @returns {HTMLCanvasElement} */
  get canvas() { return /** @type {any} */ (this.way).canvas; }

  /** @param {Band} view @param {Levels} levels @param {number} each rows a pixel */
  draw(view, levels, each) {
    fit(this.canvas, 1);
    this.way?.draw(view, levels, each);
  }

  remove() {
    this.is_removed = true;
    this.canvas.remove();
    if (this.way instanceof GlFall) this.way.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}
