import type { ComponentChildren } from 'preact';
import { type Act, Action } from '../action';
import { forgive, reEnable } from '../acts/admission';
import { backfill, detect, pauseJobType, resumeJobType, runJobType } from '../acts/jobtypes';
import { segment } from '../api';
import { useGet } from '../data';
import { isFailure } from '../design/state';
import { Because, useOwn, Why } from '../explain';
import { later } from '../later';
import { RunName, Said } from '../names';
import { href } from '../route';
import { duration, place, span, Time, Took, useZone } from '../time';
import { fine } from '../timeline/layout';
import type { Backfilled, Calendar, Holds, JobType, Reason, RunRef, ShownJobType } from '../types';
import { AwaitedCause, Empty, Facts, type Head, Loaded, Page, Section, State, Table, useOneColumn } from '../ui';
import { plural, upper } from '../words';
import { WhoChanged } from './changes';
import './jobtype.css';

const History = later<{ name: string; learned: number }>(() => import('../timeline/history').then((m) => m.History), false, 380);
const TypeTicks = later(() => import('../timeline/ticks').then((m) => m.TypeTicks));

const Settings = later<{ type: ShownJobType }>(() => import('../settings/settings').then((m) => m.Settings));

const path = (name: string) => `/job-types/${segment(name)}`;

