// Every page at three widths in both themes: accessibility, the policy, no spill, order of headings, landmarks, size of
// targets, shifts while it loads. What is seen is listed for all pages at once.
import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { after, before, test } from 'node:test';
import { missing, routes, sound, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  await stage.runDAG('pages');
  for (const name of ['compact', 'failing']) await stage.shell(`roundsman start ${name}`);
  // A run that ends while a page loads moves what stands below its new row.
  await until('the short runs have ended', async () => {
    const { runs } = await stage.get('/runs');
    return ['compact', 'failing'].every((name) => runs.some((run) => run.job_type === name && run.ended_at));
  });
});
after(() => stage?.down());

// A page shifts by at most 0.1 within its patience (src/arriving.ts). What shifts later, where the machine is slow, is
// only printed.
const good = 0.1;
const patience = 2000;

// faults are those of a page that is open.
const faults = (page, narrow) =>
  page.evaluate((phone) => {
    const found = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) found.push(`${wide} px wide`);
    const named = (e) => `${e.tagName.toLowerCase()}.${e.className?.baseVal ?? e.className} "${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 40)}"`;
    const clipped = (e) => e !== null && (getComputedStyle(e).clipPath !== 'none' || clipped(e.parentElement));
    let level = 0;
    for (const head of document.querySelectorAll('h1, h2:not([aria-hidden=true]), h3, h4')) {
      if (!head.checkVisibility()) continue;
      const next = Number(head.tagName[1]);
      if (next > level + 1) found.push(`${named(head)} follows h${level}`);
      level = next;
    }
    if (document.querySelectorAll('h1').length !== 1) found.push(`${document.querySelectorAll('h1').length} h1`);
    for (const one of ['main', 'nav', 'header']) if (!document.querySelector(one)) found.push(`no ${one}`);
    if (!document.documentElement.lang) found.push('no lang');
    // A target is 24 px, or in a line of text, or so far from others that a circle of 24 px around it meets none (2.5.8).
    const targets = [...document.querySelectorAll('button, select, input:not([type=hidden]), summary, a.button, nav a, [role=button], [role=tab]')].filter((e) => e.checkVisibility() && !e.closest('.spoken') && getComputedStyle(e).opacity !== '0' && !e.closest('label')?.textContent.trim());
    for (const e of targets) {
      const box = e.getBoundingClientRect();
      if (box.width === 0 || (box.width >= 24 && box.height >= 24) || clipped(e) || box.bottom < 0) continue;
      const near = targets.some((other) => {
        if (other === e || other.contains(e) || e.contains(other)) return false;
        const b = other.getBoundingClientRect();
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        return Math.hypot(Math.max(b.left - x, 0, x - b.right), Math.max(b.top - y, 0, y - b.bottom)) < 12;
      });
      if (near) found.push(`${named(e)} is ${Math.round(box.width)} × ${Math.round(box.height)} px`);
    }
    // At 390 px a cell of a table says what it is, or is the name of its row.
    if (phone) {
      for (const table of document.querySelectorAll('main table')) {
        if (!table.checkVisibility() || table.getBoundingClientRect().width <= innerWidth && table.querySelectorAll('thead th').length < 2) continue;
        const cell = [...table.querySelectorAll('tbody td:not(:first-child)')].find((e) => e.checkVisibility() && e.textContent.trim() && !e.querySelector('button') && !(getComputedStyle(e, '::before').content ?? 'none').includes('"') );
        if (cell && !table.querySelector('thead')?.checkVisibility()) found.push(`${table.getAttribute('aria-label') ?? named(table)}: ${named(cell)} has no label`);
      }
    }
    // Text ends within its card, or can be scrolled; no button is out of sight; no paragraph is a column of words.
    const held = (e) => e.tagName !== 'SECTION' && (getComputedStyle(e).overflowX !== 'visible' || held(e.parentElement));
    for (const e of document.querySelectorAll('main section :is(p, code, h2, small, span, dd, li, button)')) {
      const [box, card] = [e.getBoundingClientRect(), e.closest('section').getBoundingClientRect()];
      if (box.width === 0 || !e.checkVisibility() || clipped(e)) continue;
      if (box.right > card.right + 1 && !held(e)) found.push(`${named(e)} ends ${Math.round(box.right - card.right)} px outside`);
      if (e.tagName === 'P' && box.height > 4 * box.width) found.push(`${named(e)} is ${Math.round(box.width)} px wide and ${Math.round(box.height)} px high`);
      const scroll = e.tagName === 'BUTTON' && e.closest('.scroll')?.getBoundingClientRect();
      if (scroll && box.right > scroll.right + 1) found.push(`${named(e)} is out of sight`);
    }
    return [...found, ...window.violations.splice(0).map((one) => `policy: ${one}`)];
  }, narrow);

