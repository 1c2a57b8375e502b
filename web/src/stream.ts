// The stream of events: one request for all that is on screen in this tab. It is read
// with fetch and not with EventSource, which cannot say why it was refused and gives up
// on the answers of a proxy whose server is away.
import { base, get, Problem, problemOf, problemOfJSON, unreachable, type Written } from './api';
import { heard } from './clock';
import { connection } from './connection';

// News is a picture of a topic, or why there is no newer one.
export interface News {
  data?: unknown;
  problem?: Problem;
}

type Listener = (news: News) => void;

const again = 500; // Milliseconds until the next attempt.
const settle = 30; // What a page asks for at once is one request.
const quiet = 40_000; // A comment comes every 15 s: after this the line is dead.
const keepFor = 5000; // A topic that nobody looks at any more is kept for the way back.
const hiddenFor = 5000; // A browser has six connections to a server: hidden tabs need none.
const patience = 4000; // So long a page waits for the stream before it asks without it.
const most = 40; // Topics of a stream, as the server has it.

// lists are the topics of whole lists, by the request that gives the same once.
const lists: Record<string, string> = {
  '/job-types?limit=1000': 'job-types',
  '/workers?limit=1000&loads=false': 'workers',
  '/lanes?limit=1000': 'lanes',
  '/pools?limit=1000': 'pools',
  '/objects?limit=1000': 'objects',
  '/held': 'held',
  '/handlers?limit=1000': 'handlers',
  '/audit?limit=100': 'audit',
  '/doctor': 'doctor',
};

// requests are those that are topics themselves: x-roundsman-live in the API's document.
const requests =
  /^\/(runs(\/[^/?]+(\/(graph|items(\/[^/?]+(\/output)?)?))?)?|explain|forecast|ledger|audit|past-grants|needs|workers\/[^/?]+(\/usage)?|job-types\/[^/?]+(\/keys)?)(\?|$)/;

// topicOf names the topic that a request can be watched by.
export const topicOf = (path: string | undefined): string | undefined =>
  path === undefined ? undefined : (lists[path] ?? (requests.test(path) ? path : undefined));

// named writes a topic as the id of an event has it.
const named = (topic: string) => new URLSearchParams({ t: topic }).toString().slice(2);

class Stream {
  #listeners = new Map<string, Set<Listener>>();
  #latest = new Map<string, News>();
  #denied = new Set<string>();
  #open: { topics: string[]; control: AbortController } | undefined;
  #timer: { at: number; of: ReturnType<typeof setTimeout> } | undefined;
  // digests are those of the pictures that are here, by topic.
  #digests = new Map<string, string>();
  // up: the server sends, or has nothing to send.
  up = false;

