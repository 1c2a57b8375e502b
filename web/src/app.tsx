// The frame of all pages: navigation, the banner for a server that does not answer, zone and theme.
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask, Dialog } from './action';
import { arrive } from './arriving';
import { useConnection, useLogIn, usePerson } from './connection';
import { useGet } from './data';
import { Bar, useAge } from './design/bar';
import { listen, pages } from './keys';
import { later } from './later';
import { LogIn, meet } from './pages/login';
import { Overview } from './pages/overview';
import { arrived, keepPage, toPlace } from './place';
import { go, type Route, useRoute } from './route';
import { stream } from './stream';
import { useZone } from './time';
import type { Me, Needs } from './types';
import { Empty, Failure, Page } from './ui';

const Access = later(() => import('./pages/access').then((m) => m.Access));
const Audit = later(() => import('./pages/audit').then((m) => m.Audit));
const CalendarPage = later(() => import('./pages/calendar').then((m) => m.CalendarPage));
const Components = later(() => import('./design/components').then((m) => m.Components));
const Doctor = later(() => import('./pages/doctor').then((m) => m.Doctor));
const HandOver = later(() => import('./table/handover').then((m) => m.HandOver), false, 0);
const Heard = later(() => import('./heard').then((m) => m.Heard), false, 0);
const ItemPage = later(() => import('./pages/item').then((m) => m.ItemPage));
const JobTypes = later(() => import('./pages/jobtypes').then((m) => m.JobTypes));
const JobTypePage = later(() => import('./pages/jobtype').then((m) => m.JobTypePage));
const Locks = later(() => import('./pages/locks').then((m) => m.Locks));
const Palette = later(() => import('./palette').then((m) => m.Palette));
const PlanPage = later(() => import('./pages/plan').then((m) => m.PlanPage));
const RunPage = later(() => import('./pages/run').then((m) => m.RunPage));
const Runs = later(() => import('./pages/runs').then((m) => m.Runs));
const SubmitPage = later(() => import('./pages/submit').then((m) => m.SubmitPage));
const Workers = later(() => import('./pages/workers').then((m) => m.Workers));
const WorkerPage = later(() => import('./pages/worker').then((m) => m.WorkerPage));

function pageOf({ parts, params }: Route): ComponentChildren {
  const [first = '', second] = parts;
  switch (first) {
    case '':
      return <Overview />;
    case 'job-types':
      return second === undefined ? <JobTypes params={params} /> : <JobTypePage name={second} />;
    case 'plan':
      return <PlanPage />;
    case 'submit':
      return <SubmitPage name={second ?? ''} />;
    case 'workers':
      return second === undefined ? <Workers params={params} /> : <WorkerPage id={second} />;
    case 'runs':
      if (second === undefined) return <Runs params={params} />;
      if (parts[3] !== undefined) return <ItemPage run={second} id={parts[3]} params={params} />;
      return <RunPage id={second} params={params} />;
    case 'locks':
      return <Locks params={params} />;
    case 'calendar':
      return <CalendarPage params={params} />;
    case 'audit':
      return <Audit params={params} />;
    case 'access':
      return <Access />;
    case 'doctor':
      return <Doctor />;
    case 'design':
      return <Components />;
  }
  return (
    <Page title="No such page">
      <Empty>
        There is no page at this address. <a href="#/">Go to the overview</a>.
      </Empty>
    </Page>
  );
}

// Guarded shows its error instead of a part of a page that cannot be drawn. A new address is a new attempt.
function Guarded({ route, what = 'This page', children }: { route: Route; what?: string; children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((cause) => console.error(cause));
  useEffect(reset, [route]);
  return error ? <Failure error={error} what={`${what} cannot be drawn. Reload the page, or report this`} /> : <>{children}</>;
}

// Over holds a dialog. If it cannot be drawn, its error stands in its place. The event of a closed dialog comes later: another
// one may be open by then.
function Over({ failed, closed, children }: { failed?: () => void; closed?: () => void; children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((cause) => {
    console.error(cause);
    failed?.();
  });
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), [error]);
  if (!error) return <>{children}</>;
  const left = () => {
    closed?.();
    reset();
  };
  return (
    <dialog ref={dialog} onClose={left} aria-label="An error">
      <form method="dialog">
        <Failure error={error} what="This dialog cannot be drawn. Reload the page, or report this" />
        <div class="buttons">
          <button type="submit">Close</button>
        </div>
      </form>
    </dialog>
  );
}

