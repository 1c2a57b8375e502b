// A job or a task: its progress or result, its attempts, and its output.
import { Action } from '../action';
import { actsOnItem } from '../acts/items';
import { actOf } from '../acts/remedy';
import { quote, segment } from '../api';
import { useGet } from '../data';
import { isFailed } from '../design/state';
import { Why } from '../explain';
import { RunName, runName } from '../names';
import { Artifacts } from '../output/artifacts';
import { Output } from '../output/output';
import { href, runHref } from '../route';
import { itemHref, itemPath, runPath } from '../runs';
import { Both, duration, span, Time, Took, useZone } from '../time';
import type { Explanation, ItemDetail, Reason, Snapshot } from '../types';
import { Awaited, Empty, Facts, type Head, Json, Loaded, Page, Section, State, Table, useNarrow } from '../ui';
import { plural, upper } from '../words';

export function ItemPage({ run, id, params }: { run: string; id: string; params: URLSearchParams }) {
  useZone();
  const found = useGet<ItemDetail>(itemPath(run, id));
  const of = useGet<Snapshot>(runPath(run));
  const workflow = of.data?.workflow_id;
  const acts = found.data ? actsOnItem(found.data) : [];
  // A failed item without an operation of its own has those of its end.
  const alone = found.data && isFailed(found.data.standing.role) && acts.length === 0;
  const asks = found.data?.standing.state === 'needs_approval';
  const { data: explanation } = useGet<Explanation>((alone || asks) && workflow ? `/explain?thing=${segment(`${workflow}/${id}`)}` : undefined);
  const reasons = explanation?.reasons ?? [];
  // A question that is all it waits for stands in the header, with its buttons.
  const question = asks && reasons.length === 1 && reasons[0]?.code === 'AWAITING_APPROVAL' ? reasons[0] : undefined;
  const others = (alone && explanation?.ended?.actions?.filter((action) => action.request && action.request.method !== 'GET').map(actOf)) || [];
  return (
    <Page
      title={id}
      crumbs={[
        ['Runs', href('runs')],
        [runName(workflow ?? run.replaceAll('~', '/')), runHref(run)],
      ]}
      head={found.data && headOf(found.data, `${workflow ?? run.replaceAll('~', '/')}/${id}`, question)}
      actions={found.data && [...acts, ...others].map((act) => <Action key={act.label} {...act} />)}
    >
      <Loaded of={found} what={id}>
        {(item) => {
          const started = item.standing.on_worker && (item.attempts ?? []).length > 0;
          return (
          <div class="cols">
            <div class="stack">
              {asks && <Before item={item} />}
              {(asks ? explanation && !question : !item.standing.ended || item.standing.role === 'upstream') && workflow && <Why thing={`${workflow}/${id}`} title={item.standing.ended ? 'Why it did not run' : 'What it waits for'} />}
              {started && <Output item={item} attempt={Number(params.get('attempt') ?? 0)} />}
              {started && item.standing.ended && <Artifacts item={item} attempt={Number(params.get('attempt') ?? 0)} />}
              {item.standing.on_worker && (started || item.value !== undefined) && <Result item={item} />}
              {item.standing.on_worker && <Attempts item={item} />}
              <Asked item={item} />
            </div>
            <div class="stack">
              <Now item={item} asked={asks} />
              <Given item={item} />
            </div>
          </div>
          );
        }}
      </Loaded>
    </Page>
  );
}

// shownBefore bounds the needs of a question that are read.
const shownBefore = 5;

// Before lists the needs of a question with their results.
function Before({ item }: { item: ItemDetail }) {
  const needs = item.needs ?? [];
  if (needs.length === 0) return null;
  return (
    <Section title="What was done before">
      <ul class="usable" aria-label="What was done before">
        {needs.slice(0, shownBefore).map((need) => (
          <Need key={need} run={item.run.workflow_id} id={need} />
        ))}
        {needs.length > shownBefore && <li>{plural(needs.length - shownBefore, 'more task')}</li>}
      </ul>
    </Section>
  );
}

function Need({ run, id }: { run: string; id: string }) {
  const { data, isPending } = useGet<ItemDetail>(itemPath(run, id));
  return (
    <li>
      <a href={itemHref(run, id)}>{id}</a>
      {isPending && <Awaited />}
      {data && (
        <>
          <small>{data.error || data.result?.summary || data.summary}</small>
          <span>
            <State word={data.standing.state} role={data.standing.role} />
          </span>
        </>
      )}
    </li>
  );
}

// headOf is the header of an item: its state, its cause and its age.
function headOf(item: ItemDetail, id: string, question: Reason | undefined): Head {
  return {
    id,
    state: { word: item.standing.state, role: item.standing.role },
    age: (
      <>
        {item.ended_at ? <Time at={item.ended_at} /> : item.started_at && <Took from={item.started_at} />}
        {(item.attempt ?? 0) > 1 && ` · attempt ${item.attempt}`}
        {item.standing.role === 'person' && item.until && (
          <>
            {' · until '}
            <Time at={item.until} relative={false} />
          </>
        )}
      </>
    ),
    // The output of a program is shown unchanged. The card below explains a wait.
    cause: question ? (
      <>
        {question.detail} <span class="code">{question.code}</span>
      </>
    ) : (
      item.standing.ended && <>{item.error || item.summary}</>
    ),
  };
}

// shownNeeds bounds the links to needs: a task may have 100,000.
const shownNeeds = 100;

