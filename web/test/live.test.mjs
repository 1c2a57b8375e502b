// What is on screen follows what happens, by one stream for each tab, also after the
// control plane or the server was killed.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { quiet } from './quiet.mjs';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
});
after(() => stage?.down());

const p95 = (all) => [...all].sort((a, b) => a - b)[Math.ceil(all.length * 0.95) - 1];
const post = async (path, body = {}) => {
  const response = await fetch(`${stage.base}api/v1${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
};
// accepted repeats a request until the control plane, which may have just begun, has taken it.
const accepted = (path) => until(path, () => post(path).then(() => true), 60_000);

// shown is when the page said something, by the clock that this test has, too.
const shown = (page, selector, text, there = true) =>
  page.waitForFunction((s, t, is) => ([...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)) === is ? Date.now() : false), { polling: 'mutation' }, selector, text, there).then((handle) => handle.jsonValue());

test('changes are on screen', { skip, timeout: 600_000 }, async () => {
  // One after the other: a page that is not in front loads nothing and draws nothing.
  const workers = await stage.page();
  await stage.open(workers, 'workers');
  const types = await stage.page();
  await stage.open(types, 'job-types');
  const took = { worker: [], jobType: [] };
  await workers.bringToFront();
  for (let i = 0; i < 10; i++) {
    for (const [verb, is] of [['cordon', true], ['uncordon', false]]) {
      await post(`/workers/node-b/${verb}`);
      const done = Date.now();
      took.worker.push(Math.max((await shown(workers, '.state', 'cordoned', is)) - done, 0));
    }
  }
  await types.bringToFront();
  for (let i = 0; i < 10; i++) {
    for (const [verb, is] of [['pause', true], ['resume', false]]) {
      await post(`/job-types/compact/${verb}`);
      const done = Date.now();
      took.jobType.push(Math.max((await shown(types, '.state', 'paused', is)) - done, 0));
    }
  }
  console.log(`from the answer to the page, 95 of 100: workers ${p95(took.worker)} ms, job types ${p95(took.jobType)} ms`);
  await workers.close();
  await types.close();
});

// since returns the requests of a page after the first ones, up to a mark that it sends when it has drawn and its effects have run.
async function since(page, before) {
  const mark = `favicon.svg?${page.asked.length}`;
  await page.evaluate((path) => { requestAnimationFrame(() => setTimeout(() => fetch(path), 0)); }, mark);
  await until('the mark', () => page.asked.includes(mark));
  // A graph is asked for the width of its frame.
  return page.asked.slice(before).filter((path) => !path.includes('/events?') && !path.startsWith('assets/') && !path.startsWith('favicon.svg')).map((path) => path.replace(/\?width=\d+$/, ''));
}

test('what happens is on screen without a request', { skip, timeout: 600_000 }, async () => {
  const run = await stage.openRun('slow');
  const job = (await stage.get(`/runs/${key(run)}/items?state=running`)).items[0].id;
  writeFileSync(join(stage.dir, 'part.yaml'), 'version: 1\nname: part\ntasks: [{id: asked, approval: {prompt: "Go on?", timeout: 8h}}]\n');
  writeFileSync(join(stage.dir, 'whole.yaml'), 'version: 1\nname: whole\ntasks: [{id: inside, dag: part.yaml}]\n');
  await stage.shell(`roundsman start ${join(stage.dir, 'whole.yaml')} --as watched`);
  const whole = 'runs/dag~whole~watched';
  await until('the question of its part', async () => (await stage.get(`/${whole}~inside/items`)).items[0]?.state === 'running');
  const [dag, slow] = ['runs/dag~steps~watched', `runs/${run.replaceAll('/', '~')}`];
  await stage.runDAG('watched');
  const says = (page, selector, text) => page.waitForFunction((s, t) => [...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)), {}, selector, text).catch(async (cause) => { throw new Error(`${selector} never says ${text}: ${await page.evaluate(() => document.querySelector('main').innerText)}`, { cause }); });
  // Page, what is done, where it shows, and what is read once at the end of a run or a job. The lists are
  // independent of each other.
  const all = [
    [
      [dag, 'main dl .state', 'paused', () => post('/runs/steps~watched/pause')],
      [`${dag}/items/go-ahead`, '.title .word', 'completed', () => post('/runs/steps~watched/items/go-ahead/approve')],
      [dag, 'main dl .state', 'canceled', () => post('/runs/steps~watched/cancel'), [`${dag}/failures`, `${dag}/graph`, `${dag}/items?limit=100`, `${dag}/times`]],
      [`${whole}?task=1`, '.title .word', 'canceled', () => post('/runs/whole~watched/cancel'), [`${whole}/graph`, `${whole}/graph?at=1`, `${whole}/items?limit=100`, `${whole}/times`, `${whole}~inside/graph`]],
    ], [
      [`${slow}/items/${job}`, '.title .word', 'canceled', () => post(`/runs/${key(run)}/items/${job}/cancel`), [`${slow}/items/${job}/artifacts`, `${slow}/items/${job}/output`]],
      [slow, 'main dl .state', 'canceled', () => post(`/runs/${key(run)}/cancel`), [`${slow}/items?limit=100`, `${slow}/times`]],
    ], [
      ['runs?kind=dag&name=steps', '.row', 'next', () => stage.runDAG('next')],
      ['runs', '.row', 'steps later', () => stage.runDAG('later')],
      ['', '.work', 'steps latest', () => stage.runDAG('latest')],
    ], [
      ['workers/node-b', '.title .word', 'cordoned', () => post('/workers/node-b/cordon')],
      ['workers/node-b', '.title .word', 'online', () => post('/workers/node-b/uncordon')],
      ['', '.work .code', 'WORKER_CORDONED', () => post('/workers/node-b/cordon')],
      ['workers/node-b', '.title .word', 'online', () => post('/workers/node-b/uncordon')],
      ['audit?kind=operator', '.row', 'worker/node-a', () => post('/workers/node-a/cordon')],
    ], [
      ['job-types/compact', '.title .word', 'paused', () => post('/job-types/compact/pause')],
      ['job-types/compact', '.title .word', 'ready', () => post('/job-types/compact/resume')],
    ],
  ];
  await Promise.all(all.map(async (list) => {
    for (const [route, selector, text, act, atEnd = []] of list) {
      const page = await quiet(stage, route);
      assert.ok(!(await page.$$eval(selector, (found, t) => found.some((e) => e.textContent.includes(t)), text)), `#/${route} does not say ${text} yet`);
      await until('its stream', () => page.evaluate(() => window.comments >= 0));
      const before = page.asked.length;
      await act();
      await says(page, selector, text);
      const once = atEnd.map((path) => `api/v1/${path}`);
      let asked;
      await until(`${once.length} requests`, async () => (asked = await since(page, before)).length >= once.length).catch(() => {});
      assert.deepEqual(asked.sort(), once, `#/${route} follows the stream`);
      await page.browserContext().close();
    }
  })).finally(() => post('/workers/node-a/uncordon')); // Later tests need both workers.
});

