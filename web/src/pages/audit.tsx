import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get, query } from '../api';
import { again, useGet } from '../data';
import { roleOf } from '../design/state';
import { RunName } from '../names';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { Whole } from '../table/text';
import { localized, Time } from '../time';
import type { AuditEntry, AuditList } from '../types';
import { type Answer, Choice, Filters, Find, type Head, Page, State, useMedium } from '../ui';
import { counted, plural, upper } from '../words';
import { Back } from './changes';

export function Audit({ params }: { params: URLSearchParams }) {
  const filter = {
    kind: params.get('kind') ?? '',
    actor: params.get('actor') ?? '',
    object: params.get('object') ?? '',
    of: params.get('of') ?? '',
    job_type: params.get('job_type') ?? '',
  };
  const object = filter.of === '' ? 'object' : 'of';
  const medium = useMedium();
  const by = params.get('sort') ?? '';
  const path = `/audit${query({ ...filter, limit: by === '' ? 100 : most })}`;
  const found = useGet<AuditList>(path);
  const tools = (
    <Filters set={Object.values(filter).some(Boolean)} rare={medium ? 1 : 0}>
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
      {(['actor', object, 'job_type'] as const).map((name) => (
        <Find key={name === 'of' ? 'object' : name} label={{ actor: 'Actor', object: 'Object begins with', of: 'Object', job_type: 'Job type' }[name]} value={filter[name]} set={(text) => setParams({ [name]: text })} />
      ))}
    </Filters>
  );
  return (
    <Page title="Audit" head={found.data && headOf(found.data)}>
      <Entries path={path} found={found} by={by} tools={tools} filtered={Object.values(filter).some(Boolean)} />
    </Page>
  );
}

// headOf names the newest entry.
function headOf({ entries, keeps, dropped }: AuditList): Head {
  const newest = entries.at(-1);
  return {
    age: newest ? (
      <>
        newest <Time at={newest.at} />
      </>
    ) : (
      'no entry'
    ),
    cause: (
      <>
        {newest && (
          <>
            {newest.kind === 'scheduler' ? 'The scheduler' : <strong>{newest.actor}</strong>} {newest.did} <AuditObject entry={newest} />.{' '}
          </>
        )}
        The log keeps {keeps.toLocaleString('en')} entries{dropped > 0 && `; ${dropped.toLocaleString('en')} older ones were dropped`}.
      </>
    ),
  };
}

// Older are the entries that were read after the first page of a path, and that page as it was then: later ones of it
// begin later.
interface Older {
  path: string;
  entries: AuditEntry[];
  next: string | undefined;
  busy: boolean;
}

// most is the number of newest entries that are sorted: the largest page of the API.
const most = 1000;

function Entries({ path, found, by, tools, filtered }: { path: string; found: Answer<AuditList>; by: string; tools: ComponentChildren; filtered: boolean }) {
  const [read, setRead] = useState<Older>();
  const older = read?.path === path ? read : undefined;
  const first = found.data;
  const next = older ? older.next : first?.next;
  const newest = [...(first?.entries ?? [])].reverse();
  const more = async () => {
    if (!next || by !== '' || older?.busy || found.isPlaceholderData) return;
    const before = { path, entries: older?.entries ?? newest, next };
    setRead({ ...before, busy: true });
    // An answer that comes after a change of the filters is of no use.
    const settle = (now: Older) => setRead((latest) => (latest?.path === path ? now : latest));
    try {
      const page = await get<AuditList>(`${path}&cursor=${encodeURIComponent(next)}`);
      settle({ path, entries: [...before.entries, ...page.entries.reverse()], next: page.next, busy: false });
    } catch {
      setTimeout(() => settle({ ...before, busy: false }), again); // The banner has the reason.
    }
  };
  const seen = new Set(newest.map((entry) => entry.seq));
  const rows = [...newest, ...(older?.entries ?? []).filter((entry) => !seen.has(entry.seq))];
  return (
    <Rows
      label="Audit log"
      rows={rows}
      of={found}
      id={(entry) => String(entry.seq)}
      tools={tools}
      sorting={{ by, set: (sort) => setParams({ sort }) }}
      note={first && (by !== '' ? counted(rows.length, plural(rows.length, 'entry', 'entries'), { partial: Boolean(next), by }) : `${filtered ? `${rows.length.toLocaleString('en')}${next ? ' or more' : ''} of ` : ''}${plural(first.kept, 'entry', 'entries')}`)}
      onEnd={more}
      empty={
        filtered ? (
          <>
            None of {plural(first?.kept ?? 0, 'entry', 'entries')} matches these filters. <a href={href('audit')}>Show all</a>.
          </>
        ) : (
          'Nothing was done, refused or delayed yet.'
        )
      }
      columns={[
        { name: 'When', show: (entry) => <Time at={entry.at} />, sort: 'at', value: (entry) => Date.parse(entry.at) },
        {
          name: 'Who',
          show: (entry) =>
            entry.kind === 'scheduler' ? (
              <span class="faint">scheduler</span>
            ) : (
              <span title={[entry.actor, entry.from && `from ${entry.from}`, entry.via && `by ${entry.via}`].filter(Boolean).join(', ')}>
                {entry.actor}
              </span>
            ),
          width: '12rem',
          second: true,
          sort: 'actor',
          value: (entry) => (entry.kind === 'scheduler' ? '' : entry.actor),
        },
        { name: 'What', show: (entry) => <What of={entry} />, width: '24rem', second: true, sort: 'did', value: (entry) => entry.did },
        { name: 'Object', show: (entry) => <AuditObject entry={entry} />, width: '20rem', second: true, sort: 'object', value: (entry) => entry.object || entry.job_type },
        { name: 'Detail', show: (entry) => <Whole of={detail(entry)} />, wide: true, optional: true, second: true },
        { name: 'Put it back', show: (entry) => <Back entry={entry} />, width: '16rem', second: true },
      ]}
    />
  );
}

// The action in words, and its code for a search and a shell. An entry of the scheduler has a state and its reason.
function What({ of }: { of: AuditEntry }) {
  const times = of.count > 1 ? ` ×${of.count.toLocaleString('en')}` : '';
  const code = of.code || of.action;
  return (
    <span title={`${of.did}${times} ${code}`}>
      {of.kind === 'scheduler' ? <State word={upper(of.did)} role={roleOf(of.did) ?? 'unknown'} /> : upper(of.did)}
      {times} {code !== of.did && <span class="code full">{code}</span>}
    </span>
  );
}

function detail(entry: AuditEntry): string {
  return localized([entry.change, entry.detail].filter(Boolean).join('; '));
}

function AuditObject({ entry }: { entry: AuditEntry }) {
  const object = entry.object || entry.job_type;
  const { worker, job_type, run, item } = entry.target ?? {};
  if (worker) return <a href={href('workers', worker)}>{object}</a>;
  if (job_type) return <a href={href('job-types', job_type)}>{object}</a>;
  if (run) return <RunName id={run} item={item} row />;
  return <span title={object}>{object}</span>;
}
