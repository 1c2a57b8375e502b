// Explain shows why something does not continue, with the remedies.

import { segment } from './api';
import { useGet } from './data';
import { isRun, lookOf, Named, RunName, Said } from './names';
import { Remedies } from './remedies';
import { href, runHref } from './route';
import { Time } from './time';
import type { Explanation, Reason } from './types';
import { Empty, Loaded, State } from './ui';

export function Explain({ thing }: { thing: string }) {
  const found = useGet<Explanation>(`/explain?thing=${segment(thing)}`);
  return (
    <Loaded of={found} what="The explanation">
      {(explanation) => {
        const reasons = explanation.reasons ?? [];
        if (reasons.length === 0) {
          return (
            <>
              <Empty>
                {explanation.nothing}
                {explanation.ended?.detail && <>: {explanation.ended.outcome === 'skipped' ? <Said text={explanation.ended.detail} runs={explanation.ended.runs} /> : explanation.ended.detail}</>}.
              </Empty>
              <Remedies of={explanation.ended?.actions} />
            </>
          );
        }
        return (
          <>
            <ul class="reasons">
              {reasons.map((reason) => (
                <li key={`${reason.code}${reason.of}${reason.object}`} class={reason.of || isShown(reason, explanation) ? '' : lookOf(reason)}>
                  <ReasonLine reason={reason} thing={explanation} />
                </li>
              ))}
            </ul>
            <Chain of={explanation.chain ?? []} />
          </>
        );
      }}
    </Loaded>
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

function ReasonLine({ reason, thing }: { reason: Reason; thing: Pick<Explanation, 'name'> }) {
  return (
    <>
      {reason.of && (
        <>
          <ObjectLink code="" object={reason.of} />
          {': '}
        </>
      )}
      {reason.object && isShown(reason, thing) && (
        <>
          <ObjectLink code={reason.code} object={reason.object} />
          {': '}
        </>
      )}
      <span class="detail"><Said text={reason.detail} runs={reason.runs} /></span> <span class="state code">{reason.code}</span>{' '}
      {reason.since && (
        <small>
          since <Time at={reason.since} />
        </small>
      )}{' '}
      {reason.until && (
        <small>
          until <Time at={reason.until} relative={false} />
        </small>
      )}
      <Remedies of={reason.actions} actor={reason.actor} text={reason.remedy} hint={reason.hint} />
    </>
  );
}

// isShown reports whether the object of a reason stands before its detail: it has a link, or neither the page nor the
// detail names it.
function isShown({ code, object, named }: Reason, thing: Pick<Explanation, 'name'>): boolean {
  if (!object) return false;
  return linkOf(code, object) !== undefined || !(named || object === thing.name || thing.name.endsWith(`/${object}`));
}

function linkOf(code: string, object: string): string | undefined {
  if (isRun(object)) return runHref(object);
  if (code.startsWith('WORKER') || code === 'PER_WORKER_LIMIT' || code === 'LOSES_WORKERS') return href('workers', object);
  if (code === 'LANE_BUSY' || code === 'RESOURCES_PENDING' || code === 'POOL_FULL' || code === 'CLAIM_HELD') return href('locks');
  return undefined;
}

// linkOfThing returns the page of an explained thing.
export function linkOfThing(kind: string, name: string): string | undefined {
  if (kind === 'job type') return href('job-types', name);
  if (kind === 'worker') return href('workers', name);
  return linkOf('', name);
}

// ObjectLink links the object of a code.
function ObjectLink({ code, object }: { code: string; object: string }) {
  if (isRun(object)) return <Named object={object} />;
  const link = linkOf(code, object);
  return link ? <a href={link}>{object}</a> : <span>{object}</span>;
}
