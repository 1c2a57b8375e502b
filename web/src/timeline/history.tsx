// The last runs of a job type: bars by duration, the durations of their jobs over time, and the changes of its settings.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { segment } from '../api';
import { useGet } from '../data';
import { isFailed, looks, type Role, spoken } from '../design/state';
import { href, runHref } from '../route';
import { exact, useZone, zoneOf } from '../time';
import type { RunHistory } from '../types';
import { Aloud, Loaded, Section, Table } from '../ui';
import { plural } from '../words';
import { fine, labelOf, rounded } from './layout';
import { textOf, tookOf } from './past';
import { offsetOf } from './zone';
import './history.css';

// room is the height of both charts.
const room = 330;

// learned is the p95 of the last jobs in milliseconds; 0: not learned yet.
export function History({ name, learned }: { name: string; learned: number }) {
  const found = useGet<RunHistory>(`/job-types/${segment(name)}/history`);
  useZone();
  const runs = found.data?.runs ?? [];
  if (found.data && runs.length === 0) return null;
  const counts = Object.entries(found.data?.counts ?? {}).map(([state, n]) => `${n.toLocaleString('en')} ${spoken(state)}`);
  return (
    <Section title={runs.length > 1 ? `Last ${runs.length} runs` : 'Last runs'} note={counts.join(', ') || undefined}>
      <Loaded of={found} what="The last runs" height={room}>
        {(history) => (
          <div class="trend">
            <Bars history={history} />
            <Durations history={history} learned={learned} />
            <Values of={history} />
          </div>
        )}
      </Loaded>
    </Section>
  );
}

// useWidth follows the width of an element.
function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () => set(measured.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return { element, width };
}

const left = 52;
const right = 12;

// Axis are at most five lines. Zero is one of them.
function Axis({ values, y, width, text }: { values: number[]; y: (value: number) => number; width: number; text: (value: number) => string }) {
  return (
    <g class="lines" aria-hidden="true">
      {values.map((value) => (
        <g key={value}>
          <line x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
          <text x={left - 6} y={y(value) + 4} text-anchor="end">
            {text(value)}
          </text>
        </g>
      ))}
    </g>
  );
}

// A limit far above all values is named at the top, without a scale that makes them flat.
const farAbove = 3;

function Limit({ name, ms, top, y, width }: { name: string; ms: number; top: number; y: (value: number) => number; width: number }) {
  const at = ms <= top ? y(ms) : y(top) - 2;
  return (
    <g class="limit">
      {ms <= top && <line x1={left} x2={width - right} y1={at} y2={at} />}
      <text x={left} y={at - 4}>
        {spoken(name)} {fine(ms)}
        {ms > top && ' ↑'}
      </text>
    </g>
  );
}

const barsHigh = 150;

