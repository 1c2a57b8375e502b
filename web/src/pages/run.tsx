// A run: its progress or result, its items, and the reason why it does not continue.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Action } from '../action';
import { actsOnItem } from '../acts/items';
import { actsOnRun, retryJobs } from '../acts/runs';
import { get, query, segment } from '../api';
import { useFirst, useGet, useWindow, type Windowed } from '../data';
import { isFailed, spoken } from '../design/state';
import { Explain } from '../explain';
import { Causes } from '../graph/causes';
import { fewest, JobMap, withStale } from '../graph/jobs';
import { later } from '../later';
import { lookOf, Prose, runName, RunName, Said } from '../names';
import { Remedies } from '../remedies';
import { href, runHref, setParams } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import { Rows } from '../table/rows';
import { Middle, Whole } from '../table/text';
import { Both, clockOf, duration, localized, span, Time, Took, useNow, useZone } from '../time';
import type { Explanation, Item, Reason, RunFailures, Snapshot } from '../types';
import { Cause, Choice, Facts, Filters, Find, type Head, Loaded, Meter, Page, Section, type Sorting, State, Table } from '../ui';
import { plural } from '../words';
import { WhoChanged } from './changes';
import { Graph, Task } from './graph';

const RunTimeline = later(() => import('../timeline/run').then((m) => m.RunTimeline));

