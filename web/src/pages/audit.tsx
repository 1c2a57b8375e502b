import { useState } from 'preact/hooks';
import { get, query } from '../api';
import { useGet } from '../data';
import { isRun, Named } from '../names';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { exact, localized, Time } from '../time';
import type { AuditEntry, AuditList } from '../types';
import { Choice, type Head, Loaded, Page, Section, State } from '../ui';
import { plural } from '../words';
import { Back } from './changes';

export function Audit({ params }: { params: URLSearchParams }) {
  const filter = {
    kind: params.get('kind') ?? '',
    actor: params.get('actor') ?? '',
    object: params.get('object') ?? '',
    job_type: params.get('job_type') ?? '',
  };
  const path = `/audit${query({ ...filter, limit: 100 })}`;
  const found = useGet<AuditList>(path);
  return (
    <Page title="Audit" head={found.data && headOf(found.data)}>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Who"
          value={filter.kind}
          of={[
            ['', 'everybody'],
            ['operator', 'operators'],
            ['scheduler', 'the scheduler'],
          ]}
          set={(kind) => setParams({ kind })}
        />
        {(['actor', 'object', 'job_type'] as const).map((name) => (
          <label class="choice" key={name}>
            {{ actor: 'Actor', object: 'Object begins with', job_type: 'Job type' }[name]}
            <input type="search" value={filter[name]} onChange={(event) => setParams({ [name]: event.currentTarget.value.trim() })} />
          </label>
        ))}
      </form>
      <Loaded of={found} what="The audit log">
        {(audit) => <Entries key={path} path={path} first={audit} />}
      </Loaded>
    </Page>
  );
}

// headOf names the newest entry.
function headOf({ entries, kept }: AuditList): Head {
  const newest = entries.at(-1);
  if (!newest) return { age: 'no entry' };
  return {
    age: (
      <>
        {plural(kept, 'entry', 'entries')}, newest <Time at={newest.at} />
      </>
    ),
    cause: `${newest.actor || newest.kind}: ${newest.action} ${newest.object || newest.job_type}`,
  };
}

function Entries({ path, first }: { path: string; first: AuditList }) {
  const [older, setOlder] = useState<{ entries: AuditEntry[]; next: string | undefined; busy: boolean }>();
  const next = older ? older.next : first.next;
  const more = async () => {
    if (!next || older?.busy) return;
    setOlder({ entries: older?.entries ?? [], next, busy: true });
    try {
      const page = await get<AuditList>(`${path}&cursor=${encodeURIComponent(next)}`);
      setOlder({ entries: [...(older?.entries ?? []), ...page.entries.reverse()], next: page.next, busy: false });
    } catch {
      setOlder({ entries: older?.entries ?? [], next, busy: false }); // The banner has the reason; the next look tries again.
    }
  };
  const newest = [...first.entries].reverse();
  const seen = new Set(newest.map((entry) => entry.seq));
  const rows = [...newest, ...(older?.entries ?? []).filter((entry) => !seen.has(entry.seq))];
  return (
    <Section
      title="Entries"
      note={`the log keeps ${first.keeps.toLocaleString('en')}${first.dropped > 0 ? `, ${first.dropped.toLocaleString('en')} older ones were dropped` : ''}`}
    >
      <Rows
        label="Audit log"
        rows={rows}
        id={(entry) => String(entry.seq)}
        onEnd={more}
        empty="No entry matches: nothing was done, refused or delayed."
        columns={[
          {
            name: 'When',
            show: (entry) => (
              <span title={exact(entry.at)}>
                <Time at={entry.at} />
              </span>
            ),
          },
          {
            name: 'Who',
            show: (entry) =>
              entry.kind === 'scheduler' ? (
                <span class="faint">scheduler</span>
              ) : (
                <span title={[entry.from && `from ${entry.from}`, entry.via && `by ${entry.via}`].filter(Boolean).join(', ')}>
                  {entry.actor}
                </span>
              ),
            width: '12rem',
            second: true,
          },
          { name: 'What', show: (entry) => <span title={`${entry.action} ${entry.code}`}>{what(entry)}</span>, width: '26rem', second: true },
          { name: 'Object', show: (entry) => <AuditObject entry={entry} />, width: '20rem', second: true },
          { name: 'Detail', show: (entry) => <span title={detail(entry)}>{detail(entry)}</span>, wide: true, optional: true, second: true },
          { name: 'Put it back', show: (entry) => <Back entry={entry} />, width: '16rem', second: true },
        ]}
      />
    </Section>
  );
}

function what(entry: AuditEntry) {
  const times = entry.count > 1 ? ` ×${entry.count}` : '';
  if (entry.kind !== 'scheduler')
    return (
      <code>
        {entry.action}
        {times}
      </code>
    );
  return (
    <>
      <State word={entry.action} />{' '}
      <code>
        {entry.code}
        {times}
      </code>
    </>
  );
}

function detail(entry: AuditEntry): string {
  const change = entry.before !== '' && entry.after !== '' ? `${entry.before} → ${entry.after}` : entry.before + entry.after;
  return localized([change, entry.detail].filter((text) => text !== '').join('; '));
}

function AuditObject({ entry }: { entry: AuditEntry }) {
  const object = entry.object || entry.job_type;
  const worker = object.match(/^worker\/([^/]+)$/)?.[1];
  const jobType = object.match(/^jobtype\/([^/]+)/)?.[1] ?? (entry.object === '' ? entry.job_type : undefined);
  if (worker) return <a href={href('workers', worker)}>{object}</a>;
  if (jobType) return <a href={href('job-types', jobType)}>{object}</a>;
  if (isRun(object)) return <Named object={object} row />;
  return <span title={object}>{object}</span>;
}
