// connection holds whether the control plane and Temporal's server answer. Requests and the event stream
// update it, and the banner shows it.
import { useSyncExternalStore } from 'preact/compat';
import { clock } from './clock';

export interface State {
  lost: boolean;
  since: number;
  why: string;
}

// Part can be unavailable on its own. A proxy may refuse only the stream.
type Part = 'plane' | 'stream' | 'server';

class Connection {
  #lost = new Map<Part, string>();
  #state: State = { lost: false, since: 0, why: '' };
  #listeners = new Set<() => void>();
  // as is the time of the data on the page.
  #as = clock();

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  snapshot = () => this.#state;

  lost(part: Part, why: string) {
    this.#lost.set(part, why);
    this.#tell();
  }

  found(part: Part) {
    if (this.#lost.delete(part)) this.#tell();
  }

  // read notes the time of data that came, from the stream or without it.
  read() {
    this.#as = clock();
    if (!this.#lost.has('stream') || this.#lost.has('plane')) return;
    this.#set({ ...this.#state, since: this.#as });
  }

  #tell() {
    const why = this.#lost.get('plane') ?? this.#lost.get('stream') ?? this.#lost.get('server');
    const was = this.#state;
    if (why === (was.lost ? was.why : undefined)) return;
    this.#set(why === undefined ? { lost: false, since: 0, why: '' } : { lost: true, since: was.lost ? was.since : this.#as, why });
  }

  #set(state: State) {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export const connection = new Connection();
export const useConnection = () => useSyncExternalStore(connection.subscribe as never, connection.snapshot);

// login holds whether the server requires a log-in. The page stays.
class LogIn {
  #needed = false;
  #persons = 0;
  #listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  snapshot = () => this.#needed;
  // persons counts the persons of this tab. Each gets a page of their own.
  persons = () => this.#persons;

  anew() {
    this.#persons++;
    this.#tell();
  }

  set(needed: boolean) {
    if (this.#needed === needed) return;
    this.#needed = needed;
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}

export const login = new LogIn();
export const useLogIn = () => useSyncExternalStore(login.subscribe as never, login.snapshot);
export const usePerson = () => useSyncExternalStore(login.subscribe as never, login.persons);
