// Settings by form and by text, plan and apply of a folder, and API keys: judged by their effect on the API and on
// the Schedule.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, sound, Stage, themes, until } from './stage.mjs';

const skip = missing();
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.up('access: {keys: true}\n');
  page = await stage.page();
  await page.goto(stage.base);
  await page.waitForSelector('#key');
  await page.type('#key', stage.key);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.tile, .work, main section');
});
after(() => stage?.down());

const says = (text, selector = 'main') => until(`${selector} says ${text}`, () => page.$eval(selector, (e, t) => e.textContent.includes(t), text));
const press = (name, selector = 'main button, dialog[open] button') =>
  until(`a button ${name}`, () =>
    page.evaluate(
      (text, where) => {
        const button = [...document.querySelectorAll(where)].findLast((b) => b.textContent.trim().startsWith(text) && !b.disabled);
        button?.click();
        return button !== undefined;
      },
      name,
      selector,
    ),
  );
const tab = async (name) => {
  await press(name, '[role=tab]');
  await until(`${name} is shown`, () => page.$$eval('[role=tab][aria-selected=true]', (all, t) => all.some((e) => e.textContent.trim().startsWith(t)), name));
};
// type replaces the text of the field with that label.
const type = async (label, text) => {
  const field = await page.waitForFunction((name) => [...document.querySelectorAll('label')].find((l) => l.textContent === name && l.htmlFor)?.control, {}, label);
  await field.evaluate((input) => {
    input.closest('details:not([open])')?.querySelector('summary').click();
    input.focus();
    input.select();
  });
  await page.keyboard.press('Backspace');
  await page.keyboard.type(text);
};
const write = async (text) => {
  await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content'));
  await page.$eval('.editor', (e) => e.shadowRoot.querySelector('.cm-content').focus());
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
  await page.keyboard.sendCharacter(text);
};
const text = () => page.$eval('.editor', (e) => [...e.shadowRoot.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n'));
const clean = async (onlyColors) => {
  assert.deepEqual(await sound(page, undefined, onlyColors), []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  assert.deepEqual(page.faults, []);
};
const both = async () => {
  for (const [i, features] of themes.toReversed().entries()) {
    await page.emulateMediaFeatures(features);
    await clean(i > 0);
  }
};
// gap is the time between two instants of the Schedule itself, in hours.
const gap = async (name) => {
  const { next } = await stage.get(`/job-types/${name}`);
  return (Date.parse(next[1]) - Date.parse(next[0])) / 3_600_000;
};
const document = async (name) => (await stage.get(`/job-types/${name}/settings`)).document;

test('one setting by form, by text, and put back with its values', { skip, timeout: 600_000 }, async () => {
  const was = await document('compact');
  assert.equal(await gap('compact'), 1);
  await stage.open(page, 'job-types/compact');
  await page.waitForSelector('.settings-of');
  await tab('Schedule');

  // A fault stands at its field, and the text is kept.
  await type('every', 'soon');
  await until('the fault at its field', () => page.evaluate(() => [...document.querySelectorAll('.setting')].some((s) => s.textContent.startsWith('every') && /duration "soon"/.test(s.querySelector('.wrong')?.textContent ?? ''))));
  await page.reload();
  await until('what was typed', () => page.evaluate(() => [...document.querySelectorAll('.setting input')].some((i) => i.value === 'soon')));
  await type('every', '2h');
  await says('every 2h', '.diff');
  const due = await page.$$eval('.next li', (all) => all.length);
  assert.equal(due, 5);
  await both();
  await press('Apply 2 changes');
  await says('Changed: ');
  assert.equal((await stage.get('/job-types/compact')).spec.schedule.every, '2h');
  await until('the Schedule every two hours', async () => (await gap('compact')) === 2);

  await tab('YAML');
  await until('the new text', async () => /every: 2h/.test(await text()));
  const two = await document('compact');
  await write(two.replace('every: 2h', 'every: 3h\n      jitter: 5m'));
  await says('jitter 5m', '.diff');
  await both();
  await press('Apply');
  await until('the Schedule every three hours', async () => (await gap('compact')) >= 2.9);
  assert.equal((await stage.get('/job-types/compact')).spec.schedule.jitter, '5m');

  // The last change is put back with all its values, and so is putting it back.
  const put = async (from, hours) => {
    // An older entry has the button too, until the list has the new one.
    await until('who changed it', () => page.$eval('.changes li:first-child', (e, to) => e.textContent.includes('admin') && e.textContent.split('→')[1]?.includes(to) && e.querySelector('button') !== null, `every ${from}h`));
    await press('Put back', '.changes li:first-child button');
    await page.waitForSelector('dialog[open]');
    await press('Put back', 'dialog[open] button');
    await until(`every ${hours} h`, async () => (await stage.get('/job-types/compact')).spec.schedule.every === `${hours}h`);
    await page.reload();
  };
  const changed = await document('compact');
  await put(3, 2);
  assert.equal(await document('compact'), two);
  await until('the Schedule every two hours again', async () => (await gap('compact')) === 2);
  await put(2, 3);
  assert.equal(await document('compact'), changed);
  // By the form it is again what it was.
  await tab('Form');
  await tab('Schedule');
  await type('jitter', '');
  await type('every', '1h');
  await press('Apply');
  await until('the Schedule every hour', async () => (await gap('compact')) === 1);
  assert.equal(await document('compact'), was);
});

test('a window and a command by form change these alone, in the Schedule too', { skip, timeout: 600_000 }, async () => {
  const inForce = async () => (await stage.get('/job-types/nightly/settings')).settings;
  const [was, { next }] = [await inForce(), await stage.get('/job-types/nightly')];
  await stage.open(page, 'job-types/nightly');
  await page.waitForSelector('.settings-of');
  await tab('Windows');
  await type('from', '21:00');
  await tab('Parameters');
  await type('command', 'printf');
  await page.keyboard.press('Enter');
  await page.keyboard.type('volume-9');
  await says('volume-9', '.diff');
  await press('Apply 2 changes');
  const wanted = structuredClone(was);
  wanted.windows[0].from = '21:00';
  wanted.detect.command = ['printf', 'volume-9'];
  await until('the new window', async () => (await inForce()).windows[0].from === '21:00');
  assert.deepEqual(await inForce(), wanted);
  assert.deepEqual((await stage.get('/job-types/nightly')).next, next, 'the Schedule is due as before');
  await page.reload();
  await page.waitForSelector('.settings-of');
  await tab('Windows');
  await until('the window in force', () => page.evaluate(() => [...document.querySelectorAll('.window label')].find((l) => l.textContent === 'from')?.control.value === '21:00'));
});

test('somebody else changes the settings while one types', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/failing');
  await page.waitForSelector('.settings-of');
  await tab('Policy');
  await type('retry_limit', '4');
  await says('policy.retry_limit', '.diff');
  await stage.shell('roundsman set failing every=5h');
  await until('who changed it, and what', () => page.evaluate(() => /ann changed these settings.*every 5h/s.test(document.querySelector('.settings-of')?.textContent ?? '')));
  assert.ok(await page.evaluate(() => [...document.querySelectorAll('.setting input')].some((i) => i.value === '4')), 'what was typed stays');
  await press('Continue with the new settings');
  await press('Apply');
  await until('both changes', async () => {
    const { spec } = await stage.get('/job-types/failing');
    return spec.policy.retry_limit === 4 && spec.schedule.every === '5h';
  });
});

test('a preview that the server does not answer in time is requested again', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/nightly');
  await page.waitForSelector('.settings-of');
  await held((request) => /settings\?dry_run=true$/.test(request.url()), async ({ answer }) => {
    await tab('Policy');
    await type('retry_limit', '4');
    await answer({ status: 504, code: 'TIMEOUT', detail: 'no answer in time', retryable: true }, 504);
    await answer();
    await until('a button to apply it', () => page.$('.settings-of .primary:not(:disabled)'));
  });
  await press('Discard', '.settings-of button');
});

// held keeps the requests of the page that match until answer is called, which answers the oldest one, or lets it go on without a
// body. It ends with during.
async function held(matches, during) {
  const waiting = [];
  const take = (request) => {
    if (matches(request)) waiting.push(request);
    else void request.continue();
  };
  await page.setRequestInterception(true);
  page.on('request', take);
  const come = () => until('a request', () => waiting.length > 0);
  const answer = async (body, status = 200) => {
    await come();
    const request = waiting.shift();
    if (body === undefined) await request.continue();
    else await request.respond({ status, contentType: status === 200 ? 'application/json' : 'application/problem+json', body: JSON.stringify(body) });
  };
  try {
    await during({ come, answer });
  } finally {
    page.off('request', take);
    for (const request of waiting) await request.continue().catch(() => {});
    await page.setRequestInterception(false);
  }
}

test('only a change that is shown is applied, and nothing typed meanwhile is lost', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/nightly');
  await tab('Policy');
  await type('retry_limit', '1');
  const able = () => page.$eval('.settings-of .primary', (e) => !e.disabled);
  await until('a button to apply it', able);
  await held((request) => request.method() === 'PATCH', async ({ come, answer }) => {
    await page.keyboard.type('0');
    await come();
    assert.equal(await able(), false, 'the difference is that of another text');
    await answer();
    await until('a button to apply this', able);
    assert.match(await page.$eval('.settings-of .diff', (e) => e.textContent), /10/);
    await press('Apply');
    await come();
    const field = await page.evaluateHandle(() => [...document.querySelectorAll('.settings-of label')].find((l) => l.textContent === 'retry_limit').control);
    await field.evaluate((e) => e.focus());
    await page.keyboard.type('7');
    const value = await field.evaluate((e) => e.value);
    await answer({ status: 412, code: 'CHANGED', detail: 'somebody changed it' }, 412);
    await until('its end', () => page.$eval('.settings-of .primary', (e) => /^Apply/.test(e.textContent)));
    assert.deepEqual([value, await field.evaluate((e) => e.value)], ['10', '10']);
  });
  await press('Discard', '.settings-of button');
});

