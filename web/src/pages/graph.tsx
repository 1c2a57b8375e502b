// The graph of a run of a DAG: boxes and lines, a map of all tasks, or a list. The server places the boxes.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Action } from '../action';
import { actsOnItem } from '../acts/items';
import { get, query } from '../api';
import { isFailed, loudness, type Role, spoken } from '../design/state';
import { Explain } from '../explain';
import { Cells, layered } from '../graph/cells';
import { bytesOf, Find, numbersOf, useFailedKey } from '../graph/find';
import { Counted } from '../graph/jobs';
import { List, Picture } from '../graph/picture';
import { useSettled } from '../graph/settled';
import { RunName } from '../names';
import { runHref, setParams } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import type { Box, Found, RunGraph, Snapshot } from '../types';
import { Empty, Loaded, State } from '../ui';
import { plural } from '../words';
import '../graph/graph.css';

const views = ['graph', 'map', 'list'] as const;
type ViewName = (typeof views)[number];

// useWidth returns the width of an element in steps of 50 pixels, for the layout of its graph.
function useWidth() {
  const of = useRef<HTMLElement>(null);
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const sized = new ResizeObserver(([entry]) => entry && set(Math.max(Math.floor(entry.contentRect.width / 50) * 50, 50)));
    if (of.current) sized.observe(of.current);
    return () => sized.disconnect();
  }, []);
  return { of, width };
}

export function Graph({ run, params }: { run: Snapshot; params: URLSearchParams }) {
  const open = isOpen(run);
  const opened = (params.get('open') ?? '').split(',').filter(Boolean);
  const { of, width } = useWidth();
  const found = useSettled<RunGraph>(width > 0 ? `${runPath(run.workflow_id)}/graph${query({ open: opened.join(','), width })}` : undefined, open);
  const graph = found.data;
  const able = graph ? views.filter((name) => (name === 'map' ? graph.map : graph.drawing)) : [];
  const asked = params.get('view') as ViewName;
  const view = able.includes(asked) ? asked : able[0];
  return (
    <section class="graphs" ref={of}>
      <h2>
        Graph <small>{graph && [plural(graph.tasks, 'task'), graph.drawing && graph.drawing.boxes.length < graph.tasks && plural(graph.drawing.boxes.length, 'box', 'boxes')].filter(Boolean).join(', ')}</small>
        {able.length > 1 && (
          <span class="seg" role="group" aria-label="How the tasks are shown">
            {able.map((name) => (
              <button key={name} type="button" aria-pressed={name === view} onClick={() => setParams({ view: name === able[0] ? '' : name })}>
                {{ graph: 'Graph', map: 'Map', list: 'List' }[name]}
              </button>
            ))}
          </span>
        )}
      </h2>
      <Loaded of={found} what="The graph" height={190}>
        {(data) => (data.tasks === 0 ? <Empty>It has no task yet.</Empty> : <Shown key={view} run={run} graph={data} view={view ?? 'list'} opened={opened} params={params} />)}
      </Loaded>
    </section>
  );
}

