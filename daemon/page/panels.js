// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {by_id, clock, count, list, long, make, Rates, rows, say, set, short, si} from './dom.js';

const kLines = 500, kColumn = 170;  // lines of the log; pixels of a column of the plan, with the gap
const rates = new Rates(), slow = new Rates(10);
const warn = (is = false) => (is ? 'warn' : '');

/** In the badge and the title. */
export function show_state(state = '', is_good = false, name = '') {
  const sign = is_good ? '●' : '▲';
  say(set(by_id('state'), {class: `badge ${is_good ? 'good' : 'bad'}`}), `${sign} ${state}`);
  document.title = `${is_good ? '' : '▲ '}${name || state} · iqd`;
}

/** State, key figures, levels, radio and outputs. @param {Pipeline} p @param {Radio} [radio] */
export function show_panels(p, radio, at = 0) {
  const is_good = p.state === 'streaming' || p.state === 'ended', {ports} = p,
        rate = (key = '', n = 0) => rates.of(p.name + key, n, at);
  show_state(p.state, is_good, p.name);
  say(by_id('why'), p.trouble || (p.slow_stage && `${p.slow_stage} is too slow`));
  rows(by_id('figures'), [...flow_of(p, rate, at), ...quality_of(p, rate, at)]);
  show_levels(p.channels);
  show_radio(p, radio);
  rows(
      by_id('outputs'),
      [
        ['port', 'per s', 'B/s', 'refused'],
        ...ports.map(
            (o, i) =>
                [o.port, count(rate(`${i} n`, o.messages)), count(rate(`${i} b`, o.bytes)),
                 [count(o.refused), warn(o.refused > 0)]])
      ],
      'tr', 'td');
}

/** @param {Pipeline} p @param {(key: string, n: number) => number} rate */
function flow_of(p, rate, at = 0) {
  const {sample_rate, block_s, latency_us: {p99}, lanes, deadline_misses: missed} = p;
  const received = rate('in', p.received);
  const all = Object.entries({lost: p.lost, ...p.dropped}).sort(([, a], [, b]) => b - a),
        lost = all.reduce((sum, [, n]) => sum + n, 0);
  const now = rate('lost', lost), late = rate('late', missed), mega = (n = 0) => (n / 1e6).toFixed(3);
  const since = now > 0 ? `⚠ ${count(now)}/s` : 'since the start';
  const share = p.gpu_share ? `, ${p.gpu_share} SM` : '';
  return [
    ['Received', [mega(received), received < 0.98 * sample_rate ? 'bad' : ''], `of ${mega(sample_rate)} MS/s`],
    ['Samples lost', [count(lost), now > 0 ? 'bad' : warn(lost > 0)], lost ? `${since}, ${all[0][0]}` : since],
    ['Latency p99', [si(p99 / 1e6, 's'), warn(p99 > 1e6 * block_s)], `of ${si(block_s, 's')}`],
    [
      'Deadlines missed', [count(missed), late > 0 ? 'bad' : warn(missed > 0)],
      late > 0 ? `⚠ ${count(late)}/s` : `of ${count(p.blocks)} blocks`
    ],
    ['Lanes', `${lanes.busy}`, `of ${lanes.all} busy`],
    ['Up', long(at), p.reconnects ? `${p.reconnects} reconnects` : p.backend + share]
  ];
}

/** @param {Pipeline} p @param {(key: string, n: number) => number} rate */
function quality_of({name, events}, rate, at = 0) {
  const of = (event = '') => events.filter((e) => e.event === event),
        sum = (event = '') => of(event).reduce((s, e) => s + e.count, 0);
  const found =
      [
        ['found', of('found')[0]?.stage === 'ofdm_sync' ? 'Frames' : 'Packets'], ['good', 'Good frames'],
        ['words', 'Words']
      ].filter(([event]) => of(event).length)
          .map(([event, title]) => [title, count(rate(event, sum(event))), 'per second']);
  const bits = slow.change(`${name} bits`, sum('bits'), at)?.grown,
        wrong = slow.change(`${name} wrong`, sum('bit_errors'), at)?.grown ?? 0;
  if (of('bits').length)
    found.push(
        ['Bit errors', bits ? (wrong / bits).toExponential(1) : '–', bits ? `of ${count(bits)} bits` : 'no bits']);
  if (of('bad_crc').length)
    found.push(['CRC errors', count(sum('bad_crc')), `of ${count(sum('good') + sum('bad_crc'))}`]);
  return found;
}

