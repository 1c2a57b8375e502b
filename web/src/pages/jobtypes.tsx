import { useGet } from '../data';
import { isFailure, roleOf, spoken } from '../design/state';
import { Prose } from '../names';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { Middle, Whole } from '../table/text';
import { Time } from '../time';
import { LastRuns, Strips } from '../timeline/strips';
import type { JobType, JobTypeList } from '../types';
import { Choice, Filters, type Head, Loaded, Page, State } from '../ui';
import { actsOnJobType } from '../verbs';
import { plural } from '../words';
import { NoMatch } from './none';

export function jobTypeState({ standing }: JobType) {
  return <State word={standing.state} title={standing.detail} />;
}

const odd = ['failed', 'person', 'paused'];
const oddness = ({ standing }: JobType) => odd.indexOf(roleOf(standing.state) ?? '');
const mostNamed = 3;

// Standing follows a name.
const Standing = ({ of: { state, detail } }: { of: JobType['standing'] }) => (
  <>
    {state !== 'no_worker' && ` is ${spoken(state)}`}
    {detail && <>: <Prose text={detail} /></>}
  </>
);

// headOf names the job types that do not run by themselves, the worst first.
function headOf(types: JobType[]): Head {
  const stand = types.filter((type) => oddness(type) >= 0).sort((a, b) => oddness(a) - oddness(b));
  const state = stand[0]?.standing.state;
  const [run = 0, wait = 0] = ['running', 'waiting'].map((word) => types.filter((type) => type.standing.state === word).length);
  return {
    state: state ? { word: `${stand.filter((type) => type.standing.state === state).length.toLocaleString('en')} ${spoken(state)}`, role: roleOf(state) } : types.length > 0 ? { word: 'none stopped', role: 'done' } : undefined,
    age: `${run.toLocaleString('en')} of ${types.length.toLocaleString('en')} ${run === 1 ? 'runs' : 'run'}${wait > 0 ? `, ${wait.toLocaleString('en')} ${wait === 1 ? 'waits' : 'wait'}` : ''}`,
    cause: stand.length > 0 && (
      <>
        {stand.slice(0, mostNamed).map(({ name, standing }, i) => (
          <span key={name}>
            {i > 0 && '; '}
            <strong>{name}</strong>
            <Standing of={standing} />
          </span>
        ))}
        {stand.length > mostNamed && `; ${stand.length - mostNamed} more`}.
      </>
    ),
  };
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

const states = new Map([
  ['running', 'running or waiting'],
  ['stopped', 'paused, disabled or faulty'],
]);

export function JobTypes({ params }: { params: URLSearchParams }) {
  const found = useGet<JobTypeList>('/job-types?limit=1000');
  const text = params.get('name') ?? '';
  const state = params.get('state') ?? '';
  const by = params.get('sort') ?? '';
  const tools = (
    <Filters set={state !== ''}>
      <label class="choice">
        Name, handler or lane
        <input type="search" value={text} onInput={(event) => setParams({ name: event.currentTarget.value })} />
      </label>
      <Choice
        label="State"
        value={state}
        of={[['', 'all'], ...states]}
        set={(value) => setParams({ state: value })}
      />
    </Filters>
  );
  return (
    <Page
      title="Job types"
      head={found.data && headOf(found.data.job_types)}
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
      <Loaded of={found} what="Job types">
        {({ job_types, next, total }) => (
          <Strips.Provider value={job_types.map((type) => type.name)}>
            <Rows
              label="Job types"
              rows={job_types.filter((type) => matches(type, text, state))}
              id={(type) => type.name}
              tools={tools}
              note={next ? `the first ${job_types.length.toLocaleString('en')} of ${total.toLocaleString('en')} are shown and sorted` : plural(job_types.filter((type) => matches(type, text, state)).length, 'job type')}
              sorting={{ by, set: (sort) => setParams({ sort }) }}
              pick={{
                of: `${text} ${state}`,
                part: Boolean(next),
                noun: 'job type',
                name: (type) => type.name,
                acts: actsOnJobType,
                failed: (type) => isFailure(roleOf(type.recent?.[0]?.outcome ?? '')),
              }}
              empty={
                job_types.length === 0 ? (
                  <>
                    No job type is applied yet. Run{' '}
                    <code>roundsman apply --config roundsman.yaml</code>.
                  </>
                ) : (
                  <NoMatch of={`None of ${plural(job_types.length, 'job type')}`} filters={{ name: ['the name, handler or lane', text], state: ['the state', states.get(state) ?? ''] }} />
                )
              }
              columns={[
                {
                  name: 'Job type',
                  show: (type) => (
                    <a href={href('job-types', type.name)}>
                      <Middle of={type.name} />
                    </a>
                  ),
                  sort: 'name',
                  value: (type) => type.name,
                },
                { name: 'State', show: jobTypeState, sort: 'state', value: (type) => type.standing.state, second: true },
                { name: 'Next', show: (type) => <Time at={type.next?.[0]} />, sort: 'next', value: (type) => Date.parse(type.next?.[0] ?? ''), second: true },
                { name: 'Last runs', show: (type) => <LastRuns name={type.name} />, width: '16rem', optional: true, sort: 'last', value: (type) => Date.parse(type.recent?.[0]?.started_at ?? '') },
                { name: 'When', show: (type) => <Whole of={type.times} />, wide: true, optional: true, second: true },
                { name: 'Handler', show: (type) => type.spec.handler, optional: true, width: '10rem', sort: 'handler', value: (type) => type.spec.handler },
                { name: 'Lane', show: (type) => type.spec.lane, optional: true, width: '10rem', sort: 'lane', value: (type) => type.spec.lane },
              ]}
            />
          </Strips.Provider>
        )}
      </Loaded>
    </Page>
  );
}
