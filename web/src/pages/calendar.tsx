// The instants of the next seven days and the outcomes of the last seven.
import { Problem, query } from '../api';
import { useGet } from '../data';
import { isFailure, roleOf, spoken } from '../design/state';
import { Coded, explained } from '../explain';
import { later } from '../later';
import { RunName } from '../names';
import { href, hrefWith, runHref, setParams } from '../route';
import { Rows } from '../table/rows';
import { brief, dayAround, dayOf, partsOf, span, Time, Took, useTold, useZone } from '../time';
import { chosenTime, isIn, paramsOf } from '../timeline/brush';
import type { View } from '../timeline/layout';
import type { Day, Forecast, ForecastTick, Ledger, LedgerTick } from '../types';
import { Choice, Filters, Find, type Head, Loaded, Page, Section, State } from '../ui';
import { counted, plural, upper } from '../words';
import './calendar.css';

const Ticks = later(() => import('../timeline/ticks').then((m) => m.Ticks));

export function CalendarPage({ params }: { params: URLSearchParams }) {
  const past = params.get('view') === 'past';
  const type = params.get('type') ?? '';
  const dropped = params.get('show') === 'dropped';
  const coming = useCalendar<Forecast>('forecast', type, undefined, !past).found;
  const ledger = useCalendar<Ledger>('ledger', type, undefined, past).found;
  const next = useTold((now) => String((coming.data?.ticks ?? []).findIndex((tick) => !isDropped(tick) && Date.parse(tick.at) >= now)));
  return (
    <Page title="Calendar" head={past ? headOfPast(ledger.data) : headOf(coming.data, coming.data?.ticks[Number(next)])}>
      <Filters set={dropped || type !== ''}>
        <Choice
          label="Days"
          value={past ? 'past' : ''}
          of={[
            ['', 'the next seven'],
            ['past', 'the last seven'],
          ]}
          set={(value) => setParams({ view: value, since: '', until: '', sort: '', zoom: '' })}
        />
        <Choice
          label="Instants"
          value={dropped ? 'dropped' : ''}
          of={[
            ['', 'all'],
            ['dropped', 'skipped or missed'],
          ]}
          set={(value) => setParams({ show: value })}
        />
        <Find label="Job type" value={type} set={(value) => setParams({ type: value })} />
      </Filters>
      {past ? <Past type={type} dropped={dropped} params={params} /> : <Coming type={type} dropped={dropped} params={params} />}
    </Page>
  );
}

const calendarOf = (of: string, type: string, zone: string, view?: View) => `/${of}${query({ job_type: type, limit: 10000, zone, ...(view && paramsOf(view)) })}`;

// useCalendar reads the instants with the days of the chosen zone. Of a zone that the server does not know, the days are
// those of UTC.
function useCalendar<W>(of: string, type: string, view?: View, wanted = true) {
  const zone = useZone();
  const own = useGet<W>(wanted ? calendarOf(of, type, zone, view) : undefined);
  const unknown = own.error instanceof Problem && own.error.status === 422;
  const utc = useGet<W>(unknown ? calendarOf(of, type, 'UTC', view) : undefined);
  return { found: unknown ? utc : own, unknown: unknown ? zone : '' };
}

// useWeek returns a week, and its list: that of the chosen time if the week has more instants than are read.
function useWeek<W extends { ticks: Tick[]; more?: number }>(of: string, type: string, params: URLSearchParams) {
  const { found: week, unknown } = useCalendar<W>(of, type);
  const { view } = chosenTime(params);
  const part = Boolean(view && week.data?.more);
  const chosen = useCalendar<W>(of, type, view, part).found;
  return { week, unknown, chosen: part ? chosen : undefined, list: (part && chosen.data) || week.data };
}

const Unknown = ({ zone }: { zone: string }) => <>{zone !== '' && <p class="note">The server does not know the zone {zone}: a bar is a day of UTC.</p>}</>;

// headOf names the next run.
function headOf(forecast: Forecast | undefined, next: ForecastTick | undefined): Head {
  if (!forecast) return {};
  if (!next) return { state: { word: 'nothing due', role: 'plan' }, cause: 'No run begins within seven days.' };
  return {
    state: { word: plural(forecast.job_types.reduce((sum, one) => sum + one.runs, 0), 'run'), role: 'plan' },
    age: 'in seven days',
    cause: (
      <>
        Next: {jobType(next)} <Time at={next.at} />
      </>
    ),
  };
}

