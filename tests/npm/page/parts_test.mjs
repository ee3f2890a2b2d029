// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What each part of the page shows and does, against a stand-in whose signals are known.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {launch, look, open, seen, served_page, text} from './browser.mjs';
import {kRate, telemetry} from './scenario.mjs';
import {kToken, stand_in} from './servers.mjs';

let browser, server, page;

before(async () => {
  server = await stand_in(served_page(), {
    scenarios: [telemetry('lab'), telemetry('other', 1)].map(
        (s, i) => (i ? {...s, traces: s.traces.map((t) => ({...t, trace: t.trace + 20}))} : s))
  });
  browser = await launch();
  page = await open(browser, server.url);
  await page.evaluate((token) => sessionStorage.setItem('token', token), kToken);
});
after(async () => {
  assert.deepEqual(page.wrong, []);
  await browser.close();
  await server.stop();
});

const box_of = (selector, own = page) => own.locator(selector).boundingBox();
const field = (name) => page.locator(`label.key:has(span:text-is("${name}")) :is(input, select)`).first();
const sent = async (n) => {
  for (let i = 0; server.sent.length < n && i < 200; ++i) await page.waitForTimeout(20);
  return server.sent[n - 1];
};

test('the wheel zooms to where the pointer is, and dragging pans', async () => {
  const {x, y, width} = await box_of('#plots'), at = x + 0.75 * width, {view} = await look(page);
  await page.mouse.move(at, y + 300);
  for (let i = 0; i < 6; ++i) await page.mouse.wheel(0, -200);
  await seen(page, (span) => window.iqd.page.spectrum.view.span < 0.1 * span, view.span);
  const zoomed = (await look(page)).view, hz = (v) => v.first + 0.75 * v.span;
  assert.ok(Math.abs(hz(zoomed) - hz(view)) < 1, 'what is below the pointer stays');
  await page.mouse.down();
  await page.mouse.move(at - 200, y + 300, {steps: 4});
  await page.mouse.up();
  const {view: panned} = await look(page);
  assert.ok(Math.abs(panned.first - zoomed.first - 200 / width * zoomed.span) < 0.01 * zoomed.span);
  await page.mouse.move(10, 10);
  await page.click('#whole');
  assert.deepEqual((await look(page)).view, view);
});

test('the cursor reads frequency, level and time of a row', async () => {
  const {x, y, width, height} = await box_of('#plots'), {view} = await look(page);
  await page.mouse.move(x + (server.tone - view.first) / view.span * width, y + 0.5 * height);
  await seen(page, () => /\d\d:\d\d:\d\d\.\d/.test(document.getElementById('cursor').textContent));
  const [, ghz, db] = /([\d.]+) GHz +(-[\d.]+) dBFS/.exec(await page.textContent('#cursor'));
  assert.ok(Math.abs(ghz * 1e9 - server.tone) < 2 * view.span / width && Number(db) < -40);
  await page.mouse.move(10, 10);
});

test('a double click writes the frequency; only Set sends it', async () => {
  const {x, y, width} = await box_of('#plots'), {view} = await look(page), before = server.sent.length;
  await page.mouse.dblclick(x + 0.25 * width, y + 100);
  const [, number, unit] = /^([\d.]+) (\w)Hz/.exec(await field('frequency').inputValue());
  assert.ok(Math.abs(number * {G: 1e9, M: 1e6}[unit] - view.first - 0.25 * view.span) < 2 * view.span / width);
  assert.equal(server.sent.length, before);
  assert.equal(await page.evaluate(() => document.activeElement?.parentElement.textContent.slice(0, 9)), 'frequency');
  await page.click('#source button:text("Set")');
  const {method, where, body} = await sent(before + 1);
  assert.deepEqual([method, where, Object.keys(body)], ['PATCH', '/api/pipelines/lab/stages/source', ['frequency']]);
  await seen(page, () => /at once/.test(document.querySelector('#source output').textContent));
  assert.match(await text(page, '#lines div'), /this page.*lab: source at once/);
});

