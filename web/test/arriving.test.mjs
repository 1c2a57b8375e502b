// A page that loads is usable soon: one answer that does not come hides nothing for long.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, Stage, until } from './stage.mjs';

const skip = missing();
const options = { skip, timeout: 600_000 };
let stage;

before(async () => {
  if (!skip) stage = await Stage.shared();
});
after(() => stage?.down());

// held opens the first page with a stream that sends only what the test sends by window.happens. Its patience ends when the test
// calls what is in window.late.
async function held() {
  const page = await stage.page();
  await page.evaluateOnNewDocument(() => {
    window.late = [];
    const [fetches, timers] = [window.fetch, window.setTimeout];
    window.asked = [];
    window.fetch = (...request) => {
      window.asked.push(String(request[0]));
      if (!/\/events\?/.test(request[0])) return fetches(...request);
      const body = new ReadableStream({
        start: (control) => {
          window.happens = (event) => control.enqueue(new TextEncoder().encode(`event: change\ndata: ${JSON.stringify(event)}\n\n`));
        },
      });
      return Promise.resolve(new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }));
    };
    window.setTimeout = (run, after, ...more) => {
      if (after !== 2000) return timers(run, after, ...more);
      window.late.push(run);
      return timers(() => {}, after);
    };
  });
  await page.goto(stage.base);
  await until('a stream and a page that loads', () => page.evaluate(() => Boolean(window.happens && document.querySelector('main.arriving .loading'))));
  return page;
}

const hidden = (page) => page.evaluate(() => [...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).opacity === '0').length);

test('what an answer that does not come hides is shown by itself', options, async () => {
  const page = await held();
  assert.ok((await hidden(page)) > 0, 'parts wait for those above them');
  await page.emulateMediaType('print');
  assert.equal(await hidden(page), 0, 'paper waits for nothing');
  await page.emulateMediaType('screen');
  await page.evaluate(() => window.late.forEach((run) => run()));
  const asked = await page.waitForFunction(() => !document.querySelector('main.arriving') && { loading: document.querySelectorAll('main .loading').length }, { polling: 'mutation' });
  assert.ok((await asked.jsonValue()).loading > 0, 'parts still load');
  assert.equal(await hidden(page), 0);
  await page.close();
});

test('what failed waits for the column above it, not for the one beside it', options, async () => {
  const page = await held();
  const list = await until('its topic', () => page.evaluate(() => /topic=(\/runs\?outcome=[^&]*&counts=true&limit=50&since=[^&]*)/.exec(decodeURIComponent(window.asked.findLast((one) => /\/events\?/.test(one))))?.[1]));
  // comes repeats the news until it shows: the stream may just be opened again.
  const comes = (topic, data, shows) => until(topic, async () => {
    await page.evaluate((topic, data) => window.happens({ topic, data }), topic, data);
    return page.evaluate(shows);
  });
  const shown = () => page.$$eval('main h2', (all) => all.find((e) => e.textContent.startsWith('Failed since')).checkVisibility({ opacityProperty: true }));
  await comes('/needs', await stage.get('/needs'), () => [...document.querySelectorAll('main h2')].some((e) => e.textContent.startsWith('Needs')));
  await comes(list, { runs: [] }, () => document.querySelector('main .stats') !== null);
  assert.equal(await shown(), false, 'the checks above it load');
  await comes('doctor', await stage.get('/doctor'), () => !document.querySelector('.cols > .stack:first-child .loading'));
  await until('what failed', shown);
  assert.ok(await page.$('main.arriving .cols > .stack + .stack .loading'), 'the other column loads');
  await page.setViewport({ width: 390, height: 900 });
  await until('one column, where it is below what waits', async () => !(await shown()));
  await page.close();
});

for (const [name, act] of Object.entries({
  'a failure': (page) => page.evaluate(() => window.happens({ topic: '/needs', problem: { status: 500, detail: 'it is broken' } })),
  'a server that does not answer': (page) => page.evaluate(() => window.happens({ topic: 'server', problem: { status: 503, unreachable: true } })),
  'a key': (page) => page.keyboard.press('Tab'),
  'a press': (page) => page.mouse.click(5, 5),
})) {
  test(`${name} shows all parts at once`, options, async () => {
    const page = await held();
    assert.ok((await hidden(page)) > 0, 'parts wait for those above them');
    await act(page);
    await until('it has arrived', () => page.evaluate(() => !document.querySelector('main.arriving')));
    assert.ok((await page.$$('main .loading')).length > 0, 'parts still load');
    assert.equal(await hidden(page), 0);
    await page.close();
  });
}
