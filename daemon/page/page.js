// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import {by_id, choices, clock, kept, list, long, make, rows, say, set, si} from './dom.js';
import {forget_tints, palette, tally} from './drawing.js';
import {get, kCounts, kDensity, kRow, Link} from './frames.js';
import {Log, Plan, show_panels, show_peers, show_state} from './panels.js';
import {Settings} from './settings.js';
import {Spectrum} from './spectrum.js';
import {ArrayView, Charts, Counts, Symbols} from './tiles.js';

/** Which cards are seen: all that have something, or one. The address keeps the choice, as `#plan`. */
class Views {
  cards = [...by_id('cards').children];
  shown = '';

  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    for (const card of this.cards) card.dataset.empty = card.hidden ? 'yes' : '';
    addEventListener('hashchange', () => this.update());
  }

  names() { return ['overview', ...this.cards.filter((c) => !c.dataset.empty).map((c) => c.id)]; }
  get view() { return this.names().find((n) => `#${n}` === location.hash) ?? 'overview'; }

  /** After a card got or lost its data. */
  update() {
    const {view} = this, names = this.names(), shown = `${view} ${names}`;
    if (shown === this.shown) return;
    this.shown = shown;
    for (const card of this.cards)
      card.hidden = !names.includes(view === 'overview' ? card.id : view === card.id ? view : '');
    document.body.dataset.view = view;
    list(
        by_id('views'), names, (n) => n, (n) => make('a', {href: `#${n}`}, by_id(n)?.dataset.name ?? 'Overview'),
        (link, n) => set(link, {'aria-current': n === view && 'page'}));
    this.changed();
  }
}

/** @param {Record<string, (event: any) => void>} acts by event */
const listen = (element = by_id(), acts) => {
  for (const [event, act] of Object.entries(acts)) element.addEventListener(event, act, {passive: false});
};

/** One finger or button drags, two fingers pinch, the wheel zooms and, at the end of the zoom, scrolls the page.
 * @param {Spectrum} spectrum */
function handle_pointers(spectrum, element = by_id('plots'), tune = (_hz = 0) => {}) {
  const {view} = spectrum, down = new Map(), lift = (/** @type {PointerEvent} */ e) => down.delete(e.pointerId);
  const at = (/** @type {MouseEvent} */ e) => {
    const box = element.getBoundingClientRect(), x = (e.clientX - box.left) / box.width,
          y = (e.clientY - box.top) / box.height;
    spectrum.cursor = {hz: view.hz(x), y};
    spectrum.due();
    return x;
  };
  listen(element, {
    pointerdown(e) {
      down.set(e.pointerId, at(e));
      spectrum.places.pin = spectrum.cursor;
    },
    pointerup: lift,
    pointercancel: lift,
    pointermove(e) {
      const x = at(e), before = down.get(e.pointerId), [, other] = [...down].find(([id]) => id !== e.pointerId) ?? [];
      if (!e.buttons) lift(e);  // released over a menu
      if (!down.has(e.pointerId)) return;
      element.setPointerCapture(e.pointerId);
      if (other === undefined)
        view.pan(before - x);
      else
        view.zoom(other, Math.max(0.02, Math.abs(before - other)) / Math.max(0.02, Math.abs(x - other)));
      down.set(e.pointerId, x);
    },
    pointerleave(e) {
      if (e.pointerType === 'mouse') spectrum.leave();
      spectrum.due();
    },
    dblclick: (e) => tune(view.hz(at(e))),
    wheel(e) {
      const is_wide = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (is_wide) view.pan(e.deltaX / element.clientWidth);
      if (is_wide || view.zoom(at(e), Math.exp(Math.max(-0.5, Math.min(0.5, e.deltaY / 400))))) e.preventDefault();
    },
  });
}

/** By the id of a button: its key, and what both do.
 * @param {Spectrum} spectrum @returns {Record<string, [string, () => void]>} */
