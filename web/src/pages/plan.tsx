// Plan and apply: a configuration with its DAG files, their faults at their lines, the changes with later edits by
// others, dry runs of changed job types, and the apply of exactly this plan.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Action } from '../action';
import { apply, detectPlanned, type Written } from '../acts/plan';
import { get, Problem, send } from '../api';
import { useGet } from '../data';
import { Diff } from '../design/diff';
import type { Role } from '../design/state';
import { useDraft } from '../draft';
import type { EditorFault, EditorProps } from '../editor/editor';
import { later } from '../later';
import { Prose, RunName } from '../names';
import { href } from '../route';
import { Tabs } from '../tabs';
import { Time } from '../time';
import type { Applied, Detecting, InForce, Plan, PlannedChange, Schemata } from '../types';
import { Failure, type Head, Page, Section, State } from '../ui';
import { plural, upper } from '../words';
import { chosen, dropped, read } from './folder';
import './plan.css';

const Editor = later<EditorProps>(() => import('../editor/editor').then((m) => m.Editor), true);

const main = 'roundsman.yaml';
// The name of the configuration in faults.
const sent = 'document';

const example = `version: 1
job_types:
  scrub:
    handler: command
    schedule: {every: 24h}
    detect: {command: [list-disks], format: lines}
    execute: {command: [scrub, "{{.Params.item}}"]}
`;

interface Fault extends EditorFault {
  file: string;
}

const faultsOf = (error: unknown): Fault[] =>
  error instanceof Problem ? error.errors.map(({ file, line, column, message }) => ({ file: !file || file === sent ? main : file, line, column, message })) : [];

const same = (a: Written, b: Written) => JSON.stringify(a) === JSON.stringify(b);

