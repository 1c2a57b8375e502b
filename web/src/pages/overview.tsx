// What an operator wants to know at 3 a.m.: is everything there, what is wrong, what
// comes next.
import { useGet } from '../data';
import { Prose, ReasonLine } from '../explain';
import { href, runHref } from '../route';
import { stateOfRun } from '../runs';
import { Time } from '../time';
import type { Doctor as DoctorReport, Forecast, JobTypeList, Needs, RunList, WorkerList } from '../types';
import { Empty, Loaded, Page, Section, State, Table } from '../ui';
import { plural } from '../words';
import { jobTypeState } from './jobtypes';

export function Overview() {
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const workers = useGet<WorkerList>('/workers?limit=1000&loads=false');
  const needs = useGet<Needs>('/needs');
  const doctor = useGet<DoctorReport>('/doctor');
  const forecast = useGet<Forecast>('/forecast?days=1&limit=8');
  const open = useGet<RunList>('/runs?running=true&counts=true&limit=50');
  const ended = useGet<RunList>('/runs?outcome=failed%2Ctimeout%2Cpartial&limit=5');
  const wrong = (doctor.data?.checks ?? []).filter((check) => check.verdict !== 'ok' && check.name !== 'needs a person');
  const away = (workers.data?.workers ?? []).filter((worker) => worker.state !== 'ONLINE');
  const stopped = (types.data?.job_types ?? []).filter((type) => type.paused || type.held_back || type.fault);
  const running = open.data?.runs ?? [];
  return (
    <Page title="Overview">
      <div class="tiles">
        <Tile
          label="Job types"
          value={types.data?.total}
          address={href('job-types')}
          note={stopped.length > 0 ? `${stopped.length} stopped` : 'none stopped'}
          tone={stopped.length > 0 ? 'odd' : 'good'}
        />
        <Tile
          label="Runs now"
          value={open.data && (open.data.next ? `${running.length}+` : running.length)}
          address={`${href('runs')}?state=running`}
          note={`${running.filter((run) => run.kind === 'dag').length} of DAGs`}
          tone="plain"
        />
        <Tile
          label="Workers"
          value={workers.data?.total}
          address={href('workers')}
          note={away.length > 0 ? `${away.length} not online` : 'all online'}
          tone={away.length > 0 ? 'odd' : 'good'}
        />
        <Tile
          label="Checks"
          value={doctor.data?.checks.length}
          address={href('doctor')}
          note={wrong.length > 0 ? `${wrong.length} to look at` : 'all well'}
          tone={wrong.some((check) => check.verdict === 'fail') ? 'bad' : wrong.length > 0 ? 'odd' : 'good'}
        />
      </div>
      {(needs.data?.needs ?? []).length > 0 && (
        <Section title="Needs a person" note={plural(needs.data?.total ?? 0, 'thing')}>
          <ul class="reasons">
            {needs.data?.needs.map((need) => (
              <li key={`${need.code}${need.name}${need.of}${need.object}`}>
                <ReasonLine reason={need} thing={{ name: need.name }} named />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {wrong.length > 0 && (
        <Section title="To look at">
          <ul class="reasons">
            {wrong.map((check) => (
              <li key={check.name}>
                <State word={check.verdict} /> <strong>{check.name}</strong>: {check.found}
                {check.fix && (
                  <p class="remedy">
                    <Prose text={check.fix} />
                  </p>
                )}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Running now">
        <Loaded of={open} what="Runs">
          {() => (
            <Table
              label="Runs that are open"
              rows={running.slice(0, 10)}
              id={(run) => run.workflow_id}
              empty={
                <>
                  Nothing runs. A job type can be started from <a href={href('job-types')}>its page</a>.
                </>
              }
              columns={[
                { name: 'Run', show: (run) => <a href={runHref(run.workflow_id)}>{run.workflow_id}</a>, wide: true },
                { name: 'Ended', show: (run) => run.progress && `${run.progress.ended} of ${run.progress.total}`, number: true },
                { name: 'Failed', show: (run) => run.progress?.failed || <span class="faint">–</span>, number: true },
                { name: 'Started', show: (run) => <Time at={run.started_at} />, optional: true },
              ]}
            />
          )}
        </Loaded>
        {(running.length > 10 || open.data?.next) && (
          <p class="note">
            The newest ten. <a href={`${href('runs')}?state=running`}>All of them</a>
          </p>
        )}
      </Section>
      {(ended.data?.runs ?? []).length > 0 && (
        <Section title="Failed last" note={<a href={`${href('runs')}?state=failed,timeout,partial`}>all that are kept</a>}>
          <Table
            label="Runs that failed last"
            rows={ended.data?.runs ?? []}
            id={(run) => `${run.workflow_id} ${run.run_id}`}
            empty=""
            columns={[
              { name: 'Run', show: (run) => <a href={runHref(run.workflow_id)}>{run.workflow_id}</a>, wide: true },
              { name: 'Outcome', show: (run) => <State word={stateOfRun(run)} /> },
              { name: 'Ended', show: (run) => <Time at={run.ended_at} /> },
            ]}
          />
        </Section>
      )}
      {stopped.length > 0 && (
        <Section title="Stopped job types" note={plural(stopped.length, 'job type')}>
          <Table
            label="Job types that are stopped"
            rows={stopped}
            id={(type) => type.name}
            empty=""
            columns={[
              { name: 'Job type', show: (type) => <a href={href('job-types', type.name)}>{type.name}</a> },
              { name: 'State', show: (type) => jobTypeState(type) },
              { name: 'Why', show: (type) => type.fault ?? type.pause_note ?? type.held_back?.last_error, wide: true },
            ]}
          />
        </Section>
      )}
      <Section title="Next" note={<a href={href('calendar')}>calendar</a>}>
        <Loaded of={forecast} what="The forecast">
          {(found) => (
            <Table
              label="What is due next"
              rows={found.ticks}
              id={(tick) => `${tick.job_type}${tick.at}`}
              empty={<Empty>Nothing is due within a day.</Empty>}
              columns={[
                { name: 'Due', show: (tick) => <Time at={tick.at} /> },
                { name: 'Job type', show: (tick) => <a href={href('job-types', tick.job_type)}>{tick.job_type}</a> },
                {
                  name: 'Will',
                  show: (tick) =>
                    tick.state === 'runs' ? (
                      <>
                        run at <Time at={tick.begins_at} relative={false} />
                      </>
                    ) : (
                      <State word="skipped" />
                    ),
                  wide: true,
                },
                { name: 'Because', show: (tick) => tick.code && <code>{tick.code}</code>, wide: true, optional: true },
              ]}
            />
          )}
        </Loaded>
      </Section>
    </Page>
  );
}

function Tile({
  label,
  value,
  note,
  address,
  tone,
}: {
  label: string;
  value: number | string | undefined;
  note: string;
  address: string;
  tone: string;
}) {
  return (
    <a class={`tile ${tone}`} href={address}>
      <span class="label">{label}</span>
      <span class="value">{value ?? '…'}</span>
      <span class="note">{value === undefined ? ' ' : note}</span>
    </a>
  );
}
