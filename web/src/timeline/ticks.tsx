// Scheduled instants over time: the outcomes of the last days and the forecast of the next days.
import { useMemo } from 'preact/hooks';
import { query } from '../api';
import { useGet } from '../data';
import { type Role, roleOf } from '../design/state';
import { Coded, explained } from '../explain';
import { RunName } from '../names';
import { href, runHref } from '../route';
import { exact, span, Time, useNow } from '../time';
import type { Forecast, ForecastTick, Ledger, LedgerTick } from '../types';
import { Awaited, Failure, Section } from '../ui';
import type { Chosen } from './brush';
import type { Bar, Row, View } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

const mark = 60_000;

const because = (tick: { code?: string; text?: string; object?: string }) => (tick.code ? ` (${tick.text ?? tick.code}${tick.object ? ` ${tick.object}` : ''})` : '');

function pastBar(tick: LedgerTick): Bar {
  const at = Date.parse(tick.at);
  const role = roleOf(tick.outcome ?? tick.state) ?? 'unknown';
  const base = { id: `past ${tick.at}`, look: 'past' as const, role, href: tick.run ? runHref(tick.run) : href('job-types', tick.job_type) };
  if (!tick.started_at) return { ...base, from: at, to: at + mark, text: `${tick.job_type}: ${exact(tick.at)} was ${tick.state}${because(tick)}` };
  const from = Date.parse(tick.started_at);
  const to = tick.ended_at ? Date.parse(tick.ended_at) : undefined;
  return { ...base, from, to, text: `${tick.job_type}: ${tick.outcome ?? tick.state}, ${to === undefined ? 'still runs' : `took ${span(to - from)}`}, began ${exact(tick.started_at)}${because(tick)}` };
}

function nextBar(tick: ForecastTick): Bar {
  const runs = tick.state === 'runs';
  const from = Date.parse(runs ? (tick.begins_at ?? tick.at) : tick.at);
  const to = runs && tick.ends_at ? Math.max(Date.parse(tick.ends_at), from) : from + mark;
  const role: Role = runs ? 'plan' : 'skipped';
  return { id: `next ${tick.at}`, look: 'plan', role, from, to, href: href('job-types', tick.job_type), text: `${tick.job_type}: ${runs ? 'will run' : `will be ${tick.state}`} at ${exact(new Date(from))}${runs && to - from >= 1000 ? ` for ${span(to - from)}` : ''}${because(tick)}` };
}

// Ticks has a row for each job type.
export function Ticks({ ticks, past, whole, brush }: { ticks: (ForecastTick | LedgerTick)[]; past: boolean; whole: View; brush: Chosen }) {
  const rows = useMemo(() => {
    const found = new Map<string, Row>();
    for (const tick of ticks) {
      const row = found.get(tick.job_type) ?? { id: tick.job_type, name: tick.job_type, href: href('job-types', tick.job_type), bars: [] };
      row.bars.push(past ? pastBar(tick as LedgerTick) : nextBar(tick as ForecastTick));
      found.set(tick.job_type, row);
    }
    return [...found.values()].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  }, [ticks, past]);
  return <Timeline label={past ? 'The last days' : 'The next days'} rows={rows} whole={whole} brush={brush} foot={<Legend of={past ? ['done', 'failed', 'skipped'] : ['plan', 'skipped']} />} />;
}

const hour = 3_600_000;

// TypeTicks has the instants of one job type around now.
export function TypeTicks({ name }: { name: string }) {
  const now = Math.floor(useNow() / mark) * mark; // The time shown moves once a minute.
  const past = useGet<Ledger>(`/ledger${query({ job_type: name, days: 2, limit: 1000 })}`);
  const next = useGet<Forecast>(`/forecast${query({ job_type: name, days: 2, limit: 1000 })}`);
  const bars = useMemo(() => [...(past.data?.ticks ?? []).map(pastBar), ...(next.data?.ticks ?? []).map(nextBar)], [past.data, next.data]);
  const error = past.error ?? next.error;
  if (error && bars.length === 0) return <Failure error={error} what="Its instants cannot be shown" />;
  if (past.isPending || next.isPending) return <Awaited />;
  if (bars.length === 0) return null;
  const dropped = past.data?.ticks.find((tick) => tick.state === 'skipped' || tick.state === 'missed');
  const from = Math.min(...bars.map((bar) => bar.from), now - hour);
  const to = Math.max(...bars.map((bar) => bar.to ?? now), now + hour);
  const pad = (to - from) * 0.02;
  return (
    <Section title="Scheduled instants" note={<a href={`${href('calendar')}${query({ type: name, view: 'past' })}`}>each of the last seven days</a>}>
      {dropped && (
        <p class="note dropped">
          The last instant without a run, <Time at={dropped.at} />, was {dropped.state}
          {dropped.code && (
            <>
              : {dropped.text} <Coded code={dropped.code} {...explained(dropped)} />
            </>
          )}{' '}
          {dropped.run && <RunName id={dropped.run} />}
        </p>
      )}
      <Timeline label={`Instants of ${name}`} rows={[{ id: name, name, bars }]} whole={{ from: from - pad, to: to + pad }} foot={<Legend of={['done', 'failed', 'skipped', 'plan']} />} />
    </Section>
  );
}