function Shown({ run, graph, view, opened, params }: { run: Snapshot; graph: RunGraph; view: ViewName; opened: string[]; params: URLSearchParams }) {
  const [active, choose] = useState('');
  const [goal, setGoal] = useState<{ id: string; item: number; n: number }>();
  const chosen = Number(params.get('task') ?? '');
  const show = (hit: { at: number; id: string }) => {
    choose(hit.id);
    setGoal({ id: hit.id, item: hit.at - 1, n: (goal?.n ?? 0) + 1 });
  };
  const states = useMemo(() => bytesOf(graph.map ?? ''), [graph.map]);
  // failed are the boxes or tasks that F goes through.
  const failed = useMemo(() => {
    if (view !== 'map') return (graph.drawing?.boxes ?? []).filter((box) => box.failed > 0 || isFailed(box.role as Role)).map((box) => ({ at: box.at, id: box.id }));
    const all: { at: number; id: string }[] = [];
    for (let i = 0; i < states.length; i++) if (isFailed(graph.roles[states[i] ?? 0] as Role)) all.push({ at: i + 1, id: '' });
    return all;
  }, [graph, view, states]);
  const nextFailed = () => {
    const now = failed.findIndex((hit) => (view === 'map' ? hit.at === (goal?.item ?? -1) + 1 : hit.id === active));
    const hit = failed[(now + 1) % Math.max(failed.length, 1)];
    if (!hit) return;
    show(hit);
    if (view === 'map') setParams({ task: String(hit.at) });
  };
  useFailedKey(nextFailed);
  const openBox = (box: Box) => {
    choose(box.id);
    if (box.rest) setParams({ id: box.id });
    else if (box.folds) {
      setGoal({ id: `${box.id}.`, item: box.at - 1, n: (goal?.n ?? 0) + 1 });
      setParams({ open: [...opened, box.id].join(','), view: view === 'list' ? 'list' : '' });
    } else setParams({ task: String(box.at) });
  };
  const acting = {
    open: openBox,
    active,
    choose,
    chosen,
    goal,
    href: (box: Box) => (box.folds || box.rest ? `${runHref(run.workflow_id)}?id=${encodeURIComponent(box.id)}` : itemHref(run.workflow_id, box.id)),
  };
  return (
    <>
      <div class="graph-tools">
        <Find path={`${runPath(run.workflow_id)}/graph${query({ open: opened.join(',') })}`} show={(hit: Found) => {
            show({ at: hit.at, id: hit.box });
            if (view === 'map') setParams({ task: String(hit.at) });
          }} what="Find a task" />
        {failed.length > 0 && (
          <button type="button" class="small" title="The next failed one: F" onClick={nextFailed}>
            Next failed <kbd>F</kbd>
          </button>
        )}
        {opened.map((id) => (
          <button key={id} type="button" class="chip on" aria-label={`Fold ${id}`} onClick={() => setParams({ open: opened.filter((one) => one !== id).join(',') })}>
            {id} ×
          </button>
        ))}
        <Counted of={countsOf(graph)} />
      </div>
      {view === 'graph' && graph.drawing && <Picture drawing={graph.drawing} label={`Graph of ${plural(graph.tasks, 'task')}`} acting={acting} />}
      {view === 'list' && graph.drawing && <List drawing={graph.drawing} label={`List of ${plural(graph.drawing.boxes.length, 'box', 'boxes')}`} acting={acting} />}
      {view === 'map' && <TaskMap run={run} graph={graph} states={states} chosen={chosen} goal={goal} />}
      <p class="graph-note">
        <span>
          <i class="line critical" aria-hidden="true" /> critical path
        </span>
        <span>
          <i class="line blocked" aria-hidden="true" /> blocked by a failure
        </span>
        <span class="optional full">Drag pans · Ctrl wheel or + − zooms · 0 shows all · F next failed</span>
      </p>
    </>
  );
}

const countsOf = ({ counts, states, roles }: RunGraph) =>
  states
    .map((state, i) => ({ state, role: (roles[i] ?? 'unknown') as Role, n: counts[state] ?? 0 }))
    .filter(({ n }) => n > 0)
    .sort((a, b) => loudness(b.role) - loudness(a.role));

// pathMoves is the delay in milliseconds after which the critical path of an open run is read again.
const pathMoves = 60_000;

