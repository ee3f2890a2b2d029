// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's HTTP: the page's files, status, plan, keys, recordings.
import {readFileSync} from 'node:fs';
import path from 'node:path';

import {plan_of} from './scenario.mjs';

const kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml'
};
const now = () => Date.now() / 1000;

/** @param {any} server the stand-in */
export async function answer(server, request, response) {
  const where = new URL(request.url, server.url).pathname, parts = where.split('/').slice(1).map(decodeURIComponent);
  const json = (code, body) => {
    response.writeHead(code, {'Content-Type': 'application/json'});
    response.end(JSON.stringify(body));
  };
  if (where === '/' || parts[0] === 'page') return file(server, where === '/' ? 'index.html' : parts[1], response);
  let text = '';
  for await (const piece of request) text += piece;
  if (request.method !== 'GET' && server.token && request.headers.authorization !== `Bearer ${server.token}`)
    return json(401, {problems: ['a token is required']});
  if (request.method !== 'GET') server.sent.push({method: request.method, where, body: text && JSON.parse(text)});
  if (where === '/api/status') return json(200, server.status());
  if (where === '/api/pipeline') return json(200, {uptime_s: 1, pipelines: server.scenarios.map(plan_of)});
  if (where === '/api/reload') return json(200, {applied: ['nothing has changed']});
  if (parts[1] === 'triggers')
    return json(
        parts[2] === 'go' ? 200 : 404,
        parts[2] === 'go' ? {applied: ['fired go']} : {problems: [`nothing waits for ${parts[2]}`]});
  if (parts[1] === 'recordings') return recording(server, request.method, parts[2], text, json);
  if (parts[1] === 'pipelines' || parts[1] === 'stages') return stage(server, request.method, parts, text, json);
  return json(404, {problems: ['no such path']});
}

function file(server, name, response) {
  try {
    const bytes = readFileSync(path.join(server.folder, path.basename(name)));
    response.writeHead(200, {
      'Content-Type': kTypes[path.extname(name)],
      'Content-Security-Policy': kPolicy,
      'Cache-Control': 'no-cache',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin'
    });
    response.end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}

function recording(server, method, name, text, json) {
  if (method === 'GET') return json(200, {recordings: server.recordings});
  if (method === 'DELETE')
    server.recordings = server.recordings.filter((r) => r.name !== name);
  else
    server.recordings.unshift({
      name: `${JSON.parse(text).pipeline}-${JSON.parse(text).port}-20260331T120000Z.sigmf`,
      bytes: 80000512,
      time_s: now(),
      state: 'done'
    });
  return json(200, {applied: [method === 'DELETE' ? `deleted ${name}` : 'recording 10 s of source']});
}

function stage(server, method, parts, text, json) {
  const s = server.scenarios.find((each) => each.name === parts[2]) ?? server.scenarios[0],
        name = parts[parts.length - 1];
  if (name === 'stages')
    return json(200, {
      stages: server.scenarios.flatMap(
          (each) => Object.keys(each.keys).map(
              (n) => ({name: n, kind: n === 'source' ? 'source' : 'stage', pipeline: each.name, type: n})))
    });
  const keys = s.keys[name];
  if (!keys) return json(404, {problems: [`there is no stage '${name}'`]});
  if (method !== 'PATCH')
    return json(200, {
      name,
      kind: name === 'source' ? 'source' : 'stage',
      pipeline: s.name,
      type: name,
      keys:
          Object.fromEntries(Object.entries(keys).map(([n, key]) => [n, {by: 'file', since: server.started_s, ...key}]))
    });
  for (const [key, value] of Object.entries(JSON.parse(text))) {
    const number = typeof value === 'string' && keys[key].unit ?
        Number.parseFloat(value) * ({M: 1e6, G: 1e9, k: 1e3}[/[kMG](?=Hz|S)/.exec(value)?.[0]] ?? 1) :
        value;
    if (keys[key].range && typeof number === 'number' && number > keys[key].range[1])
      return json(422, {problems: [`${key}: ${value} is not within ${keys[key].range.join(' to ')}`]});
    if (key === 'frequency')
      server.retune(number, s);
    else
      Object.assign(keys[key], {value: number, by: 'patch', since: now()});
  }
  return json(200, {applied: [`${s.name}: ${name} at once`]});
}
