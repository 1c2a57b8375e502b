import { Action } from '../action';
import { cleanUp } from '../acts/workers';
import { useGet } from '../data';
import { loudness, roleOf, spoken } from '../design/state';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { Middle, Whole } from '../table/text';
import { localized, Time } from '../time';
import type { ListedWorker, RemovedWorkers, Worker, WorkerList } from '../types';
import { Choice, Filters, type Head, Loaded, Meter, Page, State } from '../ui';
import { actsOnWorker } from '../verbs';
import { plural } from '../words';
import { Fleet, inUse } from './fleet';
import { NoMatch } from './none';

// mostAsked is the number of workers whose slots in use are read, with two calls each.
const mostAsked = 100;

// away are the workers that take no work, the worst first.
const away = (workers: ListedWorker[]) =>
  workers.filter((worker) => worker.state !== 'ONLINE').sort((a, b) => loudness(roleOf(b.state)) - loudness(roleOf(a.state)));

// because is why a worker is away. If it is away by an operator's mode, which is its state, only the note is new.
const because = ({ state, mode, kept, cause }: ListedWorker) =>
  state === 'ONLINE' ? '' : localized((mode?.toUpperCase() === state ? kept?.note : kept?.reason || cause?.reason) ?? '');

const mostNamed = 3;

function headOf({ workers, online, total }: WorkerList): Head {
  const gone = away(workers);
  const [worst] = gone;
  return {
    state: worst ? { word: `${(total - online).toLocaleString('en')} not online`, role: roleOf(worst.state) } : total > 0 ? { word: 'all online', role: 'done' } : undefined,
    age: `${online.toLocaleString('en')} of ${total.toLocaleString('en')} online`,
    cause: gone.length > 0 && (
      <>
        {gone.slice(0, mostNamed).map((worker, i) => (
          <span key={worker.registration.id}>
            {i > 0 && '; '}
            <strong>{worker.registration.id}</strong> is {spoken(worker.state)}
            {because(worker) && `: ${because(worker)}`}
          </span>
        ))}
        {gone.length > mostNamed && `; ${gone.length - mostNamed} more`}.
      </>
    ),
  };
}

