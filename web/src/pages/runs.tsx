// Runs of job types and of DAGs, newest first.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Action } from '../action';
import { actsOnRun, retryRun } from '../acts/runs';
import { get, query } from '../api';
import { frozen, viewed } from '../clock';
import { useGet, useList } from '../data';
import { isFailure } from '../design/state';
import { Coded } from '../explain';
import { Cited, RunName, runName } from '../names';
import { href, setParams } from '../route';
import { errorOf, failedRuns, isOpen, itemHref } from '../runs';
import { Rows } from '../table/rows';
import { brief, localized, Time, Took, useTold } from '../time';
import type { FoundItems, Run, RunList } from '../types';
import { type Answer, Choice, Failure, Filters, Find, type Head, Loaded, Page, Section, State, Table, useMedium } from '../ui';
import { counted, plural } from '../words';
import { NoMatch } from './none';

const outcomes = ['completed', 'partial', 'failed', 'timeout', 'canceled', 'skipped'];

const spans: Record<string, string> = { 1: 'an hour', 24: 'a day', 168: 'a week' };

// spanOf names a number of hours. A link made by hand may have any.
const spanOf = (hours: string) => spans[hours] ?? `${hours} hours`;

const kinds = new Map([
  ['group', 'job types'],
  ['dag', 'DAGs'],
]);

const minute = 60_000;

// useStartedWithin returns the time some hours ago, rounded to a minute, so that viewers share one picture. Another time is another
// list, which begins with its first page. The time is therefore kept until it is wrong by a tenth of the hours.
function useStartedWithin(hours: string): string {
  const view = `${hours} ${frozen()}`;
  const held = useRef({ view: '', at: 0 });
  return useTold((now) => {
    if (hours === '') return '';
    const at = Math.floor(now / minute) * minute - Number(hours) * 60 * minute;
    if (held.current.view !== view || Math.abs(at - held.current.at) > Number(hours) * 6 * minute) held.current = { view, at };
    return new Date(held.current.at).toISOString();
  });
}

// headOf counts the failed runs and names the last.
function headOf({ runs, next }: RunList, newest: Run | undefined): Head {
  if (!newest) return { state: { word: 'none failed since yesterday', role: 'done' } };
  return {
    state: { word: `${(runs ?? []).length}${next ? ' or more' : ''} failed since yesterday`, role: 'failed' },
    age: <Time at={newest.ended_at} />,
    cause: (
      <>
        The last one: <RunName id={newest.workflow_id} />, {errorOf(newest) || newest.standing.state}
      </>
    ),
  };
}

export function Runs({ params }: { params: URLSearchParams }) {
  const [kind, name, state] = ['kind', 'name', 'state'].map((key) => params.get(key) ?? '') as [string, string, string];
  const since = /^[1-9]\d{0,5}$/.exec(params.get('since') ?? '')?.[0] ?? '';
  const by = params.get('sort') ?? '';
  const medium = useMedium();
  const dry = params.get('dry_runs') ?? '';
  const from = useStartedWithin(since);
  const path = `/runs${query({
    kind,
    job_type: kind === 'dag' ? '' : name,
    dag: kind === 'dag' ? name : '',
    running: state === 'running',
    outcome: state === 'running' ? '' : state,
    since: from,
    dry_runs: dry === 'true',
    until: frozen() === undefined ? '' : new Date(frozen() ?? 0).toISOString(),
    counts: true,
    limit: by === '' ? 100 : sortedRuns,
  })}`;
  const key = params.get('key') ?? '';
  const found = useList<RunList>(path);
  const pages = found.data?.pages ?? [];
  const failed = useGet<RunList>(failedRuns()).data;
  const newest = (failed?.runs ?? []).reduce<Run | undefined>((last, run) => (last && Date.parse(last.ended_at ?? '') >= Date.parse(run.ended_at ?? '') ? last : run), undefined);
  const tools = (
    <Filters set={[kind, name, state, since, dry].some(Boolean)} rare={medium ? 3 : 2}>
      <Find label="Job by its key" value={key} set={(value) => setParams({ key: value })} />
      <Choice
        label="State"
        value={state}
        of={[['', 'all'], ['running', 'running'], ...outcomes.map((word): [string, string] => [word, word]), ['failed,timeout,partial', 'any failure']]}
        set={(value) => setParams({ state: value })}
      />
      <Find label={kind === 'dag' ? 'DAG' : 'Job type'} value={name} set={(value) => setParams({ name: value })} />
      <Choice
        label="Started within"
        value={since}
        of={[['', 'all that is kept'], ...[...new Set([...Object.keys(spans), since])].filter(Boolean).map((hours): [string, string] => [hours, spanOf(hours)])]}
        set={(value) => setParams({ since: value })}
      />
      <Choice
        label="Kind"
        value={kind}
        of={[['', 'job types and DAGs'], ...kinds]}
        set={(value) => setParams({ kind: value })}
      />
      <Choice
        label="Dry runs"
        value={dry}
        of={[
          ['', 'left out'],
          ['true', 'shown'],
        ]}
        set={(value) => setParams({ dry_runs: value })}
      />
    </Filters>
  );
  return (
    <Page
      title="Runs"
      head={failed && headOf(failed, newest)}
      actions={newest?.standing.operations.includes('retry-run') && <Action {...retryRun(newest)} label="Retry the last one" />}
    >
      {key !== '' && <Jobs key={`${key} ${kind} ${name} ${since}`} of={key} jobType={kind === 'dag' ? '' : name} since={from} />}
      <List
        found={found}
        runs={pages.slice(0, by === '' ? undefined : 1).flatMap((page) => page.runs ?? [])}
        more={by === '' ? found.more : () => {}}
        partial={by === '' ? found.hasNextPage : Boolean(pages[0]?.next)}
        by={by}
        path={path}
        tools={tools}
        filter={JSON.stringify([kind, name, state, since, dry])}
        filters={{
          state: ['the state', state.replaceAll(',', ', ')],
          name: [kind === 'dag' ? 'the DAG' : 'the job type', name],
          since: ['a start within', since && spanOf(since)],
          kind: ['the kind', kinds.get(kind) ?? ''],
        }}
      />
    </Page>
  );
}

