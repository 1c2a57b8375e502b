// The output of a job on its page: followed, searched, read backwards, in colors, by attempt.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';
import { sources } from './source.mjs';

const skip = missing();
const lines = 6000;
let stage;
let run;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.shared();
  const file = join(stage.dir, 'talk.yaml');
  const script = [
    `cd ${stage.dir}`,
    'mkdir -p reports; echo kept > reports/a.txt; ln -sf /etc/passwd reports/b.txt',
    '[ -e first ] || { touch first; echo "the first attempt"; exit 3; }',
    `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i"; done`,
    'printf "\\033[31mred\\033[0m plain \\033[38;5;46mgreen\\nstill green\\033[0m\\n"',
    'printf "reverse \\342\\200\\256gnp.exe\\n10 %%\\r90 %%\\n"',
    'while [ ! -e go ]; do sleep 0.1; done',
    'echo "fatal: no such volume"; printf "%0400d\\n" 7',
    'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo "after $i"; done',
    'echo "ERROR no such disk"',
    'while [ ! -e end ]; do sleep 0.1; done; echo "the last words"; exit 3',
  ].join('\n');
  writeFileSync(file, `version: 1
owner: talk
job_types:
  talk:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {retry_limit: 1, retry_backoff: 1s}
    detect: {command: [printf, 'sda\\n'], format: lines}
    execute: {command: [sh, -c, ${JSON.stringify(script)}], dir: ${stage.dir}, artifacts: ["reports/*.txt"], hooks: {finally: [echo, cleaned up]}}
`);
  await stage.shell(`roundsman apply --config ${file}`);
  await stage.shell('roundsman start talk');
  run = await until('the second attempt', async () => {
    const [found] = (await stage.get('/runs?job_type=talk')).runs;
    if (!found) return false;
    const output = await stage.get(`/runs/${key(found.workflow_id)}/items/job-00001/output`);
    return output.attempt === 2 && /90 %/.test(output.text) && found.workflow_id;
  }, 60_000);
  page = await stage.page();
  await stage.open(page, `runs/${key(run)}/items/job-00001`);
  await page.waitForSelector('.log .ln');
});
after(() => stage?.down());

const says = (text) => until(text, () => page.$eval('.viewer', (e, t) => e.textContent.includes(t), text)).catch(async (cause) => { throw new Error(await page.$eval('main', (e) => e.innerText), { cause }); });
// seen is whether a line is within what is shown of the output.
const seen = (text) => until(`${text} on screen`, () => page.evaluate((t) => {
  const box = document.querySelector('.log').getBoundingClientRect();
  return [...document.querySelectorAll('.ln')].some((e) => {
    const at = e.getBoundingClientRect();
    return e.querySelector('.text').textContent === t && at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
  });
}, text)).catch(async (cause) => { throw new Error(await page.$eval('.log', (e) => `${e.scrollTop} of ${e.scrollHeight}: ${e.innerText}`), { cause }); });
const press = (name) => page.evaluate((n) => [...document.querySelectorAll('main button')].find((b) => b.textContent.trim().startsWith(n)).click(), name);

test('the end is shown, and says which part it is', { skip, timeout: 600_000 }, async () => {
  await says('The last 16 KiB of');
  await seen('90 %');
  const elements = await page.evaluate(() => document.querySelectorAll('body *').length);
  assert.ok(elements <= 600, `${elements} elements`);
});

test('colors are those of the theme, and hidden letters are shown', { skip, timeout: 600_000 }, async () => {
  const colors = await page.evaluate(() => {
    const of = (text) => getComputedStyle([...document.querySelectorAll('.ln .text span')].find((e) => e.textContent === text)).color;
    const role = (name) => {
      const probe = document.createElement('i');
      probe.style.color = `var(--${name})`;
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    };
    return { red: of('red') === role('failed-ink'), green: of('green') === role('done-ink'), still: of('still green') === role('done-ink') };
  });
  assert.deepEqual(colors, { red: true, green: true, still: true });
  await says('reverse ⟨U+202E⟩gnp.exe');
});