/** @param {Pipeline['channels']} channels */
function show_levels(channels) {
  const parent = by_id('levels'),
        part = (/** @type {number | null} */ db) => `${Math.max(0, Math.min(100, 100 + 1.25 * (db ?? -80)))}%`;
  set(parent, {class: channels.length > 8 && 'many'});
  rows(parent, channels.map(({rms_dbfs: rms, peak_dbfs, clipped, overloaded}, i) => {
    const level = rms === null ? 'silent' : `${rms.toFixed(1)} dBFS`, kind = overloaded ? 'bad' : warn(clipped > 0);
    const more = `peak ${peak_dbfs ?? '–'} dBFS, ${count(clipped)} samples clipped`;
    return [`rx ${i}`, ['', 'level'], [overloaded ? '⚠ clipping' : clipped ? `! ${level}` : level, kind], more];
  }));
  channels.forEach(({rms_dbfs, peak_dbfs}, i) => {
    const {style} = parent.children[i].children[1];
    style.setProperty('--rms', part(rms_dbfs));
    style.setProperty('--peak', part(peak_dbfs));
  });
}

/** @param {Pipeline} p @param {Radio} [radio] */
function show_radio(p, radio) {
  const {time, frequency} = p.radio ?? {}, {facts = {}, locks = [], readings = []} = radio ?? {};
  const drift = time?.drift;
  rows(by_id('locks'), [...new Set(locks.map((l) => l.lock))].map((name) => {
    const own = locks.filter((l) => l.lock === name), bad = own.filter((l) => !l.locked);
    const which = bad.map((l) => l.of).join(', '), times = own.length > 1 ? ` × ${own.length}` : '';
    return [bad.length ? [`✗ ${name} ${which} not locked`, 'bad'] : [`✓ ${name}${times}`, 'good']];
  }));
  rows(by_id('clock'), [
    ['Radio', facts.product ? `${facts.product} ${facts.serial ?? ''}` : p.source],
    ['Tuned to', frequency && si(frequency, 'Hz', 1)], ['Clock', time?.source],
    ['Drift', drift && `${drift.ppm.toFixed(3)} ± ${drift.error_ppm.toFixed(3)} ppm`],
    ...readings.map((r) => [`${r.of} ${r.reading}`, short(r.value)]),
    ...['overflows', 'reconnects', 'time_jumps', 'late', 'sequence_errors'].map(
        (key) => [key.replace('_', ' '), p[key] && count(p[key])]),
    ['Calibration', p.calibrated === false ? '⚠ does not hold' : p.calibrated && 'holds']
  ].filter(([, text]) => text));
}

/** @param {NonNullable<Message['peers']>} peers */
export function show_peers(peers) {
  by_id('peers').hidden = !peers.length;
  list(
      by_id('others'), peers, (p, i) => `${i} ${p.url}`,
      ({url}) => make('li', {}, make('a', {href: /^https?:/.test(url) && url}, url), ' ', make('span')),
      (li, {state, why}) => {
        const [sign, look] = state === 'ready' ? ['✓', 'good'] : state === 'unknown' ? ['…', ''] : ['✗', 'bad'];
        say(li.lastChild, [`${sign} ${state}`, why].filter(Boolean).join(': '));
        set(li.lastChild, {class: look});
      });
}

/** Lines of iqd's log, and what this page adds: what it changed, and what it missed. */
export class Log {
  /** The time of the last line: after a new connection, lines come again. */
  last = 0;

  /** @param {NonNullable<Message['log']>} lines */
  add(lines) {
    for (const {time_s, level, text} of lines.filter((l) => l.time_s > this.last))
      this.append(time_s, level, level, text);
    this.last = Math.max(this.last, ...lines.map((l) => l.time_s));
  }

  own(text = '', is_good = true) { this.append(Date.now() / 1000, is_good ? 'info' : 'warning', 'this page', text); }

  append(time = 0, kind = '', level = '', text = '') {
    const lines = by_id('lines'), is_low = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 24;
    lines.append(
        make('div', {class: kind}, make('time', {}, clock(time)), make('b', {}, level), make('span', {}, text)));
    if (lines.children.length > kLines) lines.firstChild.remove();
    if (is_low) lines.scrollTop = lines.scrollHeight;
  }
}

/** The plan as a graph: stages with their side and time, queues, and losses at the place where they happen. */
export class Plan {
  rates = new Rates();
  graph = by_id('graph');
  /** From, to, port. @type {string[][]} */
  edges = [];
  /** @type {Map<string, any>} */
  boxes = new Map();
  /** The first stage on a GPU: a GPU that fails drops blocks there. @type {string | undefined} */
  device = '';

