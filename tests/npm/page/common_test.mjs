// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What holds with the stand-in and with iqd itself (IQD=…): true frequencies, gaps, changes, security, accessibility.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {after, before, test} from 'node:test';

import {launch, look, open, seen, served_page, text} from './browser.mjs';
import {common_server, token_of} from './servers.mjs';

const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser, server, page;

before(async () => {
  server = await common_server(served_page());
  browser = await launch();
  page = await open(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Where lines are black, and how many are. */
function black_runs(lines) {
  const runs = [];
  lines.forEach((line, y) => {
    if (line.best > 0) return;
    if (y > 0 && lines[y - 1].best === 0)
      ++runs.at(-1).n;
    else
      runs.push({from: y, n: 1});
  });
  return runs;
}

for (const query of ['', '?plain']) {
  test(`a tone stands at its frequency (${query || 'WebGL2'})`, async () => {
    const own = query ? await open(browser, server.url + query) : page,
          way = await own.evaluate(() => document.documentElement.dataset.way);
    assert.equal(way, query ? 'canvas' : 'webgl2');
    const {lines, first, span, bins} = await look(own), width = 2 * span / bins + 2 * span / 1000;
    // On a busy machine, a black line may be between them.
    for (const line of lines.slice(0, 8).filter((l) => l.best > 0)) {
      assert.ok(
          Math.abs(first + line.at * span - server.tone) < width,
          `${first + line.at * span} instead of ${server.tone}`);
      assert.ok(line.best > 1.3 * line.mean, `${line.best} of ${line.mean}`);
    }
    const [, shown, unit] = /peak ([\d.]+) (\w)Hz/.exec(await own.textContent('#cursor'));
    assert.ok(Math.abs(Number(shown) * {k: 1e3, M: 1e6, G: 1e9}[unit] - server.tone) < span / bins, shown);
    if (query) await own.context().close();
  });
}

test('a gap is black, and as long as it was', async () => {
  server.lose();
  const [least, most] = server.gap_rows;
  let runs = [], height = 0;
  const whole = (r) => r.from > 0 && r.n >= least && r.from + r.n < height;  // below the oldest row it is black, too
  for (const ends = Date.now() + 30000; !runs.some(whole) && Date.now() < ends;) {
    await page.waitForTimeout(200);
    const {lines} = await look(page);
    height = lines.length;
    runs = black_runs(lines);
  }
  // Shorter ones are of a busy machine.
  const gap = runs.find(whole);
  assert.ok(gap && gap.n <= most, JSON.stringify(runs));
});

test('a change asks for the token, and rows keep their true frequencies', async () => {
  const {first, span} = await look(page);
  await page.click('#hold');
  await page.fill('label.key:has-text("frequency") input', server.retune_to);
  await page.keyboard.press('Enter');
  for (const token of ['“a wrong one”, but long enough', token_of()]) {
    await page.waitForSelector('#ask[open]');
    await page.fill('#token', token);
    await page.keyboard.press('Enter');
  }
  await seen(page, (from) => Math.abs(window.iqd.page.spectrum.panes[0].last.first - from) > 1e5, first);
  await seen(page, (n) => window.iqd.page.spectrum.panes[0].rows.count > n, (await look(page)).count + 20);
  const now = await look(page), bin = span / now.bins, of = (line) => now.view.first + line.at * now.view.span;
  assert.ok(Math.abs(now.first + now.span / 2 - server.retuned) < bin, `the band is at ${now.first}`);
  assert.equal(now.view.first, now.first, 'the view follows');
  const shown =
      now.lines.slice(0, Math.min(now.count, now.lines.length)).filter((l) => l.best > 1.3 * l.mean && l.grey === 0);
  assert.ok(shown.length > 30);
  for (const line of shown)
    assert.ok(Math.abs(of(line) - server.tone) < 2 * bin + 2 * now.span / 1000, `a row has its tone at ${of(line)}`);
  assert.match(await text(page, '#source output'), /\w/);
  await page.click('#hold');
});

test('nothing foreign, nothing inline', async () => {
  const answer = await page.request.get(server.url, {headers: {Accept: 'text/html'}}),
        policy = answer.headers()['content-security-policy'];
  for (const rule
           of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
               "require-trusted-types-for 'script'"])
    assert.ok(policy.includes(rule), policy);
  assert.deepEqual(page.asked.filter((url) => new URL(url).host !== new URL(server.url).host), []);
  const blocked = await page.evaluate(
      () => new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (e) => done(e.violatedDirective), {once: true});
        document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.2:9/x.png', alt: ''}));
      }));
  assert.equal(blocked, 'img-src');
  await page.evaluate(() => document.querySelector('img[src*="127.0.0.2"]').remove());
  assert.deepEqual(page.wrong, []);
});

