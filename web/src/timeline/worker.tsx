// The attempts on a worker in the last hours.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { query, segment } from '../api';
import { useGet } from '../data';
import { roleOf, spoken } from '../design/state';
import { RunName } from '../names';
import { setParams, useRoute } from '../route';
import { itemHref } from '../runs';
import { brief, exact, span, useNow } from '../time';
import type { WorkerTimes } from '../types';
import { Empty, Loaded, Section, Table, State } from '../ui';
import { plural } from '../words';
import { chosenTime, touches } from './brush';
import { type Row, wholeUntil } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

// most is the number of rows of the table. The timeline has all.
const most = 20;

// spans are the hours to choose from.
const spans = [6, 24, 168];
const usual = 24;

export function WorkerTimeline({ id }: { id: string }) {
  const { params } = useRoute();
  const hours = spans.find((one) => String(one) === params.get('hours')) ?? usual;
  const found = useGet<WorkerTimes>(`/workers/${segment(id)}/times${query({ hours })}`);
  return (
    <Section title="What it ran" note={found.data && (found.data.work.length > 0 || found.data.left_out || found.data.missed) ? noteOf(found.data) : undefined}>
      <Loaded of={found} what="What it ran" height={120}>
        {(times) =>
          times.work.length === 0 ? (
            <Empty>
              It ran nothing since {brief(times.since)}. <Hours hours={hours} />
            </Empty>
          ) : (
            <Work times={times} params={params}>
              <Hours hours={hours} />
            </Work>
          )
        }
      </Loaded>
    </Section>
  );
}

// noteOf is the searched time and the number of missing items.
const noteOf = ({ work, since, searched_since, left_out: left = 0, missed }: WorkerTimes) =>
  [`${plural(work.length, 'item')} of runs since ${brief(searched_since ?? since)}`, left > 0 && `${left.toLocaleString('en')} older not shown`, missed && 'not all runs answered'].filter(Boolean).join(', ');

function Hours({ hours }: { hours: number }) {
  return (
    <span class="seg" role="group" aria-label="Hours">
      {spans.map((one) => (
        <button key={one} type="button" aria-pressed={hours === one} onClick={() => setParams({ hours: one === usual ? '' : String(one) })}>
          {one === 168 ? '7 days' : `${one} h`}
        </button>
      ))}
    </span>
  );
}

function Work({ times, params, children }: { times: WorkerTimes; params: URLSearchParams; children: ComponentChildren }) {
  const now = useNow();
  const brush = chosenTime(params);
  const band = brush.view;
  const rows = useMemo(() => {
    const found = new Map<string, Row>();
    for (const work of times.work) {
      const row = found.get(work.name) ?? { id: work.name, name: work.name, bars: [] };
      const [from, to] = [Date.parse(work.started_at), work.ended_at ? Date.parse(work.ended_at) : undefined];
      const name = work.dedupe_key || work.id;
      row.bars.push({
        id: `${work.workflow_id} ${work.id} ${work.started_at}`,
        from,
        to,
        role: roleOf(work.state) ?? 'unknown',
        look: 'past',
        href: itemHref(work.workflow_id, work.id),
        short: name,
        text: `${name}: ${spoken(work.state)}, ${to === undefined ? 'still runs' : `took ${span(to - from)}`}, began ${exact(work.started_at)}`,
      });
      found.set(work.name, row);
    }
    return [...found.values()];
  }, [times]);
  const first = rows.reduce((least, row) => row.bars.reduce((one, bar) => Math.min(one, bar.from), least), now - 60_000);
  const chosen = band ? times.work.filter((work) => touches(band, work.started_at, work.ended_at)) : [];
  return (
    <>
      <Timeline
        label="What it ran"
        rows={rows}
        whole={wholeUntil(first, now)}
        brush={brush}
        foot={
          <>
            {children}
            <Legend of={['done', 'failed', 'running']} />
          </>
        }
      />
      {band && (
        <Table
          label="Items in the chosen time"
          rows={chosen.slice(0, most)}
          id={(work) => `${work.workflow_id} ${work.id}`}
          empty="It ran nothing in this time."
          columns={[
            { name: 'Item', show: (work) => <a href={itemHref(work.workflow_id, work.id)}>{work.dedupe_key || work.id}</a>, wide: true },
            { name: 'State', show: (work) => <State word={work.state} /> },
            { name: 'Run', show: (work) => <RunName id={work.workflow_id} />, optional: true },
            { name: 'Took', show: (work) => (work.ended_at ? span(Date.parse(work.ended_at) - Date.parse(work.started_at)) : 'still runs'), number: true },
          ]}
        />
      )}
      {chosen.length > most && <p class="note">{(chosen.length - most).toLocaleString('en')} more; choose a shorter time.</p>}
    </>
  );
}
