import { Action } from '../action';
import { cleanUp } from '../acts/workers';
import { useGet } from '../data';
import { href, setParams } from '../route';
import { Time } from '../time';
import type { ListedWorker, RemovedWorkers, Worker, WorkerList } from '../types';
import { Choice, Loaded, Meter, Page, Rows, State } from '../ui';

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
      <Loaded of={found} what="Workers">
        {({ workers, incomplete, next, total }) => (
          <>
            {next && (
              <p class="note">
                The first {workers.length.toLocaleString('en')} of {total.toLocaleString('en')} workers. <code>roundsman workers</code> shows all.
              </p>
            )}
            {incomplete && <p class="note">The registry has just been started: living workers may not have registered yet.</p>}
            <Rows
              label="Workers"
              rows={shown(workers)}
              id={(worker) => worker.registration.id}
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
                  show: (worker) => <a href={href('workers', worker.registration.id)}>{worker.registration.id}</a>,
                  wide: true,
                },
                { name: 'State', show: (worker) => <State word={worker.state} title={worker.kept?.reason || worker.cause?.reason} /> },
                { name: 'Since', show: (worker) => <Time at={worker.since} />, width: '8rem' },
                { name: 'Host', show: (worker) => worker.registration.host, optional: true, width: '10rem' },
                { name: 'Jobs at most', show: (worker) => worker.caps.max_execute, number: true, width: '7rem', optional: true },
                {
                  name: 'Handlers',
                  show: (worker) => (worker.registration.capabilities ?? []).map((c) => c.handler).join(', '),
                  optional: true,
                  width: '16rem',
                },
                { name: 'Version', show: (worker) => worker.registration.version, optional: true },
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