// TaskMap has a cell per task, in columns by their layer.
function TaskMap({ run, graph, states, chosen, goal }: { run: Snapshot; graph: RunGraph; states: Uint8Array; chosen: number; goal: { item: number; n: number } | undefined }) {
  const path = `${runPath(run.workflow_id)}/graph?shape=true`;
  const open = isOpen(run);
  const found = useQuery<RunGraph, Error>({
    queryKey: [path, graph.tasks, open], // It is read again at the end.
    queryFn: ({ signal }: { signal: AbortSignal }) => get<RunGraph>(path, signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: open && pathMoves,
    placeholderData: (before: unknown, query: { queryKey: unknown[] } | undefined) => (query?.queryKey[0] === path ? before : undefined),
  } as never);
  const [active, choose] = useState<number>();
  const shape = found.data?.shape;
  const height = 420;
  const places = useMemo(() => {
    if (!shape) return undefined;
    const began = performance.now();
    const laid = layered(numbersOf(shape.layers), innerWidth < 700 ? 0.9 : 1.9, shape.lines ? numbersOf(shape.lines) : undefined, shape.critical ?? undefined);
    performance.measure('map-layout', { start: began, end: performance.now() });
    return laid;
  }, [shape]);
  useEffect(() => {
    if (chosen > 0) choose(chosen - 1);
  }, [chosen]);
  const name = (item: number) => shape?.names?.[item] ?? `Task ${(item + 1).toLocaleString('en')}`;
  const said = (item: number) => spoken(graph.states[states[item] ?? 0] ?? '');
  const at = active ?? (chosen > 0 ? chosen - 1 : undefined);
  return (
    <Loaded of={found} what="The map">
      {() =>
        places && places.x.length === states.length ? (
          <>
            <Cells
              places={places}
              states={states}
              roles={graph.roles as Role[]}
              label={`Map of ${plural(states.length, 'task')} by their layers and states. Choose one with the arrow keys.`}
              height={height}
              active={at}
              choose={(item) => {
                choose(item);
                setParams({ task: String(item + 1) });
              }}
              open={(item) => setParams({ task: String(item + 1) })}
              goal={goal}
              tell={(item) => (
                <>
                  <b>{name(item)}</b>
                  {said(item)}
                </>
              )}
            />
            <p class="graph-note" aria-live="polite">
              {at === undefined ? 'Click on a cell for its task, or choose one with the arrow keys.' : `${name(at)}: ${said(at)}`}
            </p>
          </>
        ) : (
          <Empty>Loading the map…</Empty>
        )
      }
    </Loaded>
  );
}

// Task is the selected task, with its buttons and its neighbors.
export function Task({ run, at }: { run: Snapshot; at: number }) {
  const found = useSettled<RunGraph>(`${runPath(run.workflow_id)}/graph${query({ at })}`, isOpen(run));
  return (
    <section class="chosen">
      <h2>
        {found.data?.task?.id ?? `Task ${at.toLocaleString('en')}`}
        <button type="button" class="small" aria-label="Close the task" onClick={() => setParams({ task: '' })}>
          ×
        </button>
      </h2>
      <Loaded of={found} what={`Task ${at}`}>
        {({ task, drawing, omitted }) => {
          if (!task) return null;
          const box = drawing?.boxes.find((one) => one.at === at);
          return (
            <>
              <h3>
                <a href={itemHref(run.workflow_id, task.id)}>{task.id}</a> <State word={task.state} role={box?.role as Role} />
              </h3>
              {task.error && <p class="why">{task.error}</p>}
              <p class="actions">
                {actsOnItem(task).map((act) => (
                  <Action key={act.label} {...act} />
                ))}
              </p>
              {box?.run && (
                <p>
                  Sub-DAG: <RunName id={box.run} />
                  {box.tasks > 0 && `, ${box.ended.toLocaleString('en')} of ${plural(box.tasks, 'task')} ended`}
                </p>
              )}
              {!task.standing.ended && <Explain thing={`${run.workflow_id}/${task.id}`} />}
              {drawing && <Neighbors drawing={drawing} at={at} run={run} />}
              {(omitted ?? 0) > 0 && <p class="note">{plural(omitted ?? 0, 'more task')} next to it left out.</p>}
            </>
          );
        }}
      </Loaded>
      {found.data?.task?.kind === 'dag' && <Inside run={run} task={found.data} at={at} />}
    </section>
  );
}

const most = 12;

// Neighbors are the needs of a task, and the tasks that need it.
function Neighbors({ drawing, at, run }: { drawing: NonNullable<RunGraph['drawing']>; at: number; run: Snapshot }) {
  const self = drawing.boxes.findIndex((box) => box.at === at);
  const sides: [string, Box[]][] = [
    ['Needs', drawing.edges.filter((edge) => edge.to === self).flatMap((edge) => drawing.boxes[edge.from] ?? [])],
    ['Blocks', drawing.edges.filter((edge) => edge.from === self).flatMap((edge) => drawing.boxes[edge.to] ?? [])],
  ];
  return (
    <dl class="neighbors">
      {sides.map(
        ([name, boxes]) =>
          boxes.length > 0 && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {boxes.slice(0, most).map((box) => (
                  <a key={box.id} href={itemHref(run.workflow_id, box.id)} onClick={(event) => {
                      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                      event.preventDefault();
                      setParams({ task: String(box.at) });
                    }}
                  >
                    <State word={box.state} role={box.role as Role} /> {box.id}
                  </a>
                ))}
                {boxes.length > most && <small>and {plural(boxes.length - most, 'more task')}</small>}
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

// Inside is the graph of a sub-DAG in place.
function Inside({ run, task, at }: { run: Snapshot; task: RunGraph; at: number }) {
  const child = task.drawing?.boxes.find((box) => box.at === at)?.run;
  const found = useSettled<RunGraph>(child ? `${runPath(child)}/graph` : undefined, isOpen(run));
  const [active, choose] = useState('');
  if (!child) return null;
  return (
    <Loaded of={found} what="The graph of the sub-DAG">
      {(inner) =>
        inner.drawing ? (
          <Picture
            drawing={inner.drawing}
            label={`Graph of ${child}`}
            acting={{ active, choose, chosen: 0, open: (box) => { location.hash = itemHref(child, box.id).slice(1); }, href: (box) => itemHref(child, box.id) }}
          />
        ) : (
          <p class="note">
            It has {plural(inner.tasks, 'task')}: <a href={runHref(child)}>open its page</a>.
          </p>
        )
      }
    </Loaded>
  );
}