// Bars are the runs, the newest at the right. The chart is one tab stop: the arrows go from run to run.
function Bars({ history }: { history: RunHistory }) {
  const { element, width } = useWidth();
  const [at, setAt] = useState<number>();
  const { runs } = history;
  const longest = Math.max(...runs.map(tookOf), 1);
  const limit = history.limits.find((one) => one.of === 'run');
  const values = rounded(limit && limit.ms <= longest * farAbove ? Math.max(limit.ms, longest) : longest, 3, true);
  const top = values.at(-1) ?? 1;
  const [head, foot] = [22, 22];
  const y = (value: number) => head + (1 - value / top) * (barsHigh - head - foot);
  const slot = Math.min((width - left - right) / Math.max(runs.length, 1), 40);
  const bar = Math.max(slot * 0.8, 2);
  const x = (i: number) => width - right - (runs.length - i) * slot;
  const on = at === undefined ? undefined : runs[at];
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -runs.length, End: runs.length }[event.key];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step === undefined) {
      if (on) location.hash = runHref(on.workflow_id);
      return;
    }
    setAt(Math.min(Math.max((at ?? runs.length) + step, 0), runs.length - 1));
  };
  return (
    <div ref={element} class="chart" role="application" aria-roledescription="chart" tabIndex={0} onKeyDown={keys} onBlur={() => setAt(undefined)} aria-label={`The last ${runs.length} runs: height is duration. Arrow keys go from run to run, Enter opens one.`}>
      {width > 0 && (
        <svg width={width} height={barsHigh}>
          <Axis values={values} y={y} width={width} text={(value) => (value === 0 ? '0' : fine(value))} />
          {runs.map((run, i) => {
            const height = Math.max(y(0) - y(tookOf(run)), 2);
            const failed = run.jobs && run.jobs.failed > 0 && !isFailed(run.role) ? Math.max((height * run.jobs.failed) / Math.max(run.jobs.total, 1), 4) : 0;
            return (
              <a key={run.workflow_id} href={runHref(run.workflow_id)} tabindex={-1} aria-label={textOf(run)} class={`${run.role === 'partial' && !run.ended_at ? 'running' : run.role}${at === i ? ' on' : ''}`} onPointerEnter={() => setAt(i)} onPointerLeave={() => setAt(undefined)}>
                <rect class="hit" x={x(i)} y={head - 8} width={slot} height={barsHigh - head + 8} />
                <rect class="body" x={x(i) + (slot - bar) / 2} y={y(0) - height} width={bar} height={height} rx={Math.min(2, bar / 4)} />
                {failed > 0 && <rect class="part" x={x(i) + (slot - bar) / 2} y={y(0) - height} width={bar} height={Math.min(failed, height)} />}
              </a>
            );
          })}
          {limit && <Limit name={limit.name} ms={limit.ms} top={top} y={y} width={width} />}
        </svg>
      )}
      {/* A glyph below repeats the outcome. */}
      <div class="glyphs" aria-hidden="true">
        {runs.map((run, i) => (
          <span key={run.workflow_id} class={`state ${looks(run.role as Role)}`} style={{ left: `${x(i) + slot / 2}px` }} />
        ))}
      </div>
      {on && (
        <p class="tip" style={at !== undefined && x(at) > width / 2 ? { right: `${Math.max(width - x(at) - slot, 4)}px` } : { left: `${x(at ?? 0)}px` }} aria-hidden="true">
          {textOf(on)}
        </p>
      )}
      <Aloud>{on && textOf(on)}</Aloud>
    </div>
  );
}

const linesHigh = 160;

