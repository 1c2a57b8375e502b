// Who holds what, who waits for it, and since when; and who held it before.
import { Action } from '../action';
import { resizePool } from '../acts/admission';
import { useGet } from '../data';
import { runHref } from '../route';
import { Time } from '../time';
import type { Lane, LaneList, Pool, PoolList, Thing, ThingList, Use } from '../types';
import { Loaded, Meter, Page, Section, Table } from '../ui';
import { Past, pastHref } from './past';

export function Locks({ params }: { params: URLSearchParams }) {
  const lanes = useGet<LaneList>('/lanes?limit=1000');
  const pools = useGet<PoolList>('/pools?limit=1000');
  const objects = useGet<ThingList>('/objects?limit=1000');
  const columns = <T extends { waiting?: Use[] | null; waiting_count?: number }>(holders: (of: T) => Use[] | null | undefined) => [
    { name: 'Held by', show: (of: T) => <Uses of={holders(of) ?? []} none="free" />, wide: true },
    {
      name: 'Waiting',
      show: (of: T) => <Uses of={of.waiting ?? []} more={(of.waiting_count ?? 0) - (of.waiting ?? []).length} none="nobody" />,
      wide: true,
    },
  ];
  return (
    <Page title="Locks and pools">
      {lanes.data?.recovering && (
        <p class="note">Admission has just been started again: nothing is granted until the open runs have told what they hold.</p>
      )}
      <Section title="Lanes" note="one run at a time">
        <Loaded of={lanes} what="Lanes">
          {(found) => (
            <Table
              label="Lanes"
              rows={found.lanes}
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
        <Loaded of={pools} what="Pools">
          {(found) => (
            <Table
              label="Pools"
              rows={found.pools}
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
              rows={found.objects}
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
      <Past params={params} />
    </Page>
  );
}

function Uses({ of, none, more = 0 }: { of: Use[]; none: string; more?: number }) {
  if (of.length === 0) return <span class="faint">{none}</span>;
  return (
    <ul class="uses">
      {of.map((use) => (
        <li key={`${use.workflow_id}${use.id}`}>
          <a href={runHref(use.workflow_id)}>{use.for || use.workflow_id}</a>
          {use.n !== undefined && use.n > 1 && ` ×${use.n}`}
          {use.shared && ' (reads)'}{' '}
          <small>
            <Time at={use.since} />
          </small>
        </li>
      ))}
      {more > 0 && <li>and {more} more</li>}
    </ul>
  );
}