test('a control plane and a server that are killed', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'job-types/compact');
  await page.evaluate(() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Pause').click());
  await page.waitForSelector('dialog[open] input');
  await page.type('dialog input', 'new disks');
  const stays = async () => {
    assert.ok(await page.evaluate(() => document.body.innerText.includes('Compacts the volumes')), 'the last picture stays');
    assert.equal(await page.$eval('dialog input', (input) => input.value), 'new disks', 'what was typed stays');
  };
  const banner = async (killed) => {
    const told = (await shown(page, '.banner', 'What you see is as of')) - killed;
    await stays();
    return told;
  };
  const live = async (back) => {
    await page.waitForFunction(() => !document.querySelector('.banner'));
    const took = Date.now() - back;
    await stays();
    return took;
  };

  // The server alone: `roundsman dev` starts it again.
  // One that is back at once is not missed: it is killed again, but less often than
  // `roundsman dev` puts up with.
  let killed = Date.now();
  const kill = () => process.kill(stage.server(), 'SIGKILL');
  kill();
  let more = 3;
  const again = setInterval(() => {
    try {
      if (more > 0) kill();
      more--;
    } catch {
      // It is not up yet.
    }
  }, 700);
  const server = [await banner(killed).finally(() => clearInterval(again))];
  await until('the server again', () => stage.get('/job-types/compact'), 60_000);
  server.push(await live(Date.now()));
  await accepted('/workers/node-b/cordon');

  // Both.
  const gone = new Promise((resolve) => stage.process.once('exit', resolve));
  killed = Date.now();
  stage.process.kill('SIGKILL');
  await gone;
  const both = [await banner(killed)];
  await stage.start(1);
  both.push(await live(Date.now()));
  console.log(`server: banner after ${server[0]} ms, live again ${server[1]} ms after its first answer; both: ${both[0]} ms, ${both[1]} ms`);

  // It is live: what happens now is shown.
  await page.evaluate(() => document.querySelector('dialog').close());
  await page.evaluate(() => { location.hash = '#/workers'; });
  await shown(page, '.state', 'cordoned');
  await accepted('/workers/node-b/uncordon');
  await shown(page, '.state', 'cordoned', false);
  await page.close();
});

