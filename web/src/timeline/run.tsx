// When the items of a run ran, and on which workers.
import { useMemo } from 'preact/hooks';
import { roleOf, spoken } from '../design/state';
import { useSettled } from '../graph/settled';
import { runName } from '../names';
import { href, setParams } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import { clockOf, exact, span, useNow } from '../time';
import type { RunTimes, Snapshot } from '../types';
import { Empty, Loaded, Section } from '../ui';
import { plural } from '../words';
import { chosenTime } from './brush';
import { type Bar, type Row, steady, type View } from './layout';
import { Legend } from './legend';
import { Timeline } from './timeline';

// streamed is the most bars that the event stream follows: those of 10,000 jobs have 400 kB.
const streamed = 2000;

// heightOf estimates the height of the times of a run in pixels: tools and axis, then a row for each worker.
const heightOf = (run: Snapshot) => 70 + Math.min(Math.max((run.workers ?? []).length, 1) * 26, 312);

export function RunTimeline({ run, params }: { run: Snapshot; params: URLSearchParams }) {
  const many = (run.progress?.total ?? 0) > streamed;
  const open = isOpen(run);
  const found = useSettled<RunTimes>(`${runPath(run.workflow_id)}/times`, open, !many);
  const dag = run.kind === 'dag';
  const usual = dag ? 'item' : 'worker';
  const by = (['worker', 'item'] as const).find((one) => one === params.get('by')) ?? usual;
  const what = dag ? 'task' : 'job';
  return (
    <Section title="Times" note={found.data && `${plural(found.data.bars.id.length, what)} began${found.data.waiting > 0 ? `, ${found.data.waiting.toLocaleString('en')} did not` : ''}`}>
      <Loaded of={found} what="When its items ran" slow={many} height={many ? heightOf(run) : undefined}>
        {(times) =>
          times.bars.id.length === 0 && !open ? (
            <Empty>No {what} has begun.</Empty>
          ) : (
            <Times run={run} times={times} by={by} params={params} dag={dag}>
              <span class="seg" role="group" aria-label="Rows">
                {(['worker', 'item'] as const).map((one) => (
                  <button key={one} type="button" class="small" aria-pressed={by === one} onClick={() => setParams({ by: one === usual ? '' : one })}>
                    {one === 'worker' ? 'By worker' : dag ? 'By task' : 'By job'}
                  </button>
                ))}
              </span>
              {open && many && (
                <span>
                  as of {clockOf(new Date(found.dataUpdatedAt))}{' '}
                  <button type="button" class="small" disabled={found.isFetching} onClick={() => void found.refetch()}>
                    Read again
                  </button>
                </span>
              )}
            </Times>
          )
        }
      </Loaded>
    </Section>
  );
}

function Times({ run, times, by, params, dag, children }: {
  dag: boolean;
  run: Snapshot; times: RunTimes; by: 'worker' | 'item'; params: URLSearchParams; children: preact.ComponentChildren }) {
  const clock = useNow();
  const now = steady(clock, clock - Date.parse(times.from));
  // A forecast begins now.
  const limited = dag && times.open && times.bars.id.length <= mostLimited;
  const rows = useMemo(() => rowsOf(run, times, by, limited ? now : undefined), [run.workflow_id, times, by, limited && now]);
  return (
    <Timeline
      label={`Times of ${runName(run.workflow_id)}`}
      rows={rows}
      whole={wholeOf(times, now)}
      brush={chosenTime(params)}
      foot={
        <>
          {children}
          <Legend of={[...(dag ? ['done', 'failed', 'running', 'person'] : ['done', 'failed', 'running']), ...(limited ? [['forecast', 'may take until'] as [string, string]] : [])]} />
          {times.left_out ? <span>{plural(times.left_out, 'item')} not shown</span> : null}
        </>
      }
    />
  );
}

// mostLimited bounds the tasks whose limits are shown.
const mostLimited = 300;

function wholeOf(times: RunTimes, now: number): View {
  const from = Date.parse(times.from);
  // Limits are far away for short runs: a third of the width is left for them.
  const to = times.open ? now + (times.bars.may_take_ms?.some((ms) => ms > 0) ? Math.max((now - from) / 2, 1000) : 0) : Date.parse(times.until ?? '') || now;
  return { from, to: Math.max(to, from + 1000) + Math.max(to - from, 1000) * 0.02 };
}

function rowsOf(run: Snapshot, times: RunTimes, by: 'worker' | 'item', now: number | undefined): Row[] {
  const { bars } = times;
  const begin = Date.parse(times.from);
  const rows = new Map<string, Row>();
  const asks = new Set(bars.asks ?? []);
  for (const [i, id] of bars.id.entries()) {
    const word = bars.states[bars.state[i] ?? 0] ?? 'unknown';
    const state = asks.has(i) ? 'waits for a person' : word;
    const worker = bars.workers[bars.worker[i] ?? -1];
    const took = bars.took_ms[i] ?? -1;
    const from = begin + (bars.from_ms[i] ?? 0);
    const name = bars.key?.[i] || id;
    const lasts = took < 0 ? 'still runs' : `took ${span(took)}`;
    const attempt = bars.attempt[i] ?? 0;
    const bar: Bar = {
      id,
      from,
      to: took < 0 ? undefined : from + took,
      role: asks.has(i) ? 'person' : (roleOf(word) ?? 'unknown'),
      look: 'past',
      href: itemHref(run.workflow_id, id),
      short: by === 'worker' ? name : took < 0 ? state : span(took),
      text: `${name}: ${spoken(state)}, ${lasts}, began ${exact(new Date(from))}${worker ? ` on ${worker}` : ''}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
    };
    const key = by === 'item' ? id : (worker ?? '');
    const row = rows.get(key);
    if (row) row.bars.push(bar);
    else rows.set(key, { id: key, name: by === 'item' ? name : worker || 'no worker', href: by === 'item' ? bar.href : worker && href('workers', worker), bars: [bar] });
  }
  if (by === 'item') {
    for (const one of times.earlier ?? []) {
      const id = bars.id[one.item] ?? '';
      const from = begin + one.from_ms;
      rows.get(id)?.bars.push({
        id: `${id} ${one.attempt}`,
        from,
        to: from + one.took_ms,
        role: one.ended_as === 'completed' ? 'done' : (roleOf(one.ended_as) ?? 'failed'),
        look: 'past',
        href: `${itemHref(run.workflow_id, id)}?attempt=${one.attempt}`,
        short: String(one.attempt),
        text: `${id}: attempt ${one.attempt} ${spoken(one.ended_as)}, took ${span(one.took_ms)}, began ${exact(new Date(from))}${one.worker ? ` on ${one.worker}` : ''}`,
      });
    }
    for (const [i, ms] of now === undefined ? [] : (bars.may_take_ms ?? []).entries()) {
      const id = bars.id[i] ?? '';
      const to = begin + (bars.from_ms[i] ?? 0) + ms;
      if (ms > 0 && now !== undefined && to > now) rows.get(id)?.bars.push({ id: `${id} until`, from: now, to, role: 'plan', look: 'forecast', text: `${id}: may take until ${exact(new Date(to))}` });
    }
  }
  // Before the first bar, an empty row keeps its room. The page below does not move when a job begins.
  if (rows.size === 0) rows.set('', { id: '', name: run.kind === 'dag' ? 'no task yet' : 'no job yet', bars: [] });
  const all = [...rows.values()];
  if (by === 'worker') return all.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const first = (row: Row) => Math.min(...row.bars.map((bar) => bar.from));
  return all.sort((a, b) => first(a) - first(b));
}