  /** @param {(stage: string) => void} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    new ResizeObserver(() => this.draw()).observe(this.graph);
  }

  /** @param {PlanFile} [plan] */
  show(plan) {
    by_id('plan').dataset.empty = plan ? '' : 'yes';
    if (!plan) return;
    const {ports, stages, messages, source} = plan, makers = new Map(ports.map((p) => [p.name, p.maker]));
    const maker = (port = '') => makers.get(port) ?? 'source';
    const nodes = [
      ['svg'], ['radio', source.driver, '', 'source'], ['source', 'ring', '', ''],
      ...stages.map(({name, stage, side, fused}) => {
        const is_own = name[0] === '~';  // iqd added it
        return [name, is_own ? stage : name, side === 'device' ? 'GPU' : 'CPU', is_own ? '' : fused[0] ?? name];
      }),
      ['slots', 'result slots', '', ''], ...messages.map((m, i) => [`outlet ${i}`, m.to, '', ''])
    ];
    this.edges = [
      ['radio', 'source', ''],
      ...stages.flatMap((s) => s.in.filter((p) => makers.has(p)).map((p) => [maker(p), s.name, p])),
      ...messages.flatMap(({port}, i) => [[maker(port), 'slots', port], ['slots', `outlet ${i}`, port]])
    ];
    this.device = stages.find((s) => s.side === 'device')?.name;
    list(this.graph, nodes, (n) => n.join(), ([, name, side, of]) => {
      if (!name) return make('svg');
      const inside = [make('b', {}, name), make('i', {}, side), ...['span', 'em', 'u'].map((tag) => make(tag))];
      return make(of ? 'button' : 'div', {class: 'box', title: name, onclick: () => of && this.chosen(of)}, ...inside);
    });
    this.boxes = new Map(nodes.slice(1).map(([id], i) => [id, this.graph.children[i + 1]]));
    this.draw();
  }

  /** Columns by depth, in lines as wide as the card. */
  draw() {
    const {graph, boxes, edges} = this, most = Math.max(2, Math.floor((graph.clientWidth + 2) / kColumn));
    const depth = new Map([...boxes.keys()].map((id) => [id, 0]));
    if (!graph.clientWidth || !boxes.size) return;
    for (let n = boxes.size; n; --n)
      for (const [a, b] of edges) depth.set(b, Math.max(depth.get(b) ?? 0, 1 + (depth.get(a) ?? 0)));
    const deep = 1 + Math.max(...depth.values()), columns = Math.ceil(deep / Math.ceil(deep / most));
    graph.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 230px))`;
    const used = [0], ends = [1];
    for (const [id, d] of [...depth].sort(([, a], [, b]) => a - b)) {
      const line = Math.floor(d / columns), row = used[d] ?? 0;
      used[d] = row + 1;
      ends[line + 1] = Math.max(ends[line + 1] ?? 0, ends[line] + row + 1);
      boxes.get(id).style.gridArea = `${ends[line] + row} / ${d % columns + 1}`;
    }
    list(
        graph.firstChild, edges, (e, i) => `${i} ${e}`, ([, , port]) => make('path', {}, make('title', {}, port)),
        (path, [from, to]) => {
          const a = boxes.get(from), b = boxes.get(to), half = a.offsetHeight / 2, x = a.offsetLeft + a.offsetWidth,
                y = a.offsetTop + half, u = b.offsetLeft, v = b.offsetTop + half;
          const near = `C${x + 15} ${y} ${u - 15} ${v} ${u} ${v}`, far = `h12v${half + 11}H${u - 12}V${v}h12`;
          set(path, {d: `M${x} ${y}${u > x && u < x + 60 ? near : far}`});
        });
  }

  /** @param {Pipeline} p */
  status({dropped, lanes, slots, lost, in_flight, state, sample_rate, steps, ports, block_s}, at = 0) {
    this.say('radio', `${si(sample_rate, 'S/s')} · ${state}`, lost, 'lost', at);
    this.say(
        'source', `lanes ${lanes.busy} of ${lanes.all} · ${count(in_flight)} in flight`,
        dropped.lanes + dropped.stopped, 'dropped', at);
    this.say('slots', `${slots.free} of ${slots.all} free`, dropped.slots, 'dropped', at);
    for (const {step, time_us: {p99}} of steps)
      this.say(
          step, `${si(p99 / 1e6, 's')} · ${(p99 / block_s / 1e4).toPrecision(2)} %`,
          step === this.device ? dropped.device : 0, 'dropped', at, p99 / block_s / 1e6);
    ports.forEach(
        (o, i) => this.say(
            `outlet ${i}`, `${o.port} · ${count(this.rates.of(`${i} ${o.port}`, o.messages, at))}/s`, o.refused,
            'refused', at));
  }

  say(id = '', fact = '', lost = 0, what = '', at = 0, share = 0) {
    const box = this.boxes.get(id), now = this.rates.of(`lost ${id}`, lost, at);
    if (!box) return;
    const [, , facts, loss, bar] = box.children;
    say(facts, fact);
    say(loss, !lost ? '' : now > 0 ? `⚠ ${what} ${count(now)}/s` : `${what} ${count(lost)}`);
    set(box, {class: `box ${now > 0 ? 'bad' : lost ? 'warn' : ''}`});
    set(bar, {class: share > 1 ? 'bad' : share > 0.7 && 'warn'});
    bar.style.width = `${Math.min(100, 100 * share)}%`;
  }
}
