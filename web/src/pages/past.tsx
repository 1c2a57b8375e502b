// Past holders of lanes, pools and objects, how long they held them, and how long they waited.
import { query } from '../api';
import { useList } from '../data';
import { RunName } from '../names';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { exact, span, Time } from '../time';
import { isIn } from '../timeline/brush';
import type { PastGrant, PastGrantList } from '../types';
import { Empty, Loaded, Section } from '../ui';
import { counted, plural } from '../words';

const kinds = ['lane', 'pool', 'object'] as const;

export const pastHref = (kind: (typeof kinds)[number], name: string) => `${href('locks')}?${kind}=${encodeURIComponent(name)}`;

export function Past({ params }: { params: URLSearchParams }) {
  const kind = kinds.find((one) => params.get(one));
  const name = kind && (params.get(kind) ?? '');
  const by = params.get('sort') ?? '';
  const found = useList<PastGrantList>(`/past-grants${query({ limit: by === '' ? 100 : most, ...(kind && { [kind]: name }) })}`);
  const first = found.data?.pages[0];
  return (
    <Section
      title={kind ? `Held before: ${kind} ${name}` : 'Held before'}
      note={kind ? <a href={href('locks')}>all lanes, pools and objects</a> : first && first.kept > 0 && `the last ${first.kept.toLocaleString('en')} of ${plural(first.released, 'release')}`}
    >
      <Loaded of={found} what="What was held before">
        {({ pages }) => (
          <Grants
            of={pages.slice(0, by === '' ? undefined : 1).flatMap((page) => page.grants).filter((grant) => isIn(params, grant.requested_at, grant.released_at))}
            partial={Boolean(by === '' ? pages.at(-1)?.next : pages[0]?.next)}
            by={by}
            more={by === '' ? found.more : () => {}}
          />
        )}
      </Loaded>
    </Section>
  );
}

// most is the number of newest releases that are sorted: the largest page of the API.
const most = 1000;

function Grants({ of, partial, by, more }: { of: PastGrant[]; partial: boolean; by: string; more: () => void }) {
  if (of.length === 0) return <Empty>No release is kept.</Empty>;
  return (
    <Rows
      label="Held before"
      rows={of}
      id={(grant) => String(grant.seq)}
      onEnd={more}
      note={counted(of.length, plural(of.length, 'release'), { partial, by })}
      sorting={{ by, set: (sort) => setParams({ sort }) }}
      empty=""
      columns={[
        { name: 'What', show: (grant) => <Things of={grant} />, width: '16rem', sort: 'what', value: (grant) => thingsOf(grant).map(({ kind, name }) => `${kind} ${name}`).join() },
        { name: 'Held by', show: (grant) => <RunName id={grant.workflow_id} item={grant.for} row />, wide: true, sort: 'holder', value: (grant) => `${grant.workflow_id} ${grant.for ?? ''}` },
        {
          name: 'From',
          show: (grant) => (
            <span title={`${exact(grant.granted_at)} to ${exact(grant.released_at)}`}>
              <Time at={grant.granted_at} relative={false} />
            </span>
          ),
          width: '11.5rem',
          optional: true,
          sort: 'from',
          value: (grant) => Date.parse(grant.granted_at),
        },
        { name: 'Released', show: (grant) => <Time at={grant.released_at} />, width: '7.5rem', optional: true, sort: 'released', value: (grant) => Date.parse(grant.released_at) },
        { name: 'Held for', show: (grant) => span(between(grant.granted_at, grant.released_at)), number: true, width: '6.5rem', sort: 'held', value: (grant) => between(grant.granted_at, grant.released_at) },
        { name: 'Waited', show: (grant) => waited(between(grant.requested_at, grant.granted_at)), number: true, width: '6.5rem', optional: true, sort: 'waited', value: (grant) => between(grant.requested_at, grant.granted_at) },
      ]}
    />
  );
}

const waited = (ms: number) => (ms > 0 ? span(ms) : <span class="faint">–</span>);

const between = (from: string, to: string) => Math.max(Date.parse(to) - Date.parse(from), 0);

const thingsOf = (of: PastGrant) => [
  ...(of.lane ? [{ kind: 'lane' as const, name: of.lane, more: '' }] : []),
  ...(of.pools ?? []).map(({ pool, n }) => ({ kind: 'pool' as const, name: pool, more: n > 1 ? ` ×${n}` : '' })),
  ...(of.objects ?? []).map(({ name, shared }) => ({ kind: 'object' as const, name, more: shared ? ' (reads)' : '' })),
];

function Things({ of }: { of: PastGrant }) {
  return (
    <>
      {thingsOf(of).map(({ kind, name, more }, i) => (
        <span key={`${kind} ${name}`}>
          {i > 0 && ', '}
          {kind} <a href={pastHref(kind, name)}>{name}</a>
          {more}
        </span>
      ))}
    </>
  );
}
