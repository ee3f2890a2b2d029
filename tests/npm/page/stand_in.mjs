// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for iqd: it serves the page and what the page reads (docs/live.md, docs/http.md), with made-up signals and
// with faults on request. `node stand_in.mjs PAGE_FOLDER [PORT]` runs it for a look.
import {createServer} from 'node:http';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

import {answer} from './answers.mjs';
import {kRate, kTone, radio_of, status_of, telemetry} from './scenario.mjs';
import {counts_of, density_of, message_of, Random, row_of} from './signals.mjs';
import {Viewer} from './websocket.mjs';

const now = () => Date.now() / 1000;

export class StandIn {
  /** @param {string} folder of the page @param {{token?: string, scenarios?: any[], rows_per_s?: number}} options */
  constructor(folder, {token = '', scenarios = [telemetry()], rows_per_s = 30} = {}) {
    Object.assign(this, {
      folder,
      token,
      scenarios,
      rows_per_s,
      limit: 24,
      fault: {},
      seq: new Map(),
      lost: 0,
      is_stalled: false,
      sent: []
    });
    this.hello_more = {};
    this.random = new Random(7);
    /** @type {Set<Viewer>} */
    this.viewers = new Set();
    this.recordings = [];
    this.log_lines = [{
      time_s: now(),
      level: 'info',
      text: 'telemetry: soapy at 20.625 MS/s, 4 channel(s), blocks of 202752, 4 lane(s) on cpu, 32 result slots'
    }];
    this.start_time();
  }

  start_time() {
    this.started_s = now() - 100;
    this.seq.clear();
  }

