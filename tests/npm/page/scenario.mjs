// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What the stand-in for iqd pretends to run: a telemetry receiver with all kinds of traces.

const kKinds = ['zf', 'mmse', 'cma', 'fde1', 'fde2'];
const kNoise = [0.34, 0.24, 0.2, 0.15, 0.11];

/** SOQPSK on the unit circle: four points, and what lies between them. */
const circle = Array.from(
    {length: 8}, (_, i) => [Math.cos(i * Math.PI / 4 + Math.PI / 4), Math.sin(i * Math.PI / 4 + Math.PI / 4)]);

export const kRate = 20.625e6, kCentre = 1451.5e6, kTone = kCentre + 3e6 + 123456;

const source_keys = {
  frequency: {value: kCentre, unit: 'Hz', range: [0, 6e9], default: null, live: true},
  gain: {value: 30, asked: 30.5, unit: 'dB', range: [0, 60], step: 1, default: null, live: true},
  antenna: {value: 'RX2', choices: ['TX/RX', 'RX2'], default: '', live: true},
  bandwidth: {value: kRate, unit: 'Hz', range: [1000, 5e8], default: null, live: true},
  agc: {value: false, default: false, live: false},
  args: {value: 'driver=iqdsim,scenario=telemetry', default: '', live: false},
  channels: {value: [0, 1, 2, 3], default: [0], range: [0, 1023], live: false},
  rate: {value: kRate, unit: 'S/s', choices: [kRate / 2, kRate, 2 * kRate], live: false},
};
const stage_keys = {
  preamble_search: {
    threshold: {value: 0.4, default: 0.4, range: [0, 1], live: true},
    repeats: {value: 8, default: 8, range: [4, 64], live: false}
  },
  packet_estimator: {average: {value: 'block', choices: ['block', 'packet', 'none'], default: 'block', live: true}},
  equalizer: {
    'cma.iterations': {value: 12, default: 12, range: [0, 1000], live: true},
    'cma.step': {value: 0.05, default: 0.05, range: [0, 1], live: true},
    detection_filter: {value: ['on'], default: ['on'], live: true},
    kinds: {value: kKinds, live: false},
  },
  soqpsk_detector: {loop_bandwidth: {value: 0.005, default: 0.005, range: [0, 1], live: true}},
  ber_meter: {},
};

const stages = [
  ['preamble_search', ['source'], ['windows', 'start', 'metric'], 0.21],
  ['packet_estimator', ['preamble_search.windows'], ['windows', 'channel', 'noise'], 0.06],
  [
    'equalizer', ['packet_estimator.windows', 'packet_estimator.channel', 'packet_estimator.noise'],
    ['symbols', 'taps'], 0.46
  ],
  ['soqpsk_detector', ['equalizer.symbols'], ['bits', 'soft'], 0.15],
  ['ber_meter', ['soqpsk_detector.bits'], ['report'], 0.004],
];
const outlets = [
  ['soqpsk_detector.bits', 'bits', 11.7e6], ['soqpsk_detector.soft', 'soft', 48e6], ['ber_meter.report', 'report', 4e3],
  ['source', 'file', 82.5e6], ['soqpsk_detector.bits', 'file of bits', 11.7e6]
];

/** @param {string} name of the pipeline @param {number} channels */
export function telemetry(name = 'telemetry', channels = 4) {
  const of = (kind, port, more) => ({pipeline: name, port, kind, name: '', unit: '', of: {}, ...more});
  const row = (channel) => of(
      'row', 'source', {name: `channel ${channel}`, channel, unit: 'dBFS', row_s: 1 / 30, bins: 1024, of: {channel}});
  const traces = [
    ...Array.from({length: channels}, (_, c) => row(c)),
    of('row', 'spectrum.out', {name: 'channel 0', unit: 'dB', row_s: 1 / 30, bins: 1024}),
    ...kKinds.map(
        (kind, i) =>
            of('density', 'equalizer.symbols', {name: `kind ${kind}`, of: {kind}, points: circle, noise: kNoise[i]})),
    ...['mmse', 'fde1'].map(
        (kind) => of('counts', 'soqpsk_detector.soft', {name: `kind ${kind}`, scale: 'linear', of: {kind}})),
    of('counts', 'latency', {name: 'latency', scale: 'log2', unit: 's', deadline_s: 0.0098304}),
    of('array', 'source', {name: 'array', channels}),
    of('items', 'soqpsk_detector.bits', {name: 'packet', facts: ['metric', 'noise', 'offset_hz']}),
  ].map((t, trace) => ({trace, ...t}));
  return {name, channels, traces, keys: {source: structuredClone(source_keys), ...structuredClone(stage_keys)}};
}

