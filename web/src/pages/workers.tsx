import { Action } from '../action';
import { cleanUp } from '../acts/workers';
import { useGet } from '../data';
import { href, setParams } from '../route';
import { Rows } from '../table/rows';
import { Middle, Whole } from '../table/text';
import { localized, Time } from '../time';
import type { ListedWorker, RemovedWorkers, Worker, WorkerList } from '../types';
import { Choice, Loaded, Meter, Page, State } from '../ui';
import { actsOnWorker } from '../verbs';
import { plural } from '../words';

export function Workers({ params }: { params: URLSearchParams }) {
  const found = useGet<WorkerList>('/workers?limit=1000&loads=false');
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
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="choice">
        Name, host or label
        <input type="search" value={text} onInput={(event) => setParams({ name: event.currentTarget.value })} />
      </label>
      <Choice
        label="State"
        value={state}
        of={[['', 'all'], ...['ONLINE', 'UNREACHABLE', 'OFFLINE', 'DRAINING', 'CORDONED'].map((s): [string, string] => [s, s])]}
        set={(value) => setParams({ state: value })}
      />
    </form>
  );
  return (
    <Page
      title="Workers"
      actions={
        <Action
          {...cleanUp()}
          done={(answer) => {
            const removed = (answer as RemovedWorkers).removed ?? [];
            return removed.length === 0 ? 'There was none to remove.' : `Removed: ${removed.join(', ')}.`;
          }}
        />
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
                  'No worker matches these filters.'
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
                { name: 'Since', show: (worker) => <Time at={worker.since} />, sort: 'since', value: (worker) => Date.parse(worker.since ?? ''), second: true },
                {
                  name: 'Why',
                  show: (worker) => <Whole of={localized(worker.kept?.reason || worker.cause?.reason || '')} />,
                  wide: true,
                  optional: true,
                  second: true,
                },
                { name: 'Host', show: (worker) => worker.registration.host, optional: true, width: '14rem', sort: 'host', value: (worker) => worker.registration.host },
                {
                  name: 'Jobs at most',
                  show: (worker) => worker.caps.max_execute.toLocaleString('en'),
                  number: true,
                  optional: true,
                  sort: 'slots',
                  value: (worker) => worker.caps.max_execute,
                },
                { name: 'Handlers', show: (worker) => <Whole of={handlers(worker)} />, optional: true, width: '16rem' },
                { name: 'Version', show: (worker) => worker.registration.version, optional: true, width: '9rem', sort: 'version', value: (worker) => worker.registration.version },
              ]}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const handlers = (worker: ListedWorker) => (worker.registration.capabilities ?? []).map((c) => c.handler).join(', ');

export function Slots({ worker }: { worker: Worker }) {
  const used = worker.report?.executing;
  const caps = worker.report?.caps ?? worker.caps;
  if (used === undefined) return <span class="faint">not known</span>;
  return <Meter used={used} of={caps.max_execute} label={`jobs on ${worker.registration.id}`} />;
}