export function JobTypePage({ name }: { name: string }) {
  const found = useGet<ShownJobType>(path(name));
  const code = found.data?.standing.code;
  // A key that is held back has the code of its job type. NO_WORKER has the handler as its object.
  const { own, isPending } = useOwn(name, (reason) => reason.code === code && (reason.object === name || code === 'NO_WORKER'));
  const one = useOneColumn();
  const acts = found.data ? actsOf(found.data) : [];
  const cause = code !== undefined && isPending ? <AwaitedCause /> : own && <Because reason={own} name={name} acts={acts} />;
  return (
    <Page title={name} crumbs={[['Job types', href('job-types')]]} head={found.data && headOf(found.data, own, cause)} actions={found.data && <Actions name={name} acts={acts} />}>
      <Loaded of={found} what={`Job type ${name}`}>
        {(type) => (
          <>
          <div class="cols">
            <div class="stack">
              {type.spec.description && (type.standing.detail || failedOf(type)) && <p class="lead">{type.spec.description}</p>}
              <Why thing={name} title={(type.running ?? []).length > 0 ? 'What its run waits for' : 'Why it does not run'} but={own} />
              {type.runs.length > 0 && <History name={name} learned={duration(type.learned.p95)} />}
              <TypeTicks name={name} />
              <Recent type={type} />
              <Held name={name} />
              {!one && <Settings type={type} />}
            </div>
            <div class="stack">
              <Next type={type} />
              <Section title="Facts">
                <Facts
                  of={[
                    ['Handler', <code key="handler">{type.spec.handler}</code>],
                    ['Lane', type.spec.lane && <a href={`${href('locks')}?lane=${segment(type.spec.lane)}`}>{type.spec.lane}</a>],
                    ['Job takes', learned(type.learned)],
                    ['Ticks', type.counts && ticks(type.counts)],
                  ]}
                />
              </Section>
              <Windows type={type} />
              <WhoChanged of={{ job_type: name }} />
            </div>
          </div>
          {one && <Settings type={type} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const mostNext = 5;

function Next({ type }: { type: ShownJobType }) {
  const next = (type.next ?? []).slice(0, mostNext);
  return (
    <Section title={next.length === mostNext ? 'Next five' : 'Next'} note={place(useZone())}>
      {next.length === 0 ? (
        <Empty>{type.times ? 'Nothing is due.' : 'It has no schedule.'}</Empty>
      ) : (
        <ol class="instants" aria-label="When it is due">
          {next.map((at) => (
            <li key={at}>
              <strong>
                <Time at={at} relative={false} />
              </strong>
              <Time at={at} />
            </li>
          ))}
        </ol>
      )}
      {type.times && <p class="fold2">{type.times}</p>}
    </Section>
  );
}

function learned({ p95, of }: { p95?: string; of: number }): string {
  if (p95) return `95 of 100 within ${fine(duration(p95))}, of the last ${of}`;
  return of > 0 ? `not learned yet: ${of} of 20 jobs` : 'no job has completed yet';
}

const ticks = ({ started, skipped, missed }: NonNullable<ShownJobType['counts']>) =>
  [`${started} started`, skipped > 0 && `${skipped} skipped because one was open`, missed > 0 && `${missed} missed`].filter(Boolean).join(', ');

// failedOf is the last run if it failed.
const failedOf = ({ runs: [last] }: ShownJobType) => (last && !last.standing.open && isFailure(last.standing.role) ? last : undefined);

// headOf has the reason of the explanation as its cause, or the detail of the state, or the cause of a last run that failed.
function headOf(type: ShownJobType, own: Reason | undefined, cause: ComponentChildren): Head {
  const { state, detail, quoted, until } = type.standing;
  const since = own?.since ?? type.standing.since;
  const next = type.next?.[0];
  const failed = failedOf(type);
  return {
    state: { word: state },
    age: since ? (
      <Time at={since} />
    ) : (
      <>
        {failed && (
          <>
            last run <State word={failed.standing.state} role={failed.standing.role} /> <Time at={failed.ended_at ?? failed.started_at} />
            {next && ' · '}
          </>
        )}
        {next && (
          <>
            due <Time at={next} />
          </>
        )}
      </>
    ),
    cause: cause || (detail ? (
      <>
        <Said text={quoted ? detail : upper(detail)} />
        {until && (
          <>
            {' '}
            Until <Time at={until} relative={false} />.
          </>
        )}
      </>
    ) : failed?.top_failure ? (
      <>The last run: {failed.top_failure.message}</>
    ) : failed?.standing.cause ? (
      <>
        The last run: <Said text={failed.standing.cause} runs={failed.standing.runs} />
      </>
    ) : (
      type.spec.description
    )),
  };
}

// actsOf offers no Resume for a job type that the configuration disables.
const actsOf = ({ name, paused, disabled_by_config, window }: JobType): Act[] => [
  ...(paused && !disabled_by_config ? [resumeJobType(name)] : []),
  { ...runJobType(name, paused, window?.open === false), done: started },
  ...(paused ? [] : [pauseJobType(name)]),
  { ...detect(name), done: started },
];

function Actions({ name, acts }: { name: string; acts: Act[] }) {
  return (
    <>
      {acts.map((act) => (
        <Action key={act.label} {...act} />
      ))}
      <a class="button" href={href('submit', name)}>
        Submit a job
      </a>
      <Action {...backfill(name)} done={(answer) => `${(answer as Backfilled).runs} runs start one after the other.`} />
    </>
  );
}

function started(answer: unknown) {
  const { workflow_id } = answer as RunRef;
  return workflow_id ? (
    <p>
      Started: <RunName id={workflow_id} />
    </p>
  ) : (
    <p>It starts when the run that is open has ended.</p>
  );
}

function Recent({ type }: { type: ShownJobType }) {
  return (
    <Section title="What started its runs" note={<a href={`${href('calendar')}?type=${segment(type.name)}&view=past`}>each scheduled instant</a>}>
      <Table
        label={`Last runs of ${type.name}`}
        stacked
        rows={type.runs}
        id={(run) => run.workflow_id}
        empty="It has not run yet: wait until it is due, or run it now."
        columns={[
          { name: 'Run', show: (run) => <RunName id={run.workflow_id} />, wide: true },
          { name: 'State', show: ({ standing }) => <State word={standing.state} role={standing.role} /> },
          { name: 'Started by', show: (run) => run.started_by, wide: true },
          { name: 'Started', show: (run) => <Time at={run.started_at} /> },
          { name: 'Late by', show: (run) => (run.due_at ? span(Math.max(Date.parse(run.started_at) - Date.parse(run.due_at), 0)) : none), number: true, optional: true },
          { name: 'Took', show: (run) => (run.ended_at ? <Took from={run.started_at} to={run.ended_at} /> : none), number: true },
        ]}
      />
    </Section>
  );
}

const none = <span class="faint">–</span>;

function Windows({ type }: { type: JobType }) {
  const w = type.window;
  if (!w) {
    return (
      <Section title="Windows">
        <Empty>It may run at any time.</Empty>
      </Section>
    );
  }
  return (
    <Section title="Windows" note={<State word={w.open ? 'open' : 'closed'} role={w.open ? 'done' : 'plan'} />}>
      <Facts
        of={[
          ['Because', w.closed],
          [
            w.open ? 'Closes' : 'Opens',
            w.until ? (
              <>
                <Time at={w.until} /> (<Time at={w.until} relative={false} />)
              </>
            ) : (
              'not within 400 days'
            ),
          ],
          ['Fault', w.fault],
          ['Windows', list(type.spec.calendar)],
          ["The lane's", list(type.spec.lane_calendar)],
        ]}
      />
    </Section>
  );
}

function list(calendar: Calendar | undefined): string {
  const text = (w: { days?: string[] | null; from: string; to: string; timezone?: string; note?: string }) =>
    `${w.days ? `${w.days.join(', ')} ` : ''}${w.from}–${w.to} ${w.timezone ?? 'UTC'}${w.note ? ` (${w.note})` : ''}`;
  return [...(calendar?.windows ?? []).map(text), ...(calendar?.blackouts ?? []).map((b) => `not ${text(b)}`)].join('; ');
}

function Held({ name }: { name: string }) {
  const held = useGet<Holds>(`${path(name)}/keys`);
  return (
    <Section title="Held back" note={held.data && held.data.total > 0 ? plural(held.data.total, 'key') : undefined}>
      <Loaded of={held} what="What is held back">
        {({ holds }) => (
          <Table
            label={`Keys of ${name} that are held back`}
            stacked
            rows={holds ?? []}
            id={(hold) => `${hold.dedupe_key}${hold.code}`}
            empty="Nothing is held back: no key was disabled by the retry budget, and none was marked as done."
            columns={[
              { name: 'Key', show: (hold) => hold.dedupe_key ?? 'the whole job type', wide: true },
              { name: 'Because', show: (hold) => <code>{hold.code}</code> },
              { name: 'Until', show: (hold) => <Time at={hold.until} relative={false} /> },
              { name: 'Failures', show: (hold) => hold.failures, number: true },
              { name: 'Last error', show: (hold) => hold.last_error, wide: true, optional: true, full: true },
              {
                name: 'Remedy',
                show: (hold) =>
                  hold.dedupe_key ? <Action {...forgive(name, hold.dedupe_key)} small /> : <Action {...reEnable(name, '')} small />,
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}