test('settings are made from the keys: choice, number, list, flag; what is refused says why', async () => {
  assert.equal(await field('antenna').evaluate((e) => e.tagName), 'SELECT');
  assert.match(await page.textContent('#source label:has-text("gain")'), /0 dB to 60 dB.*asked 30\.5 dB/);
  await field('gain').fill('99 dB');
  await page.keyboard.press('Enter');
  await seen(page, () => /not within 0 to 60/.test(document.querySelector('#source output.bad')?.textContent));
  await field('bandwidth').fill('1 MHz');
  await page.keyboard.press('Escape');
  await seen(page, () => [...document.querySelectorAll('#source input')].some((i) => i.value === '20.625 MHz'));
  assert.equal(await field('rate').inputValue(), '20.625 MS/s', 'a choice that is a number with a unit');
  await field('gain').fill('20');
  let n = server.sent.length;
  await page.keyboard.press('Enter');
  assert.deepEqual((await sent(n + 1)).body, {gain: 20});
  await seen(page, () => /set by patch/.test([
    ...document.querySelectorAll('#source label')
  ].find((l) => l.textContent.startsWith('gain')).textContent));
  await page.selectOption('#which', 'equalizer');
  await page.waitForSelector('label.key:has-text("cma.iterations")');
  assert.match(await text(page, '#stage details'), /kinds/);
  await field('detection_filter').fill('off, on');
  await field('cma.iterations').fill('7');
  server.scenarios[0].keys.equalizer['cma.iterations'].value = 9;
  await page.waitForTimeout(5500);
  assert.equal(await field('cma.iterations').inputValue(), '7', 'what somebody is editing stays');
  n = server.sent.length;
  await page.click('#stage button:text("Set")');
  assert.deepEqual((await sent(n + 1)).body, {detection_filter: ['off', 'on'], 'cma.iterations': 7});
  await field('channels').evaluate((input) => {
    input.value = '0, 2';
    input.dispatchEvent(new Event('input'));
  });
  await page.click('#source summary');
  await field('agc').check();
  n = server.sent.length;
  await page.click('#source button:text("Set")');
  assert.deepEqual((await sent(n + 1)).body, {channels: [0, 2], agc: true});
});

test('triggers, recordings and the reload', async () => {
  const n = server.sent.length;
  await page.click('#start button');
  assert.deepEqual((await sent(n + 1)).body, {port: 'source', seconds: 10, pipeline: 'lab'});
  await page.waitForSelector('#recordings a[download]');
  page.once('dialog', (dialog) => dialog.accept());
  await page.click('#recordings button');
  assert.equal((await sent(n + 2)).method, 'DELETE');
  await seen(page, () => !document.querySelector('#recordings li'));
  assert.ok(await page.locator('section:has(> h2:text-is("Record")) #answer').isVisible(), 'near what was pressed');
  await page.fill('#event', 'nobody');
  await page.click('#trigger button');
  await seen(page, () => /nothing waits for nobody/.test(document.getElementById('answer').textContent));
  await page.click('#reload');
  assert.equal((await sent(n + 4)).where, '/api/reload');
});

test('several traces share one axis, each with its waterfall', async () => {
  await page.click('#menu summary');
  await page.check('#traces label:has-text("lab: source · channel 2") input');
  await page.check('#traces label:has-text("lab: spectrum.out") input');
  await seen(
      page,
      () =>
          window.iqd.page.spectrum.panes.length === 3 && window.iqd.page.spectrum.panes.every((p) => p.rows.count > 5));
  const {view} = await look(page), narrow = await look(page, 2);
  assert.ok(Math.abs(narrow.span - kRate / 4) < 1);
  const [line] = narrow.lines, edge = (hz) => (hz - view.first) / view.span;
  assert.ok(line.mean < 0.7 * (await look(page, 0)).lines[0].mean, 'outside of its band it is black');
  assert.ok(line.at > edge(narrow.first) && line.at < edge(narrow.first + narrow.span));
  assert.equal(await page.textContent('#menu summary'), '3 traces');
  await page.uncheck('#traces label:has-text("spectrum.out") >> nth=0 >> input');
  await page.uncheck('#traces label:has-text("channel 2") input');
  await seen(page, () => document.querySelectorAll('#falls canvas').length === 1);
  await page.click('#menu summary');
});

