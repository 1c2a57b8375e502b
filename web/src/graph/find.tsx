// A search among tasks: Enter goes to the next hit, which moves into the middle.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { spoken } from '../design/state';
import { inField } from '../keys';
import type { Found, RunGraph } from '../types';

// A loop: the iterator of Uint8Array.from takes 40 ms for 100,000 numbers.
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
export const numbersOf = (text: string) => new Uint32Array(bytesOf(text).buffer);

const typing = 200; // Milliseconds without a key until the search begins.

export function Find({ path, show, what }: { path: string; show: (hit: Found) => void; what: string }) {
  const [text, setText] = useState('');
  const [hits, setHits] = useState<{ of: string; all: Found[]; total: number }>();
  const [at, setAt] = useState(-1);
  const shown = useRef(show);
  shown.current = show;
  const to = (i: number, all: Found[]) => {
    const hit = all[i];
    setAt(i);
    if (hit) shown.current(hit);
  };
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === '') {
      setHits(undefined);
      return;
    }
    const ended = new AbortController();
    const soon = setTimeout(() => {
      get<RunGraph>(`${path}${path.includes('?') ? '&' : '?'}find=${encodeURIComponent(wanted)}`, ended.signal).then(
        ({ found, found_total }) => {
          setHits({ of: wanted, all: found ?? [], total: found_total ?? 0 });
          to(0, found ?? []);
        },
        () => {}, // The next key searches again.
      );
    }, typing);
    return () => {
      clearTimeout(soon);
      ended.abort();
    };
  }, [text, path]);
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && text !== '') {
      event.preventDefault();
      event.stopPropagation();
      setText('');
    }
    if (event.key !== 'Enter' || !hits || hits.all.length === 0) return;
    event.preventDefault();
    to((at + (event.shiftKey ? hits.all.length - 1 : 1)) % hits.all.length, hits.all);
  };
  const hit = hits?.all[at];
  return (
    <span class="find-task">
      <input type="search" aria-label={what} placeholder={what} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={press} />
      <small role="status">
        {hits && (hits.total === 0 ? `No task has ${hits.of} in its name` : hit && `${(at + 1).toLocaleString('en')} of ${hits.total.toLocaleString('en')}: ${hit.id}, ${spoken(hit.state)}`)}
      </small>
    </span>
  );
}

// useFailedKey calls an action at F, wherever the focus is, except in a field.
export function useFailedKey(act: () => void) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'f' || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || inField(event.target) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
