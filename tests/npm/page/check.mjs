// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks the page without a browser: types (tsc --checkJs --strict), eslint, its size as the daemon serves it, and that
// what is served has the same words as the source.
import {tokenizer} from 'acorn';
import {execFileSync, spawnSync} from 'node:child_process';
import {cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const kLargest = 96000, kLargestZipped = 32000;  // bytes of all files; each is compressed alone
const root = process.env.IQD_ROOT, here = path.dirname(fileURLToPath(import.meta.url)),
      packages = path.join(here, '..', 'node_modules');
const failures = [];

function run(what, ...words) {
  const done = spawnSync(process.execPath, words, {cwd: here, encoding: 'utf8'});
  if (done.status !== 0) failures.push(`${what}:\n${done.stdout}${done.stderr}`);
}

/** The words of a script; of shaders without comments and white space. */
function words_of(file) {
  const text = readFileSync(file, 'utf8'), has_shaders = text.includes('#version');
  return [...tokenizer(text, {ecmaVersion: 2023, sourceType: 'module'})].map(({type: {label}, value}) => {
    const word = `${value?.pattern ?? value}`;
    return `${label} ${has_shaders && label === 'template' ? word.replace(/\/\/.*|\s/g, '') : word}`;
  });
}

rmSync(path.join(here, 'www'), {recursive: true, force: true});
cpSync(`${root}/daemon/page`, path.join(here, 'www'), {recursive: true});
const settings = JSON.parse(readFileSync(path.join(here, 'tsconfig.page.json'), 'utf8'));
writeFileSync(path.join(here, 'tsconfig.json'), JSON.stringify({...settings, files: ['www/page.js', 'page.d.ts']}));
run('tsc', path.join(packages, 'typescript/bin/tsc'), '-p', 'tsconfig.json');
run('eslint', path.join(packages, 'eslint/bin/eslint.js'), '--max-warnings', '0', '.');

const served = mkdtempSync(path.join(tmpdir(), 'iqd-served-'));
execFileSync('cmake', [`-DROOT=${root}/daemon/page`, `-DOUTPUT=${served}`, '-P', `${root}/cmake/IqdPageText.cmake`]);
const texts = readdirSync(served).map((name) => readFileSync(path.join(served, name)));
const bytes = texts.reduce((sum, text) => sum + text.length, 0),
      zipped = texts.reduce((sum, text) => sum + gzipSync(text, {level: 9}).length, 0);
console.log(`${texts.length} files, ${bytes} bytes, ${zipped} compressed`);
if (bytes > kLargest) failures.push(`the page has ${bytes} bytes, more than ${kLargest}`);
if (zipped > kLargestZipped) failures.push(`the page has ${zipped} bytes compressed, more than ${kLargestZipped}`);
for (const name of readdirSync(served).filter((file) => file.endsWith('.js'))) {
  const file = path.join(served, name), source = words_of(`${root}/daemon/page/${name}`), left = words_of(file);
  const at = source.findIndex((word, i) => word !== left[i]);
  if (at >= 0 || left.length !== source.length) failures.push(`${name} is served with ${left[at]} for ${source[at]}`);
  if (/\/\*\*|^ *\/\//m.test(readFileSync(file, 'utf8'))) failures.push(`comments are left in ${name}`);
}
rmSync(served, {recursive: true});

failures.forEach((failure) => console.error(failure));
process.exit(failures.length ? 1 : 0);
