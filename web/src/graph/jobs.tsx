// The map of the jobs of a run: a cell per job in the order of their numbers. It is there while the run lasts and
// afterwards, from the record.
import { Fragment } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, query } from '../api';
import { isFailed, type Role, spoken, State } from '../design/state';
import { go, hrefWith, setParams } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import type { Item, RunMap, Snapshot } from '../types';
import { Loaded } from '../ui';
import { plural } from '../words';
import { Cells, grid } from './cells';
import { bytesOf, useFailedKey } from './find';
import { useSettled } from './settled';

export const fewest = 20; // A run with fewer jobs has no map: the list shows them all.

export function JobMap({ run }: { run: Snapshot }) {
  const found = useSettled<RunMap>(`${runPath(run.workflow_id)}/map`, isOpen(run));
  return (
    <section class="jobs">
      <h2>{found.data ? plural(found.data.total, 'job') : 'Jobs'}</h2>
      <Loaded of={found} what="The map">
        {(map) => (
          <>
            <div class="spreads">
              <Spread of={map} />
            </div>
            <Shown run={run} map={map} />
          </>
        )}
      </Loaded>
    </section>
  );
}

const order: Role[] = ['failed', 'timeout', 'done', 'running', 'waiting', 'person', 'canceled', 'unknown', 'skipped', 'plan'];

// withStale adds the stale jobs of a run to its failed ones, as the server does for its header.
export const withStale = ({ stale = 0, ...of }: Record<string, number>): Record<string, number> => ({ ...of, failed: (of.failed ?? 0) + stale });

// Spread is one bar of all jobs by state, with the counts below.
function Spread({ of }: { of: RunMap }) {
  const all = withStale(of.counts);
  const counts = of.states
    .map((state, i) => ({ state, role: of.roles[i] as Role, n: all[state] ?? 0 }))
    .filter(({ n }) => n > 0)
    .sort((a, b) => order.indexOf(a.role) - order.indexOf(b.role));
  return (
    <>
      <div class="spread" aria-hidden="true">
        {counts.map(({ state, role, n }) => (
          <i key={state} class={role} style={{ flex: `${n} 0 0` }} />
        ))}
      </div>
      <Counted of={counts} stale={of.counts.stale} />
    </>
  );
}

const hrefOf = (state: string) => hrefWith({ state, find: '', id: '', since: '', until: '' });

// Counted has a link from each count to the items in this state. The failed ones include the stale ones.
export const Counted = ({ of, stale = 0 }: { of: { state: string; role: Role; n: number }[]; stale?: number | undefined }) => (
  <span class="counted">
    {of.map(({ state, role, n }) => {
      const both = state === 'failed' && stale > 0;
      return (
        <Fragment key={state}>
          <a href={hrefOf(both ? 'failed,stale' : state)}>
            <State word={state} role={role} /> {n.toLocaleString('en')}
          </a>
          {both && <a href={hrefOf('stale')}>{stale.toLocaleString('en')} of them stale</a>}
        </Fragment>
      );
    })}
  </span>
);

function Shown({ run, map }: { run: Snapshot; map: RunMap }) {
  const [active, choose] = useState<number>();
  const [goal, setGoal] = useState<{ item: number; n: number }>();
  const states = useMemo(() => bytesOf(map.map), [map.map]);
  const asked = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => {
    known.clear();
    asked.current?.abort(); // Its answer would lead away from the next page.
  }, []);
  const narrow = innerWidth < 700;
  // Wide enough that 10,000 jobs are 200 in a row, narrow enough that a few hundred are no thin line.
  const columns = Math.max(Math.ceil(Math.sqrt(states.length * (narrow ? 1.4 : 4))), 10);
  const places = useMemo(() => grid(states.length, columns), [states.length, columns]);
  const failed = useMemo(() => {
    const all: number[] = [];
    for (let i = 0; i < states.length; i++) if (isFailed(map.roles[states[i] ?? 0] as Role)) all.push(i);
    return all;
  }, [states, map.roles]);
  const nextFailed = () => {
    const to = failed.find((item) => item > (active ?? -1)) ?? failed[0];
    if (to === undefined) return;
    choose(to);
    setGoal({ item: to, n: (goal?.n ?? 0) + 1 });
  };
  useFailedKey(nextFailed);
  const said = (item: number) => spoken(map.states[states[item] ?? 0] ?? 'not known');
  const open = async (item: number) => {
    asked.current?.abort();
    const { signal } = (asked.current = new AbortController());
    const job = await read(run.workflow_id, item, signal).catch(() => undefined); // The list below shows the error.
    if (signal.aborted) return;
    if (job) go(itemHref(run.workflow_id, job.id));
    else setParams({ find: String(item + 1) });
  };
  const height = narrow ? 240 : Math.min(Math.max(Math.ceil(760 / columns) * Math.ceil(states.length / columns), 60), 260);
  return (
    <>
      <Cells
        places={places}
        states={states}
        roles={map.roles as Role[]}
        label={`Map of ${plural(states.length, 'job')} by their states. Choose one with the arrow keys, Enter opens it.`}
        height={height}
        active={active}
        choose={choose}
        open={(item) => void open(item)}
        goal={goal}
        mini={states.length > 200}
        tell={(item) => <Tip run={run.workflow_id} item={item} state={said(item)} />}
      />
      <p class="graph-note">
        <span role="status">{active === undefined ? `${columns.toLocaleString('en')} jobs a row` : <Tip run={run.workflow_id} item={active} state={said(active)} line />}</span>
        {failed.length > 0 && (
          <button type="button" class="small" onClick={nextFailed}>
            Next failed <kbd>F</kbd>
          </button>
        )}
        <span class="optional full">Hover names the job · Enter opens it · Ctrl wheel or + − zooms · 0 shows all</span>
      </p>
    </>
  );
}

// known are the jobs that were named last.
const known = new Map<string, Item>();
const mostKnown = 200;

function keep(name: string, job: Item) {
  known.delete(name);
  known.set(name, job);
  for (const [oldest] of known) {
    if (known.size <= mostKnown) return;
    known.delete(oldest);
  }
}

// read returns a job by its place in the map.
async function read(run: string, item: number, signal?: AbortSignal): Promise<Item | undefined> {
  const { items } = await get<{ items: Item[] | null }>(`${runPath(run)}/items${query({ find: String(item + 1), limit: 1 })}`, signal);
  return items?.[0];
}

const soon = 120; // Milliseconds that the pointer rests until the job is read.

function Tip({ run, item, state, line }: { run: string; item: number; state: string; line?: boolean }) {
  const name = `${run} ${item} ${state}`;
  const [job, setJob] = useState<Item | undefined>(known.get(name));
  const at = useRef(name);
  at.current = name;
  useEffect(() => {
    setJob(known.get(name));
    if (known.has(name)) return;
    const late = setTimeout(() => {
      read(run, item).then(
        (found) => {
          if (found && at.current === name) setJob(found);
          if (found) keep(name, found);
        },
        () => {}, // Its number and state are enough.
      );
    }, soon);
    return () => clearTimeout(late);
  }, [name]);
  const title = job?.dedupe_key || job?.id || `Job ${(item + 1).toLocaleString('en')}`;
  const rest = [state, job?.worker, job?.error].filter(Boolean).join(', ');
  if (line) {
    return (
      <>
        {job ? <a href={itemHref(run, job.id)}>{title}</a> : title}: {rest}
      </>
    );
  }
  return (
    <>
      <b>{title}</b>
      {rest}
    </>
  );
}
