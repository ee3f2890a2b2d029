// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What can be tested without a browser: the bytes, the numbers as text, the view.
import assert from 'node:assert/strict';
import {cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {test} from 'node:test';

import {message_of} from './signals.mjs';

globalThis.location = {
  search: ''
};
globalThis.document = {
  getElementById: () => ({dataset: {}, lastElementChild: {}})
};
globalThis.requestAnimationFrame = () => {};
// Node.js 18 takes a .js for a module only if a package.json beside it says so.
const page = mkdtempSync(path.join(tmpdir(), 'iqd-units-'));
process.on('exit', () => rmSync(page, {recursive: true}));
cpSync(`${process.env.IQD_ROOT}/daemon/page`, page, {recursive: true});
writeFileSync(path.join(page, 'package.json'), '{"type": "module"}');
const {head_of} = await import(`${page}/frames.js`);
const {clock, count, Rates, short, si, step_of} = await import(`${page}/dom.js`);
const {View} = await import(`${page}/drawing.js`);
const {Charts} = await import(`${page}/tiles.js`);
const {Rows} = await import(`${page}/waterfall.js`);

/** The same file is read by the daemon's test. */
const examples = JSON.parse(readFileSync(`${process.env.IQD_ROOT}/tests/support/live_messages.json`, 'utf8'));

for (const {name, hex, head: expected, largest, mean, db, counts, largest_at} of examples) {
  test(`the bytes of ${name}`, () => {
    const bytes = Buffer.from(hex, 'hex'),
          read = (end) => head_of(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + end)),
          head = read(bytes.length);
    for (const [field, value] of Object.entries(expected)) assert.equal(head[field], value, field);
    if (largest) assert.deepEqual([...head.codes], largest);
    if (mean) assert.deepEqual([...head.mean], mean);
    if (db) assert.deepEqual([...head.codes].map((code) => (code ? head.low + (code - 1) * head.step : null)), db);
    if (counts) assert.deepEqual([...head.counts], counts);
    for (const [at, code] of Object.entries(largest_at ?? {})) assert.equal(head.codes[at], code);
    assert.equal(read(39), null, 'too short');
    assert.equal(read(bytes.length - 1), null, 'without its last byte');
    assert.equal(
        message_of(expected, Buffer.alloc(0)).toString('hex'), hex.slice(0, 80), 'the stand-in writes the same');
  });
}

test('numbers as text', () => {
  assert.equal(si(433.92e6, 'Hz', 1), '433.920000 MHz');
  assert.equal(si(1.454623456e9, 'Hz', 2014), '1.454623 GHz');
  assert.equal(si(-40e3, 'Hz', 1000), '-40 kHz');
  assert.deepEqual(
      [0, 0.0123, 12.3e-6, 1, 999.9, 1000].map((s) => si(s, 's')),
      ['0 s', '12.3 ms', '12.3 µs', '1.00 s', '1000 s', '1.00 ks']);
  assert.deepEqual(
      [0, 7, 0.26, 9999, 10000, 24.5e6, NaN].map(count), ['0', '7', '0.3', '9999', '10.0 k', '24.5 M', '–']);
  assert.deepEqual(
      [0, 1e-5, 0.123456, -20.1, 1e7, null, Infinity].map(short),
      ['0', '1.0e-5', '0.1235', '-20.1', '1.0e7', '–', '–']);
  assert.equal(clock(1790000000.25, 1).slice(-5), ':20.2');
  assert.equal(clock(1790000000.97, 1).slice(-4), '20.9', 'not 20.0');
  assert.equal(clock(-0.25, 1).slice(-4), '59.7');
  assert.deepEqual([NaN, Infinity, 1e300].map((s) => clock(s)), ['', '', '']);
  for (const [span, most, step] of [[10, 10, 1], [10, 6, 2], [20.625e6, 8, 5e6], [7, 2, 5]])
    assert.equal(step_of(span, most), step);
});

test('rates, and counters that begin again', () => {
  const rates = new Rates(2);
  assert.ok(Number.isNaN(rates.of('a', 100, 0)));
  assert.equal(rates.of('a', 150, 1), 50);
  assert.equal(rates.of('a', 350, 2), 125);
  assert.ok(Number.isNaN(rates.of('a', 3, 3)), 'after a restart');
  assert.equal(rates.of('a', 13, 4), 10);
});

test('a view follows its band until somebody zooms, and after a retune to elsewhere', () => {
  const view = new View();
  view.follow(100, 50, 1000);
  assert.deepEqual([view.first, view.span], [100, 50]);
  assert.ok(view.zoom(0.5, 0.5));
  assert.deepEqual([view.first, view.span], [112.5, 25]);
  view.follow(110, 50, 1000);
  assert.deepEqual([view.first, view.span], [112.5, 25], 'its part is still there');
  view.pan(-10);
  assert.ok(view.first + view.span > 110 && view.first < 160, 'it cannot leave the band');
  view.follow(1000, 50, 1000);
  assert.deepEqual([view.first, view.span], [1000, 50]);
  view.zoom(0.2, 1e-9);
  assert.equal(view.span, 8 * 50 / 1000, 'eight bins at least');
  assert.equal(view.zoom(0.2, 0.5), false);
  view.zoom(0.5, 1e9);
  assert.deepEqual([view.first, view.span], [1000, 50]);
});

test('rows: a ring of codes, each with its frequencies', () => {
  const rows = new Rows(4),
        head = (first, code) => ({codes: new Uint8Array(4).fill(code), time: 1, first, span: 40, low: -130, step: 0.5});
  assert.equal(rows.at(0), -1);
  rows.add(head(100, 21));
  rows.skip(2, 3, 5, 1);
  rows.add(head(200, 0));
  assert.equal(rows.count, 5);
  assert.equal(rows.level(rows.at(4), 105), -120);
  assert.ok(Number.isNaN(rows.level(rows.at(4), 99)) && Number.isNaN(rows.level(rows.at(4), 140)), 'outside');
  assert.ok(Number.isNaN(rows.level(rows.at(0), 205)) && Number.isNaN(rows.level(rows.at(1), 105)), 'no value, lost');
  assert.deepEqual([rows.facts[rows.at(3)].time, rows.facts[rows.at(1)].time], [2, 4]);
  for (let i = 0; i < 5000; ++i) rows.add(head(i, 1));
  assert.equal(rows.facts[rows.at(2047)].first, 5000 - 2048);
  assert.equal(rows.at(2048), -1);
});

test('charts: a point a second, sixteen lines, and a time that begins again', () => {
  const charts = new Charts(), line = (chart, name) => charts.charts.get(chart).lines.get(name);
  for (let i = 0; i < 100; ++i) charts.add('a', 'x', 1000 + i / 10, [i, NaN, i + 2]);
  assert.equal(line('a', 'x').length, 10);
  assert.deepEqual(line('a', 'x')[0], [1000, 110, 0, 11, 20]);
  for (let i = 0; i < 5000; ++i) charts.add('a', 'x', 2000 + i, [1]);
  assert.ok(line('a', 'x').length <= 2000);
  charts.add('a', 'x', 5, [1]);
  assert.deepEqual(line('a', 'x'), [[5, 1, 1, 1, 1]]);
  for (const second of [0, 1])
    for (let n = 0; n < 64; ++n) charts.add('b', `user ${n}`, second, [n]);
  assert.equal(charts.charts.get('b').lines.size, 16);
  assert.equal(line('b', 'user 15').length, 2, 'lines that exist go on');
});
