// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The server's half of a WebSocket (RFC 6455), as far as a page needs it: it sends, and reads only a close.
import {createHash} from 'node:crypto';

const kGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const kText = 1, kBinary = 2, kClose = 8;

/** @param {number} kind @param {Buffer} payload */
function frame(kind, payload) {
  const size = payload.length, head = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = size < 126 ? size : size < 65536 ? 126 : 127;
  if (size >= 65536)
    head.writeBigUInt64BE(BigInt(size), 2);
  else if (size >= 126)
    head.writeUInt16BE(size, 2);
  return Buffer.concat([head, payload]);
}

export class Viewer {
  /** @param {import("node:http").IncomingMessage} request @param {any} socket @param {() => void} left */
  constructor(request, socket, left) {
    const key = createHash('sha1').update(request.headers['sec-websocket-key'] + kGuid).digest('base64');
    this.socket = socket;
    this.is_open = true;
    /** What the query asks for: numbers of traces. */
    this.traces =
        new URL(request.url ?? '/', 'http://x').searchParams.getAll('trace').filter((t) => t !== 'none').map(Number);
    if (!request.url?.includes('trace=')) this.traces = [0];
    socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${
            key}\r\n\r\n`);
    socket.on('data', (data) => {
      if ((data[0] & 15) === kClose) this.close(1000);
    });
    for (const event of ['close', 'error'])
      socket.on(event, () => {
        this.is_open = false;
        left();
      });
  }

  /** @param {object} message */
  text(message) { this.#send(kText, Buffer.from(JSON.stringify(message))); }
  /** @param {Buffer} message */
  binary(message) { this.#send(kBinary, message); }

  /** @param {number} code */
  close(code) {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#send(kClose, payload);
    this.is_open = false;
    this.socket.end();
  }

  /** @param {number} kind @param {Buffer} payload */
  #send(kind, payload) {
    if (this.is_open) this.socket.write(frame(kind, payload));
  }
}
