// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Bad input and faults, which only the stand-in can make.
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';

import {launch, look, open, seen, served_page, text} from './browser.mjs';
import {telemetry} from './scenario.mjs';
import {stand_in} from './servers.mjs';

let browser, folder, server, page;

before(async () => {
  folder = served_page();
  browser = await launch();
});
after(() => browser.close());
beforeEach(async () => {
  await page?.context().close();
  await server?.stop();
  server = await stand_in(folder, {token: ''});
  page = await open(browser, server.url);
});
after(() => server.stop());

const log_of = () => text(page, '#lines div');

test('values that are not known are gaps, not lines', async () => {
  server.fault.nan = true;
  await seen(page, () => Number.isNaN(window.iqd.page.spectrum.panes[0].lines.now[150]));
  const {codes} = await look(page);
  assert.ok(codes.slice(100, 200).every((c) => c === 0) && codes[99] > 0 && codes[200] > 0);
  const held = await page.evaluate(() => {
    const {spectrum} = window.iqd.page, [pane] = spectrum.panes, {last} = pane;
    document.getElementById('hold').click();
    for (const [i, code] of [0, 100, 0].entries())
      pane.take(
          {...last, seq: last.seq + i + 1, time: last.time + i + 1, codes: last.codes.map(() => code)}, pane.life);
    return pane.lines.hold[150];
  });
  assert.equal(held, -80.5, 'a row without values takes nothing of what is held');
  assert.deepEqual(page.wrong, []);
});

test('rows that this page did not see are striped, not black', async () => {
  const {count} = await look(page);
  server.seq.set(0, server.seq.get(0) + 20);
  await seen(page, (n) => window.iqd.page.spectrum.panes[0].rows.count > n, count + 20);
  const {lines} = await look(page), striped = lines.filter((l) => l.grey > 0.15 && l.grey < 0.35);
  assert.equal(striped.length, 20);
});

test('a restart: it connects again, shows what was missed, and says so', async () => {
  const {port} = server;
  await server.stop();
  await seen(page, () => /iqd is stopping/.test(document.getElementById('link').textContent));
  assert.equal(await page.textContent('#state'), '▲ not connected');
  await page.waitForTimeout(1500);
  server = await stand_in(folder, {token: ''});
  const url = server.url;
  await server.stop();
  server.start_time();
  await server.start(port);
  assert.notEqual(url, server.url);
  await seen(page, () => document.getElementById('link').textContent === '');
  await seen(page, () => window.iqd.page.spectrum.panes[0].rows.facts.some((f) => f.state === 3));
  assert.match(await log_of(), /iqd was restarted at/);
  assert.match(await log_of(), /connected again; nothing was seen for/);
  assert.ok((await look(page)).lines.filter((l) => l.grey > 0.15).length > 30);
});

test('24 are looking already: it says so, shows the status, and comes in when one leaves', async () => {
  server.limit = 1;
  const own = await open(browser, server.url, {rows: 0});
  await seen(own, () => /24 viewers are looking already/.test(document.getElementById('link').textContent));
  await seen(own, () => /streaming/.test(document.getElementById('state').textContent));
  await page.context().close();
  await seen(own, () => window.iqd.page.spectrum.panes[0]?.rows.count > 3);
  await own.context().close();
  page = null;
});

test('a browser that forbids storage shows the page and asks for the token each time', async () => {
  server.token = 'a token of more than sixteen characters';
  const context = await browser.newContext(), own = await context.newPage();
  await own.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, {get() { throw new Error('forbidden'); }});
  });
  await own.goto(server.url);
  await seen(own, () => window.iqd?.page.spectrum.panes[0]?.rows.count > 3);
  await own.click('#reload');
  await own.fill('#token', server.token);
  await own.keyboard.press('Enter');
  await seen(own, () => /nothing has changed/.test(document.getElementById('answer').textContent));
  await context.close();
});

test('the 24th viewer may choose other traces', async () => {
  server.limit = 1;
  await page.click('#menu summary');
  await page.check('#traces label:has-text("channel 2") input');
  await seen(
      page,
      () =>
          window.iqd.page.spectrum.panes.length === 2 && window.iqd.page.spectrum.panes.every((p) => p.rows.count > 3));
});

test('an iqd that says nothing is not shown as streaming', async () => {
  server.is_stalled = true;
  await seen(page, () => /nothing was seen for/.test(document.getElementById('lines').textContent));
  server.is_stalled = false;
  await seen(page, () => /streaming/.test(document.getElementById('state').textContent));
});

test('a hidden tab leaves, and comes back', async () => {
  const hide = (is) => page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
    document.dispatchEvent(new Event('visibilitychange'));
  }, is);
  await hide(true);
  for (let i = 0; server.viewers.size && i < 100; ++i) await page.waitForTimeout(50);
  assert.equal(server.viewers.size, 0);
  await hide(false);
  const {count} = await look(page);
  await seen(page, (n) => window.iqd.page.spectrum.panes[0].rows.count > n + 10, count);
  assert.equal(server.viewers.size, 1);
});

test('a lost WebGL context: a canvas takes over, with all rows', async () => {
  await seen(page, () => window.iqd.page.spectrum.panes[0].rows.count > 60);
  await page.evaluate(
      () => window.iqd.page.spectrum.panes[0].fall.way.gl.getExtension('WEBGL_lose_context').loseContext());
  await seen(page, () => document.documentElement.dataset.way === 'canvas');
  const {lines, first, span} = await look(page);
  for (const line of lines.slice(0, 60))
    assert.ok(Math.abs(first + line.at * span - server.tone) < span / 300, 'old rows are there');
  assert.deepEqual(page.wrong, []);
});

