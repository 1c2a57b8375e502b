// Present and past holders of lanes, pools and objects, and the waiters.
import { useQuery } from '@tanstack/react-query';
import type { ComponentChildren } from 'preact';
import { Action } from '../action';
import { resizePool } from '../acts/admission';
import { get, query } from '../api';
import { clock } from '../clock';
import { useGet } from '../data';
import { Explain } from '../explain';
import { later } from '../later';
import { itemName, RunName } from '../names';
import { setParams } from '../route';
import { runPath } from '../runs';
import { Time, Took, useTold } from '../time';
import type { Item, Lane, LaneList, Pool, PoolList, Thing, ThingList, Use } from '../types';
import { Awaited, type Head, Loaded, Meter, Page, Section, Table } from '../ui';
import { WhoChanged } from './changes';
import { Past, pastHref } from './past';

const GrantsTimeline = later(() => import('../timeline/grants').then((m) => m.GrantsTimeline), false, 160);

export function Locks({ params }: { params: URLSearchParams }) {
  const lanes = useGet<LaneList>('/lanes?limit=1000');
  const pools = useGet<PoolList>('/pools?limit=1000');
  const objects = useGet<ThingList>('/objects?limit=1000');
  const held = [...busiest(pools.data?.pools ?? []), ...busiest(objects.data?.objects ?? [])].flatMap((of) => of.holders ?? []);
  const keyed = new Set(held.filter((use) => use.for && use.workflow_id.startsWith('group/')).slice(0, mostKeys));
  const columns = <T extends Waited>(holders: (of: T) => Use[] | null | undefined) => [
    { name: 'Held by', show: (of: T) => <Uses of={holders(of) ?? []} keyed={keyed} none="free" />, wide: true },
    {
      name: 'Waiting',
      show: (of: T) => <Uses of={of.waiting ?? []} more={(of.waiting_count ?? 0) - (of.waiting ?? []).length} none="nobody" waits />,
      wide: true,
    },
  ];
  const [why, item, pool] = [params.get('why') ?? '', params.get('item') ?? '', params.get('pool') ?? ''];
  return (
    <Page title="Locks and pools" {...headOf(lanes.data, pools.data, objects.data)}>
      {[lanes, pools, objects].some((one) => one.isPending) && <Awaited />}
      {why !== '' && (
        <Section title="Who blocks it" note={<RunName id={why} item={item} />}>
          <Explain thing={item === '' ? why : `${why}/${item}`} />
          <p>
            <button type="button" class="small" onClick={() => setParams({ why: '', item: '' })}>
              Close
            </button>
          </p>
        </Section>
      )}
      {lanes.data?.recovering && (
        <p class="note">Admission has just been started again: nothing is granted until the open runs have reported what they hold.</p>
      )}
      <Section title="Lanes" note="one run at a time">
        <Loaded of={lanes} what="Lanes" height={120}>
          {(found) => (
            <Table
              label="Lanes"
              stacked
              rows={busiest(found.lanes)}
              id={(lane) => lane.name}
              empty={
                <>
                  No run holds or waits for a lane. Job types take turns in one that they name with <code>lane:</code>.
                </>
              }
              columns={[{ name: 'Lane', show: (lane) => <a href={pastHref('lane', lane.name)}>{lane.name}</a> }, ...columns<Lane>((lane) => (lane.holder ? [lane.holder] : []))]}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Pools" note="so many at a time">
        <Loaded of={pools} what="Pools" height={120}>
          {(found) => (
            <Table
              label="Pools"
              stacked
              rows={busiest(found.pools)}
              id={(pool) => pool.name}
              empty={
                <>
                  No job holds or waits for a pool. Pools are declared under <code>resources:</code> in the configuration.
                </>
              }
              columns={[
                { name: 'Pool', show: (pool) => <a href={pastHref('pool', pool.name)}>{pool.name}</a> },
                { name: 'In use', show: (pool) => <Meter used={pool.used} of={pool.size} label={`pool ${pool.name}`} /> },
                ...columns<Pool>((pool) => pool.holders),
                { name: 'Size', show: (pool) => <Action {...resizePool(pool.name, pool.size, pool.declared)} small /> },
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Objects" note="one job at a time, or readers together">
        <Loaded of={objects} what="Objects">
          {(found) => (
            <Table
              label="Objects"
              stacked
              rows={busiest(found.objects)}
              id={(thing) => thing.name}
              empty={
                <>
                  No job holds or waits for an object. Jobs and tasks name objects with <code>exclusive</code> and <code>shared</code>.
                </>
              }
              columns={[{ name: 'Object', show: (thing) => <a href={pastHref('object', thing.name)}>{thing.name}</a> }, ...columns<Thing>((thing) => thing.holders)]}
            />
          )}
        </Loaded>
      </Section>
      {pool !== '' && <WhoChanged of={{ of: `pool/${pool}` }} />}
      <GrantsTimeline params={params} />
      <Past params={params} />
    </Page>
  );
}

type Waited = { waiting?: Use[] | null; waiting_count?: number };
const waitersOf = (one: Waited) => one.waiting_count ?? (one.waiting ?? []).length;

// busiest has the longest queue first.
const busiest = <T extends Waited>(all: T[]) => [...all].sort((a, b) => waitersOf(b) - waitersOf(a));

// headOf is the header with the number of waiters and the longest wait. The row of a single waiter has its name and button.
function headOf(lanes: LaneList | undefined, pools: PoolList | undefined, objects: ThingList | undefined): { head?: Head; actions?: ComponentChildren } {
  if (!lanes || !pools || !objects) return {};
  if (lanes.recovering) return { head: { state: { word: 'recovering', role: 'unknown' } } };
  const all = [...lanes.lanes, ...pools.pools, ...objects.objects];
  const waiting = all.reduce((sum, one) => sum + waitersOf(one), 0);
  if (waiting === 0) return { head: { state: { word: 'nothing waits', role: 'done' } } };
  const [oldest] = all.flatMap((one) => (one.waiting ?? []).map((use) => ({ use, of: one.name }))).sort((a, b) => Date.parse(a.use.since) - Date.parse(b.use.since));
  return {
    head: {
      state: { word: `${waiting.toLocaleString('en')} wait${waiting > 1 ? '' : 's'}`, role: 'waiting' },
      age: oldest && (
        <>
          for <Took from={oldest.use.since} />
        </>
      ),
      cause: oldest && waiting > 1 && (
        <>
          <RunName id={oldest.use.workflow_id} item={oldest.use.for} /> waits for {oldest.of}
        </>
      ),
    },
    actions: oldest && waiting > 1 && <WhoBlocks use={oldest.use} />,
  };
}

// mostKeys is the most holders of the page whose keys are read.
const mostKeys = 20;

// stays is the time after which the key of a holder is read: many go sooner, and each would be a request.
const stays = 3000;

// Key is the dedupe key of a job. It never changes. Admission stores only its hash, so Key reads it from the run.
function Key({ of }: { of: Use }) {
  const path = `${runPath(of.workflow_id)}/items${query({ id: of.for, limit: 1 })}`;
  const enabled = useTold(() => (clock() - Date.parse(of.since) >= stays ? 'stays' : '')) !== '';
  const found = useQuery({ queryKey: [path, 'key'], queryFn: ({ signal }) => get<{ items: Item[] }>(path, signal), staleTime: 'static', enabled });
  const key = found.data?.items[0]?.dedupe_key;
  return key ? <span class="key">{key} </span> : null;
}

function Uses({ of, keyed, none, more = 0, waits = false }: { of: Use[]; keyed?: Set<Use>; none: string; more?: number; waits?: boolean }) {
  if (of.length === 0) return <span class="faint">{none}</span>;
  return (
    <ul class="uses">
      {of.map((use) => (
        <li key={`${use.workflow_id}${use.id}`}>
          <RunName id={use.workflow_id} item={use.for} />
          {use.n !== undefined && use.n > 1 && ` ×${use.n}`}
          {use.shared && ' (reads)'} {keyed?.has(use) && <Key of={use} />}
          <small>
            <Time at={use.since} />
          </small>{' '}
          {waits && <WhoBlocks use={use} small />}
        </li>
      ))}
      {more > 0 && <li>and {more} more</li>}
    </ul>
  );
}

const WhoBlocks = ({ use, small }: { use: Use; small?: boolean }) => (
  <button type="button" class={small ? 'small' : ''} onClick={() => setParams({ why: use.workflow_id, item: use.for ?? '' })} aria-label={`Who blocks ${itemName(use.workflow_id, use.for)}`}>
    Who blocks it
  </button>
);
