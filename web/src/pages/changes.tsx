// Who changed an object, with the button that puts it back.
import { Action } from '../action';
import { actOf } from '../acts/remedy';
import { query } from '../api';
import { useGet } from '../data';
import { Broken } from '../names';
import { localized, Time } from '../time';
import type { AuditEntry, AuditList } from '../types';
import { Loaded, Section, useNarrow } from '../ui';
import './changes.css';

// Back is the button that reverts an entry, or the reason why there is none.
export function Back({ entry }: { entry: AuditEntry }) {
  const { action, none } = entry.put_back ?? {};
  const narrow = useNarrow();
  if (!action)
    return none === undefined || narrow ? null : (
      <span class="faint" title={none}>
        –<span class="spoken"> {none}</span>
      </span>
    );
  const act = actOf(action);
  const effect = (
    <>
      {action.effect}
      {entry.before && <span class="names">{` It is again: ${entry.before}.`}</span>}
      {entry.before && entry.after && ` The entry changed it to: ${entry.after}.`}
    </>
  );
  return <Action {...act} effect={effect} small />;
}

const most = 5;

// WhoChanged lists the last changes by people of a job type, or of an object and those below it.
export function WhoChanged({ of }: { of: { job_type: string } | { of: string } }) {
  const filter = { kind: 'operator', ...of };
  const found = useGet<AuditList>(`/audit${query({ ...filter, limit: most })}`);
  return (
    <Section title="Who changed it" note={<a href={`#/audit${query(filter)}`}>Audit</a>}>
      <Loaded of={found} what="The audit log">
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="empty">Nobody has changed it since the audit log began.</p>
          ) : (
            <ul class="changes" aria-label="Who changed it">
              {[...entries].reverse().map((entry) => (
                <li key={entry.seq}>
                  <div>
                    <strong>{entry.actor}</strong> {entry.did} <span class="code">{entry.action}</span>{' '}
                    <small>
                      <Time at={entry.at} />
                      {entry.via && ` · ${entry.via}`}
                    </small>
                    {(entry.change || entry.detail) && (
                      <p>
                        <Broken name={localized([entry.change, entry.detail].filter(Boolean).join('; '))} />
                      </p>
                    )}
                  </div>
                  {entry.put_back?.action && <Back entry={entry} />}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}