// told returns a page whose stream has window.happens(event, id) for events of a test, and window.cut() to end it. The first of
// window.answers whose `to` matches the address of a request answers it, or only holds it until `after`. window.requests are the
// addresses of all, those of a stream with what it has at hand.
async function told() {
  const page = await stage.page();
  await page.evaluateOnNewDocument(() => {
    window.answers = [];
    window.requests = [];
    const plain = window.fetch;
    window.fetch = async (...request) => {
      window.requests.push(`${decodeURIComponent(request[0])} ${request[1]?.headers?.['Last-Event-ID'] ?? ''}`);
      const answer = window.answers.find(({ to }) => new RegExp(to).test(decodeURIComponent(request[0])));
      await answer?.after;
      if (answer && !answer.after) return new Response(await answer.body, { status: answer.status ?? 200 });
      const response = await plain(...request);
      if (!/\/events\?/.test(request[0]) || !response.ok) return response;
      const reader = response.body.getReader();
      const both = new ReadableStream({
        start: (control) => {
          const happens = (window.happens = (event, id = '') => control.enqueue(new TextEncoder().encode(`event: change\nid: ${id}\ndata: ${JSON.stringify(event)}\n\n`)));
          window.follows = decodeURIComponent(request[0]);
          const ended = (cause) => {
            if (window.happens === happens) delete window.happens;
            control.error(cause);
          };
          window.cut = () => {
            delete window.happens;
            void reader.cancel();
          };
          const read = ({ done, value }) => {
            if (done) return control.close();
            control.enqueue(value);
            reader.read().then(read, ended);
          };
          reader.read().then(read, ended);
        },
        cancel: () => reader.cancel(),
      });
      return new Response(both, response);
    };
  });
  return page;
}

// streams waits for the stream that follows a topic: a page begins with that of its frame.
const streams = (page, topic = '') => until('its stream', () => page.evaluate((topic) => Boolean(window.happens) && window.follows.includes(topic), topic));

test('the banner goes with the answer for the topic that it was about', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'workers');
  await streams(page, 'workers');
  const data = await stage.get('/workers?limit=1000&loads=false');
  // One picture comes late, after the server has answered again.
  await page.evaluate(() => window.happens({ topic: 'workers', problem: { status: 503, unreachable: true } }));
  await page.waitForSelector('.banner');
  await page.evaluate((data) => window.happens({ topic: 'workers', data }), data);
  await until('no banner', async () => !(await page.$('.banner')));
  const heard = (text) => until(text, () => page.$$eval('.notes .aloud[role=status]', (all, text) => all.some((e) => e.textContent.includes(text)), text));
  await heard('The connection is back.');

  // On any page, a new row of *Needs a person* is announced, and the rows before are not.
  await streams(page, '/needs');
  const needs = await stage.get('/needs');
  const row = (name) => ({ kind: 'job type', name, code: 'HELD', detail: `${name} waits for you`, actions: [] });
  const happens = (...names) => page.evaluate((data) => window.happens({ topic: '/needs', data }), { ...needs, total: names.length, needs: names.map(row) });
  await happens('first');
  await heard('Needs a person: first: first waits for you');
  await happens('second', 'first');
  await heard('Needs a person: second: second waits for you');
  await page.close();
});

test('news of what a page showed before stay there', { skip, timeout: 600_000 }, async () => {
  const run = await stage.runDAG('after-news');
  const page = await told();
  await stage.open(page, 'calendar');
  await streams(page, '/forecast');
  const topic = '/forecast?limit=10000';
  const data = await stage.get(topic);
  // They come between the new drawing and its effects, which wait for a frame.
  await page.evaluate(async (topic, data) => {
    const { requestAnimationFrame: frame, setTimeout: later } = window;
    const held = [];
    window.requestAnimationFrame = (then) => held.push(then);
    window.setTimeout = (then, after, ...of) => (after > 0 && after <= 100 ? held.push(then) : later(then, after, ...of));
    location.hash = '#/calendar?view=past';
    while (![...document.querySelectorAll('main select')].some((one) => one.value === 'past')) await new Promise((then) => later(then));
    window.happens({ topic, data });
    await new Promise((then) => later(then, 100));
    Object.assign(window, { requestAnimationFrame: frame, setTimeout: later });
    for (const then of held) then();
  }, topic, data);
  await page.evaluate((at) => { location.hash = at; }, `#/runs/${key(run)}`);
  await until('the graph', () => page.evaluate(() => document.querySelector('.graphs .graph-tools') !== null)).catch((cause) => { throw new Error(page.faults.join('; '), { cause }); });
  assert.deepEqual(page.faults, []);

  // A page that cannot be drawn says so, and the next one is drawn.
  // Its stream may just be opened again, and bring a true picture right after this one.
  await until('its error', async () => {
    await page.evaluate((topic) => window.happens?.({ topic, data: {} }), `/runs/${key(run)}`);
    return page.evaluate(() => /cannot be drawn/.test(document.querySelector('main [role=alert]')?.textContent ?? ''));
  });
  assert.match(page.faults.join(), /undefined/);
  await page.evaluate(() => { location.hash = '#/workers'; });
  await until('another page', () => page.evaluate(() => document.querySelector('main h1')?.textContent === 'Workers' && !document.querySelector('main [role=alert]')));
  await page.close();
});