  constructor() {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#hide();
      else this.#soon(0);
    });
    addEventListener('online', () => this.#soon(0));
  }

  // watch tells of the pictures of a topic, the last one at once; the answer ends it. The
  // stream may be opened for it after a while only; has is the ETag of what is here already.
  watch(topic: string, listener: Listener, after = settle, has = ''): () => void {
    const all = this.#listeners.get(topic) ?? new Set<Listener>();
    this.#listeners.set(topic, all.add(listener));
    const latest = this.#latest.get(topic);
    if (latest) listener(latest);
    else if (has !== '') this.#digests.set(topic, has);
    if (!this.#open?.topics.includes(topic)) this.#soon(after);
    return () => {
      all.delete(listener);
      if (all.size > 0) return;
      setTimeout(() => {
        if (all.size > 0 || this.#listeners.get(topic) !== all) return;
        this.#listeners.delete(topic);
        this.#latest.delete(topic);
        this.#digests.delete(topic);
        this.#denied.delete(topic);
        this.#soon(settle);
      }, keepFor);
    };
  }

  // picture is the newest picture of a topic, as soon as there is one; of the request
  // that gives the same once where no stream comes through.
  picture<T>(topic: string, path: string, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      let end = () => {};
      const done = (then: () => void) => {
        clearTimeout(late);
        then();
        queueMicrotask(() => end());
      };
      const late = setTimeout(() => {
        if (!this.up) get<T>(path, signal).then((data) => done(() => resolve(data)), (cause) => done(() => reject(cause)));
      }, patience);
      end = this.watch(topic, ({ data, problem }) => {
        if (data !== undefined) done(() => resolve(data as T));
        else done(() => reject(problem));
      });
      signal.addEventListener('abort', () => done(() => reject(signal.reason)));
    });
  }

  // restart asks again for everything: after a log-in others may be allowed.
  restart() {
    this.#denied.clear();
    this.#close();
    this.#soon(0);
  }

  // stop asks for nothing until the next restart, or the next page.
  stop() {
    clearTimeout(this.#timer?.of);
    this.#timer = undefined;
    this.#latest.clear();
    this.#digests.clear();
    this.#close();
  }

  #hide() {
    setTimeout(() => {
      if (document.hidden) this.#close();
    }, hiddenFor);
  }

  #close() {
    this.#open?.control.abort();
    this.#open = undefined;
    this.up = false;
  }

  #soon(after: number) {
    const at = Date.now() + after;
    if (this.#timer && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.of);
    const fire = () => {
      this.#timer = undefined;
      void this.#connect();
    };
    this.#timer = { at, of: setTimeout(fire, after) };
  }

  // wanted are the topics that somebody looks at, and before them those that are kept,
  // as many as a stream may have.
  #wanted(): string[] {
    const all = [...this.#listeners].filter(([topic]) => !this.#denied.has(topic));
    const idle = all.filter(([, listeners]) => listeners.size === 0);
    return [...idle, ...all.filter(([, listeners]) => listeners.size > 0)].map(([topic]) => topic).slice(-most).sort();
  }

  async #connect() {
    const topics = this.#wanted();
    if (topics.length === 0) return;
    if (document.hidden) {
      if (topics.every((topic) => this.#latest.has(topic))) return;
      this.#hide(); // It was opened in the background: one picture is enough.
    }
    if (this.#open?.topics.join(' ') === topics.join(' ')) return;
    this.#close();
    const mine = { topics, control: new AbortController() };
    this.#open = mine;
    const problem = await this.#read(topics, mine.control.signal);
    if (this.#open !== mine) return;
    this.#close();
    if (problem?.status === 401) return; // The log-in restarts it.
    if (problem?.status === 403) await this.#sort(topics);
    else if (!problem || problem.status === 0) unreachable();
    this.#soon(problem?.status === 403 ? 0 : again);
  }

  // read follows a stream to its end, and says why it was refused.
  async #read(topics: string[], signal: AbortSignal): Promise<Problem | undefined> {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    // The server need not send again what is here; whether Temporal answers it must say.
    const known = topics.filter((topic) => this.#digests.has(topic) && topic !== 'server');
    if (known.length > 0) headers['Last-Event-ID'] = known.map((topic) => `${named(topic)}=${this.#digests.get(topic)}`).join(',');
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    try {
      const response = await fetch(`${base}/events?${topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')}`, { headers, signal });
      heard(response.headers.get('Date'));
      if (!response.ok || !response.body) return problemOf(response.status, await response.text());
      connection.found('plane');
      this.up = true;
      const reader = response.body.pipeThrough(new TextDecoderStream() as never).getReader() as unknown as ReadableStreamDefaultReader<string>;
      const dead = new Promise<{ done: true; value?: string }>((resolve) => {
        const arm = () => {
          clearTimeout(watchdog);
          watchdog = setTimeout(() => resolve({ done: true }), quiet);
        };
        this.#alive = arm;
        arm();
      });
      let parts: string[] = [];
      for (;;) {
        const { done, value } = await Promise.race([reader.read(), dead]);
        if (done) break;
        this.#alive();
        const texts = value.split('\n\n');
        for (const [i, text] of texts.entries()) {
          parts.push(text);
          if (i === texts.length - 1) break; // It continues with the next part.
          this.#event(parts.join(''));
          parts = [];
        }
      }
      void reader.cancel();
    } catch {
      // The line is cut, or nobody reads it any more.
    } finally {
      clearTimeout(watchdog);
    }
    return undefined;
  }

  #alive = () => {};

  #event(text: string) {
    const fields: Record<string, string> = {};
    for (const line of text.split('\n')) {
      const at = line.indexOf(':');
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
    }
    if (!fields.data) return;
    const { topic, data, problem } = JSON.parse(fields.data) as { topic: string; data?: unknown; problem?: Written };
    const digest = (fields.id ?? '').split(',').find((one) => one.startsWith(`${named(topic)}=`));
    if (digest) this.#digests.set(topic, digest.slice(named(topic).length + 1));
    this.#tell(topic, problem ? { problem: problemOfJSON(problem) } : { data });
  }

  #tell(topic: string, { data, problem }: News) {
    if (problem?.unreachable) connection.lost('server', problem.message);
    else if (topic === 'server' && !problem) connection.found('server');
    const news: News = { data: data ?? this.#latest.get(topic)?.data, ...(problem ? { problem } : {}) };
    this.#latest.set(topic, news);
    for (const listener of this.#listeners.get(topic) ?? []) listener(news);
  }

  // sort finds out which of the topics are refused: a stream is refused as a whole.
  async #sort(topics: string[]) {
    for (const [path, topic] of Object.entries(lists)) {
      if (!topics.includes(topic)) continue;
      try {
        await get(path);
      } catch (cause) {
        if (!(cause instanceof Problem) || cause.status !== 403) continue;
        this.#denied.add(topic);
        this.#tell(topic, { problem: cause });
      }
    }
  }
}

export const stream = new Stream();
