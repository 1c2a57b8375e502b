// A stage for tests: a real control plane with two workers (`roundsman dev`), and a
// real browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const top = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const binary = process.env.ROUNDSMAN || join(top, 'bin', 'roundsman');
// The headless build of Chromium draws the same pages for half of the CPU time.
export const chromium = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

// missing says what a test cannot run without, or nothing.
export function missing() {
  if (!chromium) return 'no Chromium: install Debian\'s chromium, or name one with CHROMIUM';
  if (!existsSync(binary)) return `no ${binary}: run make build`;
  return false;
}

export const configuration = `version: 1
lanes: {disk: {exclusive: true}}
resources: {db: 3}
job_types:
  compact:
    handler: command
    description: Compacts the volumes that have the most garbage.
    schedule: {every: 1h, first_run: scheduled}
    detect: {command: [printf, 'volume-1\\nvolume-2\\n'], format: lines}
    execute: {command: [echo, "compacted {{.Params.item}}"]}
  failing:
    handler: command
    description: One of two jobs fails.
    schedule: {every: 6h, first_run: scheduled}
    detect: {command: [printf, 'good\\nbad\\n'], format: lines}
    execute: {command: [sh, -c, '[ "$1" = good ] || { echo "no such disk" >&2; exit 3; }', sh, "{{.Params.item}}"]}
  nightly:
    handler: command
    description: Moves old volumes at night.
    schedule: {cron: ["0 2 * * *"], timezone: Europe/Berlin}
    windows: [{days: [mon-fri], from: "22:00", to: "05:00", timezone: Europe/Berlin}]
    detect: {command: [printf, 'volume-1\\n'], format: lines}
    execute: {command: [sleep, "1"]}
  slow:
    handler: command
    description: Reads every block of a disk.
    schedule: {every: 12h, first_run: scheduled}
    lane: disk
    policy: {heartbeat_timeout: 5s, interactive: true, max_runtime: 2h, max_jobs_per_detection: 10000}
    detect: {command: [printf, 'sda\\nsdb\\n'], format: lines}
    execute: {command: [sh, -c, 'for i in 10 40 70; do echo "::progress $i reading $1"; sleep 600; done', sh, "{{.Params.item}}"]}
`;

// A DAG that waits for a person and then fails.
export const steps = `version: 1
name: steps
hold_on_failure: 1h
tasks:
  - {id: check, command: [echo, '{"replicas": 3}']}
  - {id: go-ahead, needs: check, approval: {prompt: "Both nodes are upgraded. Go live?", timeout: 8h}}
  - {id: broken, needs: check, command: ["false"]}
  - {id: after, needs: [broken, go-ahead], command: ["true"]}
`;

// freePort is a port on which nothing listens, below those that the kernel gives to
// connections: between this answer and the start of a server no connection takes it.
const freePort = async () => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
};

// slower is how much slower this machine is now than one that does nothing else: its runnable
// threads for each core.
function slower() {
  try {
    return Math.min(Math.max(Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[3].split('/')[0]) / availableParallelism(), 1), 10);
  } catch {
    return 1; // Only Linux says so.
  }
}

// patience is what a wait lasts at most, on a machine that is busy with other things.
export const patience = 300_000;

// longest is how long a wait lasts at most: the end of a test, after 600 s, does not say what was waited for.
const longest = 400_000;

// until waits for a condition. A second in which the machine is busy counts only in part.
export async function until(what, check, within = 30_000, most = longest) {
  let last;
  const began = Date.now();
  for (let left = within, at = began; left > 0 && at - began < most; ) {
    try {
      const found = await check();
      if (found) return found;
    } catch (cause) {
      last = cause;
    }
    // The longer it takes, the less a question more helps: each one costs CPU time.
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max((Date.now() - began) / 5, 50), 500)));
    left -= (Date.now() - at) / slower();
    at = Date.now();
  }
  throw new Error(`timed out: ${what}`, { cause: last });
}

const typesOf = (text) => text.match(/^ {4}handler:/gm).length;