const closes = async () => {
  await page.keyboard.press('Escape');
  await until('no dialog', async () => !(await page.$('dialog[open]')));
};

test('an action that ends after its dialog leaves the next one alone; a refusal comes back with what was typed', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/compact');
  await page.evaluate(() => {
    const plain = window.fetch;
    window.refused = 0; // Those that the page has handled.
    window.fetch = async (...request) => {
      const answer = await plain(...request);
      const text = answer.text.bind(answer);
      if (answer.status === 409) answer.text = () => text().finally(() => setTimeout(() => window.refused++));
      return answer;
    };
  });
  const refusal = () =>
    until('the refusal', () => page.$eval('dialog[open]', (e) => /^Pause compact.*not while it moves/s.test(e.textContent) && e.querySelector('input').value === 'new disks' && document.activeElement.textContent === 'Leave it'));
  await held((request) => request.method() === 'POST', async ({ come, answer }) => {
    const pause = async () => {
      await press('Pause', 'main .title button');
      await type('Why', 'new disks');
      await press('Pause', 'dialog[open] button');
      await come();
      await closes();
    };
    const leave = async () => {
      await pause();
      await press('Backfill', 'main .title button');
      await page.waitForSelector('dialog[open] input[type=datetime-local]');
      for (const [i, input] of (await page.$$('dialog[open] input')).entries()) {
        await input.evaluate((one, value) => {
          one.value = value;
          one.dispatchEvent(new Event('input', { bubbles: true }));
        }, `2026-11-0${i + 1}T00:00`);
      }
    };
    const refuse = async () => {
      const before = await page.evaluate(() => window.refused);
      await answer({ status: 409, code: 'NO', detail: 'not while it moves' }, 409);
      await until('the answer', () => page.evaluate((before) => window.refused > before, before));
    };
    await leave();
    await answer({});
    await press('Backfill', 'dialog[open] button');
    await answer({ runs: 3 });
    await until('its own end', () => page.$eval('dialog[open] [role=status]', (e) => /^3 runs/.test(e.textContent)));
    await closes();

    await leave();
    await refuse();
    assert.equal(await page.$$eval('dialog[open] input', (all) => all.map((one) => one.value).join()), '2026-11-01T00:00,2026-11-02T00:00');
    await page.keyboard.press('Escape');
    await refusal();
    await closes();

    // It does not take the focus from a search, or from a field of the page.
    await pause();
    await page.keyboard.press('/');
    await page.waitForSelector('.palette[open] input');
    await refuse();
    await page.keyboard.type('comp');
    assert.deepEqual(await page.$$eval('dialog[open]', (all) => all.map((one) => one.querySelector('input').value)), ['comp']);
    await page.keyboard.press('Escape');
    await refusal();
    await closes();
    await pause();
    const field = await page.waitForSelector('.settings-of form input');
    await field.focus();
    await refuse();
    assert.ok(await field.evaluate((e) => e === document.activeElement));
    await field.evaluate((e) => e.blur());
    await refusal();
    await closes();

    // A field that only has the focus does not hide it for long.
    await pause();
    await page.evaluate(() => {
      const now = Date.now();
      Date.now = () => now;
    });
    await field.focus();
    await page.keyboard.type('7');
    await refuse();
    assert.ok(await field.evaluate((e) => e === document.activeElement));
    await page.evaluate(() => {
      const now = Date.now();
      Date.now = () => now + 60_000;
    });
    await refusal();
    await closes();
  });
  await page.reload(); // Its clock goes again.
  await press('Discard', '.settings-of button');
});