export function RunPage({ id, params }: { id: string; params: URLSearchParams }) {
  useZone();
  const found = useGet<Snapshot>(runPath(id));
  const run = found.data;
  useFirst(id.startsWith('group~') ? itemsOf(id, params) : undefined, pageOf); // Its jobs are always listed.
  const failures = useGet<RunFailures>(run && (run.progress?.failed ?? 0) > 0 ? `${runPath(run.workflow_id)}/failures` : undefined, run !== undefined && isOpen(run));
  return (
    <Page
      title={runName(run?.workflow_id ?? id.replaceAll('~', '/'))}
      crumbs={[['Runs', href('runs')]]}
      head={run && headOf(run, failures.data)}
      actions={
        run && (
          <>
            {actsOnRun(run).map((act) => (
              <Action key={act.label} {...act} />
            ))}
            {refusal(run) && <small class="refused">{refusal(run)}</small>}
          </>
        )
      }
    >
      <Loaded of={found} what={`Run ${id}`}>
        {(snapshot) => {
          const task = Number(params.get('task') ?? '');
          // The graph shows the tasks; their list is one of its views, and that of a filter.
          const listed = snapshot.kind !== 'dag' || ['state', 'id', 'find', 'sort', 'since'].some((key) => params.get(key)) || params.get('view') === 'list' || (snapshot.progress?.total ?? 0) < fewest;
          return (
            <>
              <div class="cols">
                <div class="stack">
                  <Wrong run={snapshot} />
                  {isOpen(snapshot) && <Waits run={snapshot} />}
                  {snapshot.kind === 'dag' ? <Graph run={snapshot} params={params} /> : (snapshot.progress?.total ?? 0) >= fewest && <JobMap run={snapshot} />}
                  <RunTimeline run={snapshot} params={params} />
                </div>
                <div class="stack">
                  {snapshot.kind === 'dag' && task > 0 && <Task key={task} run={snapshot} at={task} />}
                  <Now run={snapshot} />
                  <Workers run={snapshot} />
                  <Phases run={snapshot} />
                </div>
              </div>
              {listed && <Items run={snapshot} params={params} />}
              <WhoChanged of={{ of: snapshot.workflow_id }} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

const refusal = (run: Snapshot) => run.standing.refused?.find(({ operation }) => operation === 'retry-run')?.why;

// headOf is the header of a run: its state, its cause and its age. The cause of a run with failures is that of most
// of them.
function headOf(run: Snapshot, failures: RunFailures | undefined): Head {
  const { state, role, cause, runs } = run.standing;
  const failed = run.progress?.failed ?? 0;
  const first = failed > 0 ? failures?.causes[0] : undefined;
  return {
    id: run.workflow_id,
    state: { word: failed > 0 ? `${state}, ${failed.toLocaleString('en')} of ${(run.progress?.total ?? 0).toLocaleString('en')} failed` : state, role },
    age: isOpen(run) ? <Took from={run.started_at} /> : run.ended_at && <Time at={run.ended_at} />,
    // The output of a program is shown unchanged.
    cause: first ? (
      <>
        {failed > 1 && `${first.count.toLocaleString('en')} of ${plural(failed, 'failure')}: `}
        {first.message}
      </>
    ) : (
      cause && <div class={lookOf(run.standing)}><Said text={cause} runs={runs} /></div>
    ),
  };
}

// Wrong is the first block of a run with failures.
function Wrong({ run }: { run: Snapshot }) {
  const failed = run.progress?.failed ?? 0;
  return (
    <>
      {run.unanswered && (
        <Section title="It does not answer" look="ask">
          <p class="why">
            <Prose text={run.unanswered} />
          </p>
        </Section>
      )}
      {run.failure && (
        <Section title="It failed" look="alarm">
          <p class="why">{run.failure}</p>
        </Section>
      )}
      {failed > 0 && <Causes run={run} />}
    </>
  );
}

const asking = (reason: Reason) => reason.code === 'AWAITING_APPROVAL' && (reason.actions ?? []).length > 0;

// mostAsked bounds the questions with a strip of their own. All are among the reasons of the run.
const mostAsked = 5;

// Waits shows why the run does not continue. A question, of the run or of its sub-DAGs, is a strip with its buttons.
// Without a reason it is one line, as high as the reasons that it follows: the page below does not move.
function Waits({ run }: { run: Snapshot }) {
  const found = useGet<Explanation>(`/explain?thing=${segment(run.workflow_id)}`);
  const reasons = found.data?.reasons ?? [];
  const asked = reasons.filter(asking);
  const all = reasons.length > 0 && asked.length === reasons.length && asked.length <= mostAsked;
  const card = useRef<HTMLElement>(null);
  const room = useRef(0);
  useLayoutEffect(() => {
    if (reasons.length > 0 && card.current) room.current = card.current.offsetHeight;
  });
  return (
    <>
      {asked.slice(0, mostAsked).map((reason) => (
        <section key={`${reason.of} ${reason.object} ${reason.detail}`} class="ask strip2" aria-label={reason.detail}>
          <div class="row1">
            <i class="state person g-person" />
            <div>
              <b class={lookOf(reason)}>{reason.detail}</b>
              <small>
                {reason.of_run && (
                  <>
                    in <a href={runHref(reason.of_run.run)} title={reason.of}>{reason.of_run.run.replace(`${run.workflow_id}/`, '')}</a>{' '}
                  </>
                )}
                {reason.since && (
                  <>
                    for <Took from={reason.since} />
                  </>
                )}
                {reason.until && (
                  <>
                    {' · until '}
                    <Time at={reason.until} relative={false} />
                  </>
                )}
              </small>
            </div>
            <Remedies of={reason.actions} />
          </div>
        </section>
      ))}
      {!all && (
        <section ref={card} style={{ minHeight: `${room.current}px` }}>
          {found.data && reasons.length === 0 ? (
            <p class="fold2">{found.data.nothing}.</p>
          ) : (
            <>
              <h2>What it waits for</h2>
              <Explain thing={run.workflow_id} />
            </>
          )}
        </section>
      )}
    </>
  );
}

function Now({ run }: { run: Snapshot }) {
  const open = isOpen(run);
  // The header of a run without a failure has its cause.
  const told = (run.progress?.failed ?? 0) > 0 ? '' : run.standing.cause;
  const untold = (text: string | undefined) => text && !(told && text.includes(told));
  const detector = run.group?.detector ?? run.result?.detector;
  const explained = run.group?.explanations ?? run.result?.explanations ?? [];
  return (
    <Section title={open ? 'Now' : 'What came of it'}>
      <Facts
        of={[
          [
            'State',
            <>
              <State word={run.standing.state} role={run.standing.role} />
              {open && run.phase && run.phase !== run.standing.state && <span class="faint">, {run.phase}</span>}
            </>,
          ],
          ['Usually', run.pace?.usual.took && `${span(duration(run.pace.usual.took))}, as ${plural(run.pace.usual.of, 'run')} took`],
          ['Paused', run.paused && [run.paused_by && `by ${run.paused_by}`, run.pause_note].filter(Boolean).join(': ')],
          ['Waits for', open && untold(run.waiting) && localized(run.waiting ?? '')],
          ['Because', untold(run.reason) && <Said text={run.reason ?? ''} runs={run.standing.runs} />],
          ['Failure', run.failure],
          ['Job type', run.job_type && <a href={href('job-types', run.job_type)}>{run.job_type}</a>],
          ['DAG', run.dag && <a href={`${href('runs')}?kind=dag&name=${encodeURIComponent(run.dag)}`}>{run.dag}</a>],
          [
            run.kind === 'dag' ? 'Tasks' : 'Jobs',
            run.progress && <Meter used={run.progress.ended} of={run.progress.total} label="ended" />,
          ],
          ['Started', <Both key="started" at={run.started_at} />],
          ['Modified', open && run.modified_at && <Both key="modified" at={run.modified_at} />],
          ['Took', !open && <Took key="took" from={run.started_at} to={run.ended_at} />],
          ['Ends by', run.deadline && <Time key="deadline" at={run.deadline} relative={false} />],
          ['Held until', run.dag_status?.held_until && <Time key="held" at={run.dag_status.held_until} relative={false} />],
          ['Lane', run.group?.lane && <a href={href('locks')}>{run.group.lane}</a>],
          ['Detected by', detector && <a href={href('workers', detector)}>{detector}</a>],
          ['Detection', explained.length > 0 && explained.map((line) => <div key={line}>{line}</div>)],
          ['Continues', run.dag_status?.resumes && <RunName id={run.dag_status.resumes} />],
          ['Submitted', run.ad_hoc && `${run.ad_hoc}${run.result?.submitted_by ? ` by ${run.result.submitted_by}` : ''}`],
          ['Dry run', run.dry_run && 'nothing was executed'],
        ]}
      />
      {run.kind === 'group' && (run.progress?.total ?? 0) < fewest && <Counts of={run.counts ?? {}} />}
    </Section>
  );
}

// Phases shows the past phases of a run of a job type, folded.
function Phases({ run }: { run: Snapshot }) {
  const now = useNow();
  const phases = run.group?.phases ?? run.result?.phases ?? [];
  if (phases.length === 0) return null;
  const took = (phase: (typeof phases)[number]) => {
    const next = phases[phases.indexOf(phase) + 1]?.at;
    return phase.phase === 'ended' ? '–' : span(Math.max((next ? Date.parse(next) : now) - Date.parse(phase.at), 0));
  };
  return (
    <section>
      <details class="fold2">
        <summary>Phases: {phases.map((phase) => (phase.phase === 'ended' ? phase.phase : `${phase.phase} ${took(phase)}`)).join(', ')}</summary>
        <Table
          label="Phases"
          rows={phases}
          id={(phase) => `${phase.at}${phase.phase}${phase.code}`}
          empty=""
          columns={[
            { name: 'Phase', show: (phase) => localized(phase.text ?? ''), wide: true },
            { name: 'Began', show: (phase) => <Both at={phase.at} />, optional: true },
            { name: 'Took', show: took, number: true },
          ]}
        />
      </details>
    </section>
  );
}

// Counts shows the nonzero counts of a run.
function Counts({ of }: { of: Record<string, number> }) {
  const { stale = 0 } = of;
  const shown = Object.entries(withStale(of)).filter(([, n]) => n > 0);
  if (shown.length === 0) return null;
  return (
    <p class="counts">
      {shown.map(([name, n]) => (
        <span key={name} class="chip">
          {n.toLocaleString('en')} {spoken(name)}
          {name === 'failed' && stale > 0 && `, ${stale.toLocaleString('en')} of them stale`}
        </span>
      ))}
    </p>
  );
}

const states = {
  group: ['pending', 'assigned', 'running', 'recalling', 'held', 'completed', 'warning', 'failed', 'canceled', 'stale', 'expired', 'not_started'],
  dag: ['pending', 'ready', 'running', 'completed', 'warning', 'failed', 'upstream_failed', 'skipped', 'canceled'],
};

// statesOf are the states of the filter. A link may have several at once.
const statesOf = (run: Snapshot, state: string) => [...new Set([...states[run.kind], state])].filter(Boolean);

// pageOf is the number of items per request.
const pageOf = 100;

const filters = ['state', 'id', 'find', 'sort', 'since', 'until'];

// itemsOf is the list of the items of a run with the filters of its page.
const itemsOf = (run: string, params: URLSearchParams) => `${runPath(run)}/items${query(Object.fromEntries(filters.map((key) => [key, params.get(key) ?? ''])))}`;

function Items({ run, params }: { run: Snapshot; params: URLSearchParams }) {
  const [state = '', of = '', find = '', sort = '', since = ''] = filters.map((key) => params.get(key) ?? '');
  const until = params.get('until') ?? '';
  const path = itemsOf(run.workflow_id, params);
  // The last task may have 100,000 needs. A sorted list is read as a whole for each page, so it is read once.
  const found = useWindow<Item>(path, pageOf, run.kind === 'group' && sort === '' && since === '', isOpen(run) && sort === '' && since === '');
  const what = run.kind === 'dag' ? 'Tasks' : 'Jobs';
  const filtered = state !== '' || of !== '' || find !== '' || since !== '';
  const tools = (
    <Filters set={filtered}>
      <Find label={run.kind === 'dag' ? 'Task' : 'Key or number'} value={find} set={(value) => setParams({ find: value, id: '' })} />
      <Choice
        label="State"
        value={state}
        of={[['', 'all'], ...statesOf(run, state).map((word): [string, string] => [word, spoken(word).replace(',', ' or ')])]}
        set={(value) => setParams({ state: value })}
      />
      {of !== '' && (
        <button type="button" onClick={() => setParams({ id: '' })}>
          All, not only {of}
        </button>
      )}
      {since !== '' && (
        <button type="button" onClick={() => setParams({ since: '', until: '' })} title="Show all times">
          {clockOf(since)} to {clockOf(until)} ✕
        </button>
      )}
    </Filters>
  );
  return (
    <Section title={what} note={found.total !== undefined && `${plural(found.total, what.toLowerCase().slice(0, -1))}${isOpen(run) && sort !== '' ? ', as they were when they were sorted' : ''}`}>
      <List
        run={run}
        found={found}
        label={what}
        tools={tools}
        path={path}
        none={filtered ? noneOf(run, what, find || of, state, since !== '') : emptyOf(run)}
        sorting={{ by: sort, set: (by) => setParams({ sort: by }) }}
      />
    </Section>
  );
}

// noneOf names the filters without a match and the number of filtered items.
function noneOf(run: Snapshot, what: string, find: string, state: string, timed: boolean) {
  const total = run.progress?.total;
  return (
    <>
      None of {total === undefined ? 'its' : total.toLocaleString('en')} {what.toLowerCase()} {timed ? 'ran in this time and is' : 'is'} {find !== '' && <code>{find}</code>} {find !== '' && state !== '' && 'and '}
      {state !== '' && `in the state ${spoken(state).replace(',', ' or ')}`}.{' '}
      <button type="button" onClick={() => setParams({ find: '', id: '', state: '', since: '', until: '' })}>
        Show all
      </button>
    </>
  );
}

interface Listed {
  run: Snapshot;
  found: Windowed<Item>;
  label: string;
  none: ComponentChildren;
  sorting: Sorting;
  tools: ComponentChildren;
  path: string;
}

// most is the number of items that one request returns.
const most = 1000;

// readItems returns the items between two places of a list. Jobs that end move in it meanwhile: only a cursor leaves none out.
async function readItems(path: string, from: number, to: number): Promise<Item[]> {
  const found: Item[] = [];
  for (let at = `from=${from}`; at !== '' && found.length < to - from; ) {
    const { items, next } = await get<{ items: Item[] | null; next?: string }>(`${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(most, to - from - found.length)}&${at}`);
    found.push(...(items ?? []));
    at = next ? `cursor=${encodeURIComponent(next)}` : '';
  }
  return found;
}

// done are the states of jobs that no retry executes.
const done = ['completed', 'warning'];

function List({ run, found, label, none, sorting, tools, path }: Listed) {
  return (
    <Rows
      label={label}
      rows={found.data ?? []}
      of={found}
      id={(item) => item.id}
      onShown={found.show}
      empty={none}
      sorting={sorting}
      tools={tools}
      total={found.total}
      pick={{
        of: path.replace(/[?&]sort=[^&]*/, ''),
        noun: label.toLowerCase().slice(0, -1),
        name: (item) => (item.dedupe_key ? `${item.dedupe_key} (${item.id})` : item.id),
        acts: actsOnItem,
        together: (items) => {
          const again = run.kind === 'group' && run.standing.operations.includes('retry-run') ? items.filter(({ state }) => !done.includes(state)) : [];
          return again.length > 0 ? [retryJobs(run.workflow_id, again.map((item) => item.id))] : [];
        },
        none: refusal(run),
        read: (from, to) => readItems(path, from, to),
        failed: (item) => isFailed(item.standing.role),
      }}
      columns={[
        { name: label.slice(0, -1), show: (item) => <a href={itemHref(run.workflow_id, item.id)}><Middle of={item.id} /></a>, width: '20rem' },
        run.kind === 'dag'
          ? { name: 'Kind', show: (item) => item.kind, optional: true }
          : { name: 'Key', show: keyOf, width: '22rem', sort: 'key', second: true },
        { name: 'State', show: (item) => <State word={item.standing.state} role={item.standing.role} />, sort: 'state', second: true },
        { name: 'Detail', show: (item) => (item.error ? <Cause of={item.error} /> : <Whole of={saying(item)} />), wide: true, optional: true, second: true },
        {
          name: 'Worker',
          show: (item) => item.worker && <a href={href('workers', item.worker)}>{item.worker}</a>,
          width: '10rem',
          optional: true,
          second: true,
          sort: 'worker',
        },
        { name: 'Attempt', show: (item) => item.attempt || undefined, number: true, optional: true, sort: 'attempt' },
        { name: 'Took', show: (item) => (item.started_at && (item.ended_at || item.state === 'running') ? <Took from={item.started_at} to={item.ended_at} /> : undefined), number: true, optional: true, sort: 'took' },
        { name: 'Ended', show: (item) => item.ended_at && <Time at={item.ended_at} />, number: true, optional: true, sort: 'ended' },
      ]}
    />
  );
}

function emptyOf(run: Snapshot) {
  if (isOpen(run)) return 'None is known yet: the detection has not found any.';
  return run.job_type ? (
    <>
      The detection found nothing to do. <a href={href('job-types', run.job_type)}>Its settings</a> say where it looks.
    </>
  ) : (
    'It ended before it had any task.'
  );
}

const keyOf = (item: Item) => (
  <span>
    <Middle of={item.dedupe_key ?? ''} />
    {(item.items ?? 0) > 1 && <small> and {(item.items ?? 0) - 1} more</small>}
  </span>
);

// saying returns one line about an item without an error: its wait or its progress.
function saying(item: Item): string {
  const at = item.active?.progress;
  if (item.waiting) return localized(item.waiting);
  if (item.active?.quiet) return `no report, output, CPU or I/O for ${span(duration(item.active.quiet))}`;
  if (at) return [at.percent >= 0 && `${Math.round(at.percent)} %`, at.stage, at.message].filter(Boolean).join(' · ');
  return item.summary === item.dedupe_key ? '' : (item.summary ?? '');
}

// Workers lists the workers that the run may use. A worker that is not online has its state as the reason.
function Workers({ run }: { run: Snapshot }) {
  const workers = run.workers ?? [];
  if (!isOpen(run) || workers.length === 0) return null;
  const shown = workers.slice(0, mostWorkers);
  return (
    <Section title="Workers" note={workers.length.toLocaleString('en')}>
      <ul class="usable" aria-label="Workers that it may use">
        {shown.map((worker) => (
          <li key={worker.id}>
            <a href={href('workers', worker.id)}>{worker.id}</a>
            <span>
              {worker.running.toLocaleString('en')} of {worker.slots.toLocaleString('en')}
            </span>
            {!worker.usable && (
              <small>
                <State word={worker.state} /> {worker.state === 'ONLINE' && worker.reason}
              </small>
            )}
          </li>
        ))}
        {workers.length > shown.length && <li>{plural(workers.length - shown.length, 'more worker')}</li>}
      </ul>
    </Section>
  );
}

const mostWorkers = 12;