export class Stage {
  // up starts a stage with a configuration, to which more is added. With keys in it, the stage has one of an admin.
  static async up(more = '', text = configuration) {
    const stage = new Stage();
    stage.more = more;
    stage.place();
    stage.config = join(stage.dir, 'roundsman.yaml');
    // `dev` runs each job type of its configuration once. Those of most stages are applied when it is up: a file starts what it needs.
    const later = text === configuration;
    writeFileSync(stage.config, (later ? text.replace(/^job_types:[^]*/m, 'owner: none\n') : text) + more);
    stage.jobTypes = later ? 0 : typesOf(text);
    const launched = puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: patience }).then((browser) => (stage.browser = browser));
    const begun = stage.begin().then(() => later && stage.apply());
    const failed = (await Promise.allSettled([launched, begun])).find((one) => one.reason);
    if (!failed) return stage;
    await stage.down(); // A browser that is left keeps the process of the test alive.
    throw failed.reason;
  }

  // shared is for a file that leaves a stage as it was: one that several files use one after another (testsuite/consolee2e
  // gives it), or else its own. Each file has its own directory and browser context.
  static async shared() {
    if (!process.env.ROUNDSMAN_STAGE) return Stage.up();
    const stage = Object.assign(new Stage(), JSON.parse(process.env.ROUNDSMAN_STAGE));
    stage.browser = await puppeteer.connect({ browserWSEndpoint: stage.driver, protocolTimeout: patience });
    stage.context = await stage.browser.createBrowserContext();
    stage.place();
    return stage;
  }

  // given is what `shared` needs.
  given() {
    return JSON.stringify({ port: this.port, http: this.http, base: this.base, driver: this.browser.wsEndpoint() });
  }

  place() {
    this.dir = mkdtempSync(join(tmpdir(), 'roundsman-console-'));
    this.dag = join(this.dir, 'steps.yaml');
    writeFileSync(this.dag, steps);
  }

  // leave cancels the runs that a file has left in a shared stage, but for that of slow, which many files open.
  async leave() {
    for (const context of this.browser.browserContexts()) if (context.id) await context.close();
    await this.browser.disconnect();
    const { runs } = await this.get('/runs?running=true');
    for (const run of runs) if (run.job_type !== 'slow') await this.shell(`roundsman cancel ${run.workflow_id} --wait`);
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  // begin starts on free ports. Another process may take one of them first.
  async begin() {
    for (let left = 3; ; left--) {
      [this.port, this.http] = [await freePort(), await freePort()];
      this.base = `http://127.0.0.1:${this.http}/`;
      const cause = await this.start().catch((cause) => cause);
      if (!cause) return;
      if (left === 0 || !/address already in use/.test(cause.message)) throw cause;
    }
  }

  // apply applies the job types of the configuration, with the owner that they have from `dev`.
  async apply() {
    const file = join(this.dir, 'applied.yaml');
    writeFileSync(file, `owner: dev\n${configuration}`);
    await this.shell(`roundsman apply --config ${file}`);
    this.jobTypes = typesOf(configuration);
    await until('its job types', async () => (await this.get('/job-types')).job_types.length === this.jobTypes);
  }

  // start returns when a number of workers is ONLINE. A process that does not get there
  // is an error with the end of its output.
  async start(online = 2) {
    const output = join(this.dir, 'dev.log');
    const file = openSync(output, 'a');
    this.process = spawn(
      binary,
      ['dev', '--config', this.config, '--data-dir', join(this.dir, 'data'), '--port', String(this.port), '--ui-port', '0', '--http', String(this.http)],
      { stdio: ['ignore', file, file], env: { ...process.env, USER: 'ann', ROUNDSMAN_ACTOR: 'ann', ROUNDSMAN_CONFIG: '' } },
    );
    closeSync(file);
    if (/keys: true/.test(this.more)) this.key ??= (await until('a key', () => this.shell('roundsman keys create admin --role admin'), 60_000)).match(/rmk_\S+/)[0];
    const outcome = await until('the control plane and two workers', async () => {
      if (this.process.exitCode !== null || this.process.signalCode !== null) return new Error(`it ended with ${this.process.exitCode ?? this.process.signalCode}`);
      // What took the port may accept and never answer.
      const { workers } = await this.get('/workers', 5_000);
      const { job_types } = await this.get('/job-types', 5_000);
      return workers.filter((w) => w.state === 'ONLINE').length >= online && job_types.length === this.jobTypes;
    }, 90_000).catch((cause) => cause);
    if (outcome instanceof Error) throw new Error(`roundsman dev is not ready; its output ends:\n${readFileSync(output, 'utf8').slice(-4000)}`, { cause: outcome });
  }

  async get(path, within = patience) {
    const headers = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    const response = await fetch(`${this.base}api/v1${path}`, { headers, signal: AbortSignal.timeout(within) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  // runDAG starts the DAG of the stage and returns the id of its run, which waits for
  // an approval then and has a task that failed.
  async runDAG(name) {
    await this.shell(`roundsman start ${this.dag} --as ${name}`);
    const run = `dag/steps/${name}`;
    await until('an approval that is waited for and a failed task', async () => {
      const { items } = await this.get(`/runs/${key(run)}/items`);
      return items.find((item) => item.id === 'broken')?.state === 'failed' && items.find((item) => item.id === 'go-ahead')?.state === 'running';
    });
    return run;
  }

  // openRun is the open run of a job type in which a job runs, started if there is none.
  async openRun(jobType) {
    const open = async () => (await this.get(`/runs?running=true&counts=true&job_type=${jobType}`)).runs[0];
    const started = (cause) => assert.match(cause.message, /still runs/); // Another page may open it, too.
    if (!(await open())) await this.shell(`roundsman start jobtype/${jobType}`).catch(started);
    return until(`a run of ${jobType} in which a job runs`, async () => {
      const run = await open();
      return run?.progress?.running > 0 && run.workflow_id;
    });
  }

  // audit are the operators' entries after one of them, oldest first.
  async audit(after = 0) {
    const { entries } = await this.get('/audit?kind=operator&limit=1000');
    return entries.filter((entry) => entry.seq > after);
  }

  // shell types a line that the console shows, with the addresses of this stage.
  shell(line) {
    return new Promise((resolve, reject) => {
      const child = spawn('sh', ['-c', line.replace(/^roundsman /, `${binary} `)], {
        env: { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${this.port}`, ROUNDSMAN_ACTOR: 'ann', ROUNDSMAN_CONFIG: '' },
      });
      let text = '';
      child.stdout.on('data', (data) => { text += data; });
      child.stderr.on('data', (data) => { text += data; });
      child.on('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(`${line}: ${code} ${text}`))));
    });
  }

  // server is the process of the Temporal server that `roundsman dev` started.
  server() {
    for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
      try {
        const parent = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /, '').split(' ')[1];
        if (Number(parent) === this.process.pid && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('roundsman-devserver')) return Number(name);
      } catch {
        // It has ended meanwhile.
      }
    }
    throw new Error(`${this.process.pid} has no server`);
  }

  // page opens a page that tells of every error and every violation of its policy.
  async page({ width = 1280, height = 900, dark = false, scale = 1, context = this.context ?? this.browser } = {}) {
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    // Puppeteer asks at each frame, which is then drawn.
    const wait = page.waitForFunction.bind(page);
    page.waitForFunction = (check, options, ...args) => wait(check, { polling: 50, ...options }, ...args);
    page.faults = [];
    page.on('pageerror', (error) => page.faults.push(error.stack));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/ERR_CONNECTION_REFUSED|ERR_NETWORK_CHANGED|status of (4|5)\d\d/.test(message.text())) page.faults.push(message.text());
    });
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      addEventListener('securitypolicyviolation', (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
    });
    await page.setViewport({ width, height, deviceScaleFactor: scale });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
    return page;
  }

  // open goes to a page; SLOW in its address is the open run of slow.
  async open(page, route) {
    const at = route.includes('SLOW') ? route.replace('SLOW', key(await this.openRun('slow'))) : route;
    await page.goto(`${this.base}#/${at}`);
    await page.waitForSelector('main h1');
    await page.waitForFunction(() => !document.querySelector('[aria-busy], main.arriving')); // Nobody presses what is not shown yet.
  }

  async down() {
    if (this.context) return this.leave();
    await this.browser?.close();
    for (const other of this.others ?? []) other.kill('SIGKILL');
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      const gone = new Promise((resolve) => this.process.once('exit', resolve));
      this.process.kill('SIGTERM');
      const second = setInterval(() => this.process.kill('SIGTERM'), 200); // Jobs that run are not waited for.
      await gone;
      clearInterval(second);
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 }); // The server may still write.
  }
}

let axe;

// calm: nothing of the page loads or fades. What does has the colors of neither state.
const calm = () => !document.querySelector('.loaded[aria-busy], main.arriving') && document.getAnimations().every((one) => one.playState !== 'running');

// sound returns the faults of accessibility of a page, or of what a selector finds in it: all, or only those of colors, the only ones
// that differ between the themes. It looks again if something was loaded or has faded meanwhile.
export async function sound(page, within, onlyColors = false) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate((axe ??= readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'))); // Puppeteer evaluates past the page's policy.
  for (let left = 20; ; left--) {
    await page.waitForFunction(calm);
    const { violations, moved } = await page.evaluate(async (within, rules) => {
      let moved = false;
      const moves = () => { moved = true; };
      const watch = new MutationObserver((all) => { moved ||= all.some(({ target }) => target.matches('.loaded[aria-busy], main.arriving')); });
      watch.observe(document.body, { subtree: true, attributeFilter: ['aria-busy', 'class'] });
      for (const one of ['transitionrun', 'animationstart']) document.addEventListener(one, moves);
      const { violations } = await window.axe.run(within ?? document, { resultTypes: ['violations'], ...rules });
      for (const one of ['transitionrun', 'animationstart']) document.removeEventListener(one, moves);
      watch.disconnect();
      return { violations, moved };
    }, within ?? null, onlyColors ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {});
    if (violations.length > 0 && moved && left > 0) continue;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 5).map((n) => `${n.target.join(' ')} ${n.html.slice(0, 160)}`).join(' | ')}`);
  }
}

// themes are the media features of both. A color on its way from one to another is none of the page's.
export const themes = ['light', 'dark'].map((value) => [{ name: 'prefers-color-scheme', value }, { name: 'prefers-reduced-motion', value: 'reduce' }]);

// tabTo moves the focus with the Tab key until it is on a control of that name.
export async function tabTo(page, name) {
  for (let i = 0; i < 120; i++) {
    const at = await page.evaluate(() => {
      let e = document.activeElement;
      while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
      return { name: (e?.getAttribute('aria-label') ?? e?.labels?.[0]?.textContent ?? e?.textContent ?? '').trim(), shown: e?.matches(':focus-visible') ?? false };
    });
    if (at.name === name) {
      if (!at.shown) throw new Error(`the focus on ${name} cannot be seen`);
      return;
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`no control named ${name}`);
}

// key is a run in an address.
export const key = (run) => run.replace(/^group\//, '').replaceAll('/', '~');

export const routes = ['', 'job-types', 'job-types/compact', 'job-types/nightly', 'plan', 'submit', 'submit/compact', 'runs', 'runs?kind=dag&name=none', 'runs/dag~steps~pages', 'runs/dag~steps~pages?state=failed', 'runs/dag~steps~pages/items/go-ahead', 'runs/dag~steps~pages/items/broken', 'runs/SLOW', 'runs/SLOW/items/job-00001', 'workers', 'workers/node-a', 'locks', 'locks?lane=disk', 'calendar', 'calendar?view=past', 'audit', 'access', 'doctor', 'design', 'runs/none', 'nowhere'];
