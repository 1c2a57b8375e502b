// The event stream: one request for all data on screen in this tab. It uses fetch instead of EventSource, which does
// not expose the reason for a refusal and gives up on error answers of a proxy.
import { base, get, Problem, problemOf, problemOfJSON, unreachable, type Written } from './api';
import { heard } from './clock';
import { connection } from './connection';
import { eventsOf } from './events';

// News is a picture of a topic, or the reason why it is stale.
interface News {
  data?: unknown;
  problem?: Problem;
}

type Listener = (news: News) => void;

// gone reports whether a topic is forbidden or removed: its picture is not only stale.
export const gone = (problem: Problem | undefined) => problem !== undefined && [403, 404, 410].includes(problem.status) && !problem.retryable;

const again = 500; // Milliseconds until the next attempt.
const settle = 5; // Requests of a page within this time share one stream.
const quiet = 40_000; // A comment comes every 15 s; after this time the connection is dead.
const keepFor = 5000; // A topic without viewers is kept this long for a return to its page.
const hiddenFor = 5000; // Hidden tabs close the stream: a browser has six connections to a server.
const patience = 4000; // A page without a stream sends its own request after this time.
const most = 40; // The server's limit of topics per stream.
const longest = 8000; // The server's limit of a Last-Event-ID.
const unsorted = 30_000; // A proxy may forbid only the stream; the topics are checked again after this time.

// lists maps requests for whole lists to their topics.
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

// requests matches requests that are topics themselves: x-roundsman-live in the API's document.
const requests =
  /^\/(runs(\/[^/?]+(\/(graph|map|failures|times|items(\/[^/?]+(\/output)?)?))?)?|explain|forecast|ledger|night|run-strips|audit|past-grants|needs|workers\/[^/?]+(\/(usage|reboot))?|job-types\/[^/?]+(\/(keys|history))?)(\?|$)/;

// topicOf returns the topic of a request.
export const topicOf = (path: string | undefined): string | undefined =>
  path === undefined ? undefined : (lists[path] ?? (requests.test(path) ? path : undefined));

// patched applies the steps of a patch to a text.
const patched = (text: string, steps: (string | [number, number])[]) => {
  const pieces = text.split(',');
  return steps.map((step) => (typeof step === 'string' ? step : pieces.slice(step[0], step[0] + step[1]).join(','))).join(',');
};

// named encodes a topic as in the id of an event.
const named = (topic: string) => new URLSearchParams({ t: topic }).toString().slice(2);

class Stream {
  #listeners = new Map<string, Set<Listener>>();
  #latest = new Map<string, News>();
  #denied = new Set<string>();
  #open: { topics: string[]; control: AbortController } | undefined;
  #timer: { at: number; of: ReturnType<typeof setTimeout> } | undefined;
  // away are the topics for which Temporal's server did not answer last.
  #away = new Set<string>();
  // digests of the pictures at hand, by topic.
  #digests = new Map<string, string>();
  // texts are the pictures of the open stream as they were sent, for patches.
  #texts = new Map<string, string>();
  // sortFrom is the earliest time to check the topics of a forbidden stream again.
  #sortFrom = 0;
  // down is since when the connection does not work.
  #down: number | undefined = Date.now();

