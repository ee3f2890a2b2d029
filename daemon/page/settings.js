// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {by_id, choices, clock, kept, list, make, say, set, si} from './dom.js';
import {get} from './frames.js';

/** Asks for the token as often as it is wrong. @param {object} [body] */
async function change(method = '', path = '', body) {
  for (let said = '', given = '';;) {
    const token = kept('sessionStorage', 'token', given) || given,
          headers = token ? {Authorization: `Bearer ${token}`} : undefined;
    const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)}).catch(() => null),
          reply = await answer?.json().catch(() => null);
    const lines =
        reply?.applied ?? reply?.problems ?? [answer ? `${answer.status} ${answer.statusText}` : 'iqd does not answer'];
    if (answer?.status !== 401) return {ok: answer?.ok, text: lines.join('; ')};
    if (token) said = 'This token is wrong. ';
    given = await ask_token(said);
    if (!given) return {ok: false, text: 'not changed: no token was given'};
  }
}

/** @type {Promise<string> | null} */
let asking = null;
/** One dialog, even if several changes wait for it. */
function ask_token(said = '') {
  asking ??= new Promise((done) => {
    const dialog = by_id('ask'), field = by_id('token');
    say(by_id('said'), said);
    dialog.returnValue = field.value = '';
    dialog.showModal();
    dialog.onclose = () => {
      asking = null;
      done(dialog.returnValue && field.value.replace(/[^ -~]/g, '').trim());  // a header takes no others
    };
  });
  return asking;
}

/** As the file may have it. @param {any} value @returns {string} */
function text_of(value, unit = '') {
  if (typeof value !== 'number')
    return typeof value === 'string' ? value : JSON.stringify(value ?? null).replace(/^null$/, 'none');
  return unit === 'Hz' || unit === 'S/s' ? si(value, unit, 1e-3).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ') :
                                           `${value} ${unit}`.trim();
}

/** @param {any} like a value of this key */
function value_of(text = '', like) {
  if (text === 'none' || typeof like === 'string') return text === 'none' ? null : text;
  try {
    return JSON.parse(Array.isArray(like) && text[0] !== '[' ? `[${text}]` : text);
  } catch {
    return Array.isArray(like) ? text.split(/[\s,]+/) : text;
  }
}

/** What the small print says. @param {Key} key */
function about({range, unit, by, since, asked, default: usual}) {
  const limits = range?.map((v) => (v === null ? '…' : text_of(v, unit))).join(' to ');
  return [
    limits, (usual ?? '') !== '' && `default ${text_of(usual, unit)}`,
    asked !== undefined && `asked ${text_of(asked, unit)}`, by !== 'file' && `set by ${by} at ${clock(since)}`
  ].filter(Boolean)
      .join(' · ');
}

const kWidest = 1000;  // of a range that has a slider
const kFirst = ['frequency', 'gain', 'antenna', 'bandwidth', 'rate'];
const order = (name = '') => (kFirst.indexOf(name) + 1 || 9);

/** The keys of the source, a stage or an outlet: those that can be set as fields, the others as text. */
class KeyForm {
  path = '';
  /** Those that somebody has edited, and their values. */
  edited = new Map();
  button = make('button', {disabled: true}, 'Set');
  answer = make('output');
  live = make('div');
  others = make('div');
  more = make('details', {}, make('summary'), this.others);

  /** @param {(text: string, is_good?: boolean) => void} report */
  constructor(parent = by_id(), report) {
    this.report = report;
    parent.append(make(
        'form', {
          onsubmit: (/** @type {Event} */ e) => {
            e.preventDefault();
            this.send();
          }
        },
        make('fieldset', {}, this.live, this.more, this.button), this.answer));
  }

  show(pipeline = '', name = '') {
    const path = `api/pipelines/${encodeURIComponent(pipeline)}/stages/${encodeURIComponent(name)}`;
    if (path !== this.path) {
      for (const part of [this.live, this.others, this.answer]) part.replaceChildren();
      this.edited.clear();
      this.button.disabled = true;
    }
    this.path = path;
    return this.refresh();
  }

  /** Reads the keys again; what somebody is editing stays. */
  async refresh() {
    const {path} = this, found = path ? await get(path) : null;
    if (!found?.keys || path !== this.path) return;
    const all = Object.entries(found.keys).sort(([a], [b]) => order(a) - order(b)),
          rest = all.filter(([, key]) => !key.live), is_source = found.kind === 'source';
    this.fill(this.live, all.filter(([, key]) => key.live), true);
    this.fill(this.others, rest, is_source);
    this.more.hidden = !rest.length;
    this.button.hidden = !is_source && rest.length === all.length;
    say(this.more.firstChild, `Keys ${is_source ? 'that restart the pipeline' : 'of the file'}: ${rest.length}`);
  }

  /** @param {any} parent @param {[string, Key][]} keys */
  fill(parent, keys, can_set = false) {
    list(
        parent, keys, ([name, key]) => `${name} ${typeof key.value} ${key.choices}`,
        ([name, key]) => {
          const field = can_set ? this.field(name, key) : make('b');
          return make(
              'label', {class: 'key'}, make('span', {}, name), field, make('small'),
              ...can_set ? this.slider(key, field) : []);
        },
        (row, [name, key]) => {
          const [, field, small, slider] = row.children, text = text_of(key.value, key.unit);
          const has_own = this.edited.has(name);
          say(small, can_set ? about(key) : '');
          if (!can_set) return say(field, text);
          set(row, {class: has_own ? 'key edited' : 'key'});
          if (has_own || document.activeElement === field) return;
          Object.assign(field, {checked: key.value, value: text});
          if (slider) slider.value = key.value;
        });
  }