test('a stream that a proxy refuses has a banner, and the page is read without it', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await page.evaluateOnNewDocument(() => {
    const plain = window.setInterval;
    window.setInterval = (then, ms, ...of) => plain(then, ms === 30_000 ? 500 : ms, ...of);
  });
  await stage.open(page, 'workers');
  await streams(page, 'workers');
  await page.evaluate(() => {
    window.answers = [{ to: '/events', status: 502, body: '<html>Bad Gateway</html>' }];
    window.cut();
  });
  await shown(page, '.banner', 'The event stream is refused: HTTP status 502. Running jobs continue.');
  await post('/workers/node-b/cordon');
  await shown(page, '.state', 'cordoned');
  assert.ok(await page.$('.banner'), 'the banner stays while requests are answered');
  assert.ok(await page.$('.banner [aria-live=off]'), 'its age is not read out each second');
  await page.evaluate(() => { window.answers = []; });
  await until('no banner', async () => !(await page.$('.banner')));
  await post('/workers/node-b/uncordon');
  await shown(page, '.state', 'cordoned', false);
  assert.deepEqual(page.faults, []);

  // A picture that was read meanwhile is no longer at hand, also for a stream that is just being opened.
  await page.evaluate(() => {
    window.requests = [];
    window.answers = [{ to: '/events', after: new Promise((then) => { window.opens = then; }) }];
    window.cut();
  });
  for (const known of [true, false]) {
    await until(`a stream that has the picture at hand: ${known}`, () => page.evaluate((known) => window.requests.some((one) => one.includes('topic=workers&') && /(^|,)workers=/.test(one.split(' ').at(-1)) === known), known));
  }
  await page.evaluate(() => {
    window.answers = [];
    window.opens();
  });
  await until('no banner', async () => !(await page.$('.banner')));
  await page.close();
});

test('the rows of a run that were read without a stream are replaced by it', { skip, timeout: 600_000 }, async () => {
  const run = key(await stage.runDAG('read'));
  const page = await told();
  await page.evaluateOnNewDocument(() => {
    const plain = window.setInterval;
    window.setInterval = (then, ms, ...of) => (ms === 30_000 ? (window.poll = then) : plain(then, ms, ...of));
  });
  await stage.open(page, `runs/${run}?view=list`);
  const path = `/runs/${run}/items?limit=100`;
  await streams(page, path);
  const list = await stage.get(path);
  await page.evaluate((body) => {
    window.answers = [{ to: '/events', status: 502, body: '<html>Bad Gateway</html>' }, { to: '^/api/v1/runs/.*/items\\?', body }];
    window.cut();
  }, JSON.stringify({ ...list, items: list.items.map((item) => ({ ...item, id: `${item.id}-changed` })) }));
  await page.waitForSelector('.banner');
  await page.evaluate(() => window.poll());
  await shown(page, '[aria-label=Tasks] .row', 'go-ahead-changed');
  await page.evaluate(() => window.answers.shift());
  await shown(page, '[aria-label=Tasks] .row', 'go-ahead-changed', false);
  await page.close();
});

test('the banner has the age of what is shown, also after a sleep and another reason', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await page.evaluateOnNewDocument(() => {
    window.asleep = false;
    Object.defineProperty(document, 'hidden', { get: () => window.asleep });
    window.sleep = (is) => {
      window.asleep = is;
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    };
  });
  await stage.open(page, 'workers');
  await streams(page, 'workers');
  await page.evaluate(() => window.sleep(true));
  await until('no stream', () => page.evaluate(() => !window.happens));
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 3 * 3_600_000;
    const away = Promise.reject(new TypeError('no network'));
    away.catch(() => {});
    window.answers = [{ to: '', after: away }];
    window.sleep(false);
  });
  const says = (what) => until(what, () => page.$eval('.banner', (e, what) => e.textContent.startsWith(`${what}. Running jobs continue.`) && e.textContent.includes(' as of 3 h ago.'), what));
  await says('The control plane does not answer');
  await page.evaluate(() => window.answers.unshift({ to: '/events', status: 502, body: '<html>Bad Gateway</html>' }));
  await page.evaluate(() => { location.hash = `#/workers?at=${new Date(performance.timeOrigin).toISOString()}`; }); // A view that was handed over stands still.
  await says('The event stream is refused: HTTP status 502');
  await until('the same age in the bar', () => page.$eval('.live', (e) => e.textContent === 'As of 3 h ago'));
  const body = JSON.stringify({ status: 503, code: 'SERVER_UNREACHABLE', unreachable: true });
  await page.evaluate((body) => Object.assign(window.answers[0], { status: 503, body }), body);
  await says("The event stream is refused: Temporal's server does not answer the control plane");
  await page.evaluate(() => { window.answers = []; });
  await until('no banner', async () => !(await page.$('.banner')));
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('an action ends with its answer, also while a part of the page is not answered', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'workers/node-b');
  const press = async (where) => (await page.waitForFunction((where) => [...document.querySelectorAll(where)].find((one) => /^Cordon/.test(one.textContent)), {}, where)).evaluate((one) => one.click());
  await page.evaluate(() => { window.answers = [{ to: '/me$', body: new Promise(() => {}) }]; });
  await press('main button');
  await page.waitForSelector('dialog[open]');
  await press('dialog[open] button');
  await until('no dialog', async () => !(await page.$('dialog[open]')));
  await post('/workers/node-b/uncordon');
  await page.close();
});