export function App() {
  const asked = useLogIn();
  const person = usePerson();
  useZone(); // A new zone changes all times on the page.
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const path = route.parts.join('/');
  const first = useRef(true);
  useEffect(() => stream.watch('server', () => {}), []); // It drives the banner.
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.querySelector('h1')?.focus({ preventScroll: true }); // A screen reader then reads the new page.
    toPlace();
  }, [path]);
  useLayoutEffect(() => main.current ? arrive(main.current) : undefined, [path, asked]);
  useEffect(arrived, [route]);
  useEffect(keepPage, []);
  const [over, setOver] = useState<'search' | 'sheet'>();
  const leave = () => setOver((now) => (now === over ? undefined : now));
  useEffect(() => listen(setOver, (path) => go(`#/${path}`)), []);
  return (
    <>
      {!asked && (
        <Guarded route={route} what="The menu">
          <button type="button" class="skip" onClick={() => main.current?.focus()}>
            Skip to the page
          </button>
          <header class="nav">
            <a class="brand" href="#/">
              Roundsman
            </a>
            <button type="button" class="find i-search" title="Search, or run a command: / or Ctrl K" onClick={() => setOver('search')}>
              <span>Search</span>
              <kbd>Ctrl K</kbd>
            </button>
            <Menu current={route.parts[0] ?? ''} />
            <Who />
          </header>
          <Bar />
        </Guarded>
      )}
      <div class="notes">
        <Banner />
        {!asked && (
          <Guarded route={route} what="A note">
            <HandOver route={route} />
            <Heard />
          </Guarded>
        )}
      </div>
      <main ref={main} id="main" class={asked ? 'outside' : undefined} tabIndex={-1}>
        {asked ? <LogIn /> : <Guarded key={`${person} ${path}`} route={route}>{pageOf(route)}</Guarded>}
      </main>
      {!asked && (
        <Over failed={() => ask(undefined)}>
          <Dialog page={path} />
        </Over>
      )}
      {!asked && over && (
        <Over key={over} closed={leave}>
          <Palette sheet={over === 'sheet'} close={leave} />
        </Over>
      )}
    </>
  );
}

function Menu({ current }: { current: string }) {
  const count = useGet<Needs>('/needs').data?.total ?? 0;
  const menuOf = useRef<HTMLElement>(null);
  useEffect(() => {
    // A narrow screen shows only a part of the menu.
    menuOf.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav class="menu" aria-label="Pages" ref={menuOf}>
      {pages.map(([path, name, sign, group]) => (
        <Fragment key={path}>
          {group && <h2 aria-hidden="true">{group}</h2>}
          <a class={`i-${sign}`} title={name} href={`#/${path}`} aria-current={path === current ? 'page' : undefined}>
            {name}
            {path === '' && count > 0 && <span class="badge">{count}</span>}
          </a>
        </Fragment>
      ))}
    </nav>
  );
}

function Who() {
  const me = useGet<Me>('/me', false).data;
  useLayoutEffect(() => me && meet(me), [me]);
  return me && me.auth !== 'none' ? <p class="who">{me.name}</p> : null;
}

function Banner() {
  const { lost, why } = useConnection();
  const age = useAge();
  return (
    <div aria-live="assertive">
      {lost && (
        <p class="banner">
          {why} Running jobs continue. What you see is as of <span aria-live="off">{age}</span>. The console tries again each
          second; what you typed stays.
        </p>
      )}
    </div>
  );
}