// headOfPast counts the failures and names the newest one.
function headOfPast(ledger: Ledger | undefined): Head {
  if (!ledger) return {};
  const newest = ledger.ticks.find((tick) => isFailure(roleOf(tick.outcome ?? tick.state)));
  const ran = ledger.counts.ran ?? 0;
  return {
    state: ledger.failed > 0 ? { word: `${ledger.failed.toLocaleString('en')} failed or missed`, role: 'failed' } : { word: `${ran.toLocaleString('en')} ran`, role: ran > 0 ? 'done' : 'plan' },
    age: 'in seven days',
    cause: newest ? (
      <>
        The last one: {newest.run ? <RunName id={newest.run} /> : jobType(newest)}, {spoken(newest.outcome ?? newest.state)} <Time at={newest.at} />
      </>
    ) : (
      ledger.failed === 0 && 'Nothing failed, and nothing was missed.'
    ),
  };
}

// Tick is an instant of the forecast or of the ledger.
type Tick = ForecastTick | LedgerTick;

const isDropped = (tick: Tick) => tick.state === 'skipped' || tick.state === 'missed';

// timeOf is the time of the run of an instant, or when it was due. An open run has no end.
function timeOf(tick: Tick): [from: string, to: string | undefined] {
  if ('started_at' in tick && tick.started_at) return [tick.started_at, tick.ended_at];
  if ('begins_at' in tick && tick.begins_at) return [tick.begins_at, tick.ends_at ?? tick.begins_at];
  return [tick.at, tick.at];
}

const jobType = (tick: Tick) => <a href={href('job-types', tick.job_type)}>{tick.job_type}</a>;
const idOf = (tick: Tick) => `${tick.job_type} ${tick.at}`;

const ofType = { sort: 'job_type', value: (tick: Tick) => tick.job_type };
const ofState = { sort: 'state', value: (tick: Tick) => ('outcome' in tick && tick.outcome) || tick.state };
const ofTime = { sort: 'due', value: (tick: Tick) => Date.parse(tick.at) };
const lengthOf = (from = '', to = '') => Date.parse(to) - Date.parse(from);

function Coming({ type, dropped, params }: { type: string; dropped: boolean; params: URLSearchParams }) {
  const by = params.get('sort') ?? '';
  const { week, unknown: zone, chosen, list } = useWeek<Forecast>('forecast', type, params);
  return (
    <Loaded of={week} what="The forecast">
      {(forecast) => {
        const { ticks, more } = list ?? forecast;
        const rows = ticks.filter((tick) => (!dropped || isDropped(tick)) && isIn(params, ...timeOf(tick)));
        const unknown = forecast.job_types.filter((t) => t.of === 0 && t.due > 0);
        const total = forecast.job_types.reduce((sum, t) => ({ runs: sum.runs + t.runs, skipped: sum.skipped + t.skipped }), {
          runs: 0,
          skipped: 0,
        });
        return (
          <>
            {forecast.ticks.length > 0 && (
              <Section title="Over time">
                <Unknown zone={zone} />
                <Days of={forecast.days} zone={zone && 'UTC'} />
                <Ticks ticks={forecast.ticks} past={false} whole={{ from: Date.parse(forecast.as_of), to: Date.parse(forecast.ticks.at(-1)?.at ?? forecast.until) + 3_600_000 }} brush={chosenTime(params)} />
              </Section>
            )}
            <Section title="The next seven days" note={`${plural(total.runs, 'run')}, ${total.skipped.toLocaleString('en')} skipped`}>
              {unknown.length > 0 && (
                <p class="note">The run time of {unknown.map((t) => t.job_type).join(', ')} is not known yet; runs count as short.</p>
              )}
              <Cut more={more} which="later" />
              <Rows
                label="Forecast"
                rows={rows}
                note={counted(rows.length, plural(rows.length, 'instant'), { partial: Boolean(more), by, first: 'soonest' })}
                sorting={{ by, set: (sort) => setParams({ sort }) }}
                id={idOf}
                {...(chosen && { of: chosen })}
                empty={none(params, dropped ? 'will be skipped' : 'is due', 'within seven days')}
                columns={[
                  { name: 'Job type', show: jobType, ...ofType },
                  {
                    name: 'Will',
                    show: (tick) => (
                      <State word={tick.state === 'runs' ? 'run' : tick.state} role={tick.state === 'runs' ? 'plan' : 'skipped'} />
                    ),
                    second: true,
                    ...ofState,
                  },
                  { name: 'Due', show: (tick) => <Due at={tick.at} />, second: true, ...ofTime },
                  { name: 'Begins', show: (tick) => tick.begins_at && late(tick), optional: true, sort: 'begins', value: (tick) => Date.parse(tick.begins_at ?? '') },
                  { name: 'Takes', show: (tick) => takes(tick, unknown.some((t) => t.job_type === tick.job_type)), number: true, optional: true, second: true, sort: 'took', value: (tick) => lengthOf(tick.begins_at, tick.ends_at) },
                  { name: 'Because', show: (tick) => <Because of={tick} />, wide: true, second: true },
                  ...(rows.some((tick) => tick.object) ? [{ name: 'Of', show: (tick: ForecastTick) => (tick.run ? <RunName id={tick.run} row /> : tick.object), width: '14rem', optional: true }] : []),
                ]}
              />
            </Section>
          </>
        );
      }}
    </Loaded>
  );
}

