import { useGet } from '../data';
import { href, runHref, setParams } from '../route';
import { exact, Time } from '../time';
import type { JobType, JobTypeList } from '../types';
import { type Past, Strip } from '../design/strip';
import { Choice, Loaded, Page, Rows, State } from '../ui';

export function jobTypeState({ standing }: JobType) {
  return <State word={standing.state} title={standing.detail} />;
}

function matches(type: JobType, text: string, state: string): boolean {
  if (text !== '' && !`${type.name} ${type.spec.handler ?? ''} ${type.spec.lane ?? ''}`.toLowerCase().includes(text.toLowerCase())) return false;
  switch (state) {
    case 'stopped':
      return type.standing.stopped === true;
    case 'running':
      return (type.running ?? []).length > 0;
  }
  return true;
}

export function JobTypes({ params }: { params: URLSearchParams }) {
  const found = useGet<JobTypeList>('/job-types?limit=1000');
  const text = params.get('name') ?? '';
  const state = params.get('state') ?? '';
  return (
    <Page
      title="Job types"
      actions={
        <>
          <a class="button" href={href('plan')}>
            Plan and apply
          </a>
          <a class="button" href={href('submit')}>
            Submit jobs
          </a>
        </>
      }
    >
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="choice">
          Name, handler or lane
          <input type="search" value={text} onInput={(event) => setParams({ name: event.currentTarget.value })} />
        </label>
        <Choice
          label="State"
          value={state}
          of={[
            ['', 'all'],
            ['running', 'running'],
            ['stopped', 'paused, disabled or faulty'],
          ]}
          set={(value) => setParams({ state: value })}
        />
      </form>
      <Loaded of={found} what="Job types">
        {({ job_types }) => (
          <Rows
            label="Job types"
            rows={job_types.filter((type) => matches(type, text, state))}
            id={(type) => type.name}
            empty={
              job_types.length === 0 ? (
                <>
                  No job type is applied yet. Run{' '}
                  <code>roundsman apply --config roundsman.yaml</code>.
                </>
              ) : (
                'No job type matches these filters.'
              )
            }
            columns={[
              { name: 'Job type', show: (type) => <a href={href('job-types', type.name)}>{type.name}</a>, wide: true },
              { name: 'State', show: jobTypeState, width: '5.5rem' },
              { name: 'When', show: (type) => <span title={type.times}>{type.times}</span>, width: '15rem', optional: true },
              { name: 'Next', show: (type) => <Time at={type.next?.[0]} />, width: '7.75rem' },
              { name: 'Last runs', show: lastRuns, width: '15rem', optional: true },
              { name: 'Handler', show: (type) => type.spec.handler, optional: true },
              { name: 'Lane', show: (type) => type.spec.lane, optional: true, width: '6rem' },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}

// strip returns the runs of a job type in the API's answer, the newest last.
export const strip = (type: JobType): Past[] =>
  (type.recent ?? [])
    .slice(0, 30)
    .reverse()
    .map((run) => ({
      word: (run.outcome || run.status || 'started').toLowerCase(),
      took: run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : 0,
    }));

function lastRuns(type: JobType) {
  const last = type.recent?.[0];
  if (!last) return <span class="faint">none yet</span>;
  return (
    <a href={runHref(last.workflow_id)} title={exact(last.started_at)}>
      <Strip runs={strip(type)} label={`Last runs of ${type.name}`} />
    </a>
  );
}