test('names with markup, 64 channels, an overload, a lock that is lost', async () => {
  const evil = '<img src=x onerror="window.hacked=1"><b>evil</b>', s = telemetry(evil, 64);
  for (const t of s.traces) t.name = `${evil} ${t.name}`;
  Object.assign(s.keys, {[evil]: {[evil]: {value: evil, default: evil, live: true}}});
  server.scenarios = [s];
  Object.assign(server.fault, {clips: true, unlocked: true, trouble: evil});
  server.hello_more = {host: evil, grafana: 'javascript:window.hacked=1'};
  server.log('error', evil);
  server.greet();
  await seen(page, () => document.querySelectorAll('#levels li').length === 64);
  await seen(page, () => window.iqd.page.array.tiles.querySelectorAll('tr').length === 65);
  assert.equal(
      await page.evaluate(() => window.hacked ?? document.querySelectorAll('main b b, [onerror], img[src="x"]').length),
      0);
  assert.match(await text(page, '#lines div'), /<b>evil<\/b>/);
  assert.match(await text(page, '#levels'), /⚠ clipping/);
  assert.match(await text(page, '#locks'), /✗ reference/);
  assert.ok(await page.evaluate(() => document.getElementById('grafana').hidden), 'only links to http');
  assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1440, 'nothing sticks out');
  assert.deepEqual(page.wrong, []);
});

test('traces that vanish and appear', async () => {
  const [s] = server.scenarios, all = s.traces;
  s.traces = all.filter((t) => t.kind === 'density' && t.of.kind !== 'cma')
                 .map((t) => ({...t, port: 'apsm_detector.symbols'}));
  server.greet();
  await seen(
      page, () => document.querySelectorAll('#symbols figure').length === 4 && document.getElementById('array').hidden);
  assert.ok(await page.isVisible('#nothing'), 'there is no row to show');
  s.traces = all;
  server.greet();
  await seen(
      page,
      () => document.querySelectorAll('#symbols figure').length === 5 && !document.getElementById('array').hidden);
  await seen(page, () => window.iqd.page.spectrum.panes[0]?.fall);
  const {count} = await look(page);
  await seen(page, (n) => window.iqd.page.spectrum.panes[0].rows.count > n, count + 5);
  assert.deepEqual(page.wrong, []);
});

test('an axis without frequencies counts bins', async () => {
  const [s] = server.scenarios;
  s.traces = s.traces.filter((t) => t.port === 'spectrum.out').map((t) => ({...t, axis: 'bin'}));
  server.greet();
  await seen(page, () => /^peak bin \d+ /.test(document.getElementById('cursor').textContent));
  await page.dblclick('#plots');
  assert.equal(await page.inputValue('label.key:has-text("frequency") input'), '1.4515 GHz');
});

test('messages that make no sense are left out', async () => {
  for (const viewer of server.viewers) {
    viewer.binary(Buffer.alloc(0));
    viewer.binary(Buffer.from([1, 0, 0, 9, 255, 255, 255, 255]));
    viewer.binary(Buffer.concat([Buffer.from([77]), Buffer.alloc(60)]));
    viewer.binary(Buffer.concat([Buffer.from([1, 0, 0, 0, 9]), Buffer.alloc(35)]));
    viewer.binary(Buffer.concat([Buffer.from([1, 200, 0, 1]), Buffer.alloc(36)]));
    viewer.text({weather: 'fine'});
  }
  const {count} = await look(page);
  await seen(page, (n) => window.iqd.page.spectrum.panes[0].rows.count > n, count + 10);
  assert.deepEqual(page.wrong, []);
});

test('a page that was stuck connects again instead of showing the past', async () => {
  const before = [...server.viewers][0], status = server.status.bind(server);
  server.status = () => ({...status(), uptime_s: status().uptime_s - (before.is_open ? 3 : 0)});
  for (let i = 0; before.is_open && i < 200; ++i) await page.waitForTimeout(50);
  assert.ok(!before.is_open);
  await seen(page, () => document.getElementById('link').textContent === '');
});

test('hours of rows leave the memory as it is', async () => {
  const heap = async () => {
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const {usedSize} = await session.send('Runtime.getHeapUsage');
    await session.detach();
    return usedSize;
  };
  // Each message as if a second later: more than an hour of status, packets, log and charts.
  const hour = (from) => page.evaluate((start) => {
    const {page: p} = window.iqd, {last} = p.spectrum.panes[0];
    const status = {uptime_s: 0, radios: [], pipelines: [{...window.iqd.last_status}]};
    for (let i = 0; i < 4000; ++i) {
      p.spectrum.head({...last, seq: last.seq + start + i + 1, time: last.time + start + i});
      p.text({status: {...status, uptime_s: 1e5 + start + i}});
      p.text({log: [{time_s: 2e9 + start + i, level: 'info', text: `line ${start + i}`}]});
      p.packets.items({
        trace: p.packets.all[0].trace,
        items: [{time_s: 2e9 + start + i, metric: Math.random(), noise: 0.001, offset_hz: i}]
      });
    }
  }, from);
  const [status] = server.status().pipelines;
  await page.evaluate((s) => {
    window.iqd.last_status = s;
  }, status);
  await page.evaluate(() => window.iqd.page.link.leave());  // nothing of now comes between
  await hour(0);
  await hour(4000);
  await hour(8000);
  const before = await heap();
  await hour(12000);
  await hour(16000);
  const grown = await heap() - before;
  assert.ok(grown < 1e6, `${grown} bytes more after two hours`);
  assert.equal(await page.evaluate(() => document.getElementById('lines').children.length), 500);
});