// none is the text of a list without instants, with a way out of its filter.
function none(params: URLSearchParams, what: string, week: string) {
  const type = params.get('type') ?? '';
  const { view } = chosenTime(params);
  const when = view ? within(view) : week;
  if (type === '' && !view) return `Nothing ${what} ${when}.`;
  return (
    <>
      Nothing {type !== '' && <>of <code>{type}</code> </>}{what} {when}.{' '}
      <button type="button" class="small" onClick={() => setParams({ type: '', since: '', until: '' })}>
        Show all
      </button>
    </>
  );
}

// within is a chosen time in a sentence. A whole day has its name.
function within({ from, to }: View): string {
  const [first, last] = [new Date(from), new Date(to)];
  const day = dayAround(first.toISOString());
  return day.from === from && day.to === to ? `on ${dayOf(first)}` : `between ${brief(first)} and ${brief(last)}`;
}

// Due is an instant of a schedule, which may have several in a minute.
function Due({ at }: { at: string }) {
  const { second } = partsOf(new Date(at));
  return (
    <span>
      <Time at={at} relative={false} />
      {second !== '00' && `:${second}`}
    </span>
  );
}

// Because is why an instant has no run, or a late one, in words and with the code, or its conditions.
function Because({ of }: { of: Tick }) {
  const text = [of.text, ...(('if' in of && of.if) || []).map((one) => one.text ?? one.code)].filter(Boolean).join('; ');
  if (!of.code && !text) return null;
  return (
    <span title={`${text} ${of.code ?? ''}`.trim()}>
      {upper(text)} {of.code && <Coded code={of.code} {...explained(of)} />}
    </span>
  );
}

// Cut shows that the list and the bars are incomplete.
function Cut({ more, which }: { more: number | undefined; which: string }) {
  if (!more) return null;
  return <p class="note">{plural(more, `${which} instant`)} not shown: choose a job type to see more.</p>;
}

function takes(tick: ForecastTick, unknown: boolean) {
  if (!tick.ends_at || !tick.begins_at) return '';
  return unknown ? <span class="faint">not known</span> : span(Date.parse(tick.ends_at) - Date.parse(tick.begins_at));
}

function late(tick: ForecastTick) {
  const by = Date.parse(tick.begins_at ?? '') - Date.parse(tick.at);
  return by < 1000 ? 'at once' : `${span(by)} later`;
}

// spanOf is from the first instant to now, with some room.
function spanOf(ledger: Ledger) {
  const [from, to] = [Date.parse(ledger.ticks.at(-1)?.at ?? ledger.from), Date.parse(ledger.as_of)];
  const room = Math.max((to - from) * 0.02, 60_000);
  return { from: from - room, to: to + room };
}

