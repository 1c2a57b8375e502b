// The settings of a job type: a form by the schemas or the text, the difference to the settings in force, and
// the change.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Line } from '../action';
import { curl, Problem, type Request, segment, send } from '../api';
import { changed, useGet } from '../data';
import { Diff } from '../design/diff';
import { keepDraft, useDraft } from '../draft';
import type { EditorProps } from '../editor/editor';
import { later } from '../later';
import { Tabs } from '../tabs';
import { span, Time, useNow } from '../time';
import type { Instant, JobTypeSettings, Schema, SettingsSet, ShownJobType } from '../types';
import { Failure, Loaded, Section } from '../ui';
import { plural } from '../words';
import { Fields, type Form, Setting, Windows } from './fields';
import { resolved } from '../schema';
import { leaves, type Patch, set, typed } from './values';
import './settings.css';

const Editor = later<EditorProps>(() => import('../editor/editor').then((m) => m.Editor), true);

// Draft is the edited settings: a patch by the form, or a text. It starts from a version of the settings.
interface Draft {
  version: string;
  patch?: Patch;
  text?: string;
}

const asking = 350;
// again is the pause before a preview is requested again, in milliseconds.
const again = 2000;
const groups = ['Schedule', 'Parameters', 'Policy', 'Windows', 'Other'] as const;
type Group = (typeof groups)[number];

export function Settings({ type }: { type: ShownJobType }) {
  const path = `/job-types/${segment(type.name)}/settings`;
  const found = useGet<JobTypeSettings>(path, false);
  const at = type.changed?.at;
  const first = useRef(at);
  useEffect(() => {
    if (at === undefined || first.current === at) return; // Without an answer of the audit log it is not known.
    void found.refetch(); // Somebody changed it.
    first.current = at;
  }, [at]);
  return (
    <Section title="Settings" note={type.spec.handler ?? type.spec.dag?.file}>
      <Loaded of={found} what="The settings">
        {(settings) => <Editing key={type.name} path={path} settings={settings} type={type} />}
      </Loaded>
    </Section>
  );
}

