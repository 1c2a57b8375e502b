// The palette finds pages, job types, runs, workers and keys, and the actions on the first hit. It carries out
// nothing at once: an action opens its dialog.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { type Act, ask } from './action';
import { actsOnItem } from './acts/items';
import { actsOnRun } from './acts/runs';
import { query } from './api';
import { useGet } from './data';
import { looks, roleOf } from './design/state';
import { chords, keys, pages } from './keys';
import { runName } from './names';
import { go, href, runHref } from './route';
import { itemHref } from './runs';
import { useZone } from './time';
import type { FoundItems, JobTypeList, RunList, WorkerList } from './types';
import { actsOnJobType, actsOnWorker } from './verbs';
import './palette.css';

interface Hit {
  id: string;
  group: string;
  sign: string;
  name: string;
  more?: string | undefined;
  // also is found, too: it is in the tooltip.
  also?: string;
  keys?: string | undefined;
  // A hit has a page or an action.
  href?: string;
  act?: Act;
  // acts are offered for the first hit.
  acts?: Act[];
}

// each is the number of hits shown per group.
const each = 6;
const typing = 300;
const shortestKey = 2;

// rank returns how well a text matches all words: 0 is best, undefined means no match.
export function rank(text: string, words: string[]): number | undefined {
  const lower = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = lower.indexOf(word);
    if (at < 0) return undefined;
    sum += at === 0 ? 0 : /[^a-z0-9]/.test(lower[at - 1] ?? '') ? 1 : 2;
  }
  return sum + lower.length / 1000;
}

function useSettled(text: string): string {
  const [settled, set] = useState(text);
  useEffect(() => {
    const soon = setTimeout(() => set(text), typing);
    return () => clearTimeout(soon);
  }, [text]);
  return settled;
}

function useHits(text: string): Hit[] {
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const workers = useGet<WorkerList>('/workers?limit=1000&loads=false');
  const runs = useGet<RunList>('/runs?limit=200', false);
  const zone = useZone();
  const key = useSettled(text.trim());
  const found = useGet<FoundItems>(key.length >= shortestKey ? `/items${query({ key, limit: 20 })}` : undefined, false);
  return useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const best = (all: Hit[]) =>
      all
        .map((hit) => ({ hit, at: rank(`${hit.name} ${hit.more ?? ''} ${hit.also ?? ''}`, words) }))
        .filter((one) => one.at !== undefined)
        .sort((a, b) => (a.at ?? 0) - (b.at ?? 0))
        .slice(0, each)
        .map((one) => one.hit);
    const sign = (word: string) => looks(roleOf(word));
    const ofKey: Hit[] = (key === text.trim() ? (found.data?.items ?? []) : []).slice(0, each).map((item) => ({
      id: `key ${item.run.workflow_id} ${item.id}`,
      group: 'Keys of jobs and tasks',
      sign: looks(item.standing.role),
      name: item.dedupe_key ?? item.id,
      more: `${item.dedupe_key ? `${item.id} of ` : ''}${runName(item.run.workflow_id)}, ${item.state}`,
      href: itemHref(item.run.workflow_id, item.id),
      acts: actsOnItem(item),
    }));
    if (key === text.trim() && found.data?.next && ofKey.length === 0) {
      ofKey.push({ id: 'older', group: 'Keys of jobs and tasks', sign: 'i-search', name: `Search older runs for the key ${key}`, more: found.data.searched > 0 ? `not in the newest ${found.data.searched}` : '', href: `${href('runs')}${query({ key })}` });
    }
    const ofTypes = best(
      (types.data?.job_types ?? []).map((type) => ({
        id: `type ${type.name}`,
        group: 'Job types',
        sign: 'i-repeat',
        name: type.name,
        more: type.spec.description ?? '',
        href: href('job-types', type.name),
        acts: actsOnJobType(type),
      })),
    );
    const ofRuns = best(
      (runs.data?.runs ?? []).map((run) => ({
        id: `run ${run.workflow_id} ${run.run_id}`,
        group: 'Runs',
        sign: looks(run.standing.role),
        name: runName(run.workflow_id),
        more: run.standing.state,
        also: run.workflow_id,
        href: runHref(run.workflow_id),
        acts: actsOnRun(run),
      })),
    );
    const ofWorkers = best(
      (workers.data?.workers ?? []).map((worker) => ({
        id: `worker ${worker.registration.id}`,
        group: 'Workers',
        sign: sign(worker.state),
        name: worker.registration.id,
        more: worker.state,
        href: href('workers', worker.registration.id),
        acts: actsOnWorker(worker),
      })),
    );
    const ofPages = best(pages.map(([path, name, icon]) => ({ id: `page ${path}`, group: 'Pages', sign: `i-${icon}`, name, keys: chords[path], href: `#/${path}` })));
    const things = words.length === 0 ? [] : [...ofKey, ...ofTypes, ...ofRuns, ...ofWorkers];
    const first = things.find((hit) => hit.acts && hit.acts.length > 0);
    const actions = (first?.acts ?? []).map((act): Hit => ({ id: `act ${act.title}`, group: `Actions on ${first?.name}`, sign: 'i-right', name: act.label, more: act.title, act }));
    return [...things, ...actions, ...ofPages];
  }, [text, key, zone, types.data, workers.data, runs.data, found.data]);
}

export function Palette({ sheet, close }: { sheet: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={sheet ? 'shortcuts' : 'palette'}
      aria-label={sheet ? 'Shortcuts' : 'Search'}
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      {sheet ? <Sheet /> : <Search close={() => dialog.current?.close()} />}
    </dialog>
  );
}

function Search({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const hits = useHits(text);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const current = Math.min(at, Math.max(hits.length - 1, 0));
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [current, hits]);
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    close();
    if (hit.act) ask(hit.act);
    else if (hit.href !== undefined) go(hit.href);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && hits.length > 0) {
      event.preventDefault();
      setAt((current + step + hits.length) % hits.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(hits[current]);
    }
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        autofocus
        aria-label="Search or run a command"
        placeholder="Job type, run, key, worker, page or action"
        aria-expanded={hits.length > 0}
        aria-controls={`${id}list`}
        aria-activedescendant={hits[current] ? `${id}${current}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div class="hits" role="listbox" id={`${id}list`} aria-label="Found" ref={list}>
        {hits.map((hit, i) => (
          <>
            {hit.group !== hits[i - 1]?.group && (
              <div key={`group ${hit.group}`} class="group" role="presentation">
                {hit.group}
              </div>
            )}
            <div key={hit.id} id={`${id}${i}`} class={`hit ${hit.sign}`} role="option" title={hit.also} aria-selected={i === current} onClick={() => choose(hit)}>
              <span class="name">{hit.name}</span>
              <span class="more">{hit.more}</span>
              {hit.keys && <kbd>{hit.keys}</kbd>}
            </div>
          </>
        ))}
      </div>
      {hits.length === 0 && <p class="empty">Nothing is named {text}. A key is found by its whole text.</p>}
      <p class="hints">
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> leave <kbd>?</kbd> all shortcuts, on a page
      </p>
    </>
  );
}

const Sheet = () => (
  <>
    <h2>Shortcuts</h2>
    <dl>
      {keys.map(([name, what]) => (
        <div key={name}>
          <dt>
            {name.split(' ').map((one) => (
              <kbd key={one}>{one}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
    <form method="dialog" class="buttons">
      <button type="submit">Close</button>
    </form>
  </>
);
