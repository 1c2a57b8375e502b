// Explain shows why something does not continue, with the remedies.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Act, ask } from './action';
import { segment } from './api';
import { login } from './connection';
import { useGet } from './data';
import { lookOf, type Mention, RunName, runName, Said } from './names';
import { Remedies } from './remedies';
import { href } from './route';
import { Time, Took } from './time';
import type { Explanation, Reason } from './types';
import { Awaited, Empty, Loaded, Section, State } from './ui';

const path = (thing: string) => `/explain?thing=${segment(thing)}`;

// Why is a card with the reasons, except the one in the header, if there are any. Without one the header of the page
// suffices, as it does for the time at which a healthy job type is due.
export function Why({ thing, title, but }: { thing: string; title: string; but?: Reason | undefined }) {
  const found = useGet<Explanation>(path(thing));
  if (found.isPending) return <Awaited />;
  const reasons = (found.data?.reasons ?? []).filter((reason) => reason !== but);
  if (found.data && reasons.every(({ code }) => code === 'NOT_DUE_UNTIL')) return null;
  return (
    <Section title={title}>
      <Loaded of={found} what="The explanation">
        {(explanation) => <Explained of={{ ...explanation, reasons }} />}
      </Loaded>
    </Section>
  );
}

// useOwn returns the reason of a thing for the header of its page, and whether it is not known yet. The reasons of its runs
// are in the card.
export function useOwn(thing: string, is: (reason: Reason) => boolean): { own: Reason | undefined; isPending: boolean } {
  const { data, isPending } = useGet<Explanation>(path(thing));
  return { own: data?.reasons?.find((reason) => !reason.of && is(reason)), isPending };
}

// Because is the reason in a header with the buttons acts. The header shows its age.
export const Because = ({ reason, name, acts }: { reason: Reason; name: string; acts: Act[] }) => (
  <div class={isShown(reason, { name }) ? undefined : lookOf(reason)}>
    <ReasonLine reason={reason} thing={{ name }} beside={acts.map(({ label }) => label)} />
  </div>
);

export function Explain({ thing }: { thing: string }) {
  const found = useGet<Explanation>(path(thing));
  return (
    <Loaded of={found} what="The explanation">
      {(explanation) => <Explained of={explanation} />}
    </Loaded>
  );
}

// Coded is a code in a line or a cell. It opens a dialog with the buttons, for which a cell has no room.
export const Coded = ({ code, thing, name }: { code: string; thing: string; name: string }) => (
  <button type="button" class="code" title={`Why ${name} does not continue, and what helps`} onClick={() => ask({ show: (close) => <Helped thing={thing} name={name} close={close} />, holds: () => false })}>
    {code}
  </button>
);

function Helped({ thing, name, close }: { thing: string; name: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      if (!login.snapshot()) shown?.close(); // The dialog of a remedy takes its place, and gives the focus back to where it was.
    };
  }, []);
  return (
    <dialog ref={dialog} onClose={close} aria-label={`${name} now`}>
      <form method="dialog">
        <h2>{name} now</h2>
        <Explain thing={thing} />
        <div class="buttons">
          <button type="submit">Close</button>
        </div>
      </form>
    </dialog>
  );
}

// explained returns the subject of an instant's code: the run of the instant, or the job type.
export const explained = ({ job_type, run, outcome }: { job_type: string; run?: string | undefined; outcome?: string | undefined }) =>
  run && outcome ? { thing: run, name: runName(run) } : { thing: job_type, name: job_type };

function Explained({ of }: { of: Explanation }) {
  const reasons = of.reasons ?? [];
  if (reasons.length === 0) {
    return (
      <>
        <Empty>
          {of.nothing}
          {of.ended?.detail && <>: {of.ended.outcome === 'skipped' ? <Said text={of.ended.detail} runs={of.ended.runs} /> : of.ended.detail}</>}.
        </Empty>
        <Remedies of={of.ended?.actions} />
      </>
    );
  }
  return (
    <>
      <ul class="reasons">
        {reasons.map((reason) => (
          <li key={`${reason.code}${reason.of}${reason.object}`} class={reason.of || isShown(reason, of) ? '' : lookOf(reason)}>
            <ReasonLine reason={reason} thing={of} />
          </li>
        ))}
      </ul>
      <Chain of={of.chain ?? []} />
    </>
  );
}

type Link = NonNullable<Explanation['chain']>[number];

// Chain leads from the first holder to the root, which has the buttons.
function Chain({ of }: { of: Link[] }) {
  if (of.length === 0) return null;
  return (
    <ol class="chain" aria-label="Who is in the way">
      {of.map((link, i) => (
        <li key={`${link.run} ${link.item}`} class={i === of.length - 1 ? 'root' : undefined}>
          <strong>{i === of.length - 1 ? 'Root' : 'Then'}</strong> <RunName id={link.run} item={link.item} /> has{' '}
          <code>{link.holds}</code>
          {link.state && (
            <>
              {' '}
              <State word={link.state} />
            </>
          )}
          <p class="why">
            {link.because && <span class="code">{link.because} </span>}
            <Said text={link.detail ?? ''} runs={link.runs} />
          </p>
          <Remedies of={link.actions} actor={link.actor} />
        </li>
      ))}
    </ol>
  );
}

function ReasonLine({ reason, thing, beside }: { reason: Reason; thing: Pick<Explanation, 'name'>; beside?: string[] }) {
  return (
    <>
      {reason.of && (
        <>
          <Names text={reason.of} of={reason.of_run && [reason.of_run]} />
          {': '}
        </>
      )}
      {reason.object && isShown(reason, thing) && (
        <>
          <Names text={reason.object} of={reason.targets} />
          {': '}
        </>
      )}
      <span class="detail"><Said text={reason.detail} runs={reason.runs} /></span> <span class="state code">{reason.code}</span>{' '}
      {reason.since && !beside && (
        <small>
          for <Took from={reason.since} />
        </small>
      )}{' '}
      {reason.until && (
        <small>
          until <Time at={reason.until} relative={false} />
        </small>
      )}
      <Remedies of={reason.actions} actor={reason.actor} text={reason.remedy} hint={reason.hint} beside={beside} />
    </>
  );
}

// isShown reports whether the object of a reason stands before its detail: it has a link, or neither the page nor the
// detail names it.
function isShown({ object, targets, named }: Reason, thing: Pick<Explanation, 'name'>): boolean {
  if (!object || object === thing.name) return false;
  return targets !== undefined || !(named || thing.name.endsWith(`/${object}`));
}

// linkOfThing returns the page of an explained thing that is no run.
export function linkOfThing(kind: string, name: string): string | undefined {
  if (kind === 'job type') return href('job-types', name);
  if (kind === 'worker') return href('workers', name);
  return undefined;
}

// Names links the things that the API names in a text. Without one the text may be a key, and stays as it is.
const Names = ({ text, of }: { text: string; of: Mention[] | undefined }) => (of ? <Said text={text} runs={of} /> : <span>{text}</span>);