test('constellations, histograms, latency, array, packets: what was sent is what is shown', async () => {
  await seen(
      page,
      () => document.querySelectorAll('#symbols figure').length === 5 && window.iqd.page.symbols.newest.size === 5);
  assert.deepEqual(
      await page.$$eval('#symbols figcaption', (all) => all.map((c) => `${c.firstChild.textContent}, ${c.title}`)),
      ['zf', 'mmse', 'cma', 'fde1', 'fde2'].map((kind) => `${kind}, equalizer.symbols · kind ${kind}`));
  const far = await page.evaluate(() => [...document.querySelectorAll('#symbols canvas')].map((c) => {
    const {data} = c.getContext('2d').getImageData(0, 0, 64, 64);
    let sum = 0, weight = 0;
    for (let i = 0; i < 4096; ++i) {
      const light = Math.max(0, data[4 * i] + data[4 * i + 1] + data[4 * i + 2] - 150);
      sum += light * Math.hypot(i % 64 - 31.5, Math.floor(i / 64) - 31.5) / 16;
      weight += light;
    }
    return sum / weight;
  }));
  for (const radius of far) assert.ok(Math.abs(radius - 1) < 0.15, `symbols at ${radius} instead of 1`);
  await seen(page, () => /deadline|blocks/.test(document.getElementById('latency').textContent));
  await seen(page, () => document.querySelectorAll('#array tr').length === 5);
  const [, row] = await page.$$eval(
      '#array tr', (all) => all.slice(1, 3).map((tr) => [...tr.children].map((td) => td.textContent)));
  assert.deepEqual([row[0], row[1], row[3]], ['1', '-21.5', '0.790']);
  assert.ok(Math.abs(Number.parseFloat(row[2]) - 37.2) < 10, row[2]);
  await seen(page, () => document.querySelectorAll('#packets figure').length >= 8);
  const titles = await page.$$eval('#packets figcaption', (all) => all.map((c) => c.title));
  for (const title of ['Bit error rate', 'Packets in error', 'packet SNR', 'packet offset_hz', 'evm_meter evm_db'])
    assert.ok(titles.includes(title), titles.join());
  const [snr] = await page.$$eval(
      '#packets figcaption',
      (all) => all.filter((c) => c.title === 'packet SNR').map((c) => Number.parseFloat(c.lastChild.textContent)));
  assert.ok(Math.abs(snr - 11.3) < 1, `${snr} dB`);
});

test('the plan: stages, shares, and losses at the place where they happen', async () => {
  const box = (name) => page.locator(`.box:has(b:text-is("${name}"))`);
  await seen(page, () => [...document.querySelectorAll('.box u')].some((u) => u.offsetWidth > 40));
  assert.match(await box('equalizer').textContent(), /CPU4\.52 ms · 46 %/);
  const share = await box('equalizer').evaluate((b) => b.lastChild.offsetWidth / b.clientWidth);
  assert.ok(Math.abs(share - 0.46) < 0.03, `${share}`);
  Object.assign(server.fault, {lost: 5000, dropped: 202752, refused: 7});
  await seen(page, () => /lost 5000/.test(document.querySelector('#graph').textContent));
  assert.match(await box('soapy').textContent(), /lost/);
  assert.match(await box('ring').textContent(), /dropped/);
  assert.match(await box('soft').textContent(), /refused/);
  await seen(page, () => /since the start, lanes/.test(document.getElementById('figures').textContent));
  const paths = (await page.$$('#graph path')).length;
  assert.ok(paths >= 9);
  await page.setViewportSize({width: 1000, height: 900});
  await page.waitForTimeout(300);
  await page.setViewportSize({width: 1440, height: 900});
  await page.waitForTimeout(300);
  assert.equal((await page.$$('#graph path')).length, paths, 'no line is left of another width');
  await box('equalizer').click();
  assert.equal(await page.inputValue('#which'), 'equalizer');
});