function Editing({ path, settings, type }: { path: string; settings: JobTypeSettings; type: ShownJobType }) {
  const key = `settings.${type.name}`;
  const [draft, setDraft] = useDraft<Draft>(key);
  const [tab, setTab] = useState<'form' | 'yaml'>(draft?.text === undefined ? 'form' : 'yaml');
  const [group, setGroup] = useState<Group>('Schedule');
  const [answered, setAnswered] = useState<{ of: string; preview: SettingsSet }>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const patch = draft?.patch ?? {};
  const count = draft?.text === undefined ? leaves(patch) : draft.text === settings.document ? 0 : 1;
  const moved = draft !== undefined && count > 0 && draft.version !== settings.version;
  const body = count === 0 ? undefined : { version: settings.version, ...(draft?.text === undefined ? { settings: patch } : { document: draft.text }) };
  const request = (dry: boolean): Request => ({ method: 'PATCH', path: `${path}${dry ? '?dry_run=true' : ''}`, body });
  const text = JSON.stringify(body);
  const newest = useRef(text);
  newest.current = text;
  useEffect(() => {
    if (text === undefined) {
      setAnswered(undefined);
      setError(undefined);
      return;
    }
    let soon: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    const look = async () => {
      try {
        const preview = await send<SettingsSet>(request(true));
        if (left || newest.current !== text) return;
        setAnswered({ of: text, preview });
        setError(undefined);
      } catch (cause) {
        if (left || newest.current !== text) return;
        if (cause instanceof Problem && cause.status === 412) void changed();
        else setError(cause);
        if (cause instanceof Problem && cause.retryable) soon = setTimeout(look, again); // Nothing could be applied until the next key.
      }
    };
    soon = setTimeout(look, asking);
    return () => {
      left = true;
      clearTimeout(soon);
    };
  }, [text]);
  const write = (next: Partial<Draft>) => {
    setSaid('');
    // The version is that at the first key, so that a change by others is noticed.
    setDraft({ version: draft?.version ?? settings.version, ...next });
  };
  const discard = () => {
    setDraft(undefined);
    setError(undefined);
  };
  const apply = async () => {
    setBusy(true);
    try {
      const answer = await send<SettingsSet>(request(false));
      keepDraft(key, undefined);
      setDraft(undefined);
      setError(undefined);
      setSaid(answer.changed.length === 0 ? 'It was so already.' : `Changed: ${answer.changed.map((one) => one.path).join(', ')}. It takes effect with the next run.`);
      await changed(path);
    } catch (cause) {
      if (cause instanceof Problem && cause.status === 412) {
        setDraft(draft && { ...draft, version: '' });
        await changed(path);
      } else setError(cause);
    } finally {
      setBusy(false);
    }
  };
  const prefix = `job_types.${type.name}.`;
  const all = error instanceof Problem ? error.errors : [];
  const form: Form = {
    schema: settings.schema,
    inForce: settings.settings,
    patch,
    change: (next) => (Object.keys(next).length === 0 ? discard() : write({ patch: next })),
    faults: all.filter((one) => one.location?.startsWith(prefix)).map((one) => ({ path: one.location?.slice(prefix.length) ?? '', message: one.message })),
  };
  const inGroup = (name: Group) => form.faults.filter((one) => groupOf(one.path) === name).length;
  const [before] = [draft?.text !== undefined];
  // The last preview stays until the next one, but only a shown change is applied.
  const preview = answered?.preview;
  const diff = preview?.changed ?? [];
  return (
    <>
      <div class="settings-bar">
        <Tabs look="tabs" label="Settings by" panel="settings-of" of={['form', 'yaml']} on={tab} set={setTab} show={(one) => (one === 'form' ? 'Form' : 'YAML')} />
        {count > 0 && <span class="state plan g-plan">not applied</span>}
        {said !== '' && <p role="status">{said}</p>}
      </div>
      <div class={count > 0 ? 'settings-of written' : 'settings-of'} inert={busy}>
        <div id="settings-of" role="tabpanel" aria-label={tab === 'form' ? 'Form' : 'YAML'}>
          {tab === 'form' && before && (
            <p class="note">
              There is a change in the text. <button type="button" class="small" onClick={discard}>Discard it</button>
            </p>
          )}
          {tab === 'form' && !before && (
            <>
              <Tabs
                look="tabs under"
                label="Groups of settings"
                panel="group-of"
                of={groups}
                on={group}
                set={setGroup}
                show={(one) => (
                  <>
                    {one}
                    {inGroup(one) > 0 && <small class="failed">{inGroup(one)}</small>}
                  </>
                )}
              />
              <div id="group-of" role="tabpanel" aria-label={group}>
                <form onSubmit={(event) => event.preventDefault()}>
                  <GroupOf name={group} form={form} />
                </form>
              </div>
            </>
          )}
          {tab === 'yaml' && (
            <Editor
              label={`Settings of ${type.name} as YAML`}
              value={draft?.text ?? (Object.keys(patch).length > 0 ? (preview?.document ?? settings.document) : settings.document)}
              set={(next) => (next === settings.document ? discard() : write({ text: next }))}
              faults={all.map(({ line, column, message }) => ({ line, column, message }))}
              schema={wrapped(settings.schema)}
            />
          )}
        </div>
        <aside aria-label="The change">
          {moved && <Moved type={type} keep={() => draft && setDraft({ ...draft, version: settings.version })} />}
          {count === 0 && <p class="faint">In force now. Change a field to see the difference here.</p>}
          {count > 0 && error === undefined && diff.length > 0 && <Diff of={diff} label="What would change" />}
          {count > 0 && error === undefined && preview && diff.length === 0 && <p class="faint">Nothing would change.</p>}
          {error !== undefined && <Refused error={error} shown={tab === 'form' ? form.faults.length : 0} />}
          {preview?.warnings.map((one) => <p key={one.message} class="note">{one.message}</p>)}
          {count > 0 && (
            <>
              <div class="buttons">
                <button type="button" class="primary" onClick={apply} disabled={busy || moved || error !== undefined || answered?.of !== text || diff.length === 0}>
                  {busy ? 'Working…' : `Apply ${plural(Math.max(diff.length, 1), 'change')}`}
                </button>
                <button type="button" onClick={discard}>
                  Discard
                </button>
              </div>
              <p class="faint">Until the next apply of the configuration. The open run keeps its settings.</p>
              <details class="lines">
                <summary>The same in a shell</summary>
                <Line text={curl(request(false))} />
              </details>
            </>
          )}
          {count > 0 && error === undefined && preview && <Next of={preview.next ?? []} />}
        </aside>
      </div>
    </>
  );
}

function Refused({ error, shown }: { error: unknown; shown: number }) {
  if (error instanceof Problem && error.errors.length > 0 && shown >= error.errors.length)
    return <p class="wrong">{plural(shown, 'field')} to correct</p>;
  return <Failure error={error} what="It cannot be applied" />;
}