// Durations are p50 and p95 of the jobs of each run. A dashed vertical is a change of the settings.
function Durations({ history, learned }: { history: RunHistory; learned: number }) {
  const { element, width } = useWidth();
  const runs = history.runs.filter((run) => run.jobs && run.jobs.of > 0);
  const [from, to] = [Date.parse(runs[0]?.started_at ?? ''), Date.parse(runs.at(-1)?.started_at ?? '')];
  const longest = Math.max(...runs.map((run) => run.jobs?.p95_ms ?? 0), learned, 1);
  const limit = history.limits.find((one) => one.of === 'job');
  const values = rounded(limit && limit.ms <= longest * farAbove ? Math.max(limit.ms, longest) : longest, 4, true);
  const top = values.at(-1) ?? 1;
  const [head, foot] = [34, 22];
  const end = 76; // The lines are named at their ends.
  const x = (at: number) => left + ((at - from) / Math.max(to - from, 1)) * (width - left - right - end);
  const y = (value: number) => head + (1 - value / top) * (linesHigh - head - foot);
  const line = (of: 'p50_ms' | 'p95_ms') => runs.map((run, i) => `${i === 0 ? 'M' : 'L'}${x(Date.parse(run.started_at)).toFixed(1)} ${y(run.jobs?.[of] ?? 0).toFixed(1)}`).join('');
  const changes = history.changes.filter((change) => Date.parse(change.at) >= from && Date.parse(change.at) <= to);
  const last = runs.at(-1)?.jobs;
  if (runs.length < 2 || !last) return <p class="note">{runs.length === 0 ? 'No job has completed in these runs' : 'One run has durations of jobs'}: a trend needs two.</p>;
  const offset = offsetOf(zoneOf());
  const dates = [from, (from + to) / 2, to].map((at) => ({ at, label: `${labelOf(Math.floor((at + offset(at)) / 86_400_000) * 86_400_000, 1).slice(4)} ${labelOf(at + offset(at), 60_000)}` }));
  const near = Math.abs(y(last.p50_ms) - y(last.p95_ms)) < 14;
  return (
    <div ref={element} class="chart">
      <h3>Durations of a job</h3>
      {width > 0 && (
        <svg width={width} height={linesHigh} role="img" aria-label={`Durations of a job: p50 ${fine(runs[0]?.jobs?.p50_ms ?? 0)} to ${fine(last.p50_ms)}, p95 ${fine(runs[0]?.jobs?.p95_ms ?? 0)} to ${fine(last.p95_ms)} in ${runs.length} runs; ${changes.length} changes of the settings`}>
          <Axis values={values} y={y} width={width} text={(value) => (value === 0 ? '0' : fine(value))} />
          <path class="between" d={`${line('p95_ms')}${runs.map((run) => `L${x(Date.parse(run.started_at)).toFixed(1)} ${y(run.jobs?.p50_ms ?? 0).toFixed(1)}`).reverse().join('')}Z`} />
          {changes.map((change) => (
            <line key={change.seq} class="change" x1={x(Date.parse(change.at))} x2={x(Date.parse(change.at))} y1={head - 14} y2={y(0)} />
          ))}
          <path class="p50" d={line('p50_ms')} />
          <path class="p95" d={line('p95_ms')} />
          <text class="p95" x={width - right - end + 6} y={y(last.p95_ms) + (near ? -4 : 4)}>
            p95 {fine(last.p95_ms)}
          </text>
          <text class="p50" x={width - right - end + 6} y={y(last.p50_ms) + (near ? 12 : 4)}>
            p50 {fine(last.p50_ms)}
          </text>
          {limit && <Limit name={limit.name} ms={limit.ms} top={top} y={y} width={width} />}
          {learned > 0 && <Limit name="95 of 100" ms={learned} top={top} y={y} width={width} />}
          <g class="lines" aria-hidden="true">
            {(width < 460 ? [dates[0], dates[2]] : dates).map((date) => date && <text key={date.at} x={x(date.at)} y={linesHigh - 4} text-anchor={date.at === from ? 'start' : 'middle'}>{date.label}</text>)}
          </g>
        </svg>
      )}
      {changes.length > 0 && (
        <ul class="changes">
          {changes.slice(-4).map((change, i) => (
            <li key={change.seq} style={{ left: `${Math.max(Math.min(x(Date.parse(change.at)), width - 190), 0)}px`, top: `${16 + (i % 2) * 14}px` }}>
              <a href={`${href('audit')}?object=${encodeURIComponent(`jobtype/${history.job_type}`)}`} title={`${change.by}, ${exact(change.at)}: ${change.change ?? ''}`}>
                {change.by}: {change.brief}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// mostValues is the number of values shown: those that changed most.
const mostValues = 6;

// Values are the numbers that the jobs returned in the last runs.
function Values({ of }: { of: RunHistory }) {
  if (of.values.length === 0) return null;
  const rows = [...of.values].sort((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0));
  return (
    <>
      <Table
        label="Numbers that its jobs returned"
        rows={rows.slice(0, mostValues)}
        id={(value) => `${value.key ?? ''} ${value.name}`}
        empty=""
        columns={[
          { name: 'Number', show: (value) => value.name },
          { name: 'Job', show: (value) => value.key, wide: true },
          { name: 'Last runs', show: (value) => <Line points={value.points ?? []} name={`${value.name}${value.key ? ` of ${value.key}` : ''}`} /> },
          { name: 'Last', show: (value) => value.last.toLocaleString('en', { maximumFractionDigits: 2 }), number: true },
          { name: 'Than usual', show: (value) => (value.change === undefined ? <span class="faint">–</span> : `${value.change > 0 ? '+' : ''}${Math.round(value.change).toLocaleString('en')} %`), number: true },
        ]}
      />
      {rows.length > mostValues && <p class="note">{plural(rows.length - mostValues, 'more number')} changed less.</p>}
    </>
  );
}

function Line({ points, name }: { points: number[]; name: string }) {
  const [low, top] = [Math.min(0, ...points), Math.max(0, ...points)];
  const place = (value: number, i: number) => `${((i / Math.max(points.length - 1, 1)) * 96 + 2).toFixed(1)} ${(18 - ((value - low) / Math.max(top - low, Number.MIN_VALUE)) * 16).toFixed(1)}`;
  return (
    <svg class="value" width="100" height="20" role="img" aria-label={`${name}: ${points.join(', ')}`}>
      <path d={`M${points.map(place).join('L')}`} />
      {points.length > 0 && <circle cx={points.length > 1 ? 98 : 2} cy={Number(place(points.at(-1) ?? 0, points.length - 1).split(' ')[1])} r="2" />}
    </svg>
  );
}
