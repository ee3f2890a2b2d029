// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0

/** @returns {any} */
export const by_id = (id = '') => document.getElementById(id);
const kSvg = new Set(['svg', 'g', 'path', 'rect', 'circle', 'line', 'text', 'title']);

/** False and undefined take an attribute away; a function listens. @param {any} element @param {Facts} facts */
export function set(element, facts) {
  for (const [key, value] of Object.entries(facts)) {
    if (typeof value === 'function')
      element.addEventListener(key.slice(2), value);
    else if (value === undefined || value === false)
      element.removeAttribute(key);
    else if (element.getAttribute(key) !== `${value}`)
      element.setAttribute(key, value === true ? '' : `${value}`);
  }
  return element;
}

/** @param {Facts} facts @param {(Node | string)[]} inside @returns {any} */
export function make(tag = '', facts = {}, ...inside) {
  const made =
      kSvg.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  made.append(...inside);
  return set(made, facts);
}

/** Writes only what is new, so that a selection and a screen reader keep their place. @param {any} element */
export function say(element, text = '') {
  if (element.textContent !== text) element.textContent = text;
}

/** A child for each item, in order; it stays as long as its key does.
 * @param {any} parent @param {any[]} items @param {(item: any, i: number) => string} key
 * @param {(item: any) => any} create @param {(child: any, item: any, i: number) => void} [update] */
export function list(parent, items, key, create, update) {
  const before = new Map([...parent.children].map((child) => [child.iqd_key, child]));
  items.forEach((item, i) => {
    const name = key(item, i), child = before.get(name) ?? create(item);
    child.iqd_key = name;
    before.delete(name);
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
    update?.(child, item, i);
  });
  for (const child of before.values()) child.remove();
}

/** Rows of texts. A cell is a text, or a text and its class.
 * @param {any} parent @param {(string | string[])[][]} all */
export function rows(parent, all, tag = 'li', cell = 'span') {
  list(
      parent, all, (cells, i) => `${i} ${cells.length}`, (cells) => make(tag, {}, ...cells.map(() => make(cell))),
      (row, cells) => cells.forEach((/** @type {any} */ c, /** @type {number} */ i) => {
        const [text, kind] = [c].flat();
        say(row.children[i], text);
        set(row.children[i], {class: kind || undefined});
      }));
}

/** What a trace is called in a list. @param {Trace} t */
export const trace_text = (t) => (t.name && t.name !== t.port ? `${t.port} · ${t.name}` : t.port);

/** What tells it from others of its port: `zf`, `user 3`. @param {Trace} t */
export const short_name = ({of, port}) =>
    Object.entries(of).map(([dim, v]) => (typeof v === 'string' ? v : `${dim} ${v}`)).join(', ') || port;

/** What a storage of the browser keeps; with a value, from now on. Nothing where the browser forbids it. */
export function kept(storage = '', key = '', value = '') {
  try {
    const store = /** @type {any} */ (window)[storage];
    if (value) store.setItem(key, value);
    return store.getItem(key) ?? '';
  } catch {
    return '';
  }
}

/** @param {any} element a select @param {string[]} all */
export function choices(element, all) {
  const {value} = element;
  list(element, all, (text) => text, (text) => new Option(text, text));
  if (all.includes(value)) element.value = value;
}

/** The smallest 1, 2 or 5 times a power of ten that needs at most `most` steps. */
export function step_of(span = 1, most = 1) {
  const ten = 10 ** Math.floor(Math.log10(span / most));
  return [1, 2, 5, 10].map((n) => n * ten).find((step) => span / step <= most * 1.000001) ?? ten;
}

/** With a prefix and three digits, or as many as tell `step` apart. */
export function si(value = 0, unit = '', step = 0) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value), n = size ? Math.max(-4, Math.min(4, Math.floor(Math.log10(size) / 3 + 1e-9))) : 0,
        scale = 1000 ** n;
  const digits =
      step ? Math.ceil(Math.log10(scale / step) - 1e-9) : 2 - Math.floor(Math.log10(size / scale || 100) + 1e-9);
  return `${(value / scale).toFixed(Math.max(0, Math.min(12, digits)))} ${'pnµm kMGT'[n + 4].trim()}${unit}`.trim();
}
export const count = (n = 0) => (n < 10 && n % 1 ? n.toFixed(1) : n < 1e4 ? `${Math.round(n)}` : si(n));
/** Four digits, of any size. */
export function short(n = 0) {
  if (!Number.isFinite(n ?? NaN)) return '–';
  const is_far = n && (Math.abs(n) < 1e-3 || Math.abs(n) >= 1e6);
  return is_far ? n.toExponential(1).replace('e+', 'e') : `${Number(n.toPrecision(4))}`;
}

/** @param {Intl.DateTimeFormatOptions} more */
const format = (more) =>
    new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit', ...more});
const kClocks = [format({}), format({fractionalSecondDigits: 1})];
/** The time of day, of seconds since 1970. @param {0 | 1} digits of a second */
export function clock(seconds = 0, digits = 0) {
  return Math.abs(seconds) < 8e12 ? kClocks[digits].format(seconds * 1000) : '';
}
export function long(s = 0) {
  if (s < 90) return `${Math.round(s)} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
}

/** How counters grow within the last `window` seconds. */
export class Rates {
  constructor(window = 2.2) {
    this.window = window;
    /** @type {Map<string, {value: number, at: number}[]>} */
    this.looks = new Map();
  }

  /** Null until there are two looks, and after a restart. */
  change(key = '', value = 0, at = 0) {
    let all = this.looks.get(key) ?? [];
    const last = all[all.length - 1];
    if (last && (value < last.value || at < last.at)) all = [];
    if (last?.at !== at) all.push({value, at});
    while (all.length > 2 && at - all[1].at > this.window) all.shift();
    this.looks.set(key, all);
    const seconds = at - (all[0]?.at ?? at);
    return seconds > 0.3 ? {grown: value - all[0].value, seconds} : null;
  }

  /** A second; NaN while unknown. */
  of(key = '', value = 0, at = 0) {
    const change = this.change(key, value, at);
    return change ? change.grown / change.seconds : NaN;
  }
}