/** @param {ReturnType<typeof telemetry>} s @param {number} up seconds @param {any} now what has happened */
export function status_of(s, up, now) {
  const got = Math.round(up * kRate), found = Math.round(up * 1628),
        times = (part) => ({p50: 7e3 * part, p99: 9830 * part, p999: 12e3 * part, max: 2e4 * part});
  const events = [
    ...kKinds.flatMap(
        (kind,
         i) => [['bit_errors', Math.round(1628 * 6144 * 10 ** (-1.5 - 0.6 * i) * (up + 2 * Math.sin(up / 7 + i)))],
                ['bits', found * 6144], ['packet_errors', Math.round(found / (3 + 6 * i))], ['packets', found]]
                   .map(([event, count]) => ({count, event, kind, stage: 'ber_meter'}))),
    ...[['found', found], ['cut', 3], ['crowded', 0], ['not_finite', 0]].map(
        ([event, count]) => ({count, event, stage: 'preamble_search'})),
  ];
  const channel = (_, c) => {
    const rms_dbfs = -19.6 - 1.5 * c + 0.2 * Math.sin(up + c), overloaded = Boolean(now.clips) && c === 1;
    return {rms_dbfs, peak_dbfs: -9.2 - c, clipped: c === 2 ? 17 : 0, overloads: 0, overloaded};
  };
  return {
    name: s.name,
    backend: 'cpu',
    state: now.state ?? 'streaming',
    trouble: now.trouble ?? '',
    slow_stage: '',
    source: 'soapy',
    sample_rate: kRate,
    block_s: 0.0098304,
    blocks: Math.round(up / 0.0098304),
    received: got,
    published: got,
    lost: now.lost ?? 0,
    dropped: {device: 0, lanes: now.dropped ?? 0, refused: 0, slots: 0, stopped: 0},
    in_flight: 405504,
    deadline_misses: now.misses ?? 0,
    overflows: 0,
    reconnects: 0,
    lanes: {all: 4, busy: 2},
    slots: {all: 32, free: 30},
    latency_us: times(0.91),
    calibrated: true,
    late: 0,
    sequence_errors: 0,
    time_jumps: 0,
    events,
    levels: [{level: 'evm_db', stage: 'evm_meter', value: -21.5 + Math.sin(up)}],
    channels: Array.from({length: s.channels}, channel),
    ports: outlets.map(([port, to, bytes], i) => ({
                         port,
                         to,
                         endpoint: 'tcp://127.0.0.1:5555',
                         messages: Math.round(up * 101.7),
                         bytes: Math.round(up * bytes),
                         refused: i === 1 ? now.refused ?? 0 : 0,
                         late: 0,
                         underflows: 0,
                         sequence_errors: 0
                       })),
    radio: {
      frequency: s.keys.source.frequency.value,
      retunes: now.retunes ?? 0,
      time: {source: 'radio', ahead_s: -0.0013, drift: {ppm: 0.212, error_ppm: 0.004, over_s: 300}}
    },
    steps: stages.map(([step, , , part]) => ({step, blocks: 100, mean_us: 7e3 * part, time_us: times(part)})),
  };
}

export const radio_of = (locked = true) => ({
  args: 'driver=iqdsim',
  driver: 'soapy',
  facts: {product: 'iqdsim', serial: 'SIM0', firmware: '1.0', fpga: '1.0'},
  locks: [{lock: 'reference', of: '', locked}, ...[0, 1, 2, 3].map((n) => ({lock: 'lo', of: `rx ${n}`, locked: true}))],
  readings: [{of: '', reading: 'temperature', value: 42.5}],
});


/** @param {ReturnType<typeof telemetry>} s */
export function plan_of(s) {
  const port = (name, maker, shape = '') => ({name, maker, shape});
  const made = stages.flatMap(([name, , out]) => out.map((o) => port(`${name}.${o}`, name)));
  const stage = ([name, input, out]) =>
      ({name, stage: name, side: 'host', backend: 'cpu', in : input, out: out.map((o) => `${name}.${o}`), fused: []});
  return {
    name: s.name,
    backend: 'cpu',
    block: {samples: 202752, seconds: 0.0098304},
    sample_rate: kRate,
    source: {driver: 'soapy', state: 'streaming'},
    queues: {in_flight: 405504, lanes: 4, lanes_busy: 2, slots: 32, slots_free: 30},
    ports: [port('source', 'source', 'sc16 [n]'), ...made],
    stages: stages.map(stage),
    messages: outlets.map(([of, to]) => ({port: of, to, messages: 0, refused: 0})),
  };
}