  constructor() {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#hide();
      else this.#anew();
    });
    addEventListener('online', () => this.#anew());
  }

  get up() {
    return this.#down === undefined;
  }

  // watch calls listener with the pictures of a topic, at first with the last one. It returns a function that ends
  // this. The stream may be opened after a delay. has is the ETag of the data at hand.
  watch(topic: string, listener: Listener, after = settle, has = ''): () => void {
    const all = this.#listeners.get(topic) ?? new Set<Listener>();
    this.#listeners.set(topic, all.add(listener));
    const latest = this.#latest.get(topic);
    if (latest) listener(latest);
    else if (has !== '') this.#digests.set(topic, has);
    if (!this.#open?.topics.includes(topic)) this.#soon(after);
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#release(topic, all);
    };
  }

  // release forgets a topic that had no view for a while. Its timer keeps no listener, since that keeps a page.
  #release(topic: string, all: Set<Listener>) {
    setTimeout(() => {
      if (all.size > 0 || this.#listeners.get(topic) !== all) return;
      this.#listeners.delete(topic);
      this.#forget(topic);
      this.#denied.delete(topic);
      this.#back(topic);
      this.#soon(settle);
    }, keepFor);
  }

  // aside is for a topic that is read without the stream. The stream would not repeat the picture before, if that is true
  // again when it is back; nor would one that is being opened.
  aside(topic: string) {
    this.#forget(topic);
    if (!this.#open?.topics.includes(topic)) return;
    this.#open.topics = this.#open.topics.filter((one) => one !== topic);
    this.#soon(settle);
  }

  // picture returns the newest picture of a topic. Without a stream it sends the request for the same data.
  picture<T>(topic: string, path: string, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const down = this.#down === undefined ? 0 : Date.now() - this.#down;
      if (down >= patience) this.aside(topic);
      let end = () => {};
      const done = (then: () => void) => {
        clearTimeout(late);
        then();
        queueMicrotask(() => end());
      };
      const late = setTimeout(() => {
        if (this.up) return;
        const read = (data: T) => {
          connection.read();
          resolve(data);
        };
        get<T>(path, signal).then((data) => done(() => read(data)), (cause) => done(() => reject(cause)));
      }, Math.max(patience - down, 0));
      end = this.watch(topic, ({ data, problem }) => {
        if (data !== undefined) done(() => resolve(data as T));
        else done(() => reject(problem));
      });
      signal.addEventListener('abort', () => done(() => reject(signal.reason)));
    });
  }

  // restart fetches everything again, since permissions may differ after a log-in.
  restart() {
    this.#denied.clear();
    this.#sortFrom = 0;
    this.#clear();
    this.#anew();
  }

  // stop sends no requests until the next restart or page.
  stop() {
    clearTimeout(this.#timer?.of);
    this.#timer = undefined;
    this.#clear();
    this.#back('server');
    connection.found('stream');
  }

  // clear forgets all pictures: the next person may not see them.
  #clear() {
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
    this.#texts.clear();
    this.#down ??= Date.now();
  }

  // anew opens the stream after a time in which it was not tried.
  #anew() {
    if (!this.up) this.#down = Date.now();
    this.#soon(0);
  }

  #forget(topic: string) {
    this.#latest.delete(topic);
    this.#digests.delete(topic);
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

  // wanted returns the viewed topics after the kept ones, up to the limit of a stream.
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
      this.#hide(); // It was opened in the background, where one picture is enough.
    }
    if (this.#open?.topics.join(' ') === topics.join(' ')) return;
    this.#close();
    const mine = { topics, control: new AbortController() };
    this.#open = mine;
    const problem = await this.#read(topics, mine.control.signal);
    if (this.#open !== mine) return;
    this.#close();
    if (problem?.status === 401) return; // The log-in restarts it.
    const sorted = problem?.status === 403 && Date.now() >= this.#sortFrom && (await this.#sort(topics));
    if (this.#open) return;
    if (!problem) unreachable();
    else if (!sorted) connection.lost('stream', `The event stream is refused: ${problem.code.startsWith('HTTP_') ? `HTTP status ${problem.status}` : problem.message.replace(/\.$/, '')}.`);
    this.#soon(sorted ? 0 : again);
  }

  // read follows a stream to its end and returns the reason for a refusal.
  async #read(topics: string[], signal: AbortSignal): Promise<Problem | undefined> {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    // The server need not repeat pictures at hand, except whether Temporal answers.
    let known = '';
    for (const topic of topics) {
      const one = `${known && ','}${named(topic)}=${this.#digests.get(topic)}`;
      if (this.#digests.has(topic) && topic !== 'server' && known.length + one.length <= longest) known += one;
    }
    if (known !== '') headers['Last-Event-ID'] = known;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    try {
      const sent = Date.now();
      const response = await fetch(`${base}/events?${topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join('&')}&patches=true`, { headers, signal });
      heard(response.headers.get('Date'), sent);
      connection.found('plane');
      if (!response.ok || !response.body) return problemOf(response.status, await response.text());
      connection.found('stream');
      this.#sortFrom = 0;
      this.#down = undefined;
      const reader = response.body.pipeThrough(new TextDecoderStream() as never).getReader() as unknown as ReadableStreamDefaultReader<string>;
      const dead = new Promise<{ done: true; value?: string }>((resolve) => {
        const arm = () => {
          clearTimeout(watchdog);
          watchdog = setTimeout(() => resolve({ done: true }), quiet);
        };
        this.#alive = arm;
        arm();
      });
      const ended = eventsOf();
      for (;;) {
        const { done, value } = await Promise.race([reader.read(), dead]);
        if (done) break;
        this.#alive();
        connection.read();
        for (const text of ended(value)) this.#event(text);
      }
      void reader.cancel();
    } catch {
      // The connection broke, or the reader has stopped.
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
    const { topic, patch, problem, ...has } = JSON.parse(fields.data) as { topic: string; data?: unknown; patch?: (string | [number, number])[]; problem?: Written };
    let data = has.data;
    if (patch) {
      const text = patched(this.#texts.get(topic) ?? '', patch);
      this.#texts.set(topic, text);
      data = JSON.parse(text);
    } else if (data !== undefined) this.#texts.set(topic, fields.data.slice(fields.data.indexOf(',"data":') + 8, -1));
    const digest = (fields.id ?? '').split(',').find((one) => one.startsWith(`${named(topic)}=`));
    if (digest) this.#digests.set(topic, digest.slice(named(topic).length + 1));
    this.#tell(topic, problem ? { problem: problemOfJSON(problem) } : { data });
  }

  #tell(topic: string, { data, problem }: News) {
    if (problem?.unreachable) {
      this.#away.add(topic);
      connection.lost('server', problem.message);
    } else if (!problem || topic !== 'server') this.#back(topic);
    if (gone(problem)) this.#forget(topic);
    const news: News = { data: data ?? this.#latest.get(topic)?.data, ...(problem ? { problem } : {}) };
    this.#latest.set(topic, news);
    for (const listener of this.#listeners.get(topic) ?? []) listener(news);
  }

  // back forgets that Temporal's server did not answer for a topic. Its own topic covers all others.
  #back(topic: string) {
    if (topic === 'server') this.#away.clear();
    else this.#away.delete(topic);
    if (this.#away.size === 0) connection.found('server');
  }

  // sort finds the refused topics, since a stream is refused as a whole. It reports whether there are any.
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
    const found = topics.some((topic) => this.#denied.has(topic));
    if (!found) this.#sortFrom = Date.now() + unsorted;
    return found;
  }
}

export const stream = new Stream();
