// Submit jobs: run a job of a job type now, without a detection. The form is the
// handler's own.
import { useState } from 'preact/hooks';
import { type Act, Action } from '../action';
import { quote, segment } from '../api';
import { useGet } from '../data';
import { SchemaForm } from '../form';
import { go, href, runHref } from '../route';
import type { Handler, HandlerList, JobType, JobTypeList, Schema, Submitted } from '../types';
import { Choice, Empty, Loaded, Page, plural, Section } from '../ui';

interface Form {
  key: string;
  summary: string;
  priority: string;
  node: string;
  params: Record<string, unknown>;
  ignore: boolean;
}

const blank: Form = { key: '', summary: '', priority: '', node: '', params: {}, ignore: false };

// kept are the forms that were not sent yet, by job type.
const kept = new Map<string, Form>();

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
  const set = (changes: Partial<Form>) => {
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
        <Action {...submit(type.name, form)} />
      </div>
      <Section title="How it runs">
        <p>
          As {type.spec.handler ?? 'a DAG'}, with lane, dedupe keys, limits and retries of <a href={href('job-types', type.name)}>{type.name}</a>. It does not count as a run of its Schedule.
        </p>
      </Section>
    </>
  );
}

function submit(name: string, form: Form): Act {
  const params = Object.fromEntries(Object.entries(form.params).filter(([, value]) => value !== undefined && value !== ''));
  const some = Object.keys(params).length > 0;
  const proposal = {
    ...(form.key && { dedupe_key: form.key }),
    ...(form.summary && { summary: form.summary }),
    ...(form.priority && { priority: form.priority }),
    ...(form.node && { node: form.node }),
    ...(some && { params }),
  };
  const flags = [
    some && `--params ${quote(JSON.stringify(params))}`,
    form.key && `--key ${quote(form.key)}`,
    form.summary && `--summary ${quote(form.summary)}`,
    form.priority && `--priority ${form.priority}`,
    form.node && `--node ${quote(form.node)}`,
    form.ignore && '--ignore-window',
  ].filter(Boolean);
  return {
    label: 'Submit',
    title: `Run a job of ${name} now?`,
    effect: 'It runs in a run of its own, through everything that detected jobs go through.',
    request: () => ({
      method: 'POST',
      path: `/job-types/${segment(name)}/submissions`,
      body: { proposals: [proposal], ...(form.ignore && { ignore_window: true }) },
    }),
    roundsman: () => `roundsman jobs submit --type ${name} ${flags.join(' ')}`.trim(),
    done: (answer) => {
      const { workflow_id, jobs } = answer as Submitted;
      kept.delete(name);
      return (
        <p>
          Submitted {plural(jobs, 'job')}: <a href={runHref(workflow_id)}>{workflow_id}</a>
        </p>
      );
    },
  };
}