// Jobs shows the jobs with a key, of all runs. The newest 200 are followed; older ones are searched until a job is
// found, and then on request.
function Jobs({ of, jobType, since }: { of: string; jobType: string; since: string }) {
  const path = `/items${query({ key: of, job_type: jobType, since })}`;
  const newest = useGet<FoundItems>(path);
  const [older, setOlder] = useState<FoundItems[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, failed] = useState<unknown>();
  const pages = newest.data ? [newest.data, ...older] : [];
  const items = pages.flatMap((page) => page.items);
  const last = pages.at(-1);
  const more = async () => {
    setBusy(true);
    failed(undefined);
    try {
      const page = await get<FoundItems>(`${path}&cursor=${encodeURIComponent(last?.next ?? '')}`);
      setOlder((before) => [...before, page]);
    } catch (cause) {
      failed(cause);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (items.length === 0 && last?.next && !busy && error === undefined) void more();
  }, [items.length, last?.next, busy, error]);
  const searched = pages.reduce((sum, page) => sum + page.searched, 0);
  const missed = pages.map((page) => page.missed).filter(Boolean).join('; ');
  return (
    <Section title={`Jobs with the key ${of}`} note={last && `${plural(items.length, 'job')}${searched > 0 ? `, ${plural(searched, 'run')} searched` : ' of the newest run'}`}>
      {error !== undefined && <Failure error={error} what="Older runs cannot be searched" />}
      <Loaded of={newest} what="Jobs">
        {() => (
          <>
            {missed && <p class="note">{missed}</p>}
            <Table
              label="Jobs by key"
              rows={items}
              id={(item) => `${item.run.workflow_id} ${item.id}`}
              empty={
                last?.next ? (
                  <span role="status">{plural(searched, 'run')} searched{last.back_to && `, back to ${brief(last.back_to)}`}. Older ones follow…</span>
                ) : (
                  <>
                    No run{jobType && ` of ${jobType}`} that is kept has a job with this key: {plural(searched, 'run')} searched.{' '}
                    <button type="button" onClick={() => setParams({ key: '' })}>
                      Show runs only
                    </button>
                  </>
                )
              }
              columns={[
                { name: 'Job', show: (item) => <a href={itemHref(item.run.workflow_id, item.id)}>{item.id}</a> },
                { name: 'State', show: (item) => <State word={item.standing.state} role={item.standing.role} /> },
                { name: 'Run', show: (item) => <RunName id={item.run.workflow_id} row /> },
                { name: 'Detail', show: (item) => item.error || localized(item.waiting ?? '') || item.summary, wide: true, optional: true },
                { name: 'Worker', show: (item) => item.worker && <a href={href('workers', item.worker)}>{item.worker}</a>, optional: true },
                { name: 'Took', show: (item) => item.started_at && <Took from={item.started_at} to={item.ended_at} />, number: true, optional: true },
                { name: 'Ended', show: (item) => <Time at={item.ended_at} />, number: true },
              ]}
            />
            {items.length > 0 && last?.next && (
              <p class="actions">
                <button type="button" onClick={() => void more()} disabled={busy}>
                  {busy ? 'Searching…' : `Search runs before ${last.back_to ? brief(last.back_to) : 'these'}`}
                </button>
              </p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

// sortedRuns is the number of newest runs that are sorted, since the server lists runs by their start only.
const sortedRuns = 500;

interface Listed {
  found: Answer<unknown>;
  runs: Run[];
  more: () => void;
  partial: boolean;
  by: string;
  path: string;
  tools: ComponentChildren;
  // filter is the choice of the user. The path has more, like the order.
  filter: string;
  filters: Record<string, [string, string]>;
}

// readRuns returns the first runs of the list.
async function readRuns(path: string, to: number): Promise<Run[]> {
  const found: Run[] = [];
  const whole = path.replace(/limit=\d+/, 'limit=1000').replace('counts=true&', '');
  for (let cursor = ''; found.length < to; ) {
    const page = await get<RunList>(`${whole}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...(page.runs ?? []));
    cursor = page.next ?? '';
    if (cursor === '') break;
  }
  return found.slice(0, to);
}

function List({ found, runs, more, partial, by, path, tools, filter, filters }: Listed) {
  return (
    <Rows
      label="Runs"
      rows={runs}
      of={found}
      id={(run) => `${run.workflow_id} ${run.run_id}`}
      onEnd={more}
      tools={tools}
      note={found.data !== undefined && counted(runs.length, plural(runs.length, 'run'), { partial, by })}
      sorting={{ by, set: (sort) => setParams({ sort }) }}
      pick={{
        of: filter,
        noun: 'run',
        name: (run) => runName(run.workflow_id),
        acts: (run) => actsOnRun(run),
        read: by === '' ? async (from, to) => (await readRuns(path, to)).slice(from) : undefined,
        partial: by === '' && partial,
        part: by !== '' && partial,
        failed: (run) => isFailure(run.standing.role),
      }}
      empty={
        Object.values(filters).some(([, value]) => value !== '') ? (
          <NoMatch of="No run that is kept" filters={filters} />
        ) : (
          <>
            Nothing has run yet. <a href={href('job-types')}>Run a job type</a>, or wait until one is due.
          </>
        )
      }
      columns={[
        {
          name: 'Run',
          show: (run) => <RunName id={run.workflow_id} row />,
          width: '26rem',
          sort: 'run',
          value: (run) => run.workflow_id,
        },
        {
          name: 'State',
          show: (run) => (
            <>
              <State word={run.standing.state} role={run.standing.role} />
              {run.dry_run && ' dry run'}
            </>
          ),
          second: true,
          sort: 'state',
          value: (run) => run.standing.state,
        },
        {
          name: 'Why',
          show: ({ workflow_id, standing: { cause = '', code, quoted } }) => (
            <Cited text={cause} code={code} quoted={quoted}>
              {code && <Coded code={code} thing={workflow_id} name={runName(workflow_id)} />}
            </Cited>
          ),
          wide: true,
          optional: true,
          second: true,
        },
        {
          name: 'Of',
          show: (run) =>
            run.job_type ? (
              <a href={href('job-types', run.job_type)}>{run.job_type}</a>
            ) : (
              <a href={`${href('runs')}?kind=dag&name=${encodeURIComponent(run.dag ?? '')}`}>{run.dag}</a>
            ),
          optional: true,
          full: true,
          width: '12rem',
          sort: 'of',
          value: (run) => run.job_type ?? run.dag,
        },
        { name: 'Jobs', show: progress, number: true, optional: true, sort: 'jobs', value: (run) => run.progress?.total },
        {
          name: 'Failed',
          show: (run) => run.progress?.failed?.toLocaleString('en').replace(/^0$/, '–') ?? <span class="faint">–</span>,
          number: true,
          optional: true,
          sort: 'failed',
          value: (run) => run.progress?.failed,
        },
        { name: 'Started', show: (run) => <Time at={run.started_at} />, number: true, sort: 'started', value: (run) => Date.parse(run.started_at ?? ''), second: true },
        {
          name: 'Took',
          show: (run) => <Took from={run.started_at} to={isOpen(run) ? undefined : run.ended_at} />,
          number: true,
          optional: true,
          sort: 'took',
          value: (run) => (isOpen(run) ? viewed() : Date.parse(run.ended_at ?? '')) - Date.parse(run.started_at ?? ''),
        },
      ]}
    />
  );
}

function progress(run: Run) {
  if (!run.progress) return <span class="faint">–</span>;
  const { ended, total } = run.progress;
  return <span class="number">{isOpen(run) ? `${ended.toLocaleString('en')} of ${total.toLocaleString('en')}` : total.toLocaleString('en')}</span>;
}