  async start(port = 0) {
    this.server = createServer((request, response) => answer(this, request, response));
    this.server.on('upgrade', (request, socket) => this.upgrade(request, socket));
    await new Promise((done) => this.server.listen(port, '127.0.0.1', done));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/`;
    const every = (ms, act) => setInterval(() => {
      if (!this.is_stalled) act();
    }, ms);
    this.timers = [
      every(1000 / this.rows_per_s, () => this.rows()), every(200, () => this.fifth()), every(500, () => this.half())
    ];
  }

  async stop(code = 1001) {
    this.timers.forEach(clearInterval);
    for (const viewer of this.viewers) viewer.close(code);
    this.server.closeAllConnections?.();
    await new Promise((done) => this.server.close(done));
  }

  traces() { return this.scenarios.flatMap((s) => s.traces); }

  hello() {
    const traces = this.traces().map((t) => ({...t, points: undefined, noise: undefined}));
    return {
      hello: {
        v: 1,
        version: '0.2.0',
        host: 'basestation',
        started_s: this.started_s,
        changes: this.token ? 'token' : 'yes',
        why: '',
        recordings: true,
        grafana: '',
        traces,
        ...this.hello_more
      }
    };
  }

  greet() {
    for (const viewer of this.viewers) viewer.text(this.hello());
  }

  upgrade(request, socket) {
    const viewer = new Viewer(request, socket, () => this.viewers.delete(viewer));
    if (this.viewers.size >= this.limit) return viewer.close(1013);
    this.viewers.add(viewer);
    viewer.text(this.hello());
    viewer.text({log: this.log_lines.slice(-50)});
    this.tell_status(viewer);
  }

  log(level, text) {
    this.log_lines.push({time_s: now(), level, text});
    for (const viewer of this.viewers) viewer.text({log: this.log_lines.slice(-1)});
  }

  status() {
    const up = now() - this.started_s;
    return {
      final: false,
      uptime_s: up,
      pipelines: this.scenarios.map((s) => status_of(s, up, this.fault)),
      radios: this.scenarios.map(() => radio_of(!this.fault.unlocked))
    };
  }

  tell_status(viewer) { viewer.text({status: this.status()}); }

  next(trace) {
    const seq = this.seq.get(trace) ?? 0;
    this.seq.set(trace, seq + 1);
    return seq;
  }

  send(head, payload) {
    const message = message_of({seq: this.next(head.trace), time: now(), ...head}, payload);
    for (const viewer of this.viewers)
      if (viewer.traces.includes(head.trace)) viewer.binary(message);
  }

  /** What a row of the source shows, by true frequencies. */
  band(s, t) {
    const span = t.port === 'source' ? kRate : kRate / 4, centre = s.keys.source.frequency.value, bins = t.bins;
    return {
      first: centre - span / 2 - span / bins / 2,
      span,
      bins,
      floor: -104 - 2 * (t.channel ?? 0),
      tones: [{hz: kTone, db: -48 - 3 * (t.channel ?? 0)}],
      humps: [
        {hz: 1451.5e6, width: 9e6, db: -66 - 2 * (t.channel ?? 0)},
        ...(Math.floor(now() * 2) % 5 ? [] : [{hz: 1444.9e6, width: 0.8e6, db: -78}])
      ]
    };
  }

  rows() {
    const lost = this.lost;
    this.lost = 0;
    for (const s of this.scenarios) {
      for (const t of s.traces.filter((each) => each.kind === 'row')) {
        const band = this.band(s, t), codes = row_of(band, this.random), is_folded = t.port !== 'source';
        if (this.fault.nan) codes.fill(0, 100, 200);
        this.send(
            {
              kind: 1,
              trace: t.trace,
              flags: lost ? 1 : 0,
              vectors: is_folded ? 2 : 1,
              count: t.bins,
              lost,
              first: band.first,
              span: band.span
            },
            is_folded ? Buffer.concat([codes, codes.map((c) => Math.max(1, c - 12))]) : codes);
      }
    }
  }

  fifth() {
    for (const t of this.traces()) {
      if (t.kind === 'density')
        this.send(
            {kind: 2, trace: t.trace, count: 4096, first: -2, span: 4, low: 0, step: 0},
            density_of(t.points, t.noise, 2, this.random));
      const message = t.kind === 'array' ? {array: this.array(t)} : t.kind === 'items' ? {items: this.items(t)} : null;
      for (const viewer of message ? this.viewers : [])
        if (viewer.traces.includes(t.trace)) viewer.text(message);
    }
  }

  array({trace, channels}) {
    const channel = (_, c) => {
      if (!c) return {rms_dbfs: -20, phase_deg: 0, coherence: 1};
      const phase_deg = ((37.2 * c + 180 + 2 * this.random.normal()) % 360) - 180;
      return {rms_dbfs: -20 - 1.5 * c, phase_deg, coherence: 0.99 - 0.2 * (c % 3)};
    };
    return {
      trace,
      time_s: now(),
      frequency: 1451.5e6,
      seq: this.next(trace),
      channels: Array.from({length: channels}, channel)
    };
  }

  items({trace}) {
    const item = (_, i) => {
      const noise = 0.00076 * 10 ** (0.05 * this.random.normal()), offset_hz = 19516 + 300 * this.random.normal();
      return {time_s: now() - 0.2 + i / 80, metric: 0.61 + 0.02 * this.random.normal(), noise, offset_hz};
    };
    return {trace, seq: this.next(trace), more: 262, items: Array.from({length: 16}, item)};
  }

  half() {
    for (const viewer of this.viewers) this.tell_status(viewer);
    for (const t of this.traces().filter((each) => each.kind === 'counts')) {
      const is_latency = t.scale === 'log2', middle = is_latency ? (Math.log2(0.0074) + 17) * 4 : 32,
            counts = new Array(64).fill(0);
      for (let n = 0; n < (is_latency ? 51 : 4096); ++n) {
        const at = is_latency ?
            middle + 1.3 * this.random.normal() :
            middle + (this.random.next() < 0.5 ? -14 : 14) + (t.name.includes('fde1') ? 4 : 6.5) * this.random.normal();
        counts[Math.min(63, Math.max(0, Math.floor(at)))] += 1;
      }
      this.send(
          {
            kind: 3,
            trace: t.trace,
            count: 64,
            first: is_latency ? -17 : -2,
            span: is_latency ? 16 : 4,
            low: 0,
            step: 0
          },
          counts_of(counts));
    }
  }

  retune(hz, s = this.scenarios[0]) {
    Object.assign(s.keys.source.frequency, {value: hz, by: 'patch', since: now()});
    this.fault.retunes = (this.fault.retunes ?? 0) + 1;
    this.log('info', `${s.name}: source.frequency: ${hz / 1e6} MHz (patch)`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const server = new StandIn(path.resolve(process.argv[2]));
  await server.start(Number(process.argv[3] ?? 0));
  console.log(server.url);
}