const logIn = async (as = stage.key) => {
  await page.waitForSelector('#key');
  await page.type('#key', as);
  await page.keyboard.press('Enter');
  await page.waitForSelector('nav.menu');
};

// ends ends the session of the page.
const ends = () =>
  held((request) => /\/api\/v1\/me$/.test(request.url()), async ({ answer }) => {
    await page.evaluate(() => { window.look = setInterval(() => dispatchEvent(new Event('visibilitychange')), 500); });
    await answer({ status: 401, code: 'UNAUTHENTICATED', detail: 'the session has ended' }, 401);
    await page.waitForSelector('#key');
    await page.evaluate(() => clearInterval(window.look));
  });

test('what was typed in a dialog is there after a log-in that interrupts it', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/compact');
  await press('Pause', 'main .title button');
  await type('Why', 'new disks');
  await ends();
  await logIn();
  await until('the dialog', () => page.$eval('dialog[open] input', (e) => e.value === 'new disks'));
  await closes();
});

test('an unsent job survives a reload, but not a log-out', { skip, timeout: 600_000 }, async () => {
  const value = () => page.$eval('#key', (e) => e.value).catch(() => undefined);
  await stage.open(page, 'submit/compact');
  await type('Dedupe key', 'volume-7');
  await page.reload();
  await until('the key', async () => (await value()) === 'volume-7');
  await stage.open(page, 'access');
  await press('Log out');
  await until('no menu', async () => !(await page.$('nav.menu')));
  await logIn();
  await stage.open(page, 'submit/compact');
  await until('the form', async () => (await value()) !== undefined);
  assert.equal(await value(), '');
});