for (const colorScheme of ['dark', 'light']) {
  test(`axe finds nothing (${colorScheme}, each view and dialog, and a phone)`, async () => {
    const own = await open(browser, server.url, {colorScheme});
    await own.evaluate(kAxe);
    const check = async (what) => {
      const {violations, passes} = await own.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), []);
      assert.ok(passes.length > 15, `${passes.length} rules passed`);
    };
    for (const view of await own.$$eval('#views a', (all) => all.map((a) => a.getAttribute('href')))) {
      await own.click(`#views a[href="${view}"]`);
      await check(view);
    }
    await own.click('#help');
    await check('keys');
    await own.keyboard.press('Escape');
    await own.setViewportSize({width: 390, height: 844});
    await own.click('#views a[href="#overview"]');
    await check('phone');
    await own.context().close();
  });
}

test('keys: pause, zoom, cursor, marker, theme, views', async () => {
  await page.focus('#plots');
  await page.keyboard.press(' ');
  assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true');
  const {count, view} = await look(page);
  await page.waitForTimeout(300);
  assert.equal((await look(page)).count, count);
  await page.keyboard.press(' ');
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  assert.ok((await look(page)).view.span < 0.6 * view.span);
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('0');
  assert.deepEqual((await look(page)).view, view);
  await page.keyboard.press('ArrowRight');
  await seen(page, () => !document.getElementById('cursor').textContent.startsWith('peak'));
  await page.keyboard.press('m');
  await seen(page, () => /^M1/.test(document.getElementById('markers').textContent));
  await page.keyboard.press('m');
  await seen(page, () => document.getElementById('markers').hidden);
  await page.keyboard.press('Escape');
  await seen(page, () => document.getElementById('cursor').textContent.startsWith('peak'));
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.documentElement.className), 'light');
  await page.keyboard.press('t');
  await page.keyboard.press('2');
  await seen(page, () => document.body.dataset.view === 'spectrum' && document.getElementById('log').hidden);
  await page.keyboard.press('1');
  await seen(page, () => document.body.dataset.view === 'overview');
});

test('Mark marks where the cursor was, or where a click left it; a button removes a marker', async () => {
  const {x, y, width, height} = await page.locator('#plots').boundingBox(), {view} = await look(page);
  const marks = () => page.evaluate(() => window.iqd.page.spectrum.markers.map((m) => m.hz));
  const is_at = (hz, part) => assert.ok(Math.abs(hz - view.first - part * view.span) < 2 * view.span / width, `${hz}`);
  await page.mouse.move(x + 0.2 * width, y + 0.6 * height);
  await page.click('#mark');
  is_at((await marks())[0], 0.2);
  await page.mouse.click(x + 0.4 * width, y + 0.6 * height);
  await page.mouse.move(x + 0.7 * width, y + 5);
  await page.click('#mark');
  is_at((await marks())[1], 0.4);
  await seen(page, () => /^M1.*M2.*Δ/s.test(document.getElementById('markers').textContent));
  assert.ok(!(await page.textContent('#cursor')).startsWith('peak'), 'the cursor is where the click left it');
  assert.ok(
      await page.$eval('#falls', (falls) => falls.scrollHeight <= falls.clientHeight),
      'the waterfall covers no marker');
  await page.click('#markers button >> nth=0');
  await seen(page, () => document.querySelectorAll('#markers li').length === 1);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'mark');
  await page.click('#markers button[aria-label="Remove M2"]');
  await seen(page, () => document.getElementById('markers').hidden);
  await page.keyboard.press('Escape');
  await seen(page, () => document.getElementById('cursor').textContent.startsWith('peak'));
});

test('a button that was released elsewhere drags no more', async () => {
  const {x, y, width} = await page.locator('#plots').boundingBox();
  await page.keyboard.press('+');
  const {view} = await look(page);
  await page.evaluate(
      () => document.getElementById('plots').dispatchEvent(
          new window.PointerEvent('pointerdown', {pointerId: 1, clientX: 300, buttons: 2})));
  await page.mouse.move(x + 0.3 * width, y + 200);
  await page.mouse.move(x + 0.6 * width, y + 200);
  assert.deepEqual((await look(page)).view, view);
  await page.mouse.move(10, 10);
  await page.click('#whole');
  await page.keyboard.press('Escape');
});

test('without scripts the page says where to look', async () => {
  const own = await open(browser, server.url, {javaScriptEnabled: false, rows: 0});
  assert.match(await own.textContent('noscript'), /api\/status/);
  assert.ok(await own.isVisible('noscript'));
  await own.context().close();
});
