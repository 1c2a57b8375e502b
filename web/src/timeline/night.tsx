// The job types over the last and the next hours.
import { useMemo } from 'preact/hooks';
import { useGet } from '../data';
import { href, runHref } from '../route';
import { exact, span, useZone, zoneOf } from '../time';
import type { Night, NightBar } from '../types';
import { Empty, Loaded, Section } from '../ui';
import { plural } from '../words';
import type { Bar, Look, Row } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

const looks: Record<NightBar['kind'], Look> = { run: 'past', rest: 'forecast', plan: 'plan', skip: 'plan', closed: 'closed' };

// minute is the length of a bar to come whose end is not known.
const minute = 60_000;

function barOf(type: string, bar: NightBar, asOf: number): Bar {
  const from = Date.parse(bar.from);
  const until = bar.until ? Date.parse(bar.until) : undefined;
  const because = bar.code ? ` (${bar.code}${bar.object ? ` ${bar.object}` : ''})` : '';
  const base = { id: `${type} ${bar.kind} ${bar.from} ${bar.run ?? bar.code ?? ''}`, look: looks[bar.kind], role: 'plan', from, to: until };
  switch (bar.kind) {
    case 'run': {
      const took = until === undefined ? `since ${span(asOf - from)}` : `took ${span(until - from)}`;
      return { ...base, role: bar.role ?? 'unknown', href: bar.run && runHref(bar.run), short: bar.role === 'done' ? undefined : bar.state, text: `${type}: ${bar.state}, ${took}, began ${exact(bar.from)}` };
    }
    case 'rest':
      return { ...base, from: asOf, href: bar.run && runHref(bar.run), text: `${type}: is likely to last until ${exact(bar.until ?? bar.from)}` };
    case 'plan':
      return { ...base, to: until ?? from + minute, href: href('job-types', type), text: `${type}: will run at ${exact(bar.from)}${until ? ` for ${span(until - from)}` : ''}${because}` };
    case 'skip':
      return { ...base, role: 'skipped', to: from + minute, href: href('job-types', type), text: `${type}: ${exact(bar.from)} will be ${bar.state}${because}` };
    case 'closed':
      return { ...base, text: 'The window is closed' };
  }
}

const rowsOfNight = (night: Night): Row[] =>
  night.rows.map((row) => ({ id: row.job_type, name: row.job_type, href: href('job-types', row.job_type), bars: (row.bars ?? []).map((bar) => barOf(row.job_type, bar, Date.parse(night.as_of))) }));

// Quiet names the job types without a row.
export function Quiet({ of }: { of: Night['quiet'] }) {
  if (of.job_types === 0) return null;
  return (
    <p class="note">
      {plural(of.job_types, 'more job type')}: {[of.runs > 0 && `${of.runs.toLocaleString('en')} ran`, `${plural(of.due, 'run')} due`, of.skipped > 0 && `${of.skipped.toLocaleString('en')} skipped`].filter(Boolean).join(', ')}. <a href={href('calendar')}>Calendar</a>
    </p>
  );
}

// most is the number of rows on the overview.
const most = 12;

export function Tonight() {
  useZone();
  const found = useGet<Night>(`/night?limit=${most}`);
  return (
    <Section title="Tonight" note={<a href={href('calendar')}>calendar</a>}>
      <Loaded of={found} what="The forecast" height={200}>
        {(night) =>
          night.rows.length === 0 ? (
            <Empty>
              Nothing ran in the last {span(Date.parse(night.as_of) - Date.parse(night.from))}, and nothing is due in the next {span(Date.parse(night.until) - Date.parse(night.as_of))}.
            </Empty>
          ) : (
            <>
              <NightTimeline night={night} />
              <Quiet of={night.quiet} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function NightTimeline({ night }: { night: Night }) {
  const rows = useMemo(() => rowsOfNight(night), [night]);
  const left = night.rows.filter((row) => row.left_out);
  return (
    <Timeline
      label={`Job types over time, ${zoneOf()}`}
      rows={rows}
      whole={{ from: Date.parse(night.from), to: Date.parse(night.until) }}
      foot={
        <>
          <Legend of={['done', 'failed', 'running', 'waiting', 'plan', 'forecast']} />
          {left.length > 0 && <span>Later ones not shown: {left.map((row) => `${(row.left_out ?? 0).toLocaleString('en')} of ${row.job_type}`).join(', ')}</span>}
        </>
      }
    />
  );
}