test('settings are read again when somebody changed them, and not while the audit log is not answered', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'job-types/compact');
  const topic = '/job-types/compact';
  await streams(page, topic);
  const times = () => page.evaluate(() => window.requests.filter((one) => /compact.settings/.test(one)).length);
  await until('its settings', async () => (await times()) > 0 && page.$('.settings-of .setting'));
  const data = await stage.get(topic);
  assert.ok(data.changed.at);
  const shows = async (description, changed) => {
    await page.evaluate((topic, data) => window.happens({ topic, data }), topic, { ...data, changed, spec: { ...data.spec, description } });
    await until(description, () => page.$eval('main', (e, text) => e.innerText.includes(text), description));
  };
  const before = await times();
  await shows('Unknown now.');
  await shows('Known again.', data.changed);
  assert.equal(await times(), before);
  await shows('Changed now.', { ...data.changed, at: new Date().toISOString() });
  await until('another request', async () => (await times()) === before + 1);
  await page.close();
});

test('the span of "Started within" is by the clock of the control plane', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await page.evaluateOnNewDocument(() => {
    const now = Date.now;
    Date.now = () => now() - 5 * 3_600_000;
  });
  await stage.open(page, 'runs?since=1');
  await until('the last hour', () => page.evaluate((now) => window.requests.some((one) => Math.abs(now - 3_600_000 - Date.parse(/\/runs\?since=([^&]+)/.exec(decodeURIComponent(one))?.[1])) < 900_000), Date.now()));
  await page.close();
});

test('a stream with more pictures at hand than its header takes comes back', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'workers');
  await streams(page, 'workers');
  const data = await stage.get('/workers?limit=1000&loads=false');
  await page.evaluate((data) => window.happens({ topic: 'workers', data }, `workers=${'x'.repeat(9000)}`), data);
  await page.evaluate(() => window.cut());
  await streams(page, 'workers');

  // One that is forbidden on its own does not ask each time what else is.
  await page.evaluate(() => {
    Object.assign(window, { requests: [], answers: [{ to: '/events', status: 403, body: '<html>Forbidden</html>' }] });
    window.cut();
  });
  await shown(page, '.banner', 'The event stream is refused: HTTP status 403.');
  const asked = (what) => page.evaluate((what) => window.requests.filter((one) => one.includes(what)).length, what);
  await until('more attempts', async () => (await asked('/events?')) >= 8);
  assert.ok((await asked('/api/v1/workers?limit=1000&loads=false ')) <= 3);
  await page.close();
});

test('a page whose object is removed says so', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'passing.yaml');
  const apply = (types, flags = '') => {
    writeFileSync(file, `version: 1\nowner: passing\n${types}`);
    return stage.shell(`roundsman apply --config ${file}${flags}`);
  };
  await apply(`job_types:
  passing:
    handler: command
    description: It does not stay.
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"], format: lines}
    execute: {command: ["true"]}
`);
  const page = await told();
  await stage.open(page, 'job-types/passing');
  await shown(page, 'main', 'It does not stay.');
  await streams(page, '/job-types/passing');
  await apply('', ' --prune');
  await shown(page, 'main [role=alert]', 'Job type passing cannot be shown');
  assert.ok(!(await page.$eval('main', (e) => e.innerText)).includes('It does not stay.'));

  await stage.open(page, 'workers/node-b');
  await streams(page, '/workers/node-b');
  const data = await stage.get('/workers/node-b');
  // Its stream may just be opened again: the news is repeated until it shows.
  const happens = (news, shows) =>
    until(JSON.stringify(news).slice(0, 80), () => page.evaluate(async (news, shows) => {
      window.happens({ topic: '/workers/node-b', ...news });
      await new Promise((then) => requestAnimationFrame(() => setTimeout(then, 0)));
      const alert = document.querySelector('main [role=alert]')?.textContent ?? '';
      return shows === '' ? alert === '' && document.querySelector('.title .word') !== null : alert.includes(shows);
    }, news, shows));
  const passing = { problem: { status: 503, retryable: true, detail: 'later' } };
  await happens(passing, '');
  await happens({ problem: { status: 403, detail: 'You may not see it.' } }, 'You may not see it.');
  await happens({ data }, '');
  await page.evaluate(() => {
    window.erased = 0;
    new MutationObserver(() => { window.erased += document.querySelector('.title .word') === null; }).observe(document.querySelector('main'), { subtree: true, childList: true });
  });
  await happens(passing, '');
  await happens({ problem: { status: 500, retryable: false, detail: 'no sense' } }, '');
  await page.evaluate(() => new Promise((then) => requestAnimationFrame(() => setTimeout(then, 0))));
  assert.equal(await page.evaluate(() => window.erased), 0, 'only what is forbidden or removed goes');
  assert.deepEqual(page.faults, []);
  await page.close();
});