  /** @param {string} name @param {Key} key */
  field(name, key) {
    const {value, choices: all, default: usual, unit} = key, like = value ?? usual, is_box = typeof like === 'boolean';
    const field = all ?
        make(
            'select', {},
            ...[...new Set([...all, value].map((c) => text_of(c, unit)))].map((c) => make('option', {}, c))) :
        make('input', {type: is_box ? 'checkbox' : 'text', spellcheck: 'false', autocomplete: 'off'});
    field.oninput = () => this.edit(name, field, is_box ? field.checked : value_of(field.value.trim(), like));
    field.onkeydown = (/** @type {KeyboardEvent} */ e) => {
      if (e.key !== 'Escape') return;
      this.edited.delete(name);
      this.button.disabled = !this.edited.size;
      field.blur();
      this.refresh();
    };
    return field;
  }

  /** A slider for a number within narrow limits. @param {Key} key */
  slider({value, range, unit, step}, field = by_id()) {
    const [min, max] = range ?? [], is = typeof value === 'number' && Number(max) - Number(min) <= kWidest;
    return is ? [make('input', {
      type: 'range',
      min,
      max,
      step: step ?? 'any',
      value,
      tabindex: -1,
      'aria-hidden': 'true',
      oninput: (/** @type {any} */ e) => {
        field.value = text_of(Number(e.target.value), unit);
        field.oninput();
      }
    })] :
                [];
  }

  /** @param {any} field @param {any} value */
  edit(name = '', field, value) {
    this.edited.set(name, value);
    this.button.disabled = false;
    set(field.parentElement, {class: 'key edited'});
  }

  /** Writes into a field; only `Set` sends it. */
  write(name = '', text = '') {
    const field = [...this.live.children].find((row) => row.firstChild.textContent === name)?.children[1];
    if (!field) return;
    field.value = text;
    this.edit(name, field, text);
    field.focus();
  }

  async send() {
    if (!this.edited.size) return;
    const {ok, text} = await change('PATCH', this.path, Object.fromEntries(this.edited));
    say(set(this.answer, {class: !ok && 'bad'}), text);
    this.report(text, ok);
    if (!ok) return;
    this.edited.clear();
    this.button.disabled = true;
    this.button.focus();
    await this.refresh();
  }
}

/** The keys of the source, of stages and outlets; triggers, recordings and the reload. */
export class Settings {
  pipeline = '';
  has_folder = false;

  /** @param {(text: string, is_good?: boolean) => void} report */
  constructor(report) {
    this.report = report;
    this.source = new KeyForm(by_id('source'), report);
    this.form = new KeyForm(by_id('stage'), report);
    const on = (id = '', event = '', act = () => {}) => by_id(id).addEventListener(event, (/** @type {Event} */ e) => {
      e.preventDefault();
      act();
    });
    on('which', 'change', () => this.choose(by_id('which').value));
    on('reload', 'click', () => this.tell('POST', 'api/reload'));
    on('trigger', 'submit', () => this.tell('POST', `api/triggers/${encodeURIComponent(by_id('event').value)}`));
    on('start', 'submit',
       () => this.tell(
           'POST', 'api/recordings',
           {port: by_id('port').value, seconds: Number(by_id('seconds').value), pipeline: this.pipeline}));
    setInterval(() => this.refresh(), 5000);
  }

  async refresh() {
    if (document.hidden) return;
    for (const form of [this.source, this.form]) form.refresh();
    const {recordings = []} = (this.has_folder && await get('api/recordings')) || {};
    list(by_id('recordings'), recordings, (r) => `${r.name} ${r.state}`, ({name, state}) => {
      const path = `api/recordings/${encodeURIComponent(name)}`, disabled = ['recording', 'closing'].includes(state);
      return make(
          'li', {}, make('a', {href: !disabled && path, download: name}, name),
          make(
              'button', {
                'aria-label': `Delete ${name}`,
                disabled,
                onclick: () => confirm(`Delete ${name}?`) && this.tell('DELETE', path)
              },
              '×'),
          make('small'));
    }, (li, r) => say(li.lastChild, `${r.time_s ? `${clock(r.time_s)} · ` : ''}${si(r.bytes, 'B')} · ${r.state}`));
  }

  /** @param {Hello} hello @param {string[]} ports that can be recorded */
  async offer({changes, why, recordings}, pipeline = '', ports) {
    const can = changes !== 'no';
    Object.assign(this, {pipeline, has_folder: recordings});
    by_id('start').hidden = !recordings;
    choices(by_id('port'), ports);
    for (const fields of document.querySelectorAll('fieldset')) fields.disabled = !can;
    say(by_id('forbidden'), can ? '' : why);
    const {stages = []} = await get('api/stages') ?? {};
    if (pipeline !== this.pipeline) return;  // another one has been chosen meanwhile
    choices(
        by_id('which'),
        stages.filter((/** @type {any} */ s) => s.pipeline === pipeline && s.kind !== 'source')
            .map((/** @type {any} */ s) => s.name));
    this.source.show(pipeline, 'source');
    this.choose(by_id('which').value, false);
  }

  /** @param {string} name of a stage, or `source` */
  choose(name, move = true) {
    if (name !== 'source') this.form.show(this.pipeline, by_id('which').value = name);
    if (move) by_id(name === 'source' ? 'tuning' : 'settings').scrollIntoView({block: 'nearest'});
    this.refresh();
  }

  /** @param {object} [body] */
  async tell(method = '', path = '', body) {
    document.activeElement?.closest('section')?.append(by_id('answer'));  // near what was pressed
    const {ok, text} = await change(method, path, body);
    say(set(by_id('answer'), {class: !ok && 'bad'}), text);
    this.report(text, ok);
    this.refresh();
  }
}