test('another pipeline has its own traces and keys', async () => {
  await page.selectOption('#pipeline', 'other');
  await seen(
      page,
      () => window.iqd.page.spectrum.panes[0].trace.trace === 20 && window.iqd.page.spectrum.panes[0].rows.count > 3);
  await seen(page, () => document.querySelectorAll('#levels li').length === 1);
  await field('gain').fill('11');
  const n = server.sent.length;
  await page.keyboard.press('Enter');
  assert.equal((await sent(n + 1)).where, '/api/pipelines/other/stages/source');
  await page.selectOption('#pipeline', 'lab');
  await seen(page, () => window.iqd.page.spectrum.panes[0].trace.trace === 0);
});

test('only what is seen is asked for', async () => {
  const wants = () => [...server.viewers].map((v) => v.traces.join()).join(' ');
  await page.click('#views a[href="#log"]');
  for (let i = 0; wants() !== '' && i < 100; ++i) await page.waitForTimeout(50);
  assert.equal(wants(), '');
  await page.click('#views a[href="#spectrum"]');
  for (let i = 0; wants() !== '0' && i < 100; ++i) await page.waitForTimeout(50);
  assert.equal(wants(), '0');
  await page.click('#views a[href="#overview"]');
});

test('peers and Grafana are links; no changes are allowed where iqd says so', async () => {
  for (const viewer of server.viewers)
    viewer.text({
      peers: [
        {url: 'http://lab2:9464/', state: 'ready', why: ''}, {url: 'javascript:alert(1)', state: 'unreachable', why: ''}
      ]
    });
  await page.waitForSelector('#others a[href="http://lab2:9464/"]');
  assert.match(await text(page, '#others'), /✓ ready.*✗ unreachable/);
  assert.equal((await page.$$('#others a[href]')).length, 1);
  Object.assign(
      server.hello_more, {grafana: 'http://lab:3000/', changes: 'no', why: 'monitor: insecure allows no changes'});
  server.greet();
  await page.waitForSelector('#grafana:not([hidden])');
  await seen(page, () => [...document.querySelectorAll('fieldset')].every((f) => f.disabled));
  assert.match(await text(page, '#forbidden'), /insecure/);
  server.hello_more = {};
  server.greet();
  await seen(page, () => [...document.querySelectorAll('fieldset')].every((f) => !f.disabled));
});

test('all of it at once takes at most 8 ms of script a frame', async () => {
  await page.click('#menu summary');
  await page.check('#traces label:has-text("channel 1") input');
  await page.click('#menu summary');
  await seen(
      page,
      () => window.iqd.page.spectrum.panes.length === 2 &&
          window.iqd.page.spectrum.panes.every((p) => p.rows.count > 20));
  const from = await page.evaluate(() => ({...window.iqd.tally}));
  await page.waitForTimeout(4000);
  const to = await page.evaluate(() => ({...window.iqd.tally})), mean = (to.ms - from.ms) / (to.frames - from.frames);
  assert.ok(to.frames - from.frames > 20, `${to.frames - from.frames} frames`);
  assert.ok(mean <= 8, `${mean} ms`);
});

test('a phone: one column, nothing sticks out, two fingers zoom', async () => {
  const own = await open(
      browser, server.url, {viewport: {width: 390, height: 844}, deviceScaleFactor: 2, hasTouch: true, isMobile: true});
  assert.equal(await own.evaluate(() => document.documentElement.scrollWidth), 390);
  const small = await own.$$eval(
      'button, input:not([type=range], [type=checkbox]), select, summary, #views a',
      (all) => all.filter((e) => e.checkVisibility() && e.offsetHeight < 38).map((e) => e.outerHTML));
  assert.deepEqual(small, [], 'what is touched is large enough');
  const {x, y, width} = await box_of('#plots', own), session = await own.context().newCDPSession(own),
               {view} = await look(own);
  const touch = (type, ...xs) => session.send(
      'Input.dispatchTouchEvent', {type, touchPoints: xs.map((at, id) => ({x: x + at * width, y: y + 200, id}))});
  await touch('touchStart', 0.4, 0.6);
  for (let i = 1; i <= 6; ++i) await touch('touchMove', 0.4 - 0.05 * i, 0.6 + 0.05 * i);
  await touch('touchEnd');
  await seen(own, (span) => window.iqd.page.spectrum.view.span < 0.5 * span, view.span);
  await own.context().close();
});