test('what one person typed or opened is not on the page of another one who logs in in a second tab', { skip, timeout: 600_000 }, async () => {
  const value = () => page.$eval('#key', (e) => e.value).catch(() => undefined);
  await stage.open(page, 'submit/compact');
  await type('Dedupe key', 'volume-7');
  await press('Run the job', 'main .actions button');
  await page.waitForSelector('dialog[open]');
  const me = await page.evaluate(() => fetch('api/v1/me').then((answer) => answer.json()));
  await held((request) => /\/api\/v1\/me$/.test(request.url()), async ({ answer }) => {
    await page.evaluate(() => { window.look = setInterval(() => dispatchEvent(new Event('visibilitychange')), 500); });
    await answer({ ...me, name: 'bob' });
    await page.evaluate(() => clearInterval(window.look));
    await until('an empty form', async () => (await value()) === '');
    await until('no dialog', async () => !(await page.$('dialog[open]')));
  });
  assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage).filter((one) => /draft/.test(one))), []);
  await page.reload();
  await until('the form', async () => (await value()) !== undefined);
});

test('what one person selected is not selected for another one who logs in in a second tab', { skip, timeout: 600_000 }, async () => {
  await stage.openRun('slow');
  await stage.open(page, 'runs');
  await page.click('[aria-label=Runs] .row .pick');
  await page.waitForSelector('.bulk');
  const me = await page.evaluate(() => fetch('api/v1/me').then((answer) => answer.json()));
  await held((request) => /\/api\/v1\/me$/.test(request.url()), async ({ answer }) => {
    await page.evaluate(() => { window.look = setInterval(() => dispatchEvent(new Event('visibilitychange')), 500); });
    await answer({ ...me, name: 'bob' });
    await page.evaluate(() => clearInterval(window.look));
    await until('the runs without a selection', () => page.evaluate(() => document.querySelector('[aria-label=Runs] .row') && !document.querySelector('.bulk')));
  });
  await page.reload();
  await page.waitForSelector('[aria-label=Runs] .row');
});