test('what comes is followed until somebody scrolls up', { skip, timeout: 600_000 }, async () => {
  writeFileSync(join(stage.dir, 'go'), '');
  await seen('after 5000');
  await seen('ERROR no such disk');
  assert.ok(await page.$('.ln.error'), 'a line that calls itself an error is marked');
  const box = await (await page.$('.log')).boundingBox();
  await page.mouse.move(box.x + 50, box.y + 50);
  await page.mouse.wheel({ deltaY: -2000 });
  await says('Not following');
  const before = await page.$eval('.log', (e) => e.scrollTop);
  writeFileSync(join(stage.dir, 'end'), '');
  await until('the end of the job', async () => (await stage.get(`/runs/${key(run)}/items/job-00001`)).state === 'failed');
  await until('the end below the output', () => page.$eval('.viewer .foot', (e) => /Failed\s*\d\d:\d\d:\d\d/.test(e.textContent)));
  assert.equal(await page.$eval('.log', (e) => e.scrollTop), before, 'nobody is moved who has scrolled up');
  await page.focus('.log');
  await page.keyboard.press('End');
  await seen('the last words');
});

test('what was printed before is read part by part, and searched', { skip, timeout: 600_000 }, async () => {
  await press('Show ');
  await says(`${(lines + 5010).toLocaleString('en')} lines`);
  await page.focus('.log');
  await page.keyboard.press('Home');
  await seen('line 1');
  await page.type('[aria-label="Search the output"]', 'line 12');
  await says('1 of 111 lines');
  await page.keyboard.press('Enter');
  await says('2 of 111 lines');
  await seen('line 120');
  await until('the mark', () => page.$eval('mark.current', (e) => e.textContent === 'line 12'));
  const elements = await page.evaluate(() => document.querySelectorAll('body *').length);
  assert.ok(elements <= 600, `${elements} elements`);
});

test('F leads from one error to the next', { skip, timeout: 600_000 }, async () => {
  await page.focus('h1');
  for (const [n, line] of [[1, 'fatal: no such volume'], [2, 'ERROR no such disk'], [1, 'fatal: no such volume']]) {
    await page.keyboard.press(n === 1 ? 'f' : 'F'); // With Caps Lock it is F.
    await says(`${n} of 2 errors`);
    await seen(line);
    await until(`${line} is marked`, () => page.$eval('.ln.at .text', (e, line) => e.textContent === line, line));
  }
});

test('long lines are wrapped, or as wide as they are', { skip, timeout: 600_000 }, async () => {
  const long = () => page.evaluate(() => {
    const [log, line] = [document.querySelector('.log'), [...document.querySelectorAll('.ln')].find((e) => /^0{399}7$/.test(e.querySelector('.text').textContent))];
    return line && { rows: Math.round(line.offsetHeight / 20), over: log.scrollWidth > log.clientWidth };
  });
  await until('its rows', async () => { const is = await long(); return is && is.rows > 1 && !is.over; });
  await press('Wrap');
  await until('one row', async () => { const is = await long(); return is?.rows === 1 && is.over; });
  await press('Wrap');
  await until('its rows again', async () => (await long())?.rows > 1);
});

test('an output of which only the end was kept says so', { skip, timeout: 600_000 }, async () => {
  const own = await stage.page();
  await own.setRequestInterception(true);
  own.on('request', async (request) => {
    if (!/items\/job-00001\/output/.test(request.url())) return request.continue();
    const text = 'z'.repeat(16 * 1024);
    return request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify({ run, job: 'job-00001', state: 'failed', attempt: 2, from: 'result', offset: 100_000, next: 100_000 + text.length, text }) });
  });
  await stage.open(own, `runs/${key(run)}/items/job-00001`);
  await until('which part it is', () => own.$eval('.viewer', (e) => /Only the last 16 KiB were kept\./.test(e.querySelector('.gap').textContent) && /The last 16 KiB of 114 KiB/.test(e.querySelector('.foot').textContent)));
  assert.deepEqual(await own.$$eval('.viewer button, .viewer a', (all) => all.map((e) => e.textContent).filter((text) => /Show|Download/.test(text))), []);
  await until('where it is from', () => own.$eval('main', (e) => /as its result has it/.test(e.textContent)));
  await own.close();
});

test('all of it is a download', { skip, timeout: 600_000 }, async () => {
  const address = await page.$eval('.viewer a[download]', (a) => a.href);
  const text = await (await fetch(address)).text();
  assert.match(text, /^line 1\n/);
  assert.match(text.slice(-200), /the last words\nroundsman: artifact reports\/b\.txt: path escapes from parent\n\[finally\] cleaned up\n$/);
});

