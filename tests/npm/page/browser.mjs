// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A headless Chromium of Debian, and what the tests look at in it.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {chromium} from 'playwright-core';

export const kProgram = '/usr/bin/chromium';
export const kRoot = process.env.IQD_ROOT ?? '';
const kPatience = 90000;  // ms; a test machine may be busy

if (!existsSync(kProgram)) {
  console.error('NOT TESTED: there is no /usr/bin/chromium; tools/setup --peers installs it');
  process.exit(77);
}

/** The page as the daemon serves it. */
export function served_page() {
  const folder = mkdtempSync(path.join(tmpdir(), 'iqd-served-'));
  process.on('exit', () => rmSync(folder, {recursive: true}));
  execFileSync(
      'cmake', [`-DROOT=${kRoot}/daemon/page`, `-DOUTPUT=${folder}`, '-P', `${kRoot}/cmake/IqdPageText.cmake`]);
  return folder;
}

export const launch = (...args) => chromium.launch({executablePath: kProgram, args: ['--no-sandbox', ...args]});

/** Opens the page, and waits for rows. It has `wrong`, errors of its scripts, and `asked`, what it requested. */
export async function open(browser, url, {rows = 10, ...options} = {}) {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, colorScheme: 'dark', ...options});
  const page = Object.assign(await context.newPage(), {wrong: [], asked: []});
  page.setDefaultTimeout(kPatience);
  page.on('request', (request) => page.asked.push(request.url()));
  page.on('pageerror', (error) => page.wrong.push(error.stack));
  await page.goto(url);
  if (rows) await seen(page, (n) => window.iqd?.page.spectrum.panes[0]?.rows.count >= n, rows);
  return page;
}

/** Waits until this holds in the page. */
export const seen = (page, condition, value) =>
    page.waitForFunction(condition, value, {timeout: kPatience, polling: 50});

/**
 * Of each line of a waterfall its brightest pixel, where that is (0 … 1), the mean, and how much of it is striped; and
 * the newest row.
 */
export const look = (page, which = 0) => page.evaluate((n) => {
  const spectrum = window.iqd.page.spectrum, {rows, last} = spectrum.panes[n],
        fall = document.querySelectorAll('#falls canvas')[n];
  spectrum.draw();
  const copy = Object.assign(document.createElement('canvas'), {width: fall.width, height: fall.height}),
        c = copy.getContext('2d', {willReadFrequently: true});
  c.drawImage(fall, 0, 0);
  const {data} = c.getImageData(0, 0, copy.width, copy.height), width = copy.width, lines = [];
  for (let y = 0; y < copy.height; ++y) {
    let best = 0, at = 0, sum = 0, grey = 0;
    for (let x = 0; x < width; ++x) {
      const i = 4 * (y * width + x), v = data[i] + data[i + 1] + data[i + 2];
      sum += v;
      if (v > 0 && data[i] === data[i + 1] && data[i] === data[i + 2]) ++grey;
      if (v > best) {
        best = v;
        at = x;
      }
    }
    lines.push({best, at: (at + 0.5) / width, mean: sum / width, grey: grey / width});
  }
  return {
    lines,
    count: rows.count,
    first: last.first,
    span: last.span,
    bins: last.count,
    view: {first: spectrum.view.first, span: spectrum.view.span},
    codes: [...last.codes]
  };
}, which);

export const text = (page, selector) =>
    page.evaluate((s) => [...document.querySelectorAll(s)].map((e) => e.textContent).join(' | '), selector);
