// Plan, apply and submit from the browser, by keyboard alone, compared with the command line through the
// audit log; and who must log in.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { configuration, key, missing, Stage, tabTo, until } from './stage.mjs';

const skip = missing();
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  page = await stage.page();
});
after(() => stage?.down());

// press goes to a button with the Tab key, and presses it.
const press = async (name) => {
  await until(`a button ${name}`, () => page.evaluate((text) => [...document.querySelectorAll('button')].some((b) => b.textContent === text && !b.disabled), name));
  await tabTo(page, name);
  await page.keyboard.press('Enter');
};
// dialog presses a button that opens one, and confirms it.
const confirm = async (name, before = async () => {}) => {
  await press(name);
  await page.waitForSelector('dialog[open]');
  await before();
  await tabTo(page, name);
  await page.keyboard.press('Enter');
};
const says = (text, selector = 'main') => until(`${selector} says ${text}`, () => page.$eval(selector, (e, t) => e.textContent.includes(t), text));
const select = async () => {
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
};
const write = async (text) => {
  await tabTo(page, 'Configuration');
  await select();
  await page.keyboard.sendCharacter(text);
};
const entries = async (after, action) =>
  until(`an entry ${action}`, async () => {
    const found = (await stage.audit(after)).filter((one) => one.action === action);
    return found.length > 0 && found;
  });
const last = async () => (await stage.audit()).at(-1)?.seq ?? 0;
const effect = ({ action, job_type, object, before: was, after: is, actor }) => ({ action, job_type, object: object.replace(/adhoc-.*/, 'adhoc'), before: was, after: is, actor });

test('plan: faults at their lines, drift with who drifted, dry detection, apply', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'plan');
  await write('version: 1\njob_types:\n  compact:\n    handler: command\n    schedule: {every: never}\n    colour: red\n');
  await press('Plan');
  await says('line 6');
  await until('each fault at its line', () => page.$eval('.editor', (e) => e.shadowRoot.querySelectorAll('.cm-lint-marker-error').length >= 2));

  await stage.shell('roundsman set compact every=2h');
  const changed = configuration.replace('Compacts the volumes that have the most garbage.', 'Compacts volumes.');
  await write(changed);
  await press('Plan');
  await says('What it would change');
  await says('Changed since the last apply by ann');
  await says('Compacts volumes.');

  await page.setViewport({ width: 390, height: 844 });
  const buttons = await page.$$eval('.title .actions > *', (all) => all.map((e) => [e.textContent, Math.round(e.getBoundingClientRect().top)]));
  assert.deepEqual(buttons.map(([text]) => text), ['Apply 4 changes', 'Plan again', 'Dry detection']);
  assert.equal(new Set(buttons.map(([, top]) => top)).size, 1, 'one line at 390 px');
  await page.setViewport({ width: 1280, height: 900 });

  await confirm('Dry detection');
  await page.waitForSelector('dialog [role=status] a');
  assert.match(await page.$eval('dialog [role=status] a', (a) => a.title), /^group\/compact/);
  await page.keyboard.press('Escape');

  // Somebody else was faster: the plan is refused.
  const before = await last();
  await confirm('Apply 4 changes', () => stage.shell('roundsman set compact every=3h'));
  await until('the refusal', () => page.$eval('dialog [role=alert]', (e) => /CHANGED/.test(e.textContent)));
  await page.keyboard.press('Escape');

  await press('Plan again');
  await until('the new plan', () => page.evaluate(() => [...document.querySelectorAll('main button')].some((b) => b.textContent === 'Apply 4 changes')));
  await confirm('Apply 4 changes');
  await until('what was applied', () => page.$eval('dialog [role=status]', (e) => /compact/.test(e.textContent)));
  await page.keyboard.press('Escape');
  assert.equal((await stage.get('/job-types/compact')).spec.description, 'Compacts volumes.');
  const updated = (after) => until('its entry', async () => (await stage.audit(after)).find((one) => one.action === 'apply.update' && one.job_type === 'compact'));
  const browser = effect(await updated(before));

  // The same by the command line.
  const file = join(stage.dir, 'changed.yaml');
  writeFileSync(file, configuration);
  await stage.shell(`roundsman apply --config ${file}`);
  const again = await last();
  await stage.shell('roundsman set compact every=3h');
  writeFileSync(file, changed);
  await stage.shell(`roundsman apply --config ${file}`);
  const shell = await updated(again);
  // What it was before is not the same: `roundsman dev` applied it first, as its owner.
  const same = (entry) => ({ ...entry, before: '', after: '' });
  assert.deepEqual(same(effect(shell)), same(browser));
});

test('submit a job', { skip, timeout: 600_000 }, async () => {
  const before = await last();
  await stage.open(page, 'submit/compact');
  await page.waitForSelector('#params');
  await tabTo(page, 'Params, as JSON');
  await page.keyboard.type('{"item": "volume-9"}');
  await tabTo(page, 'Dedupe key');
  await page.keyboard.type('volume-9');
  let line;
  await confirm('Run the job', async () => {
    await tabTo(page, 'The same in a shell');
    await page.keyboard.press('Enter');
    [line] = await page.$$eval('dialog .line code', (all) => all.map((one) => one.textContent));
  });
  await page.waitForSelector('dialog [role=status] a');
  const run = await page.$eval('dialog [role=status] a', (a) => a.title);
  await until('its end', async () => (await stage.get(`/runs/${key(run)}`)).outcome === 'completed');
  const { items } = await stage.get(`/runs/${key(run)}/items`);
  assert.equal(items[0].dedupe_key, 'volume-9');
  const [entry] = await entries(before, 'jobs.submit');
  const after = await last();
  await stage.shell(line);
  const [same] = await entries(after, 'jobs.submit');
  assert.deepEqual(effect(same), effect(entry));
});

test('who is asked to log in comes back to the same page', { skip, timeout: 600_000 }, async () => {
  const other = await stage.page();
  await other.setRequestInterception(true);
  let known = false;
  // The server of this stage knows everybody: what it says without a log-in is played.
  other.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/auth/ways') return request.respond({ contentType: 'application/json', body: '{"oidc":true,"keys":true}' });
    if (url.pathname === '/auth/key') {
      known = JSON.parse(request.postData()).key === 'rmk_good';
      return request.respond(known ? { status: 204 } : { status: 401, contentType: 'application/problem+json', body: '{"status":401,"code":"UNAUTHENTICATED","detail":"there is no such key"}' });
    }
    if (url.pathname.startsWith('/api/') && !known) return request.respond({ status: 401, contentType: 'application/problem+json', body: '{"status":401,"code":"UNAUTHENTICATED","detail":"nobody is logged in"}' });
    return request.continue();
  });
  await other.goto(`${stage.base}#/job-types?name=night`);
  await other.waitForSelector('#key');
  assert.equal(await other.$eval('main .button', (a) => new URL(a.href).pathname), '/auth/login');
  await other.type('#key', 'rmk_bad');
  await other.keyboard.press('Enter');
  await until('the refusal', () => other.$eval('[role=alert]', (e) => /no such key/.test(e.textContent)));
  assert.equal(await other.$eval('#key', (e) => e.getAttribute('aria-invalid')), 'true', 'a fault of its field');
  await other.$eval('#key', (input) => { input.value = ''; input.dispatchEvent(new Event('input', { bubbles: true })); });
  await other.type('#key', 'rmk_good');
  await other.keyboard.press('Enter');
  await until('the page again', () => other.$$eval('.row', (rows) => rows.length === 1 && /nightly/.test(rows[0].textContent)));
  assert.match(other.url(), /#\/job-types\?name=night$/);
  await other.close();
});