test('an unsent job is discarded by its button, and not by an earlier one that is taken late', { skip, timeout: 600_000 }, async () => {
  const value = () => page.$eval('#key', (e) => e.value);
  const params = () => page.$eval('#params', (e) => e.value);
  const buttons = () => page.$$eval('main .actions button', (all) => all.map((one) => one.textContent).join());
  await stage.open(page, 'submit/compact');
  assert.equal(await buttons(), 'Run the job');
  await type('Params, as JSON', '{"item": "a"}');
  await type('Dedupe key', 'volume-8');
  await held((request) => request.method() === 'POST', async ({ come, answer }) => {
    await press('Run the job', 'main .actions button');
    await press('Run the job', 'dialog[open] button');
    await come();
    await closes();
    await type('Dedupe key', 'volume-9');
    await page.evaluate(() => document.activeElement.blur());
    await answer({ jobs: 1, workflow_id: 'group/compact/none' });
    await says('Submitted 1 job', 'dialog[open]');
    await closes();
  });
  await page.reload();
  await until('the key', async () => (await value().catch(() => '')) === 'volume-9');
  await press('Discard', 'main .actions button');
  await until('an empty form', async () => (await value()) === '' && (await params()) === '');
  await until('the focus', () => page.evaluate(() => document.activeElement.id === 'job-type'));
  assert.equal(await buttons(), 'Run the job');
  await page.reload();
  await page.waitForSelector('#key');
  assert.equal(await value(), '');
});

test('a dialog that cannot be drawn says so', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/compact');
  await page.evaluate(() => {
    const plain = window.URL;
    window.URL = function URL() { throw new Error('no address'); };
    window.mend = () => { window.URL = plain; };
  });
  await press('Pause', 'main .title button');
  await until('its error', () => page.$eval('dialog[open]', (e) => /cannot be drawn.*no address/s.test(e.textContent)));
  assert.match(page.faults.splice(0).join(), /no address/);
  await page.evaluate(() => window.mend());
  // Another one is asked for before the event of the closed one.
  await page.evaluate(() => {
    const button = (selector, name) => [...document.querySelectorAll(selector)].find((e) => e.textContent.trim() === name);
    button('dialog[open] button', 'Close').click();
    button('main .title button', 'Pause').click();
  });
  await page.waitForSelector('dialog[open] input');
  await closes();
});

test('a folder with a DAG is planned and applied, and the DAG runs', { skip, timeout: 600_000 }, async () => {
  const folder = join(stage.dir, 'site');
  mkdirSync(join(folder, 'dags'), { recursive: true });
  writeFileSync(join(folder, 'roundsman.yaml'), 'version: 1\nowner: site\njob_types:\n  nightly-report:\n    dag: dags/report.yaml\n    schedule: {every: 24h, first_run: scheduled}\n');
  writeFileSync(join(folder, 'dags', 'report.yaml'), 'version: 1\nname: report\ntasks:\n  - {id: one, command: [echo, hello]}\n  - {id: two, needs: one, dag: part.yaml}\n');
  writeFileSync(join(folder, 'dags', 'part.yaml'), 'version: 1\nname: part\ntasks: [{id: inner, command: ["true"]}]\n');
  await stage.open(page, 'plan');
  const input = await page.waitForSelector('input[webkitdirectory]');
  await input.uploadFile(folder);
  await until('three files', () => page.$$eval('.files [role=tab]', (all) => all.length === 3));
  // The tabs are one stop of the Tab key, with arrows between them.
  await page.focus('.files [role=tab][aria-selected=true]');
  for (const [arrow, name] of [['ArrowRight', 'dags/part.yaml'], ['End', 'dags/report.yaml'], ['ArrowRight', 'roundsman.yaml'], ['ArrowLeft', 'dags/report.yaml'], ['Home', 'roundsman.yaml']]) {
    await page.keyboard.press(arrow);
    await until(name, () => page.evaluate((name) => document.activeElement.textContent === name && document.activeElement.matches('[aria-selected=true]') && document.getElementById(document.activeElement.getAttribute('aria-controls')).ariaLabel === name, name));
  }
  assert.deepEqual(await page.$$eval('.files [role=tab]', (all) => all.map((e) => e.tabIndex)), [0, -1, -1]);
  // Completion by the schema.
  await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content'));
  await until('the text', async () => /nightly-report/.test(await text()));
  await page.$eval('.editor', (e) => e.shadowRoot.querySelector('.cm-content').focus());
  await page.keyboard.down('Control');
  await page.keyboard.press('End');
  await page.keyboard.up('Control');
  await page.keyboard.type('    descr');
  await until('a proposal', () => page.$eval('.editor', (e) => /description/.test(e.shadowRoot.querySelector('.cm-tooltip-autocomplete')?.textContent ?? '')));
  // By the mouse: the editor takes an Enter only 75 ms after the list opens.
  await (await page.$('.editor >>> [role=option]')).click();
  await until('the key', async () => /^ {4}description: $/m.test(await text()));
  await page.keyboard.type('Counts things.');
  // A fault in a DAG is at its file and line.
  await tab('dags/report.yaml');
  await write('version: 1\nname: report\ntasks:\n  - {id: one, comand: [echo, hello]}\n');
  await until('the fault at its line', () => page.$eval('.editor', (e) => e.shadowRoot.querySelectorAll('.cm-lint-marker-error').length === 1));
  await says('line 4');
  await both();
  // What was typed survives a reload.
  await page.reload();
  await tab('dags/report.yaml');
  await until('the text again', async () => /comand/.test(await text()));
  await write('version: 1\nname: report\ntasks:\n  - {id: one, command: [echo, hello]}\n  - {id: two, needs: one, dag: part.yaml}\n');
  await press('Plan', '.title button');
  await says('What it would change');
  await both();
  await press('Apply', 'main button');
  await page.waitForSelector('dialog[open]');
  await press('Apply', 'dialog[open] button');
  await until('what was applied', () => page.$eval('dialog [role=status]', (e) => /nightly-report/.test(e.textContent)));
  await page.keyboard.press('Escape');
  assert.equal((await stage.get('/job-types/nightly-report')).spec.description, 'Counts things.');
  await stage.shell('roundsman start nightly-report');
  await until('the DAG has run', async () => (await stage.get('/job-types/nightly-report')).recent?.some((run) => run.outcome === 'completed'), 90_000);
});

