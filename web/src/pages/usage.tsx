// How much of its slots a worker used in the last hours, as its process remembers it.
import { segment } from '../api';
import { useGet } from '../data';
import { Time } from '../time';
import type { Usage } from '../types';
import { Empty, Loaded, Section } from '../ui';

type Span = Usage['spans'][number];

const minutes = (span: Span) => (Date.parse(span.to) - Date.parse(span.from)) / 60_000;

// within are the spans of the last hours, and what they come to: the share of the slots
// that was in use, and for how many minutes none was free.
export function within(spans: Span[], hours: number): { share: number; full: number; minutes: number } {
  const since = Date.parse(spans.at(-1)?.to ?? '') - hours * 3_600_000;
  let [used, room, full, all] = [0, 0, 0, 0];
  for (const span of spans) {
    if (Date.parse(span.from) < since - 150_000) continue;
    used += span.used * minutes(span);
    room += span.slots * minutes(span);
    full += span.full * minutes(span);
    all += minutes(span);
  }
  return { share: room > 0 ? used / room : 0, full, minutes: all };
}

export function SlotsOverTime({ id, silent }: { id: string; silent: string | undefined }) {
  const found = useGet<Usage>(`/workers/${segment(id)}/usage`);
  const first = found.data?.spans[0];
  return (
    <Section
      title="Slots over time"
      note={
        first && (
          <>
            since <Time at={first.from} relative={false} />
          </>
        )
      }
    >
      <Loaded of={found} what="Its slots over time">
        {({ spans }) =>
          spans.length === 0 ? <Empty>Its process keeps it, and does not answer{silent ? `: ${silent}` : ''}.</Empty> : <Chart spans={spans} />
        }
      </Loaded>
    </Section>
  );
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
const hoursOf = (n: number) => (n === 1 ? 'hour' : `${n} hours`);

// Chart is one path for what was in use, whatever there is to show, and one for how
// many slots there were.
function Chart({ spans }: { spans: Span[] }) {
  const [from, to] = [Date.parse(spans[0]?.from ?? ''), Date.parse(spans.at(-1)?.to ?? '')];
  const top = Math.max(...spans.map((span) => Math.max(span.slots, span.used)), 1);
  const x = (at: string) => ((Date.parse(at) - from) / Math.max(to - from, 1)) * 1000;
  const y = (slots: number) => 100 - (slots / top) * 96;
  const steps = (of: (span: Span) => number) => spans.map((span) => `${x(span.from).toFixed(1)} ${y(of(span)).toFixed(1)} H${x(span.to).toFixed(1)}`).join(' L');
  const known = (to - from) / 3_600_000;
  const told = [1, 6, 12].filter((_, i, all) => i === 0 || known > (all[i - 1] ?? 0)).map((hours) => ({ hours, ...within(spans, hours) }));
  const text = told.map(({ hours, share }) => `${percent(share)} in the last ${hoursOf(hours)}`).join(', ');
  return (
    <figure class="usage">
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`Slots in use: ${text}`}>
        <path class="used" d={`M0 100 L${steps((span) => span.used)} V100 Z`} />
        <path class="slots" d={`M${steps((span) => span.slots)}`} vector-effect="non-scaling-stroke" />
      </svg>
      <p class="axis">
        <span>
          <Time at={spans[0]?.from} />
        </span>
        <span>
          {spans.at(-1)?.slots} slot{spans.at(-1)?.slots === 1 ? '' : 's'}
        </span>
        <span>now</span>
      </p>
      <figcaption>
        In use: {text}. In the last hour no slot was free for {Math.round(told[0]?.full ?? 0)} of {Math.round(told[0]?.minutes ?? 0)} min.
      </figcaption>
    </figure>
  );
}