export function PlanPage() {
  const [draft, setDraft] = useDraft<Written>('plan');
  const written = draft ?? { document: '', files: {} };
  const [open, setOpen] = useState(main);
  const [plan, setPlan] = useState<{ of: Written; found: Plan }>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState('');
  const [said, setSaid] = useState('');
  const [over, setOver] = useState(false);
  const schemas = useGet<Schemata>('/configuration/schema', false);
  const checked = useChecked(written);
  const file = open === main || written.files[open] === undefined ? main : open;
  const write = (next: string) => {
    setError(undefined);
    setDraft(file === main ? { ...written, document: next } : { ...written, files: { ...written.files, [file]: next } });
  };
  const doing = async (what: string, act: () => Promise<void>) => {
    setBusy(what);
    setError(undefined);
    try {
      await act();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy('');
    }
  };
  const look = () =>
    doing('plan', async () => {
      setPlan(undefined);
      setPlan({ of: written, found: await send<Plan>({ method: 'POST', path: '/plan', body: written }) });
    });
  const load = () =>
    doing('load', async () => {
      const found = await get<InForce>('/configuration');
      setDraft({ document: found.document, files: found.files });
      setOpen(main);
      setSaid(`${plural(found.job_types.length, 'job type')} in force${found.owner ? ` of owner ${found.owner}` : ''}.`);
    });
  const take = (files: Parameters<typeof read>[0]) =>
    doing('folder', async () => {
      const folder = await read(files);
      const names = Object.keys(folder.files);
      if (folder.document === undefined && names.length === 0) {
        setSaid('There is no YAML file in it.');
        return;
      }
      setDraft({ document: folder.document ?? written.document, files: { ...(folder.document === undefined ? written.files : {}), ...folder.files } });
      setOpen(folder.document === undefined ? (names[0] ?? main) : main);
      setSaid(`${folder.name ?? 'No configuration'}${names.length > 0 ? ` and ${plural(names.length, 'file')}` : ''} read.`);
    });
  const faults = faultsOf(error).length > 0 ? faultsOf(error) : checked;
  const names = [main, ...Object.keys(written.files).sort()];
  const bad = (name: string) => faults.filter((one) => one.file === name && !one.warning).length;
  const blank = written.document.trim() === '' && names.length === 1;
  const loading = (
    <button type="button" onClick={load} disabled={busy !== ''}>
      {busy === 'load' ? 'Working…' : 'Load what is in force'}
    </button>
  );
  const found = plan && same(plan.of, written) ? plan.found : undefined;
  const changes = (found?.changes ?? []).filter((change) => changing.has(change.action));
  const detectable = changes.filter((change) => change.action === 'create' || change.action === 'update').map((change) => change.job_type);
  return (
    <Page
      title="Plan and apply"
      crumbs={[['Job types', href('job-types')]]}
      head={headOf(found, changes.length, plan !== undefined, blank, faults)}
      actions={
        <>
          {found && !found.empty && (
            <Action
              {...apply(written, found.hash, changes)}
              done={(answer) => {
                void look(); // The rest of the plan.
                return <Done of={answer as Applied} />;
              }}
            />
          )}
          {blank && loading}
          <button type="button" onClick={look} disabled={busy !== '' || written.document.trim() === ''}>
            {busy === 'plan' ? 'Working…' : found ? 'Plan again' : 'Plan'}
          </button>
          {detectable.length > 0 && <Action {...detectPlanned(written, detectable)} done={(answer) => <Detections of={answer as Detecting} />} />}
        </>
      }
    >
      {error !== undefined && faultsOf(error).length === 0 && <Failure error={error} what="There is no plan" />}
      {found && <Found plan={found} changes={changes} />}
      <section
        class={over ? 'drop over' : 'drop'}
        aria-label="Files"
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          if (event.dataTransfer) void dropped(event.dataTransfer).then(take);
        }}
      >
        <Tabs
          look="files"
          label="Files"
          panel="file"
          of={names}
          on={file}
          set={setOpen}
          show={(name) => (
            <>
              {name}
              {bad(name) > 0 && <small class="failed">{plural(bad(name), 'fault')}</small>}
            </>
          )}
        />
        <div id="file" role="tabpanel" aria-label={file}>
          <Editor
            label={file === main ? 'Configuration' : `File ${file}`}
            value={file === main ? written.document : (written.files[file] ?? '')}
            document={file}
            set={write}
            faults={faults.filter((one) => one.file === file)}
            schema={file === main ? schemas.data?.configuration : schemas.data?.dag}
            describedBy="Ctrl Space completes; Ctrl ] indents."
          />
          <FaultList of={faults.filter((one) => one.file === file)} />
        </div>
        <div class="buttons">
          {!blank && loading}
          <Folder label="Open a file" take={take} />
          <Folder label="Open a folder" take={take} directory />
          {blank && (
            <button type="button" onClick={() => setDraft({ document: example, files: {} })}>
              Insert an example
            </button>
          )}
          {file !== main && (
            <button
              type="button"
              onClick={() => {
                const { [file]: _, ...files } = written.files;
                setDraft({ ...written, files });
              }}
            >
              Leave out {file}
            </button>
          )}
          {!blank && (
            <button
              type="button"
              onClick={() => {
                setDraft(undefined);
                setPlan(undefined);
                setError(undefined);
              }}
            >
              Discard
            </button>
          )}
          <small role="status">{said}</small>
        </div>
        <small class="faint">
          A whole <code>roundsman.yaml</code> with the DAG files that it names; a folder may be dropped here. Nothing is changed before you apply. The text stays in this tab until you
          discard it.
        </small>
      </section>
    </Page>
  );
}

function headOf(plan: Plan | undefined, changes: number, planned: boolean, blank: boolean, faults: Fault[]): Head {
  const bad = faults.filter((one) => !one.warning);
  if (bad.length > 0) return { state: { word: plural(bad.length, 'fault'), role: 'failed' }, cause: <Prose text={upper(bad[0]?.message ?? '')} /> };
  if (blank) return { state: { word: 'nothing written', role: 'plan' }, cause: 'Load what is in force, open a folder, or write.' };
  if (!plan) return { state: { word: 'not planned', role: 'plan' }, cause: planned ? 'The text has changed since: plan again.' : 'A plan shows what an apply would change.' };
  if (plan.empty) return { state: { word: 'no change', role: 'done' }, age: <Time at={plan.as_of} />, cause: 'Everything is as this configuration says.' };
  return { state: { word: plural(changes, 'change'), role: 'running' }, age: <Time at={plan.as_of} />, cause: 'Nothing is changed before you apply.' };
}