function acts_of(spectrum, root = document.documentElement) {
  const {view} = spectrum, dark = matchMedia('(prefers-color-scheme: dark)');
  const press = (id = '') => set(by_id(id), {'aria-pressed': `${by_id(id).getAttribute('aria-pressed') !== 'true'}`});
  const zoom = (factor = 1) => view.zoom(spectrum.cursor ? (spectrum.cursor.hz - view.first) / view.span : 0.5, factor);
  root.className = kept('localStorage', 'iqd-theme');
  dark.onchange = forget_tints;
  return {
    pause: [' ', () => press('pause')],
    hold: ['h', () => press('hold')],
    fit: ['a', () => spectrum.fit()],
    mark: ['m', () => spectrum.mark()],
    in: ['+', () => zoom(0.7)],
    out: ['-', () => zoom(1 / 0.7)],
    whole: ['0', () => view.whole()],
    theme: ['t', () => {
      root.className = (root.className || (dark.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
      kept('localStorage', 'iqd-theme', root.className);
      forget_tints();
    }],
    help: ['?', () => {
      rows(by_id('titles'), [...document.querySelectorAll('[title$=")"]')].map((b) => [b.getAttribute('title') ?? '']));
      by_id('keys').showModal();
    }],
  };
}

/** Buttons, keys, mouse and fingers. @param {Spectrum} spectrum @param {Settings} settings @param {Views} views */
function handle(spectrum, settings, views) {
  const {view, due} = spectrum, plots = by_id('plots'), all = Object.entries(acts_of(spectrum));
  const bin = () => view.band.span / view.band.bins;
  const tune = (hz = NaN) =>
      hz === hz && spectrum.has_hz() && settings.source.write('frequency', si(hz, 'Hz', Math.max(1, bin() / 10)));
  const step = (way = 0) => {
    spectrum.cursor = spectrum.places.pin = {hz: (spectrum.cursor?.hz ?? view.hz(0.5)) + way * bin(), y: 0};
  };
  for (const [id, [, act]] of all) listen(by_id(id), {click: act});
  for (const id of ['low', 'high', 'speed']) by_id(id).oninput = due;
  listen(document.body, {click: due});
  handle_pointers(spectrum, plots, tune);
  new ResizeObserver(due).observe(plots);
  /** @type {Record<string, (e: KeyboardEvent) => void>} */
  const on_plots = {
    Enter: () => tune(spectrum.seen()),
    ArrowLeft: (e) => (e.shiftKey ? view.pan(-0.1) : step(-1)),
    ArrowRight: (e) => (e.shiftKey ? view.pan(0.1) : step(1)),
  };
  listen(document.body, {
    keydown(e) {
      const {target, key} = e, name = views.names()[key - 1], busy = key === ' ' ? ', button, summary, a' : '';
      if (e.ctrlKey || e.metaKey || e.altKey || target.matches(`input, select, dialog *${busy}`)) return;
      const act = all.find(([, [own]]) => own === key)?.[1][1] ?? (target === plots ? on_plots[key] : undefined);
      if (act)
        act(e);
      else if (name)
        location.hash = name;
      else if (key === 'Escape')
        spectrum.forget();
      else
        return;
      e.preventDefault();
      due();
    }
  });
}

/** Gives what iqd sends to the parts that show it, and asks for what is seen. */
class Page {
  /** @type {Hello | null} */
  hello = null;
  /** @type {Plans | null} */
  plans = null;
  lost_at = 0;
  log = new Log();
  settings = new Settings((text, is_good) => this.log.own(text, is_good));
  spectrum = new Spectrum(() => this.want());
  symbols = new Symbols();
  soft = new Counts('soft', 'linear', 4);
  latency = new Counts('latency', 'log2', 20);
  array = new ArrayView();
  packets = new Charts();
  plan = new Plan((stage) => this.settings.choose(stage));
  views = new Views(() => this.show());
  link = new Link(
      {head: (head) => this.head(head), text: (message) => this.text(message), link: (...why) => this.linked(...why)});

  get pipeline() { return by_id('pipeline').value; }

  /** @param {Head} head */
  head(head) {
    if (head.kind === kRow) this.spectrum.head(head);
    for (const tiles of {[kDensity]: [this.symbols], [kCounts]: [this.soft, this.latency]}[head.kind] ?? [])
      if (tiles.wants().includes(head.trace)) tiles.head(head);
  }

  /** @param {Message} message */
  text({hello, status, log, array, items, peers}) {
    if (hello) this.greet(hello);
    if (status) this.status(status);
    if (log) this.log.add(log);
    if (array) this.array.take(array);
    if (items) this.packets.items(items);
    if (peers) show_peers(peers);
  }

  /** @param {Hello} hello */
  async greet(hello) {
    const {started_s = hello.started_s, version} = this.hello ?? {};
    if (started_s !== hello.started_s)
      this.log.own(
          `iqd was restarted at ${clock(hello.started_s)}${
              version === hello.version ? '' : ', in another version: reload this page'}`,
          false);
    if (started_s !== hello.started_s) show_peers([]);  // another one may have none, and says nothing then
    this.hello = hello;
    say(by_id('host'), `${hello.host} · ${hello.version}`);
    const has_link = /^https?:/.test(hello.grafana);
    set(by_id('grafana'), {hidden: !has_link, href: has_link && hello.grafana});
    this.pipelines([...new Set(hello.traces.map((t) => t.pipeline))]);
    this.offer();
    this.plans = await get('api/pipeline');
    this.offer();
  }

  /** @param {string[]} names */
  pipelines(names) {
    choices(by_id('pipeline'), names);
    by_id('pipeline').parentElement.hidden = names.length < 2;
  }

  /** Gives each part what belongs to the chosen pipeline. */
  offer() {
    const {hello, pipeline, plans} = this;
    if (!hello) return;
    const own = hello.traces.filter((t) => t.pipeline === pipeline),
          plan = plans?.pipelines.find((p) => p.name === pipeline);
    for (const tiles of [this.symbols, this.soft, this.latency, this.array]) tiles.offer(own);
    this.packets.start(own, `${pipeline} ${hello.started_s}`);
    this.spectrum.offer(hello.traces, pipeline, hello.started_s);
    this.plan.show(plan);
    this.settings.offer(hello, pipeline, ['source', ...new Set(plan?.messages.map((m) => m.port))]);
    this.views.update();
    this.want();
  }

  show() {
    for (const id of /** @type {const} */ (['symbols', 'soft'])) this[id].alone(this.views.view === id);
    this.plan.draw();
    this.want();
  }

  want() {
    const {hello, spectrum, symbols, soft, latency, array, packets} = this;
    const all = {spectrum, symbols, soft, latency, array, packets};
    const wanted = Object.entries(all).flatMap(([id, part]) => (by_id(id).hidden ? [] : part.wants()));
    if (hello) this.link?.want([...new Set(wanted)].sort((a, b) => a - b));
  }

  /** @param {Status} status */
  status({pipelines, radios, uptime_s}) {
    if (!this.hello) this.pipelines(pipelines.map((p) => p.name));
    const place = Math.max(0, pipelines.findIndex((p) => p.name === this.pipeline)), p = pipelines[place];
    if (!p) return;
    show_panels(p, radios?.[place] ?? radios?.[0], uptime_s);
    if (!by_id('plan').hidden) this.plan.status(p, uptime_s);
    this.packets.status(p, (this.hello?.started_s ?? 0) + uptime_s);
    this.views.update();
  }

  linked(why = '', is_gone = false) {
    const now = Date.now() / 1000;
    say(by_id('link'), why);
    if (is_gone) show_state('not connected', false);
    if (!why && this.lost_at)
      this.log.own(
          `connected again; nothing was seen for ${long(now - this.lost_at)}, since ${clock(this.lost_at)}`, false);
    this.lost_at = why ? this.lost_at || now : 0;
  }
}

const page = new Page();
by_id('pipeline').onchange = () => page.offer();
Object.assign(by_id('scale'), {width: 256, height: 1})
    .getContext('2d')
    .putImageData(new ImageData(palette(), 256, 1), 0, 0);
handle(page.spectrum, page.settings, page.views);
page.link.open();
Object.assign(window, {iqd: {page, tally}});