// A quick run has the widest in light colors and the narrowest in dark ones.
const looks = process.env.FULL
  ? [[1440, 900], [1024, 768], [390, 844]].flatMap(([width, height]) => [false, true].map((dark) => ({ width, height, dark })))
  : [{ width: 1440, height: 900, dark: false }, { width: 390, height: 844, dark: true }];

test('every page', { skip, timeout: 900_000, concurrency: 2 }, (t) => Promise.all(looks.map(({ width, height, dark }) =>
  t.test(`at ${width} px in ${dark ? 'dark' : 'light'} colors`, async () => {
    const page = await stage.page({ width, height, dark, context: await stage.browser.createBrowserContext() });
    // A color on its way from one to another is none of the page's.
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
    await page.evaluateOnNewDocument(() => {
      [window.shifts, window.shifted, window.largest] = [[], [], 0];
      new PerformanceObserver((list) => { window.largest = Math.round(list.getEntries().at(-1).startTime); }).observe({ type: 'largest-contentful-paint', buffered: true });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          if (entry.hadRecentInput) continue;
          window.shifts.push([entry.startTime, entry.value]);
          if (entry.value > 0.02) window.shifted.push(...entry.sources.map(({ node, previousRect, currentRect }) => `${node?.nodeName?.toLowerCase()}.${node?.className ?? ''} "${node?.textContent.slice(0, 20)}" from ${previousRect.y} to ${currentRect.y} px at ${Math.round(entry.startTime)} ms`));
        }
      }).observe({ type: 'layout-shift', buffered: true });
    });
    const all = {};
    const worst = { route: '', shift: 0 };
    for (const route of routes) {
      if (process.env.TELL) console.log(route);
      await page.goto('about:blank'); // Each page loads on its own.
      const began = Date.now();
      await stage.open(page, route);
      const took = Date.now() - began;
      await page.waitForFunction(() => !document.querySelector('main.arriving'));
      const found = [...(await faults(page, width < 700)), ...(await sound(page))];
      if (!/ · Roundsman$/.test(await page.title())) found.push(`its title is ${await page.title()}`);
      const { shift, late, of, largest, hidden } = await page.evaluate((patience) => ({
        shift: window.shifts.reduce((sum, [at, one]) => sum + (at <= patience ? one : 0), 0), late: window.shifts.reduce((sum, [at, one]) => sum + (at > patience ? one : 0), 0),
        of: window.shifted.join(', '), largest: window.largest,
        hidden: [...document.querySelectorAll('main > *, .stack > *')].filter((e) => getComputedStyle(e).opacity === '0').length,
      }), patience);
      if (hidden > 0) found.push(`${hidden} parts are not shown`);
      if (late > good) console.log(`${width} px: #/${route} shifts by ${late.toFixed(2)} after ${patience} ms: ${of}`);
      if (shift > good) found.push(`shifts by ${shift.toFixed(2)}: ${of}`);
      if (shift > worst.shift) Object.assign(worst, { route, shift });
      if (route === '') console.log(`${width} px, ${dark ? 'dark' : 'light'}: largest contentful paint of the first page after ${largest} ms, all its parts after ${took} ms, at a load of ${loadavg()[0].toFixed(0)}`);
      if (found.length > 0) all[route] = found;
    }
    console.log(`${width} px, ${dark ? 'dark' : 'light'}: the largest shift of ${routes.length} pages is ${worst.shift.toFixed(3)}${worst.shift > 0 ? `, of #/${worst.route}` : ''}`);
    assert.deepEqual(all, {});
    assert.deepEqual(page.faults, []);
    await page.browserContext().close();
  }),
)));

test('nothing moves for those who want that', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }]);
  for (const route of ['', 'runs/dag~steps~pages', 'design']) {
    await stage.open(page, route);
    const moving = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((e) => {
      const { animationName, animationDuration, transitionDuration } = getComputedStyle(e);
      return (animationName !== 'none' && parseFloat(animationDuration) > 0.01) || Math.max(...transitionDuration.split(',').map((one) => parseFloat(one))) > 0.01;
    }).map((e) => `${e.tagName}.${e.className}`).slice(0, 5));
    assert.deepEqual(moving, [], `#/${route}`);
  }
  await page.close();
});

test('a part that loads is judged when it has loaded', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'runs/dag~steps~pages');
  await page.evaluate(() => {
    const parts = document.querySelectorAll('.loaded');
    for (const one of parts) one.setAttribute('aria-busy', 'true');
    setTimeout(() => { for (const one of parts) one.removeAttribute('aria-busy'); }, 1000);
  });
  assert.deepEqual(await sound(page), []);
  await page.close();
});
