// The use of a worker's slots in the last hours, recorded by its process.
import { segment } from '../api';
import { useGet } from '../data';
import { span, Time } from '../time';
import type { Usage } from '../types';
import { Empty, Loaded, Section } from '../ui';
import { plural } from '../words';
import './usage.css';

type Part = Usage['spans'][number];

const minutes = (part: Part) => (Date.parse(part.to) - Date.parse(part.from)) / 60_000;

// within returns the share of the slots in use over the last hours, and the minutes without a free slot.
export function within(spans: Part[], hours: number): { share: number; full: number } {
  const since = Date.parse(spans.at(-1)?.to ?? '') - hours * 3_600_000;
  let [used, room, full] = [0, 0, 0];
  for (const part of spans) {
    if (Date.parse(part.from) < since - 150_000) continue;
    used += part.used * minutes(part);
    room += part.slots * minutes(part);
    full += part.full * minutes(part);
  }
  return { share: room > 0 ? used / room : 0, full };
}

export function SlotsOverTime({ id }: { id: string }) {
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
      <Loaded of={found} what="Its slots over time" height={room}>
        {({ spans }) =>
          spans.length === 0 ? <Empty>Its process keeps it, and does not answer.</Empty> : <Chart spans={spans} />
        }
      </Loaded>
    </Section>
  );
}

// room is the height of the chart with its words.
const room = 190;

const percent = (share: number) => `${Math.round(share * 100)} %`;

// last names the last hours, or the recorded part of them.
const last = (hours: number, known: number) => (known < hours - 0.1 ? span(known * 3_600_000) : hours === 1 ? 'hour' : `${hours} hours`);

// Chart has one path for the slots in use and one for all slots.
function Chart({ spans }: { spans: Part[] }) {
  const [from, to] = [Date.parse(spans[0]?.from ?? ''), Date.parse(spans.at(-1)?.to ?? '')];
  const top = Math.max(...spans.map((span) => Math.max(span.slots, span.used)), 1);
  const x = (at: string) => ((Date.parse(at) - from) / Math.max(to - from, 1)) * 1000;
  const y = (slots: number) => 100 - (slots / top) * 96;
  const steps = (of: (part: Part) => number) => spans.map((span) => `${x(span.from).toFixed(1)} ${y(of(span)).toFixed(1)} H${x(span.to).toFixed(1)}`).join(' L');
  const known = (to - from) / 3_600_000;
  const told = [1, 6, 12].filter((_, i, all) => i === 0 || known > (all[i - 1] ?? 0)).map((hours) => ({ hours, ...within(spans, hours) }));
  const text = told.map(({ hours, share }) => `${percent(share)} in the last ${last(hours, known)}`).join(', ');
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
        <span>dashed: {plural(spans.at(-1)?.slots ?? 0, 'slot')}</span>
        <span>now</span>
      </p>
      <figcaption>
        In use: {text}.{' '}
        {told[0]?.full ? `No slot was free for ${span(told[0].full * 60_000)} of the last ${last(1, known)}.` : `A slot was free all the last ${last(1, known)}.`}
      </figcaption>
    </figure>
  );
}