function Past({ type, dropped, params }: { type: string; dropped: boolean; params: URLSearchParams }) {
  const by = params.get('sort') ?? '';
  const { week, unknown: zone, chosen, list } = useWeek<Ledger>('ledger', type, params);
  return (
    <Loaded of={week} what="The ledger">
      {(ledger) => {
        const { ticks, more } = list ?? ledger;
        const rows = ticks.filter((tick) => (!dropped || isDropped(tick)) && isIn(params, ...timeOf(tick)));
        const counts = Object.entries(ledger.counts).map(([state, n]) => `${n.toLocaleString('en')} ${state}`);
        return (
          <>
            {ledger.ticks.length > 0 && (
              <Section title="Over time">
                <Unknown zone={zone} />
                <Days of={ledger.days} zone={zone && 'UTC'} past />
                <Ticks ticks={ledger.ticks} past whole={spanOf(ledger)} brush={chosenTime(params)} />
              </Section>
            )}
            <Section title="The last seven days" note={counts.join(', ') || undefined}>
              <Cut more={more} which="earlier" />
              {ledger.incomplete && (
                <p class="note">
                  There are more runs than are read: the ledger begins <Time at={ledger.from} relative={false} />. Choose a job type to see more.
                </p>
              )}
              <Rows
                label="Ledger"
                rows={rows}
                note={counted(rows.length, plural(rows.length, 'instant'), { partial: Boolean(more || ledger.incomplete), by })}
                sorting={{ by, set: (sort) => setParams({ sort }) }}
                id={idOf}
                {...(chosen && { of: chosen })}
                empty={none(params, dropped ? 'was skipped or missed' : 'was due', 'in the last seven days')}
                columns={[
                  { name: 'Job type', show: jobType, ...ofType },
                  { name: 'State', show: (tick) => <State word={tick.outcome ?? tick.state} />, second: true, ...ofState },
                  { name: 'Due', show: (tick) => (tick.run ? <a href={runHref(tick.run)}><Due at={tick.at} /></a> : <Due at={tick.at} />), second: true, ...ofTime },
                  { name: 'Took', show: (tick) => tick.started_at && <Took from={tick.started_at} to={tick.ended_at} />, number: true, second: true, sort: 'took', value: (tick) => lengthOf(tick.started_at, tick.ended_at ?? ledger.as_of) },
                  { name: 'Run', show: (tick) => tick.run && <RunName id={tick.run} row />, width: '20rem', optional: true },
                  { name: 'Because', show: (tick) => <Because of={tick} />, wide: true, second: true },
                ]}
              />
            </Section>
          </>
        );
      }}
    </Loaded>
  );
}

// Days has one bar per day: ticks that run and ticks that do not. It leads to the instants of the day.
function Days({ of, zone, past }: { of: Day[] | null | undefined; zone: string; past?: boolean }) {
  const days = of ?? [];
  if (days.length < 2) return null; // The head of the list has the numbers of one day.
  const most = Math.max(...days.map((d) => d.ran + d.skipped + d.missed));
  const height = (n: number) => (n / most) * 60;
  return (
    <ul class={past ? 'days past' : 'days'} aria-label="Instants a day">
      {days.map((d) => (
        <li key={d.from}>
          <a href={hrefWith(paramsOf({ from: Date.parse(d.from), to: Date.parse(d.to) - 1 }))}>
            <svg viewBox="0 0 40 60" preserveAspectRatio="none" aria-hidden="true">
              <rect class="ran" x="0" width="40" y={60 - height(d.ran)} height={height(d.ran)} />
              <rect class="dropped" x="0" width="40" y={60 - height(d.ran + d.skipped)} height={height(d.skipped)} />
              <rect class="missed" x="0" width="40" y={60 - height(d.ran + d.skipped + d.missed)} height={height(d.missed)} />
            </svg>
            <span>{dayOf(d.from, zone || undefined)}</span> <small>{plural(d.ran, 'run')}</small> {d.skipped > 0 && <small>{d.skipped.toLocaleString('en')} skipped</small>}{' '}
            {d.missed > 0 && <small>{d.missed.toLocaleString('en')} missed</small>}
          </a>
        </li>
      ))}
    </ul>
  );
}
