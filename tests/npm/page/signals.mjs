// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Made-up signals, exact to the bin and the code: what a test expects can be computed from what was asked for.

export const kLow = -130, kStep = 0.5;

/** Numbers that are the same in each run. */
export class Random {
  constructor(seed = 1) { this.state = seed >>> 0 || 1; }
  /** 0 … 1 */
  next() {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state / 2 ** 32;
  }
  normal() { return Math.sqrt(-2 * Math.log(this.next() + 1e-12)) * Math.cos(2 * Math.PI * this.next()); }
}

export const code_of = (db) => (Number.isNaN(db) ? 0 : Math.min(255, Math.max(1, Math.round((db - kLow) / kStep) + 1)));

/** The 40 bytes of docs/live.md, and the payload. */
export function message_of(
    {kind, trace, flags = 0, vectors = 1, count, seq, lost = 0, time, first, span, low = kLow, step = kStep}, payload) {
  const head = Buffer.alloc(40);
  head.set([kind, trace, flags, vectors]);
  head.writeUInt32LE(count, 4);
  head.writeUInt32LE(seq >>> 0, 8);
  head.writeUInt32LE(lost, 12);
  head.writeDoubleLE(time, 16);
  head.writeDoubleLE(first, 24);
  head.writeFloatLE(span, 32);
  head.writeInt16LE(Math.round(low * 100), 36);
  head.writeUInt16LE(Math.round(step * 1000), 38);
  return Buffer.concat([head, payload]);
}

/**
 * A row of codes: noise, tones at true frequencies, and humps.
 * @param {{first: number, span: number, bins: number, floor: number, tones: {hz: number, db: number}[],
 *   humps: {hz: number, width: number, db: number}[]}} what
 */
export function row_of({first, span, bins, floor, tones, humps}, random) {
  const row = Buffer.alloc(bins), bin_hz = span / bins;
  for (let k = 0; k < bins; ++k) {
    const hz = first + (k + 0.5) * bin_hz;
    let power = 10 ** (floor / 10) * -Math.log(random.next() + 1e-9);
    for (const h of humps) {
      const x = Math.abs(hz - h.hz) / h.width, shape = x < 0.35 ? 1 : Math.exp(-(((x - 0.35) / 0.22) ** 2));
      power += 10 ** (h.db / 10) * shape * (0.35 - 0.65 * Math.log(random.next() + 1e-9));
    }
    row[k] = code_of(10 * Math.log10(power));
  }
  for (const {hz, db} of tones) {
    const k = Math.floor((hz - first) / bin_hz);
    if (k >= 0 && k < bins) row[k] = code_of(db);
  }
  return row;
}

/** 64 x 64 codes of points with noise around them, whose standard deviation is `noise`. */
export function density_of(points, noise, extent, random, symbols = 4096) {
  const counts = new Float64Array(4096);
  const cell = (v) => Math.min(63, Math.max(0, Math.floor((v + extent) / (2 * extent) * 64)));
  for (let n = 0; n < symbols; ++n) {
    const [re, im] = points[Math.floor(random.next() * points.length)];
    counts[(63 - cell(im + noise * random.normal())) * 64 + cell(re + noise * random.normal())] += 1;
  }
  const most = Math.log2(1 + Math.max(...counts));
  return Buffer.from(Array.from(counts, (n) => Math.round(1 + 254 * Math.log2(1 + n) / most)));
}

/** @param {number[]} counts */
export function counts_of(counts) {
  const bytes = Buffer.alloc(4 * counts.length);
  counts.forEach((n, i) => bytes.writeUInt32LE(n, 4 * i));
  return bytes;
}
