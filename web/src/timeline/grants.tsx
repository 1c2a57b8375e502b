// Lanes, pools and objects over time: who held them, and who waited.
import { useMemo } from 'preact/hooks';
import { query } from '../api';
import { useGet } from '../data';
import { itemName } from '../names';
import { pastHref } from '../pages/past';
import { runHref } from '../route';
import { itemHref } from '../runs';
import { brief, exact, span, useNow, useZone } from '../time';
import type { LaneList, PastGrantList, PoolList, ThingList, Use } from '../types';
import { Awaited, Section } from '../ui';
import { chosenTime } from './brush';
import { type Bar, type Row, wholeUntil } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

type Kind = 'lane' | 'pool' | 'object';

// least is the shortest wait that is shown, in milliseconds.
const least = 1000;

const linkOf = (workflow: string, item: string | undefined) => (item ? itemHref(workflow, item) : runHref(workflow));

export function GrantsTimeline({ params }: { params: URLSearchParams }) {
  const now = useNow();
  const zone = useZone();
  const kind = (['lane', 'pool', 'object'] as const).find((one) => params.get(one));
  const only = kind && (params.get(kind) ?? '');
  const past = useGet<PastGrantList>(`/past-grants${query({ limit: 1000, ...(kind && { [kind]: only }) })}`);
  const lanes = useGet<LaneList>('/lanes?limit=1000');
  const pools = useGet<PoolList>('/pools?limit=1000');
  const objects = useGet<ThingList>('/objects?limit=1000');
  const rows = useMemo(() => {
    const found = new Map<string, Row>();
    const add = (of: Kind, name: string, bar: Bar) => {
      if (kind && (of !== kind || name !== only)) return;
      const id = `${of} ${name}`;
      const row = found.get(id) ?? { id, name: id, href: pastHref(of, name), bars: [] };
      row.bars.push(bar);
      found.set(id, row);
    };
    for (const grant of past.data?.grants ?? []) {
      const [asked, from, to] = [grant.requested_at, grant.granted_at, grant.released_at].map((at) => Date.parse(at)) as [number, number, number];
      const who = itemName(grant.workflow_id, grant.for);
      const link = linkOf(grant.workflow_id, grant.for);
      const things: [Kind, string][] = [...(grant.lane ? [['lane', grant.lane] as [Kind, string]] : []), ...(grant.pools ?? []).map(({ pool }): [Kind, string] => ['pool', pool]), ...(grant.objects ?? []).map(({ name }): [Kind, string] => ['object', name])];
      for (const [of, name] of things) {
        if (from - asked >= least) add(of, name, { id: `wait ${grant.seq}`, from: asked, to: from, role: 'waiting', look: 'past', href: link, text: `${who} waited ${span(from - asked)} for ${of} ${name}, from ${exact(grant.requested_at)}` });
        add(of, name, { id: `held ${grant.seq}`, from, to, role: 'held', look: 'past', href: link, text: `${who} held ${of} ${name} for ${span(to - from)}, from ${exact(grant.granted_at)}` });
      }
    }
    const uses = (of: Kind, name: string, holders: Use[], waiting: Use[]) => {
      for (const use of holders) add(of, name, { id: `holds ${use.workflow_id} ${use.id}`, from: Date.parse(use.since), to: undefined, role: 'running', look: 'past', href: linkOf(use.workflow_id, use.for), text: `${itemName(use.workflow_id, use.for)} holds ${of} ${name} since ${exact(use.since)}` });
      for (const use of waiting) add(of, name, { id: `waits ${use.workflow_id} ${use.id}`, from: Date.parse(use.since), to: undefined, role: 'waiting', look: 'past', href: linkOf(use.workflow_id, use.for), text: `${itemName(use.workflow_id, use.for)} waits for ${of} ${name} since ${exact(use.since)}` });
    };
    for (const lane of lanes.data?.lanes ?? []) uses('lane', lane.name, lane.holder ? [lane.holder] : [], lane.waiting ?? []);
    for (const pool of pools.data?.pools ?? []) uses('pool', pool.name, pool.holders ?? [], pool.waiting ?? []);
    for (const thing of objects.data?.objects ?? []) uses('object', thing.name, thing.holders ?? [], thing.waiting ?? []);
    const order = ['lane', 'pool', 'object'];
    return [...found.values()].sort((a, b) => order.indexOf(a.name.split(' ')[0] ?? '') - order.indexOf(b.name.split(' ')[0] ?? '') || a.name.localeCompare(b.name, 'en', { numeric: true }));
  }, [past.data, lanes.data, pools.data, objects.data, kind, only, zone]);
  if ([past, lanes, pools, objects].some((one) => one.isPending)) return <Awaited />;
  if (rows.length === 0) return null;
  const { grants, kept = 0, released = 0, next } = past.data ?? {};
  const oldest = grants?.at(-1)?.released_at;
  const note = [
    kind && `${kind} ${only}`,
    oldest && (next || kept < released) && `releases since ${brief(oldest)}${next ? ', older ones not shown' : ', which are all that is kept'}`,
    [lanes, pools, objects].some((list) => list.data?.next) && 'of each kind, the first 1,000 hold and wait here',
  ].filter(Boolean);
  const from = rows.reduce((first, row) => row.bars.reduce((least, bar) => Math.min(least, bar.from), first), now - 60_000);
  return (
    <Section title="Who held what, and who waited" note={note.join(', ') || undefined}>
      <Timeline label="Holders and waiters over time" rows={rows} whole={wholeUntil(from, now)} brush={chosenTime(params)} foot={<Legend of={['held', ['running', 'holds now'], 'waiting']} />} />
    </Section>
  );
}
