// Submit a job of a job type without a detection. The form comes from the handler.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Act, ask } from '../action';
import { type Submission, submit } from '../acts/jobtypes';
import { quote } from '../api';
import { useGet } from '../data';
import { sentDraft, useDraft } from '../draft';
import { SchemaForm } from '../form';
import { RunName } from '../names';
import { go, href } from '../route';
import { Rows } from '../table/rows';
import { Whole } from '../table/text';
import { duration, span } from '../time';
import type { Handler, HandlerList, JobType, JobTypeList, Schema, SubmittedJobs } from '../types';
import { Facts, Filters, Json, Loaded, Page, Section } from '../ui';
import { plural } from '../words';
import { jobTypeState } from './jobtypes';
import './submit.css';

const blank: Submission = { key: '', summary: '', priority: '', node: '', params: {}, ignore: false };

export function SubmitPage({ name }: { name: string }) {
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const handlers = useGet<HandlerList>('/handlers?limit=1000');
  const type = types.data?.job_types.find((one) => one.name === name);
  return (
    <Page
      title={name === '' ? 'Submit jobs' : `Submit a job of ${name}`}
      crumbs={[['Job types', href('job-types')], ...(name === '' ? [] : [[name, href('job-types', name)] as [string, string]])]}
      head={type ? { state: { word: type.standing.state }, cause: type.spec.description } : { cause: 'Choose a job type. A job runs with its applied settings.' }}
    >
      <Loaded of={types} what="Job types">
        {({ job_types }) => {
          const which = (
            <div class="field">
              <label for="job-type">Job type</label>
              <select id="job-type" value={name} onChange={(event) => go(href('submit', ...(event.currentTarget.value === '' ? [] : [event.currentTarget.value])))}>
                <option value="">choose one</option>
                {job_types.map((one) => (
                  <option key={one.name}>{one.name}</option>
                ))}
              </select>
            </div>
          );
          return type ? (
            <OneJob type={type} which={which} handler={handlers.data?.handlers.find((h) => h.name === type.spec.handler)} />
          ) : (
            <Choose of={job_types} missing={name} />
          );
        }}
      </Loaded>
    </Page>
  );
}

// Choose lists all job types. A name opens its form.
function Choose({ of, missing }: { of: JobType[]; missing: string }) {
  const [text, setText] = useState('');
  const found = of.filter(({ name, spec }) => `${name} ${spec.description ?? ''} ${spec.handler ?? ''}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      {missing !== '' && <p class="failure">There is no job type {missing}: choose another one.</p>}
      <Rows
        label="Job types"
        rows={found}
        id={({ name }) => name}
        tools={
          <Filters set={false}>
            <label class="choice">
              Name, purpose or handler
              <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
            </label>
          </Filters>
        }
        note={plural(found.length, 'job type')}
        empty={of.length === 0 ? 'No job type is applied yet.' : `None of ${plural(of.length, 'job type')} has ${text}.`}
        columns={[
          { name: 'Job type', show: ({ name }) => <a href={href('submit', name)}>{name}</a> },
          { name: 'State', show: jobTypeState, second: true },
          { name: 'What it does', show: ({ spec }) => <Whole of={spec.description ?? ''} />, wide: true, second: true },
          { name: 'Handler', show: ({ spec }) => spec.handler ?? 'a DAG', optional: true, full: true },
          { name: 'Lane', show: ({ spec }) => spec.lane, optional: true, full: true },
        ]}
      />
    </>
  );
}

function OneJob({ type, which, handler }: { type: JobType; which: ComponentChildren; handler: Handler | undefined }) {
  const draft = `submit.${type.name}`;
  const [form = blank, setForm] = useDraft<Submission>(draft);
  const [discarded, setDiscarded] = useState(0);
  const fields = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (discarded > 0) fields.current?.querySelector('select')?.focus(); // The button is gone.
  }, [discarded]);
  const set = (changes: Partial<Submission>) => setForm({ ...form, ...changes });
  const text = (name: 'key' | 'summary' | 'node', label: string, hint: string) => (
    <div class="field">
      <label for={name}>{label}</label>
      <input id={name} value={form[name]} autocomplete="off" aria-describedby={`${name}-hint`} onInput={(e) => set({ [name]: e.currentTarget.value })} />
      <small id={`${name}-hint`}>{hint}</small>
    </div>
  );
  const { policy, lane, labels, resources, job_resources } = type.spec;
  const execute = type.spec.execute as { command?: string[] } | undefined;
  const closed = type.window && !type.window.open;
  const schema = handler?.params as Schema | undefined; // The job type has the required ones.
  const act: Act = {
    ...submit(type.name, form),
    done: (answer) => {
      sentDraft(draft, form);
      return <Submitted of={answer as SubmittedJobs} />;
    },
  };
  return (
    <div class="cols">
      <div class="stack">
        <Section title="The job" note="empty fields have the values of the job type">
          <form
            key={discarded}
            ref={fields}
            class="submit"
            onSubmit={(event) => {
              event.preventDefault();
              ask(act); // The browser has checked the fields.
            }}
          >
            {which}
            <div class="field">
              <label for="priority">Priority</label>
              <select id="priority" value={form.priority} onChange={(event) => set({ priority: event.currentTarget.value })}>
                <option value="">normal</option>
                {['low', 'high', 'critical'].map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </div>
            <SchemaForm legend="Params" schema={schema && { ...schema, required: [] }} value={form.params} set={(params) => set({ params })} />
            {text('key', 'Dedupe key', 'The job does not run next to another one with this key. Empty: it always runs.')}
            {text('node', 'Only on worker', 'Empty: wherever there is room.')}
            {text('summary', 'Summary', 'One line for others.')}
            {closed && (
              <label class="tick">
                <input type="checkbox" checked={form.ignore} onChange={(e) => set({ ignore: e.currentTarget.checked })} /> Although its window is closed
              </label>
            )}
            <div class="actions">
              <button type="submit" class="primary">
                {act.label}
              </button>
              {form !== blank && (
                <button
                  type="button"
                  onClick={() => {
                    setForm(undefined);
                    setDiscarded(discarded + 1); // A text of JSON is that of its element.
                  }}
                >
                  Discard
                </button>
              )}
              <small>The server checks all of it first.</small>
            </div>
          </form>
        </Section>
      </div>
      <div class="stack">
        <Section title="How it runs">
          <Facts
            of={[
              ['Job type', <a key="type" href={href('job-types', type.name)}>{type.name}</a>],
              ['Handler', type.spec.handler ?? 'a DAG'],
              ['Runs on', Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`).join(', ')],
              ['Lane', lane && <a href={`${href('locks')}?lane=${encodeURIComponent(lane)}`}>{lane}</a>],
              ['Pools', Object.entries({ ...resources, ...job_resources }).map(([name, n]) => `${n} of ${name}`).join(', ')],
              ['Timeout', policy?.execution_timeout && span(duration(policy.execution_timeout))],
              ['Retries', policy?.retry_limit],
              ['Window', type.window && (closed ? 'closed now' : 'open now')],
            ]}
          />
          <p class="note">It does not count as a run of its schedule.</p>
        </Section>
        {execute !== undefined && (
          <Section title="What it executes" note="with the params of the job">
            {Array.isArray(execute.command) ? <pre tabIndex={0}>{execute.command.map(quote).join(' ')}</pre> : <Json of={execute} />}
          </Section>
        )}
      </div>
    </div>
  );
}

function Submitted({ of }: { of: SubmittedJobs }) {
  return (
    <p>
      Submitted {plural(of.jobs, 'job')}: <RunName id={of.workflow_id} />
    </p>
  );
}