function Now({ item, asked }: { item: ItemDetail; asked: boolean }) {
  const progress = item.active?.progress;
  return (
    <Section title="Facts">
      <Facts
        of={[
          ['Key', item.dedupe_key],
          ['Summary', item.summary !== item.dedupe_key && item.summary],
          ['Kind', item.kind !== 'job' && item.kind],
          ['Until', !asked && item.until && <Time key="until" at={item.until} relative={false} />],
          ['Not before', item.not_before && <Time key="before" at={item.not_before} relative={false} />],
          ['Done', progress && progress.percent >= 0 && <Percent of={progress.percent} />],
          ['Stage', progress?.stage],
          ['Says', progress?.message],
          ['Silent', item.active?.quiet && `no report, output, CPU or I/O for ${span(duration(item.active.quiet))}`],
          ['Last beat', item.active?.beat_at && <Time key="beat" at={item.active.beat_at} />],
          ['Worker', item.worker && <a href={href('workers', item.worker)}>{item.worker}</a>],
          ['Created', item.created_at && <Both key="created" at={item.created_at} />],
          ['Modified', item.modified_at && <Both key="modified" at={item.modified_at} />],
          ['Started', item.started_at && <Both key="started" at={item.started_at} />],
          ['Took', item.standing.ended && item.started_at && <Took key="took" from={item.started_at} to={item.ended_at} />],
          [
            'Needs',
            !asked && (item.needs ?? []).length > 0 && (
              <>
                {(item.needs ?? []).slice(0, shownNeeds).map((need, i) => (
                  <span key={need}>
                    {i > 0 && ', '}
                    <a href={itemHref(item.run.workflow_id, need)}>{need}</a>
                  </span>
                ))}
                {(item.needs ?? []).length > shownNeeds && ` and ${plural((item.needs ?? []).length - shownNeeds, 'more task')}`}
              </>
            ),
          ],
          ['Taken from', item.from_run && <RunName id={item.from_run} item={item.from_task || item.id} />],
        ]}
      />
      {(item.batch ?? []).length > 0 && (
        <details>
          <summary>Params</summary>
          <Json of={item.batch} />
        </details>
      )}
    </Section>
  );
}

// Given shows the command and params sent to the worker.
function Given({ item }: { item: ItemDetail }) {
  const command = item.command ?? [];
  if (command.length === 0 && item.params === undefined) return null;
  return (
    <Section title={command.length > 0 ? 'Command' : 'Params'} note={command.length > 0 ? 'of the last attempt, templates filled in' : undefined}>
      {command.length > 0 && <pre tabIndex={0}>{command.map(quote).join(' ')}</pre>}
      {(item.hooks ?? []).map((hook) => (
        <pre key={hook.name} tabIndex={0}>{`${hook.name}: ${(hook.command ?? []).map(quote).join(' ')}`}</pre>
      ))}
      {item.params !== undefined && (
        <details open={command.length === 0}>
          <summary>Params</summary>
          <Json of={item.params} />
        </details>
      )}
    </Section>
  );
}

const Percent = ({ of }: { of: number }) => (
  <span class="meter">
    <meter min={0} max={100} value={of} aria-label="done" />
    <span class="number">{Math.round(of)} %</span>
  </span>
);

type Attempt = NonNullable<ItemDetail['attempts']>[number];

function Attempts({ item }: { item: ItemDetail }) {
  const narrow = useNarrow();
  return (
    <Section title="Attempts">
      <Table
        label={`Attempts at ${item.id}`}
        stacked
        rows={item.attempts ?? []}
        id={(attempt) => String(attempt.number)}
        empty={item.standing.ended ? 'It ended without an attempt.' : 'None yet: it has not been given to a worker.'}
        columns={[
          { name: '#', show: (attempt) => (narrow ? `Attempt ${attempt.number}` : attempt.number), number: true },
          {
            name: 'State',
            show: (attempt) => <State word={attempt.ended_as || (attempt.started_at ? 'running' : 'sent')} />,
          },
          { name: 'Worker', show: (attempt) => attempt.worker && <a href={href('workers', attempt.worker)}>{attempt.worker}</a> },
          ...((item.attempts ?? []).some((attempt) => !attempt.started_at) ? [{ name: 'Sent', show: (attempt: Attempt) => <Time at={attempt.sent_at} />, optional: true, full: true }] : []),
          {
            name: 'Waited',
            show: (attempt) => attempt.started_at && attempt.sent_at && span(Date.parse(attempt.started_at) - Date.parse(attempt.sent_at)),
            number: true,
            optional: true,
            full: true,
          },
          { name: 'Started', show: (attempt) => <Both at={attempt.started_at} /> },
          { name: 'Took', show: (attempt) => <Took from={attempt.started_at} to={attempt.ended_at} />, number: true },
          { name: 'Error', show: (attempt) => attempt.error, wide: true },
        ]}
      />
    </Section>
  );
}

function Result({ item }: { item: ItemDetail }) {
  const data = item.result?.data ?? item.value;
  return (
    <Section title="Result">
      {item.result?.summary && <p>{item.result.summary}</p>}
      {data !== undefined && <Json of={data} />}
      {!item.result?.summary && data === undefined && (
        <Empty>{item.standing.ended ? 'It returned nothing.' : 'It comes with the end of an attempt.'}</Empty>
      )}
    </Section>
  );
}

function Asked({ item }: { item: ItemDetail }) {
  const requests = item.requests ?? [];
  if (requests.length === 0) return null;
  return (
    <Section title="What operators asked for">
      <Table
        label={`Requests about ${item.id}`}
        rows={requests}
        id={(request) => `${request.at}${request.action}`}
        empty="Nothing."
        columns={[
          { name: 'When', show: (request) => <Time at={request.at} /> },
          { name: 'What', show: (request) => <>{upper(request.did)} <span class="code">{request.action}</span></> },
          { name: 'By', show: (request) => request.by },
          { name: 'Why', show: (request) => request.note, wide: true },
        ]}
      />
    </Section>
  );
}