// asksRetry is a page with the dialog that the R key opens for an ended run with these numbers.
async function asksRetry(numbers, answers = []) {
  await stage.openRun('slow');
  const [run] = (await stage.get('/runs?counts=true&limit=1')).runs;
  const page = await told();
  const topic = '/runs?job_type=quiet&counts=true&limit=100'; // Nothing real happens to it.
  await stage.open(page, 'runs?name=quiet');
  await streams(page, topic);
  const data = { runs: [{ ...run, ...numbers, progress: numbers.progress && { ...run.progress, ...numbers.progress }, standing: { ...run.standing, open: false, operations: ['retry-run'] } }] };
  await page.evaluate((topic, data, answers) => {
    window.answers = answers;
    window.happens({ topic, data });
  }, topic, data, answers);
  await page.waitForSelector('[aria-label=Runs] .row');
  await page.focus('[role=grid][aria-label=Runs]');
  for (const one of ['j', 'r']) await page.keyboard.press(one);
  await page.waitForSelector('dialog[open] [type=submit]');
  return page;
}
const asked = (page) => page.$eval('dialog[open]', (e) => [e.querySelector('[type=submit]').textContent, e.querySelector('.line code').textContent.replace(/(?<=retry )\S+/, 'RUN')]);

test('stale jobs are counted once among the failed ones', { skip, timeout: 600_000 }, async () => {
  const page = await asksRetry({ progress: { failed: 2 }, counts: { stale: 2 } });
  assert.deepEqual(await asked(page), ['Retry 2 failed', 'roundsman retry RUN --failed']);
  await page.close();
});

test('a retry whose failed jobs are left out chooses no others', { skip, timeout: 600_000 }, async () => {
  const kept = [{ job: 'job-1', state: 'failed', why: 'done_by_retry', detail: 'a retry did it' }, { job: 'job-2', state: 'canceled', why: 'not_chosen', detail: 'it was canceled' }];
  const body = JSON.stringify({ resumes: 'group/x', jobs: { job_type: 'slow', again: [], again_total: 0, kept, kept_total: 2, missed: 1, done: 0 } });
  const page = await asksRetry({ progress: { failed: 1 } }, [{ to: '/retry-preview', body }]);
  await until('the preview', () => page.$eval('dialog[open]', (e) => /executes 0 jobs.*also the 1 that was not executed.*a retry did it/s.test(e.innerText)));
  assert.equal(await page.$eval('dialog .preview input', (e) => e.checked), false);
  assert.deepEqual(await asked(page), ['Retry 1 failed', 'roundsman retry RUN --failed']);
  await page.close();
});

test('a retry of a run without a failed job chooses those that were not executed', { skip, timeout: 600_000 }, async () => {
  // The list of what is left out may be cut.
  const kept = [{ job: 'job-1', state: 'canceled', why: 'not_chosen', detail: 'it was canceled' }];
  const body = JSON.stringify({ resumes: 'group/x', jobs: { job_type: 'slow', again: [], again_total: 0, kept, kept_total: 2, missed: 2, done: 0 } });
  const page = await asksRetry({}, [{ to: '/retry-preview', body }]);
  await until('the choice', () => page.$eval('dialog .preview input', (e) => e.checked));
  assert.deepEqual(await asked(page), ['Retry', 'roundsman retry RUN --failed --missed']);
  await page.close();
});

