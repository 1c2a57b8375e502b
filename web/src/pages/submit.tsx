// Submit a job of a job type without a detection. The form comes from the handler.
import { useState } from 'preact/hooks';
import { Action } from '../action';
import { type Submission, submit } from '../acts/jobtypes';
import { useGet } from '../data';
import { SchemaForm } from '../form';
import { RunName } from '../names';
import { go, href } from '../route';
import type { Handler, HandlerList, JobType, JobTypeList, Schema, SubmittedJobs } from '../types';
import { Choice, Empty, Loaded, Page, Section } from '../ui';
import { plural } from '../words';

const blank: Submission = { key: '', summary: '', priority: '', node: '', params: {}, ignore: false };

// kept holds unsent forms by job type.
const kept = new Map<string, Submission>();

export function SubmitPage({ name }: { name: string }) {
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const handlers = useGet<HandlerList>('/handlers?limit=1000');
  return (
    <Page title={name === '' ? 'Submit jobs' : `Submit a job of ${name}`} crumbs={[['Job types', href('job-types')], ...(name === '' ? [] : [[name, href('job-types', name)] as [string, string]])]}>
      <Loaded of={types} what="Job types">
        {({ job_types }) => {
          const type = job_types.find((one) => one.name === name);
          return (
            <>
              <div class="filters">
                <Choice
                  label="Job type"
                  value={name}
                  of={[['', 'choose one'], ...job_types.map((one): [string, string] => [one.name, one.name])]}
                  set={(next) => go(href('submit', ...(next === '' ? [] : [next])))}
                />
              </div>
              {type ? (
                <OneJob type={type} handler={handlers.data?.handlers.find((h) => h.name === type.spec.handler)} />
              ) : (
                <Empty>{name === '' ? 'A job runs with the applied settings of its job type: choose one.' : `There is no job type ${name}: choose another one.`}</Empty>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function OneJob({ type, handler }: { type: JobType; handler: Handler | undefined }) {
  const [form, setForm] = useState(kept.get(type.name) ?? blank);
  const set = (changes: Partial<Submission>) => {
    const next = { ...form, ...changes };
    kept.set(type.name, next);
    setForm(next);
  };
  const text = (name: 'key' | 'summary' | 'node', label: string, hint: string) => (
    <div class="field">
      <label for={name}>{label}</label>
      <input id={name} value={form[name]} autocomplete="off" aria-describedby={`${name}-hint`} onInput={(e) => set({ [name]: e.currentTarget.value })} />
      <small id={`${name}-hint`}>{hint}</small>
    </div>
  );
  return (
    <>
      <form class="narrow wide-form" onSubmit={(event) => event.preventDefault()}>
        <SchemaForm legend="Params" schema={handler?.params as Schema | undefined} value={form.params} set={(params) => set({ params })} />
        <p class="note">What is left empty is as the job type says. The server checks all of it when it is submitted.</p>
        {text('key', 'Dedupe key', 'The job does not run while another one with this key is at it. Empty: it always runs.')}
        {text('summary', 'Summary', 'One line for others.')}
        {text('node', 'Only on worker', 'Empty: wherever there is room.')}
        <Choice label="Priority" value={form.priority} of={[['', 'normal'], ...['low', 'high', 'critical'].map((p): [string, string] => [p, p])]} set={(priority) => set({ priority })} />
        {type.window && !type.window.open && (
          <div class="field">
            <label for="ignore">Although its window is closed</label>
            <input id="ignore" type="checkbox" checked={form.ignore} onChange={(e) => set({ ignore: e.currentTarget.checked })} />
          </div>
        )}
      </form>
      <div class="actions">
        <Action
          {...submit(type.name, form)}
          done={(answer) => {
            kept.delete(type.name);
            return <Submitted of={answer as SubmittedJobs} />;
          }}
        />
      </div>
      <Section title="How it runs">
        <p>
          As {type.spec.handler ?? 'a DAG'}, with lane, dedupe keys, limits and retries of <a href={href('job-types', type.name)}>{type.name}</a>. It does not count as a run of its Schedule.
        </p>
      </Section>
    </>
  );
}

function Submitted({ of }: { of: SubmittedJobs }) {
  return (
    <p>
      Submitted {plural(of.jobs, 'job')}: <RunName id={of.workflow_id} />
    </p>
  );
}
