// What somebody typed outlives every restart of the control plane and the server: in a form, the editor, a filter, the
// search and a dialog.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
});
after(() => stage?.down());

// Each way to type has what puts the text there and what reads it.
const places = [
  {
    name: 'a form', route: 'submit/compact',
    type: (page) => page.type('main form input[type=text], main form input:not([type])', 'typed text'),
    read: (page) => page.$eval('main form input[type=text], main form input:not([type])', (e) => e.value),
  },
  {
    name: 'settings', route: 'job-types/compact',
    type: async (page) => {
      await page.waitForSelector('.settings-of .setting input');
      await page.$eval('.settings-of .setting input', (e) => { e.focus(); e.select(); });
      await page.keyboard.type('typed text');
    },
    read: (page) => page.$$eval('.settings-of .setting input', (all) => all.map((e) => e.value).find((one) => one === 'typed text')),
  },
  {
    name: 'the editor', route: 'plan',
    type: async (page) => {
      await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content'));
      await page.$eval('.editor', (e) => e.shadowRoot.querySelector('.cm-content').focus());
      await page.keyboard.type('typed text');
    },
    read: (page) => page.$eval('.editor', (e) => e.shadowRoot.querySelector('.cm-content').textContent),
  },
  { name: 'a filter', route: 'job-types', type: (page) => page.type('main input[type=search]', 'typed text'), read: (page) => page.$eval('main input[type=search]', (e) => e.value) },
  {
    name: 'a dialog', route: 'workers/node-b',
    type: async (page) => {
      await page.evaluate(() => [...document.querySelectorAll('main button')].find((e) => e.textContent === 'Cordon').click());
      await page.waitForSelector('dialog[open] input');
      await page.type('dialog[open] input', 'typed text');
    },
    read: (page) => page.$eval('dialog[open] input', (e) => e.value),
  },
  {
    name: 'the search', route: 'doctor',
    type: async (page) => {
      await page.keyboard.press('/');
      await page.waitForSelector('.palette[open] input');
      await page.type('.palette[open] input', 'typed text');
    },
    read: (page) => page.$eval('.palette[open] input', (e) => e.value),
  },
];

test('typed text outlives restarts', { skip, timeout: 900_000 }, async () => {
  const pages = [];
  for (const place of places) {
    const page = await stage.page({ context: await stage.browser.createBrowserContext() }); // A browser has six connections to a server.
    await page.evaluateOnNewDocument(() => {
      Object.defineProperty(document, 'hidden', { get: () => false }); // Others are in front of it.
      window.banners = 0; // One may come and go between two looks.
      let was = false;
      new MutationObserver(() => {
        const is = document.querySelector('.banner') !== null;
        if (is && !was) window.banners++;
        was = is;
      }).observe(document, { childList: true, subtree: true });
    });
    await stage.open(page, place.route);
    await place.type(page);
    assert.equal(await place.read(page), 'typed text', place.name);
    pages.push({ ...place, page });
  }
  const all = async (when) => {
    for (const { name, page, read } of pages) assert.equal(await read(page), 'typed text', `${name}, ${when}`);
  };
  const seen = new Map();
  const banner = () => Promise.all(pages.map(({ name, page }) => until(`a banner: ${name}`, async () => (await page.evaluate(() => window.banners)) > (seen.get(name) ?? 0))));
  const live = () => Promise.all(pages.map(async ({ name, page }) => {
    await until(`no banner: ${name}`, async () => !(await page.$('.banner')));
    seen.set(name, await page.evaluate(() => window.banners));
  }));
  const restarts = {
    'the server was killed': async () => {
      // One that is back at once may not be missed.
      const pid = stage.server();
      process.kill(pid, 'SIGKILL');
      await until('another server', () => stage.server() !== pid);
      await all('without a server');
      await until('its answer', () => stage.get('/job-types/compact'));
    },
    'the control plane and the server were killed': async () => {
      const gone = new Promise((resolve) => stage.process.once('exit', resolve));
      stage.process.kill('SIGKILL');
      await gone;
      await banner();
      await all('without a control plane');
      await stage.start(1);
    },
    'they were stopped and started': async () => {
      const gone = new Promise((resolve) => stage.process.once('exit', resolve));
      stage.process.kill('SIGTERM');
      await gone;
      await banner();
      await stage.start(1);
    },
  };
  for (const [when, restart] of Object.entries(restarts)) {
    await restart();
    await live();
    await all(when);
  }
  // A stream that is cut is one for Chromium.
  for (const { page } of pages) assert.deepEqual(page.faults.filter((one) => !/net::ERR_/.test(one)), []);
});
