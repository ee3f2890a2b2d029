// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// What `api/live` sends: docs/live.md has the bytes.

export const kRow = 1, kDensity = 2, kCounts = 3;
const kHead = 40;  // bytes

/** Null for what is too short, or of a kind that this page does not know.
 * @param {ArrayBuffer} message @returns {Head | null} */
export function head_of(message) {
  if (message.byteLength < kHead) return null;
  const view = new DataView(message), kind = view.getUint8(0), vectors = view.getUint8(3),
        count = view.getUint32(4, true);
  const bytes = kHead + count * ([0, vectors || NaN, 1, 4][kind] ?? NaN);
  if (kind < kRow || !(message.byteLength >= bytes)) return null;
  return {
    kind,
    vectors,
    count,
    trace: view.getUint8(1),
    flags: view.getUint8(2),
    seq: view.getUint32(8, true),
    lost: view.getUint32(12, true),
    time: view.getFloat64(16, true),
    first: view.getFloat64(24, true),
    span: view.getFloat32(32, true),
    low: view.getInt16(36, true) / 100,
    step: view.getUint16(38, true) / 1000,
    codes: new Uint8Array(message, kHead, kind === kCounts ? 0 : count),
    mean: kind === kRow && vectors > 1 ? new Uint8Array(message, kHead + count, count) : null,
    counts: Uint32Array.from({length: kind === kCounts ? count : 0}, (_, i) => view.getUint32(kHead + 4 * i, true)),
  };
}

const kShortest = 250, kLongest = 8000;  // ms between attempts
const kSettle = 50;                      // ms until choices of traces that follow each other are one
const kLate = 2;                         // seconds that messages may come later than they did at best
const kSilent = 10000;                   // ms without a status, of two a second
const kFull = 1013;
/** @type {Record<number, string>} */
const kReasons = {
  1001: 'iqd is stopping',
  [kFull]: '24 viewers are looking already'
};

/**
 * Reads `api/live` while the page is seen. Other traces are another connection: the old one stays until the new one has
 * sent something, so no row is missed. After a loss it tries after 0.5, 1, … 8 s, and asks for the status meanwhile.
 */
export class Link {
  /** @param {Reader} reader */
  constructor(reader) {
    this.reader = reader;
    this.wanted = '';
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {WebSocket | null} */
    this.next = null;
    this.pause = kShortest;
    this.best = Infinity;
    this.timer = 0;
    this.silence = 0;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.leave() : this.open()));
  }

  /** @param {number[]} traces */
  want(traces) {
    const text = `?${traces.map((n) => `trace=${n}`).join('&') || 'trace=none'}`;
    if (text === this.wanted) return;
    this.wanted = text;
    if (!this.socket && !this.next) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), kSettle);
  }

  leave() {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    const both = [this.socket, this.next];
    this.socket = this.next = null;
    for (const socket of both) socket?.close();
  }

  open() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    const made =
        new WebSocket(new URL(`api/live${this.wanted}`, document.baseURI.replace(/^http/, 'ws').replace(/#.*/, '')));
    this.next?.close();
    this.next = made;
    made.binaryType = 'arraybuffer';
    made.onmessage = ({data}) => {
      if (made === this.next) this.change(made);
      if (made === this.socket) this.take(data);
    };
    made.onclose = ({code}) => {
      // The own old connection counts, too: without it there is room for the new one.
      if (code === kFull && made === this.next && this.socket) this.closed(this.socket, kReasons[kFull]);
      this.closed(made, kReasons[code] ?? 'connection lost');
    };
  }

  /** The new connection has sent something. @param {WebSocket} made */
  change(made) {
    this.socket?.close();
    this.socket = made;
    this.next = null;
    this.pause = kShortest;
    this.best = Infinity;
    this.reader.link('');
  }

  /** @param {string | ArrayBuffer} data */
  take(data) {
    if (typeof data !== 'string') {
      const head = head_of(data);
      if (head) this.reader.head(head);
      return;
    }
    const message = JSON.parse(data);
    if (message.status) this.watch(performance.now() / 1000 - message.status.uptime_s);
    this.reader.text(message);
  }

  /** What waits in buffers on the way is late: a new connection skips it. */
  watch(late = 0) {
    const {socket} = this;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => socket && this.closed(socket, 'iqd is silent'), kSilent);
    this.best = Math.min(this.best, late);
    if (late > this.best + kLate && !this.next) this.open();
  }

  /** @param {WebSocket} made */
  async closed(made, why = '') {
    if (made !== this.socket && made !== this.next) return;
    made.close();
    if (made === this.next)
      this.next = null;
    else
      this.socket = null;
    if (!this.socket) this.reader.link(`${why}; trying again …`, why !== kReasons[kFull]);
    if (this.next) return;
    this.pause = Math.min(2 * this.pause, kLongest);
    this.timer = setTimeout(() => this.open(), this.pause);
    const status = this.socket ? null : await get('api/status');
    if (status && !this.socket) this.reader.text({status});
  }
}

/** Null: no answer. */
export const get = (path = '') => fetch(path).then((a) => (a.ok ? a.json() : null)).catch(() => null);
