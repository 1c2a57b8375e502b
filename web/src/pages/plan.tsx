// Plan and apply: a configuration, its faults at their lines, its changes with later edits by others, dry runs of
// changed job types, and the apply of exactly this plan.
import type { Role } from '../design/state';
import { useRef, useState } from 'preact/hooks';
import { Action } from '../action';
import { apply, detectPlanned } from '../acts/plan';
import { Problem, send } from '../api';
import { href, runHref } from '../route';
import { Time } from '../time';
import type { Applied, Detecting, Plan, PlannedChange } from '../types';
import { Empty, Failure, Page, Section, State, Table } from '../ui';
import { plural } from '../words';

// kept holds the text while another page is shown.
let kept = '';

const example = `version: 1
job_types:
  scrub:
    handler: command
    schedule: {every: 24h}
    detect: {command: [list-disks], format: lines}
    execute: {command: [scrub, "{{.Params.item}}"]}
`;

export function PlanPage() {
  const [text, setText] = useState(kept);
  const [plan, setPlan] = useState<{ of: string; found: Plan }>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const write = (next: string) => {
    kept = next;
    setText(next);
  };
  const body = { document: text };
  const look = async (event?: Event) => {
    event?.preventDefault();
    setBusy(true);
    setError(undefined);
    setPlan(undefined);
    try {
      setPlan({ of: text, found: await send<Plan>({ method: 'POST', path: '/plan', body }) });
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  };
  const faults = error instanceof Problem ? error.errors : [];
  return (
    <Page title="Plan" crumbs={[['Job types', href('job-types')]]}>
      <form onSubmit={look}>
        <Source text={text} set={write} faults={faults.map(({ line, message }) => ({ line, message }))} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy || text.trim() === ''}>
            {busy ? 'Looking…' : 'Plan'}
          </button>
          <label class="button file">
            Open a file
            <input type="file" accept=".yaml,.yml,.json" onChange={async (e) => write((await e.currentTarget.files?.[0]?.text()) ?? text)} />
          </label>
          {text === '' && (
            <button type="button" onClick={() => write(example)}>
              Insert an example
            </button>
          )}
        </div>
      </form>
      {error !== undefined && <Failure error={error} what={faults.length > 0 ? plural(faults.length, 'fault') : 'There is no plan'} />}
      {plan && plan.of !== text && <p class="note">The text has changed since: plan again.</p>}
      {plan && <Found plan={plan.found} text={plan.of} stale={plan.of !== text} again={look} />}
    </Page>
  );
}

// Source is an editor with line numbers, which mark faults.
function Source({ text, set, faults }: { text: string; set: (text: string) => void; faults: { line: number | undefined; message: string }[] }) {
  const numbers = useRef<HTMLPreElement>(null);
  const bad = new Map(faults.map(({ line, message }) => [line, message]));
  const lines = Math.max(text.split('\n').length, 12);
  return (
    <div class="field">
      <label for="source">Configuration</label>
      <div class="source">
        <pre ref={numbers} aria-hidden="true">
          {Array.from({ length: lines }, (_, i) => (
            <span key={i} class={bad.has(i + 1) ? 'bad' : ''} title={bad.get(i + 1)}>
              {i + 1}
              {'\n'}
            </span>
          ))}
        </pre>
        <textarea
          id="source"
          rows={20}
          wrap="off"
          spellcheck={false}
          value={text}
          aria-describedby="source-hint"
          aria-invalid={faults.length > 0}
          onInput={(e) => set(e.currentTarget.value)}
          onScroll={(e) => {
            if (numbers.current) numbers.current.scrollTop = e.currentTarget.scrollTop;
          }}
        />
      </div>
      <small id="source-hint">A whole roundsman.yaml, as for <code>roundsman plan</code>. Nothing is changed before you apply.</small>
    </div>
  );
}

const changing = new Set(['create', 'update', 'drift', 'delete', 'conflict']);
const roles: Record<string, Role> = { create: 'done', update: 'running', drift: 'person', delete: 'canceled', conflict: 'failed' };

function Found({ plan, text, stale, again }: { plan: Plan; text: string; stale: boolean; again: () => void }) {
  const changes = (plan.changes ?? []).filter((change) => changing.has(change.action));
  const same = (plan.changes ?? []).length - changes.length;
  const detectable = changes.filter((change) => change.action === 'create' || change.action === 'update');
  return (
    <>
      <Section title="What it would change" note={`${plan.namespace}${same > 0 ? `, ${plural(same, 'job type')} unchanged` : ''}`}>
        {plan.empty && <Empty>Nothing: everything is as this configuration says.</Empty>}
        {(plan.warnings ?? []).length > 0 && (
          <ul>
            {(plan.warnings ?? []).map((warning) => (
              <li key={`${warning.line}${warning.message}`}>
                <State word="warning" /> {warning.line ? `line ${warning.line}: ` : ''}
                {warning.message}
              </li>
            ))}
          </ul>
        )}
        {changes.map((change) => (
          <OneChange key={change.job_type} change={change} />
        ))}
      </Section>
      {!plan.empty && !stale && (
        <div class="actions">
          {detectable.length > 0 && (
            <Action {...detectPlanned(text, detectable.map((change) => change.job_type))} done={(answer) => <Detections of={answer as Detecting} />} />
          )}
          <Action {...apply(text, plan.hash, changes)} done={(answer) => <Done of={answer as Applied} />} />
          <button type="button" onClick={again}>
            Plan again
          </button>
        </div>
      )}
    </>
  );
}

function OneChange({ change }: { change: PlannedChange }) {
  const who = change.drifted_by ?? [];
  return (
    <div class="change">
      <h3>
        <State word={change.action} role={roles[change.action] ?? 'unknown'} />{' '}
        <a href={href('job-types', change.job_type)}>{change.job_type}</a>
      </h3>
      {change.note && <p>{change.note}</p>}
      {(change.fields ?? []).length > 0 && (
        <Table
          label={`Changes of ${change.job_type}`}
          rows={change.fields ?? []}
          id={(field) => field.path}
          empty=""
          columns={[
            { name: 'Setting', show: (field) => <code>{field.path}</code> },
            { name: 'Is now', show: (field) => <code class="before">{field.before || '–'}</code>, wide: true },
            { name: 'Will be', show: (field) => <code class="after">{field.after || '–'}</code>, wide: true },
            { name: '', show: (field) => field.drift && <State word="drifted" role="person" title="somebody changed it since the last apply" /> },
          ]}
        />
      )}
      {who.length > 0 && (
        <p>
          Changed since the last apply by{' '}
          {who.map((entry, i) => (
            <span key={entry.seq}>
              {i > 0 && ', '}
              <strong>{entry.actor}</strong> <Time at={entry.at} />
              {entry.detail && ` (${entry.detail})`}
            </span>
          ))}
          .
        </p>
      )}
    </div>
  );
}

function Detections({ of }: { of: Detecting }) {
  return (
    <ul>
      {(of.runs ?? []).map((run) => (
        <li key={run.workflow_id}>
          {run.job_type}: <a href={runHref(run.workflow_id)}>{run.workflow_id}</a>
        </li>
      ))}
    </ul>
  );
}

function Done({ of }: { of: Applied }) {
  const left = of.kept ?? [];
  return (
    <p>
      Applied: {(of.applied ?? []).map((change) => `${change.job_type} (${change.action})`).join(', ') || 'nothing'}.
      {left.length > 0 && ` Kept, because deleting was not asked for: ${left.map((change) => change.job_type).join(', ')}.`}
    </p>
  );
}