// checking is the delay in milliseconds between the last key and a check by the server.
const checking = 700;

// useChecked returns the faults and warnings that the server finds while the operator types.
function useChecked(written: Written): Fault[] {
  const [found, setFound] = useState<Fault[]>([]);
  const text = JSON.stringify(written);
  const newest = useRef(text);
  newest.current = text;
  useEffect(() => {
    if (written.document.trim() === '') {
      setFound([]);
      return;
    }
    const soon = setTimeout(async () => {
      try {
        const { warnings } = await send<{ warnings?: { file: string; line?: number; column?: number; message: string }[] | null }>({ method: 'POST', path: '/validate', body: written });
        if (newest.current === text) setFound((warnings ?? []).map((one) => ({ ...one, file: one.file === sent ? main : one.file, warning: true })));
      } catch (cause) {
        if (newest.current === text && cause instanceof Problem && cause.status === 422) setFound(faultsOf(cause));
      }
    }, checking);
    return () => clearTimeout(soon);
  }, [text]);
  return found;
}

function FaultList({ of }: { of: Fault[] }) {
  if (of.length === 0) return null;
  return (
    <ul class="faults">
      {of.map((one) => (
        <li key={`${one.line}${one.message}`}>
          <State word={one.warning ? 'warning' : 'fault'} /> {one.line ? `line ${one.line}: ` : ''}
          <Prose text={one.message} />
        </li>
      ))}
    </ul>
  );
}

function Folder({ label, take, directory = false }: { label: string; take: (files: Parameters<typeof read>[0]) => void; directory?: boolean }) {
  return (
    <label class="button file">
      {label}
      <input
        type="file"
        multiple
        {...(directory ? ({ webkitdirectory: true } as object) : { accept: '.yaml,.yml,.json,.txt' })}
        onChange={(event) => {
          const files = event.currentTarget.files;
          if (files && files.length > 0) take(chosen(files));
          event.currentTarget.value = '';
        }}
      />
    </label>
  );
}

const changing = new Set(['create', 'update', 'drift', 'delete', 'conflict']);
const roles: Record<string, Role> = { create: 'done', update: 'running', drift: 'person', delete: 'canceled', conflict: 'failed' };

function Found({ plan, changes }: { plan: Plan; changes: PlannedChange[] }) {
  const others = (plan.changes ?? []).length - changes.length;
  const warnings = (plan.warnings ?? []).map((one) => ({ ...one, warning: true }));
  if (plan.empty && warnings.length === 0) return null;
  return (
    <Section title="What it would change" note={`${plan.namespace}${others > 0 ? `, ${plural(others, 'job type')} unchanged` : ''}`}>
      <FaultList of={warnings} />
      {changes.map((change) => (
        <OneChange key={change.job_type} change={change} />
      ))}
    </Section>
  );
}

function OneChange({ change }: { change: PlannedChange }) {
  const who = change.drifted_by ?? [];
  return (
    <div class="change">
      <h3>
        <State word={upper(change.action)} role={roles[change.action] ?? 'unknown'} />{' '}
        <a href={href('job-types', change.job_type)}>{change.job_type}</a>
      </h3>
      {change.note && <p>{change.note}</p>}
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
      {(change.fields ?? []).length > 0 && <Diff of={change.fields ?? []} label={`Changes of ${change.job_type}`} />}
    </div>
  );
}

function Detections({ of }: { of: Detecting }) {
  return (
    <ul>
      {(of.runs ?? []).map((run) => (
        <li key={run.workflow_id}>
          {run.job_type}: <RunName id={run.workflow_id} />
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