test('what was not executed of a run that failed is chosen, until it is unticked', { skip, timeout: 600_000 }, async () => {
  await stage.openRun('slow');
  const [run] = (await stage.get('/runs?counts=true&limit=1')).runs;
  const page = await told();
  await stage.open(page, '');
  await streams(page, '/runs?outcome=failed');
  const topic = await page.evaluate(() => /topic=(\/runs\?outcome=failed[^&]*&counts=true&limit=50&since=[^&]*)/.exec(window.follows)[1]);
  const data = { runs: [{ ...run, progress: { ...run.progress, failed: 0 }, standing: { ...run.standing, open: false, operations: ['retry-run'] } }] };
  await page.evaluate(() => {
    let n = 0; // Each preview has another number.
    window.answers = [{ to: '/retry-preview', get body() { return JSON.stringify({ resumes: 'group/x', jobs: { job_type: 'slow', again: [], again_total: ++n, kept: [], kept_total: 0, missed: 2, done: 0 } }); } }];
  });
  await until('its dialog', () => page.evaluate((topic, data) => {
    if (document.querySelector('dialog[open]')) return true;
    window.happens({ topic, data });
    document.querySelector('[aria-label="Runs that failed since yesterday"] button')?.click();
    return false;
  }, topic, data));
  const preview = (n) => until(`preview ${n}`, () => page.$eval('dialog .preview', (e, n) => e.textContent.includes(`executes ${n} job`), n));
  await preview(1);
  assert.deepEqual(await asked(page), ['Retry', 'roundsman retry RUN --failed --missed']);
  await page.click('dialog .preview input');
  await preview(2);
  assert.equal(await page.$eval('dialog .preview input', (e) => e.checked), false);
  assert.deepEqual(await asked(page), ['Retry', 'roundsman retry RUN --failed']);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('a run counts its stale jobs among the failed ones, in its header and below', { skip, timeout: 600_000 }, async () => {
  const path = `/runs/${(await stage.openRun('slow')).replaceAll('/', '~')}`;
  const run = await stage.get(path);
  const [few, many] = [{ completed: 7, failed: 2, stale: 1 }, { completed: 27, failed: 2, stale: 1 }];
  const snapshot = (counts, total) => ({ ...run, counts, progress: { total, ended: total, running: 0, failed: 3 } });
  const map = { workflow_id: run.workflow_id, total: 30, states: ['failed', 'stale', 'completed'], roles: ['failed', 'failed', 'done'], counts: many, map: Buffer.from([0, 0, 1, ...Array(27).fill(2)]).toString('base64') };
  const answers = { [path]: snapshot(few, 10), [`${path}/map`]: map };
  const page = await stage.page();
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const asked = decodeURIComponent(request.url().replace(/.*\/api\/v1/, ''));
    if (asked.startsWith('/events')) return request.abort();
    return answers[asked] ? request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify(answers[asked]) }) : request.continue();
  });
  const shows = (selector, wanted) => until(wanted.join(), () => page.$$eval(selector, (all, wanted) => all.map((e) => e.textContent.replace(/^running, /, '')).join() === wanted, wanted.join())).catch(async (cause) => { throw new Error(await page.$eval('main', (e) => e.innerText), { cause }); });
  await page.goto(`${stage.base}#${path}`);
  await shows('.title .word', ['3 of 10 failed']);
  await shows('.counts .chip', ['7 completed', '3 failed, 1 of them stale']);

  // More jobs have a map, whose counts are links.
  answers[path] = snapshot(many, 30);
  await page.reload();
  await shows('.title .word', ['3 of 30 failed']);
  await shows('.counted a', ['failed 3', '1 of them stale', 'completed 27']);
  await page.click('.counted a');
  await until('a filter for both', () => page.evaluate(() => /state=failed%2Cstale/.test(location.hash) && [...document.querySelectorAll('main .choice select')].some((e) => e.selectedOptions[0]?.textContent === 'failed or stale')));
  await page.close();
});

test('data of this second are as of now', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'workers');
  await streams(page, 'workers');
  await page.evaluate(() => {
    const now = Date.now();
    Date.now = () => now;
    window.happens({ topic: 'workers', problem: { status: 503, unreachable: true } });
  });
  await until('the banner', () => page.$eval('.banner', (e) => e.textContent.includes('What you see is as of now.')));
  await until('the same in the bar', () => page.$eval('.live', (e) => e.textContent === 'As of now'));
  await page.close();
});

test('what a run waits for keeps its room when it waits no more', { skip, timeout: 600_000 }, async () => {
  const run = await stage.openRun('slow');
  const topic = `/explain?thing=${encodeURIComponent(run).replaceAll('%3A', ':')}`;
  const none = { ...(await stage.get(topic)), reasons: [] };
  const some = { ...none, reasons: ['sda', 'sdb', 'sdc'].map((object) => ({ code: 'LANE_BUSY', object, detail: `another run has the lane of ${object}`, actions: [] })) };
  const page = await told();
  for (const width of [390, 1440]) {
    await page.setViewport({ width, height: 844 });
    await stage.open(page, `runs/${run.replaceAll('/', '~')}`);
    await streams(page, topic);
    // Its stream may bring the true reasons meanwhile.
    const top = (data) => until(`${data.reasons.length} reasons`, async () => {
      await page.evaluate((topic, data) => window.happens({ topic, data }), topic, data);
      return page.evaluate((n) => document.querySelectorAll('main .reasons > li').length === n && [...document.querySelectorAll('main h2')].find((e) => e.textContent.startsWith('Times')).getBoundingClientRect().top, data.reasons.length);
    });
    const [before, after] = [await top(some), await top(none)];
    assert.equal(after, before, `at ${width} px`);
  }
  await page.close();
});

