import { type Act, Action } from '../action';
import { cordon, drain, removeWorker, resizeWorker, uncordon } from '../acts/workers';
import { segment } from '../api';
import { useGet } from '../data';
import { Because, useOwn, Why } from '../explain';
import { later } from '../later';
import { Cited, Prose, RunName } from '../names';
import { href, runHref } from '../route';
import { itemHref } from '../runs';
import { duration, span, Time, Took } from '../time';
import type { MayReboot, Worker } from '../types';
import { Awaited, Empty, Facts, type Head, Loaded, Page, Section, State, Table } from '../ui';
import { plural, upper } from '../words';
import { WhoChanged } from './changes';
import { SlotsOverTime } from './usage';
import { Slots } from './workers';

const WorkerTimeline = later(() => import('../timeline/worker').then((m) => m.WorkerTimeline), false, 160);

const path = (id: string) => `/workers/${segment(id)}`;

export function WorkerPage({ id }: { id: string }) {
  const found = useGet<Worker>(path(id));
  const { own, isPending } = useOwn(id, (reason) => reason.object === id);
  const acts = found.data ? actsOf(found.data) : [];
  const head: Head | undefined = found.data && {
    state: { word: found.data.state },
    age: <Time at={own?.since ?? found.data.since} />,
    cause: isPending ? <Awaited /> : own && <Because reason={own} name={id} acts={acts} />,
  };
  return (
    <Page title={id} crumbs={[['Workers', href('workers')]]} head={head} actions={found.data && acts.map((act) => <Action key={act.label} {...act} />)}>
      <Loaded of={found} what={`Worker ${id}`}>
        {(worker) => (
          <div class="cols">
            <div class="stack">
              <Why thing={id} title="Why it gets no work" but={own} />
              <Reboot worker={worker} />
              <Jobs worker={worker} away={own?.code === 'WORKER_UNREACHABLE'} />
              <WorkerTimeline id={id} />
              <SlotsOverTime id={id} />
              <History worker={worker} />
              <WhoChanged of={{ of: `worker/${id}` }} />
            </div>
            <div class="stack">
              <Section title="Facts">
                <Facts
                  of={[
                    ['Jobs', <Slots key="slots" worker={worker} />],
                    ['Detections', worker.report && `${worker.report.detecting} of ${worker.report.caps.max_detect}`],
                    ['Host', `${worker.registration.host}, process ${worker.registration.pid}`],
                    [
                      'Labels',
                      Object.entries(worker.registration.labels ?? {})
                        .map(([name, value]) => `${name}=${value}`)
                        .join(', '),
                    ],
                    ['Version', worker.registration.version],
                    ['Only for', (worker.registration.job_types ?? []).join(', ')],
                    ['Clock', worker.skew && `${span(duration(worker.skew))} ahead`],
                    ['Undelivered', worker.report?.undelivered ? `${worker.report.undelivered} outcomes` : ''],
                  ]}
                />
              </Section>
              <Handlers of={worker.registration.capabilities ?? []} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

type Capability = NonNullable<Worker['registration']['capabilities']>[number];

const does = (c: Capability) => `${[c.detect && 'detect', c.execute && 'execute'].filter(Boolean).join(' and ')}${c.max_execute ? `, at most ${c.max_execute} at once` : ''}`;

// Handlers has those that do the same in one list.
function Handlers({ of }: { of: Capability[] }) {
  const alike = [...Map.groupBy(of, does)];
  return (
    <Section title="Handlers" note={alike.length === 1 ? alike[0]?.[0] : undefined}>
      {of.length === 0 ? (
        <Empty>It has none: it does nothing.</Empty>
      ) : (
        alike.map(([what, some]) => (
          <div key={what} class="handlers">
            {alike.length > 1 && <h3>{upper(what)}</h3>}
            <ul aria-label={`Handlers that ${what}`}>
              {some.map(({ handler }) => (
                <li key={handler} class="label">
                  {handler}
                </li>
              ))}
            </ul>
          </div>
        ))
      )}
    </Section>
  );
}

type Transition = NonNullable<Worker['transitions']>[number];

function History({ worker }: { worker: Worker }) {
  const rows = [...(worker.transitions ?? [])].reverse();
  return (
    <Section title="History">
      <Table
        label={`Transitions of ${worker.registration.id}`}
        stacked
        rows={rows}
        id={(t) => `${t.at}${t.to}${t.code}`}
        empty="Nothing has changed since it registered."
        columns={[
          { name: 'When', show: (t) => <Time at={t.at} /> },
          ...(rows.some((t) => t.from) ? [{ name: 'From', show: (t: Transition) => t.from && <State word={t.from} />, optional: true }] : []),
          { name: 'To', show: (t) => <State word={t.to} /> },
          { name: 'Why', show: (t) => <Cited text={t.reason ?? ''} code={t.code} />, wide: true },
          ...(rows.some((t) => t.by) ? [{ name: 'By', show: (t: Transition) => t.by }] : []),
        ]}
      />
    </Section>
  );
}

function actsOf({ registration: { id }, mode, caps }: Worker): Act[] {
  return [...(mode ? [uncordon(id)] : [drain(id), cordon(id)]), resizeWorker(id, caps), removeWorker(id)];
}

// The verdict comes from the API.
function Reboot({ worker }: { worker: Worker }) {
  const verdict = useGet<MayReboot>(`${path(worker.registration.id)}/reboot`);
  return (
    <Section title="May I reboot this node?">
      <Loaded of={verdict} what="The verdict" height={64}>
        {(found) => <Answer verdict={found} worker={worker} />}
      </Loaded>
    </Section>
  );
}

const answers: Record<string, [string, string, string]> = {
  FREE: ['Yes.', 'good', 'g-done'],
  DRAIN_FIRST: ['Drain it first.', 'odd', 'g-plan'],
  DRAINING: ['After its jobs.', 'odd', 'g-running'],
  WORK_WAITS: ['Only if work may wait.', 'bad', 'g-person'],
  NOT_KNOWN: ['Not known.', 'unknown', 'g-unknown'],
};

function Answer({ verdict, worker }: { verdict: MayReboot; worker: Worker }) {
  const [text, tone, sign] = answers[verdict.code] ?? [verdict.code, 'unknown', 'g-unknown'];
  const drained = worker.if_drained;
  return (
    <div class={`verdict ${tone}`}>
      <p>
        <strong class={sign}>{text}</strong> <Prose text={upper(verdict.why)} /> <span class="code">{verdict.code}</span>
      </p>
      {verdict.running > 0 && drained && (
        <p>
          {drained.free_at && (
            <>
              A drain is likely to end <Time at={drained.free_at} />.{' '}
            </>
          )}
          {drained.unknown > 0 && `The end of ${plural(drained.unknown, 'job')} is not known.`}
        </p>
      )}
      {!verdict.reported && verdict.attempts.length > 0 && (
        <ul>
          {verdict.attempts.map((attempt) => (
            <li key={`${attempt.run}/${attempt.job}`}>
              <RunName id={attempt.run} item={attempt.job} />
              {attempt.lost ? ', lost, may still run' : ''}
            </li>
          ))}
        </ul>
      )}
      {verdict.alone.length > 0 && (
        <p>
          Nobody else can do now:{' '}
          {verdict.alone.map((type, i) => (
            <span key={type.name}>
              {i > 0 && ', '}
              <a href={href('job-types', type.name)}>{type.name}</a>
              {type.next && (
                <>
                  {' '}
                  (due <Time at={type.next} />)
                </>
              )}
            </span>
          ))}
          . It would wait for {worker.registration.id} to come back.
        </p>
      )}
    </div>
  );
}

// Jobs are those of the report. The header of a worker that is away has the reason why it gives none.
function Jobs({ worker, away }: { worker: Worker; away: boolean }) {
  if (!worker.report) {
    return (
      <Section title="Jobs" note="as open runs have it: its process gives no report">
        {!away && <p class="note">{worker.silent}</p>}
        {worker.unanswered && <p class="note">Not all runs could be asked: {worker.unanswered}</p>}
        <Table
          label={`Items on ${worker.registration.id}`}
          stacked
          rows={worker.items ?? []}
          id={(item) => `${item.run.workflow_id}/${item.id}`}
          empty="No open run has anything there."
          columns={[
            { name: 'Item', show: (item) => <a href={itemHref(item.run.workflow_id, item.id)}>{item.id}</a> },
            { name: 'Run', show: (item) => <RunName id={item.run.workflow_id} />, wide: true },
            { name: 'State', show: (item) => <State word={item.state} /> },
            { name: 'For', show: (item) => <Took from={item.started_at} />, number: true },
          ]}
        />
      </Section>
    );
  }
  const jobs = (worker.report.jobs ?? []).length + (worker.report.omitted ?? 0);
  return (
    <Section title="Jobs" note={jobs > 0 ? jobs.toLocaleString('en') : undefined}>
      <Table
        label={`Jobs on ${worker.registration.id}`}
        stacked
        rows={worker.report.jobs ?? []}
        id={(job) => `${job.group_id}/${job.job_id}`}
        empty="Nothing runs there now."
        columns={[
          { name: 'Job', show: (job) => <a href={`${runHref(job.group_id)}/items/${segment(job.job_id)}`}>{job.job_id}</a> },
          { name: 'Run', show: (job) => <RunName id={job.group_id} />, wide: true },
          { name: 'State', show: (job) => <State word={job.state} /> },
          { name: 'For', show: (job) => <Took from={job.started_at} />, number: true },
          {
            name: 'Progress',
            show: (job) => `${job.percent >= 0 ? `${Math.round(job.percent)} % ` : ''}${job.stage ?? ''} ${job.message ?? ''}`,
            wide: true,
          },
        ]}
      />
    </Section>
  );
}