test('the files that it has left are downloads, and a link out of its directory is none', { skip, timeout: 600_000 }, async () => {
  const down = join(stage.dir, 'down');
  mkdirSync(down);
  const browser = await page.createCDPSession();
  await browser.send('Page.setDownloadBehavior', { behavior: 'allow', downloadPath: down });
  const table = await page.waitForSelector('[aria-label="Artifacts of job-00001"]');
  assert.match(await table.evaluate((e) => e.textContent), /reports\/b\.txt.*path escapes from parent/);
  const links = await page.$$('a[href*="/artifacts/content"]');
  assert.equal(links.length, 1);
  await links[0].click();
  await until('the file', () => existsSync(join(down, 'a.txt')));
  assert.equal(readFileSync(join(down, 'a.txt'), 'utf8'), 'kept\n');
  await until('its hook', () => page.$eval('main', (e) => /finally: echo 'cleaned up'/.test(e.textContent)));
});

test('another attempt is a link', { skip, timeout: 600_000 }, async () => {
  await press('Attempt 1');
  await says('the first attempt');
  assert.match(page.url(), /attempt=1/);
  await page.reload();
  await page.waitForSelector('.log .ln');
  await says('the first attempt');
  assert.deepEqual(page.faults, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
});

test('parts that overlap, meet or leave a gap', async () => {
  const { joined } = await sources((load) => load('/src/output/lines.ts'));
  const read = { offset: 10, next: 14, text: 'äbc' };
  assert.deepEqual(joined(undefined, read), read);
  assert.deepEqual(joined(read, { offset: 14, next: 15, text: 'd' }), { offset: 10, next: 15, text: 'äbcd' });
  assert.deepEqual(joined(read, { offset: 12, next: 16, text: 'bcde' }), { offset: 10, next: 16, text: 'äbcde' });
  assert.deepEqual(joined(read, { offset: 8, next: 12, text: 'yz\ufffd' }), undefined, 'bytes were replaced');
  assert.deepEqual(joined(read, { offset: 8, next: 10, text: 'yz' }), { offset: 8, next: 14, text: 'yzäbc' });
  assert.equal(joined(read, read), read);
  assert.equal(joined(read, { offset: 15, next: 16, text: 'x' }), undefined, 'a gap');
});

test('sequences of a terminal become roles, or nothing', async () => {
  const { spansOf, linesOf, found, shortened } = await sources(async (load) => ({ ...(await load('/src/output/ansi.ts')), ...(await load('/src/output/lines.ts')) }));
  const looks = (line) => spansOf(line, {}).spans.map(({ text, style }) => [text, style.fg, style.bg, style.bold]);
  assert.deepEqual(looks('a\x1b[1;31mb\x1b[0mc'), [['a', undefined, undefined, undefined], ['b', 1, undefined, true], ['c', undefined, undefined, undefined]]);
  assert.deepEqual(looks('\x1b[38;5;196mr\x1b[38;2;0;0;250;44mb'), [['r', 1, undefined, undefined], ['b', 4, 4, undefined]]);
  assert.deepEqual(looks('\x1b]8;;http://x\x07link\x1b]8;;\x1b\\\x1b[2K\x1b[?25l.'), [['link', undefined, undefined, undefined], ['.', undefined, undefined, undefined]]);
  assert.deepEqual(looks('x\u202ey\x00'), [['x⟨U+202E⟩y⟨U+0000⟩', undefined, undefined, undefined]]);
  const lines = linesOf('10 %\r90 %\r\n\x1b[32mgreen\nstill\n\n' + 'w'.repeat(9000));
  assert.deepEqual(lines.map((line) => line.plain.length), [4, 5, 5, 0, 4000, 4000, 1000]);
  assert.equal(lines[2].spans[0].style.fg, 2, 'a color lasts until it ends');
  assert.deepEqual(found(lines, 'GREEN'), [1]);
  const long = { offset: 0, next: 3_000_000, text: `${'x'.repeat(999)}\n`.repeat(3000) };
  const short = shortened(long);
  assert.equal(short.next - short.offset, short.text.length);
  assert.equal(short.offset % 1000, 0, 'a whole line is first');
});
