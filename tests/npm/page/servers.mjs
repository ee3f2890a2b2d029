// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What the browser tests open: the stand-in, or an iqd with the simulated radio if the environment has IQD, the path of
// the program. Both have a tone at a known frequency, want a token for changes, and lose samples.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';

import {kTone} from './scenario.mjs';
import {StandIn} from './stand_in.mjs';

export const kToken = 'a token of more than sixteen characters';

/** @param {string} folder of the page as it is served @param {object} [options] of the stand-in */
export async function stand_in(folder, options = {}) {
  const server = new StandIn(folder, {token: kToken, ...options});
  await server.start();
  return Object.assign(server, {
    tone: kTone,
    retune_to: '1.4525 GHz',
    retuned: 1.4525e9,
    gap_rows: [30, 30],
    lose: () => {
      server.lost = 30;
    }
  });
}

/**
 * An iqd whose tone stays where it is on the air, and that loses a second of samples after eight.
 * @param {string} program
 */
async function iqd(program) {
  const folder = mkdtempSync(path.join(tmpdir(), 'iqd-page-')), file = path.join(folder, 'page.yaml'),
        token = path.join(folder, 'token');
  process.on('exit', () => rmSync(folder, {recursive: true}));
  writeFileSync(token, `${kToken}\n`.replaceAll(' ', '-'), {mode: 0o600});
  writeFileSync(file, `name: page
source:
  soapy: {args: "driver=iqdsim,front_end=true,frequency=123456,level=-20,stall_at=8,stall_for=1", rate: 2 MS/s, frequency: 100 MHz}
block: 65536
stages:
  - spectrum: {size: 1024}
publish:
  - {port: spectrum.out, topic: spectrum, bind: "ipc://${folder}/socket"}
monitor: {listen: "127.0.0.1:0", token: ${token}}
`);
  const child = spawn(program, ['run', file], {stdio: ['ignore', 'ignore', 'pipe']});
  const port = await new Promise((done, fail) => {
    child.once('exit', (code) => fail(new Error(`iqd exited with ${code}`)));
    createInterface({input: child.stderr}).on('line', (line) => {
      const [, found] = /http: listening on 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (found) done(found);
    });
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    tone: 100e6 + 123456,
    retune_to: '100.4 MHz',
    retuned: 100.4e6,
    gap_rows: [27, 34],
    lose() {},
    stop: () => new Promise((done) => {
      child.removeAllListeners('exit').once('exit', done);
      child.kill('SIGTERM');
    }),
  };
}

/** @param {string} folder */
export const common_server = (folder) => (process.env.IQD ? iqd(process.env.IQD) : stand_in(folder));
export const token_of = () => (process.env.IQD ? kToken.replaceAll(' ', '-') : kToken);
