// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// node picture.mjs FOLDER [URL [SECONDS]]: takes the pictures of docs/page.md of a running iqd, or of the stand-in:
// page.png, page_packets.png and page_phone.png. Then: pngquant --nofs --ext .png --force 24 FOLDER/*.png
import path from 'node:path';

import {launch, open, served_page} from './browser.mjs';
import {stand_in} from './servers.mjs';

const [, , folder, url, seconds = '20'] = process.argv;
const server = url ? null : await stand_in(served_page()), browser = await launch();

async function shoot(name, view, options) {
  const page = await open(browser, `${url ?? server.url}#${view}`, {rows: 0, ...options});
  await page.waitForTimeout(1000 * Number(seconds));
  await page.screenshot({path: path.join(folder, name), timeout: 120000});
  await page.context().close();
}

await shoot('page.png', 'overview', {viewport: {width: 1280, height: 930}});
await shoot('page_packets.png', 'packets', {viewport: {width: 1280, height: 800}, colorScheme: 'light'});
await shoot('page_phone.png', 'overview', {viewport: {width: 390, height: 844}, isMobile: true, hasTouch: true});
await browser.close();
await server?.stop();
