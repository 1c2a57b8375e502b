// Runs of job types and of DAGs, newest first.
import { query } from '../api';
import { clock } from '../clock';
import { useGet, useList } from '../data';
import { href, runHref, setParams } from '../route';
import { isOpen, itemHref } from '../runs';
import { Time, Took } from '../time';
import type { FoundItems, Run, RunList } from '../types';
import { Choice, Find, Loaded, Page, Rows, Section, State, Table } from '../ui';
import { plural } from '../words';

const outcomes = ['completed', 'partial', 'failed', 'timeout', 'canceled', 'skipped'];

// startedWithin returns the time some hours ago, rounded to a minute, so that the list keeps its address for a
// minute.
function startedWithin(hours: string): string {
  const minute = 60_000;
  return Number(hours) > 0 ? new Date(Math.floor(clock() / minute) * minute - Number(hours) * 60 * minute).toISOString() : '';
}

export function Runs({ params }: { params: URLSearchParams }) {
  const [kind, name, state, since] = ['kind', 'name', 'state', 'since'].map((key) => params.get(key) ?? '') as [string, string, string, string];
  const dry = params.get('dry_runs') ?? '';
  const path = `/runs${query({
    kind,
    job_type: kind === 'dag' ? '' : name,
    dag: kind === 'dag' ? name : '',
    running: state === 'running',
    outcome: state === 'running' ? '' : state,
    since: startedWithin(since),
    dry_runs: dry === 'true',
    counts: true,
    limit: 100,
  })}`;
  const key = params.get('key') ?? '';
  const found = useList<RunList>(path);
  return (
    <Page title="Runs">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Find label="Job by its key" value={key} set={(value) => setParams({ key: value })} />
        <Choice
          label="Kind"
          value={kind}
          of={[
            ['', 'job types and DAGs'],
            ['group', 'job types'],
            ['dag', 'DAGs'],
          ]}
          set={(value) => setParams({ kind: value })}
        />
        <label class="choice">
          {kind === 'dag' ? 'DAG' : 'Job type'}
          <input type="search" value={name} onChange={(event) => setParams({ name: event.currentTarget.value.trim() })} />
        </label>
        <Choice
          label="State"
          value={state}
          of={[['', 'all'], ['running', 'running'], ...outcomes.map((word): [string, string] => [word, word]), ['failed,timeout,partial', 'any failure']]}
          set={(value) => setParams({ state: value })}
        />
        <Choice
          label="Started within"
          value={since}
          of={[
            ['', 'all that is kept'],
            ['1', 'an hour'],
            ['24', 'a day'],
            ['168', 'a week'],
          ]}
          set={(value) => setParams({ since: value })}
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
      </form>
      {key !== '' && <Jobs of={key} jobType={kind === 'dag' ? '' : name} since={startedWithin(since)} />}
      <Loaded of={found} what="Runs">
        {({ pages }) => <List runs={pages.flatMap((page) => page.runs ?? [])} more={found.more} filtered={[...params.keys()].length > 0} />}
      </Loaded>
    </Page>
  );
}

// Jobs shows the jobs with a key, of all runs.
function Jobs({ of, jobType, since }: { of: string; jobType: string; since: string }) {
  const found = useGet<FoundItems>(`/items${query({ key: of, job_type: jobType, since })}`);
  return (
    <Section title={`Jobs with the key ${of}`} note={found.data && plural(found.data.items.length, 'job')}>
      <Loaded of={found} what="Jobs">
        {({ items, missed }) => (
          <>
            {missed && <p class="note">{missed}</p>}
            <Table
              label="Jobs by key"
              rows={items}
              id={(item) => `${item.run.workflow_id} ${item.id}`}
              empty={
                <>
                  None of the 200 newest runs{jobType && ` of ${jobType}`} has a job with this key.{' '}
                  <button type="button" onClick={() => setParams({ key: '' })}>
                    Show runs only
                  </button>
                </>
              }
              columns={[
                { name: 'Job', show: (item) => <a href={itemHref(item.run.workflow_id, item.id)}>{item.id}</a> },
                { name: 'State', show: (item) => <State word={item.state} /> },
                { name: 'Run', show: (item) => <a href={runHref(item.run.workflow_id)}>{item.run.workflow_id.replace(/^group\//, '')}</a> },
                { name: 'Detail', show: (item) => item.error || item.waiting || item.summary, wide: true, optional: true },
                { name: 'Worker', show: (item) => item.worker && <a href={href('workers', item.worker)}>{item.worker}</a>, optional: true },
                { name: 'Took', show: (item) => item.started_at && <Took from={item.started_at} to={item.ended_at} />, number: true, optional: true },
                { name: 'Ended', show: (item) => <Time at={item.ended_at} />, number: true },
              ]}
            />
          </>
        )}
      </Loaded>
    </Section>
  );
}

function List({ runs, more, filtered }: { runs: Run[]; more: () => void; filtered: boolean }) {
  return (
    <Rows
      label="Runs"
      rows={runs}
      id={(run) => `${run.workflow_id} ${run.run_id}`}
      onEnd={more}
      empty={
        filtered ? (
          <>
            No run matches these filters. <a href={href('runs')}>Show all</a>.
          </>
        ) : (
          <>
            Nothing has run yet. <a href={href('job-types')}>Run a job type</a>, or wait until one is due.
          </>
        )
      }
      columns={[
        {
          name: 'Run',
          show: (run) => (
            <a href={runHref(run.workflow_id)} title={run.workflow_id}>
              {run.workflow_id.replace(/^group\//, '')}
            </a>
          ),
          wide: true,
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
          width: '10rem',
        },
        {
          name: 'State',
          show: (run) => (
            <>
              <State word={run.standing.state} role={run.standing.role} title={run.standing.cause} />
              {run.dry_run && ' dry run'}
            </>
          ),
          width: '6.5rem',
        },
        { name: 'Jobs', show: progress, width: '9rem', optional: true },
        { name: 'Failed', show: (run) => run.progress?.failed || <span class="faint">–</span>, number: true, width: '4rem', optional: true },
        { name: 'Started', show: (run) => <Time at={run.started_at} />, width: '7.5rem', optional: true },
        {
          name: 'Took',
          show: (run) => <Took from={run.started_at} to={isOpen(run) ? undefined : run.ended_at} />,
          number: true,
          width: '6rem',
          optional: true,
        },
      ]}
    />
  );
}

function progress(run: Run) {
  if (!run.progress) return <span class="faint">–</span>;
  const { ended, total } = run.progress;
  return <span class="number">{isOpen(run) ? `${ended} of ${total} ended` : total}</span>;
}