export function Workers({ params }: { params: URLSearchParams }) {
  const found = useGet<WorkerList>('/workers?limit=1000&loads=false');
  // Loads are costly and not streamed: they are those of when the page was opened.
  const loaded = useGet<WorkerList>((found.data?.total ?? mostAsked + 1) <= mostAsked ? `/workers?limit=${mostAsked}` : undefined, false);
  const loads = new Map((loaded.data?.workers ?? []).map((worker) => [worker.registration.id, worker.load]));
  const [worst] = away(found.data?.workers ?? []);
  const [first] = worst ? actsOnWorker(worst) : [];
  const text = params.get('name') ?? '';
  const state = params.get('state') ?? '';
  const shown = (workers: ListedWorker[]) =>
    workers.filter(
      (worker) =>
        (state === '' || worker.state === state) &&
        `${worker.registration.id} ${worker.registration.host} ${Object.entries(worker.registration.labels ?? {}).map((pair) => pair.join('='))}`
          .toLowerCase()
          .includes(text.toLowerCase()),
    );
  const by = params.get('sort') ?? '';
  const tools = (
    <Filters set={state !== ''}>
      <label class="choice">
        Name, host or label
        <input type="search" value={text} onInput={(event) => setParams({ name: event.currentTarget.value })} />
      </label>
      <Choice
        label="State"
        value={state}
        of={[['', 'all'], ...['ONLINE', 'UNREACHABLE', 'OFFLINE', 'DRAINING', 'CORDONED'].map((s): [string, string] => [s, spoken(s)])]}
        set={(value) => setParams({ state: value })}
      />
    </Filters>
  );
  return (
    <Page
      title="Workers"
      head={found.data && headOf(found.data)}
      actions={
        <>
          {worst && first && <Action {...first} verb={first.label} label={`${first.label} ${worst.registration.id}`} />}
          <span class="quiet">
            <Action
              {...cleanUp()}
              done={(answer) => {
                const removed = (answer as RemovedWorkers).removed ?? [];
                return removed.length === 0 ? 'There was none to remove.' : `Removed: ${removed.join(', ')}.`;
              }}
            />
          </span>
        </>
      }
    >
      <Loaded of={found} what="Workers">
        {({ workers, incomplete, next, total }) => (
          <>
            {next && (
              <p class="note">
                The first {workers.length.toLocaleString('en')} of {total.toLocaleString('en')} workers are shown and sorted. <code>roundsman workers</code> shows all.
              </p>
            )}
            {incomplete && <p class="note">The registry has just been started: living workers may not have registered yet.</p>}
            {workers.length > 1 && shown(workers).length > 0 && total <= mostAsked && <Fleet workers={shown(workers)} loads={loads} at={loaded.dataUpdatedAt} />}
            <Rows
              label="Workers"
              rows={shown(workers)}
              id={(worker) => worker.registration.id}
              tools={tools}
              note={plural(shown(workers).length, 'worker')}
              sorting={{ by, set: (sort) => setParams({ sort }) }}
              pick={{
                of: `${text} ${state}`,
                part: Boolean(next),
                noun: 'worker',
                name: (worker) => worker.registration.id,
                acts: actsOnWorker,
                failed: (worker) => worker.state === 'OFFLINE' || worker.state === 'UNREACHABLE',
              }}
              empty={
                workers.length === 0 ? (
                  <>
                    No worker has registered. Start one on each node: <code>roundsman worker --address HOST:7233</code>
                  </>
                ) : (
                  <NoMatch of={`None of ${plural(workers.length, 'worker')}`} filters={{ name: ['the name, host or label', text], state: ['the state', spoken(state)] }} />
                )
              }
              columns={[
                {
                  name: 'Worker',
                  show: (worker) => (
                    <a href={href('workers', worker.registration.id)}>
                      <Middle of={worker.registration.id} />
                    </a>
                  ),
                  sort: 'worker',
                  value: (worker) => worker.registration.id,
                },
                {
                  name: 'State',
                  show: (worker) => <State word={worker.state} title={worker.kept?.reason || worker.cause?.reason} />,
                  sort: 'state',
                  value: (worker) => worker.state,
                  second: true,
                },
                {
                  name: 'In use',
                  show: (worker) => {
                    const load = loads.get(worker.registration.id);
                    return load ? <Meter used={load.executing} of={worker.caps.max_execute} label={`slots of ${worker.registration.id}`} /> : inUse(worker, load);
                  },
                  sort: 'slots',
                  value: (worker) => loads.get(worker.registration.id)?.executing ?? worker.caps.max_execute,
                  second: true,
                },
                {
                  name: 'Labels',
                  show: (worker) => Object.entries(worker.registration.labels ?? {}).map(([name, value]) => <span key={name} class="label">{`${name}=${value}`}</span>),
                  optional: true,
                  width: '18rem',
                },
                { name: 'Since', show: (worker) => <Time at={worker.since} />, number: true, sort: 'since', value: (worker) => Date.parse(worker.since ?? ''), second: true },
                { name: 'Why', show: (worker) => <Whole of={because(worker)} />, wide: true, optional: true, second: true },
                { name: 'Host', show: (worker) => worker.registration.host, optional: true, width: '12rem', sort: 'host', value: (worker) => worker.registration.host },
                { name: 'Version', show: (worker) => <Middle of={worker.registration.version ?? ''} />, optional: true, full: true, width: '7rem', sort: 'version', value: (worker) => worker.registration.version },
              ]}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

export function Slots({ worker }: { worker: Worker }) {
  const used = worker.report?.executing;
  const caps = worker.report?.caps ?? worker.caps;
  if (used === undefined) return <span class="faint">not known</span>;
  return <Meter used={used} of={caps.max_execute} label={`jobs on ${worker.registration.id}`} />;
}