test('what is in force is loaded: apply adopts what was changed by hand, and then nothing changes', { skip, timeout: 600_000 }, async () => {
  const planned = async () => {
    await stage.open(page, 'plan');
    await press('Load what is in force');
    await says('job types in force');
    await press('Plan', '.title button');
  };
  await stage.shell('roundsman set failing every=7h');
  await planned();
  await says('changed by hand');
  await press('Apply', 'main button');
  await page.waitForSelector('dialog[open]');
  await press('Apply', 'dialog[open] button');
  await until('what was applied', () => page.$eval('dialog [role=status]', (e) => /failing/.test(e.textContent)));
  await page.keyboard.press('Escape');
  assert.equal((await stage.get('/job-types/failing')).spec.schedule.every, '7h');
  await planned();
  await says('Everything is as this configuration says');
});

test('a key is created, used, rotated and revoked', { skip, timeout: 600_000 }, async () => {
  const call = (secret) => fetch(`${stage.base}api/v1/job-types`, { headers: { Authorization: `Bearer ${secret}` } }).then((answer) => answer.status);
  const secret = async () => {
    await page.waitForSelector('dialog [role=status] .line code');
    const shown = await page.$eval('dialog [role=status] .line code', (e) => e.textContent);
    assert.match(shown, /^rmk_/);
    await page.keyboard.press('Escape');
    await until('no dialog', async () => (await page.$('dialog[open]')) === null);
    await until('that it is shown once', async () => !(await page.content()).includes(shown));
    return shown;
  };
  await stage.open(page, 'access');
  await press('Create a key');
  await page.waitForSelector('dialog[open]');
  await type('Name', 'ci');
  await press('Create a key', 'dialog[open] button.primary');
  const first = await secret();
  assert.equal(await call(first), 200);
  const row = () => page.$$eval('[aria-label="API keys"] tr', (all) => all.map((one) => one.textContent).find((one) => one.startsWith('ci')));
  await until('its row', async () => /viewer.*admin/.test((await row()) ?? ''));
  await until('that its use is kept', async () => (await stage.get('/keys')).keys.find((one) => one.name === 'ci').last_used);
  await page.reload();
  await until('its last use', () => page.$$eval('[aria-label="API keys"] tbody tr', (all) => all.some((one) => one.textContent.startsWith('ci') && one.querySelector('[data-label="Last use"] time'))));
  await both();
  await press('Rotate', '[aria-label="API keys"] tr:nth-child(1) button');
  await page.waitForSelector('dialog[open]');
  await press('Rotate', 'dialog[open] button');
  const second = await secret();
  assert.notEqual(second, first);
  await until('the old one is refused', async () => (await call(first)) === 401);
  assert.equal(await call(second), 200);
  await press('Revoke', '[aria-label="API keys"] tr:nth-child(1) button');
  await page.waitForSelector('dialog[open]');
  await press('Revoke', 'dialog[open] button');
  await until('it is refused', async () => (await call(second)) === 401);
  // Who did it is in the audit log.
  const actions = (await stage.audit()).filter((one) => one.action.startsWith('key.')).map((one) => `${one.action} ${one.actor}`);
  for (const action of ['key.create admin', 'key.rotate admin', 'key.revoke admin']) assert.ok(actions.includes(action), `${action} in ${actions}`);
});