// Moved shows a change by somebody else since the first key. The typed text stays.
function Moved({ type, keep }: { type: ShownJobType; keep: () => void }) {
  const { by = 'Somebody', at, before, after } = type.changed ?? {};
  return (
    <div class="failure" role="alert">
      <strong>{by} changed these settings</strong> {at && <Time at={at} />}
      {(before || after) && (
        <p>
          <code>{before}</code> → <code>{after}</code>
        </p>
      )}
      <p>What you typed stays. The difference below is to the settings as they are now.</p>
      <button type="button" class="small" onClick={keep}>
        Continue with the new settings
      </button>
    </div>
  );
}

// Next shows the instants after the change; the page has those of now.
function Next({ of }: { of: Instant[] }) {
  const now = useNow();
  return (
    <div class="next">
      <h3>Would be due</h3>
      {of.length === 0 && <p class="faint">It is never due.</p>}
      <ol>
        {of.map((one) => (
          <li key={one.at}>
            <strong>
              <Time at={one.at} relative={false} />
            </strong>
            <span>
              in {span(Math.max(Date.parse(one.at) - now, 0))}
              {one.closed && (
                <>
                  {' · '}waits, closed{one.opens ? ' until ' : ''}
                  {one.opens && <Time at={one.opens} relative={false} />}
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function groupOf(path: string): Group {
  const key = path.split(/[.[]/)[0] ?? '';
  if (key === 'schedule') return 'Schedule';
  if (['params', 'detect', 'execute'].includes(key)) return 'Parameters';
  if (key === 'policy') return 'Policy';
  if (['windows', 'blackouts'].includes(key)) return 'Windows';
  return 'Other';
}

function GroupOf({ name, form }: { name: Group; form: Form }) {
  const properties = form.schema.properties ?? {};
  const of = (key: string) => properties[key] && resolved(properties[key], form.schema);
  switch (name) {
    case 'Schedule':
      return <Schedule form={form} of={of('schedule')} />;
    case 'Parameters':
      return (
        <>
          {['params', 'detect', 'execute'].map((key) => {
            const block = of(key);
            if (!block) return null;
            return (
              <fieldset key={key}>
                <legend>{{ params: 'Params', detect: 'Detect', execute: 'Execute' }[key]}</legend>
                {Object.keys(block.properties ?? {}).length > 0 ? <Fields form={form} path={[key]} of={block} /> : <Setting form={form} path={[key]} schema={{ ...block, type: 'object' }} />}
              </fieldset>
            );
          })}
        </>
      );
    case 'Policy':
      return <Fields form={form} path={['policy']} of={of('policy')} />;
    case 'Windows':
      return (
        <>
          <Windows form={form} name="windows" />
          <Windows form={form} name="blackouts" />
        </>
      );
    case 'Other':
      return (
        <Fields form={form} path={[]} of={form.schema} skip={['schedule', 'params', 'detect', 'execute', 'policy', 'windows', 'blackouts', 'handler', 'dag']} />
      );
  }
}

// byInterval and byCron are the two forms of a schedule.
const byInterval = ['every', 'offset', 'spread'];
const byCron = ['cron', 'days', 'holidays', 'except_holidays', 'timezone'];

function Schedule({ form, of }: { form: Form; of: Schema | undefined }) {
  const inForce = (form.inForce.schedule ?? {}) as Patch;
  const cron = typed(form.patch, ['schedule', 'cron']);
  const timed = cron ? cron.value !== null : inForce.cron !== undefined;
  const choose = (times: boolean) => {
    let patch = form.patch;
    for (const key of times ? byInterval : byCron) patch = set(patch, ['schedule', key], null, form.inForce);
    for (const key of times ? byCron : byInterval) patch = set(patch, ['schedule', key], inForce[key] ?? null, form.inForce);
    if (times && inForce.cron === undefined) patch = set(patch, ['schedule', 'cron'], ['0 2 * * *'], form.inForce);
    if (!times && inForce.every === undefined) patch = set(patch, ['schedule', 'every'], '24h', form.inForce);
    form.change(patch);
  };
  return (
    <>
      <div class="setting">
        <label for="schedule-form">due</label>
        <div>
          <select id="schedule-form" value={timed ? 'cron' : 'every'} onChange={(event) => choose(event.currentTarget.value === 'cron')}>
            <option value="every">at intervals</option>
            <option value="cron">at times of the day</option>
          </select>
        </div>
      </div>
      <Fields key={String(timed)} form={form} path={['schedule']} of={of} skip={timed ? byInterval : byCron} />
    </>
  );
}

const wrapped = (entry: Schema): Schema => {
  const { $defs, ...own } = entry;
  return {
    type: 'object',
    properties: { version: { type: 'integer' }, job_types: { type: 'object', additionalProperties: own } },
    ...($defs ? { $defs } : {}),
  };
};