test('the times of a run have their room before its first job begins', { skip, timeout: 600_000 }, async () => {
  const topic = `/runs/${(await stage.openRun('slow')).replaceAll('/', '~')}/times`;
  const begun = await until('a job that runs', async () => { const of = await stage.get(topic); return of.bars.id.length === 1 && of; });
  const none = { ...begun, bars: Object.fromEntries(Object.entries(begun.bars).map(([name, value]) => [name, ['states', 'workers'].includes(name) ? value : []])) };
  const page = await told();
  for (const width of [390, 1440]) {
    await page.setViewport({ width, height: 844 });
    await stage.open(page, topic.slice(1).replace(/\/times$/, ''));
    await streams(page, topic);
    // Its stream may bring the true times meanwhile.
    const height = (data) => until(`times of ${data.bars.id.length} jobs`, async () => {
      await page.evaluate((topic, data) => window.happens({ topic, data }), topic, data);
      return page.$$eval('main section', (all, n) => {
        const times = all.find((e) => e.querySelector('h2')?.textContent.startsWith('Times'));
        return times?.querySelectorAll('.tl-track .tl-bar').length === n && times.getBoundingClientRect().height;
      }, data.bars.id.length);
    });
    const [before, after] = [await height(none), await height(begun)];
    assert.equal(after, before, `at ${width} px`);
  }
  await page.close();
});

test('a page of a list that is on its way does not bring back an old first page', { skip, timeout: 600_000 }, async () => {
  await stage.openRun('slow');
  const [run] = (await stage.get('/runs?counts=true&limit=1')).runs;
  const runs = (...names) => names.map((name) => ({ ...run, workflow_id: `dag/steps/${name}`, run_id: name }));
  const page = await told();
  const topic = '/runs?job_type=quiet&counts=true&limit=100'; // Nothing real happens to it.
  await stage.open(page, 'runs?name=quiet');
  await streams(page, topic);
  const names = () => page.$$eval('[aria-label=Runs] .row .name', (all) => all.map((e) => e.textContent.replace('steps ', '')));
  const happens = (data) => until('its stream', () => page.evaluate((topic, data) => window.happens({ topic, data }), topic, data).then(() => true, () => false));
  await page.evaluate((later, last) => {
    window.answers = [
      { to: 'cursor=early', body: new Promise((then) => { window.late = () => then(later); }) },
      { to: 'cursor=late', body: last },
    ];
  }, JSON.stringify({ runs: runs('b') }), JSON.stringify({ runs: runs('c') }));
  await happens({ runs: runs('a'), next: 'early' });
  await until('the first page', async () => (await names()).join() === 'a');
  await happens({ runs: runs('new', 'a'), next: 'late' });
  await page.evaluate(() => window.late());
  await until('both pages', async () => (await names()).join() === 'new,a,c');

  // It comes, too, if the first page changes more often than it can be read.
  await page.evaluate((topic, first, next) => {
    window.answers = [{ to: 'cursor=slow', get body() { return new Promise((then) => { setTimeout(() => then(next), 1500); }); } }];
    window.steady = setInterval(() => {
      first[0].summary = String(Math.random());
      window.happens?.({ topic, data: { runs: first, next: 'slow' } });
    }, 200);
  }, topic, runs('x'), JSON.stringify({ runs: runs('y') }));
  await until('the slow page', async () => (await names()).join() === 'x,y');
  await page.evaluate(() => clearInterval(window.steady));
  await happens({ runs: runs('z'), next: 'slow' });
  await until('the last change', async () => (await names()).join() === 'z,y');
  await page.close();
});

test('a verdict follows what happens to the other workers', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'workers/node-b');
  await until('another verdict', () => page.$eval('.verdict .code', (e) => e.textContent !== 'WORK_WAITS'));
  await accepted('/workers/node-a/cordon');
  await shown(page, '.verdict', 'WORK_WAITS');
  await accepted('/workers/node-a/uncordon');
  await shown(page, '.verdict', 'WORK_WAITS', false);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('the key of a holder is read when it stays', { skip, timeout: 600_000 }, async () => {
  const page = await told();
  await stage.open(page, 'locks');
  await streams(page, 'objects');
  await page.evaluate(() => { window.answers = [{ to: '/items[?]id=', body: '{"items":[{"id":"x","dedupe_key":"disk 7"}]}' }]; });
  const holds = async (job, since) => {
    const holders = [{ workflow_id: 'group/brief', id: job, for: job, since: new Date(since).toISOString() }];
    await page.evaluate((holders) => window.happens({ topic: 'objects', data: { objects: [{ name: 'volume/1', holders }] } }), holders);
    await shown(page, '[aria-label=Objects] .uses', job);
  };
  for (let i = 0; i < 8; i++) await holds(`brief-${i}`, Date.now() + 60_000); // Each is gone before it stayed.
  await holds('lasting', Date.now() - 60_000);
  await shown(page, '[aria-label=Objects] .key', 'disk 7');
  assert.deepEqual(await page.evaluate(() => window.requests.filter((one) => /group\/brief\/items|brief\/items/.test(one.replaceAll('~', '/'))).map((one) => one.match(/id=([\w-]+)/)[1])), ['lasting']);
  assert.deepEqual(page.faults, []);
  await page.close();
});