test('who changed a job type, a worker and a run stands on their pages', { skip, timeout: 600_000 }, async () => {
  await stage.shell('roundsman drain node-b');
  const run = await stage.openRun('slow');
  await stage.shell(`roundsman pause ${run}`);
  await stage.shell('roundsman set failing every=7h');
  for (const [route, wanted] of [['workers/node-b', /drain/], [`runs/${key(run)}`, /pause/], ['job-types/failing', /jobtype\.set.*7h/s]]) {
    await stage.open(page, route);
    await until(`who, on ${route}`, () => page.$$eval('.changes li', (all, [source]) => all.some((one) => new RegExp(source, 's').test(one.textContent) && /ann|admin/.test(one.textContent)), [wanted.source]));
  }
});

test('a person who logs in after another one sees nothing of what that one saw', { skip, timeout: 600_000 }, async () => {
  const [other] = (await stage.shell('roundsman keys create other --role worker --worker node-z')).match(/rmk_\S+/);
  await stage.open(page, 'job-types');
  await until('its rows', () => page.$$eval('.row', (all) => all.some((one) => one.textContent.includes('nightly'))));
  let events = false;
  await held((request) => (events ? /\/events\?/ : /\/api\/v1\/me$/).test(request.url()), async ({ answer }) => {
    await page.evaluate(() => { window.look = setInterval(() => dispatchEvent(new Event('visibilitychange')), 500); });
    await answer({ status: 401, code: 'UNAUTHENTICATED', detail: 'the session has ended' }, 401);
    await page.waitForSelector('#key');
    await page.evaluate(() => {
      clearInterval(window.look);
      window.seen = 0;
      new MutationObserver(() => { window.seen += document.querySelector('main').textContent.includes('nightly'); }).observe(document.body, { subtree: true, childList: true });
    });
    events = true;
    await page.type('#key', other);
    await page.keyboard.press('Enter');
    await page.waitForSelector('nav.menu');
    await says('Job types cannot be shown');
  });
  assert.equal(await page.evaluate(() => window.seen), 0);
  await page.evaluate((key) => fetch('auth/key', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key }) }), stage.key);
  await page.reload();
  await page.waitForSelector('.row');
});

test('a person who logs in after another one has nothing of what that one typed', { skip, timeout: 600_000 }, async () => {
  const [other] = (await stage.shell('roundsman keys create another --role worker --worker node-y')).match(/rmk_\S+/);
  const who = (name) => until(name, () => page.$eval('.who', (e, name) => e.textContent === name, name));
  const drafts = () => page.evaluate(() => Object.entries(sessionStorage).filter(([name]) => name.startsWith('roundsman.draft.')));
  await stage.open(page, 'submit/compact');
  await who('admin');
  await type('Dedupe key', 'volume-7');
  const typed = await drafts();
  assert.match(JSON.stringify(typed), /volume-7/);
  await stage.open(page, 'job-types/compact');
  await press('Pause', 'main .title button');
  await type('Why', 'new disks');
  await ends();
  await logIn(other);
  await who('another');
  assert.deepEqual([await drafts(), (await page.$$('dialog[open]')).length], [[], 0]);

  // Also after a visit to an identity provider, which has loaded the page again.
  await page.evaluate(async (typed, key) => {
    for (const [name, text] of typed) sessionStorage.setItem(name, text);
    sessionStorage.setItem('roundsman.back', location.hash = '#/submit/compact');
    await fetch('auth/key', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ key }) });
  }, typed, stage.key);
  await page.reload();
  await page.waitForSelector('#key');
  assert.deepEqual([await page.$eval('#key', (e) => e.value), await drafts()], ['', []]);
  await who('admin');
});
