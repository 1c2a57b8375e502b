// Who the caller is, the API keys, and the roles and bindings of the configuration.
import { useState } from 'preact/hooks';
import { Action, Line } from '../action';
import { createKey, endSessions, revokeKey, rotateKey } from '../acts/keys';
import { Problem, query } from '../api';
import { clock } from '../clock';
import { useGet } from '../data';
import { Time } from '../time';
import type { Access as AccessShown, CreatedKey, Key, KeyList, Me } from '../types';
import { Awaited, Empty, Facts, Filters, Find, Loaded, Page, Section, State, Table } from '../ui';
import { plural } from '../words';
import { logOut } from './login';
import './access.css';

const known: Record<string, string> = {
  none: 'nobody logs in here: everybody who reaches this address is you',
  key: 'by an API key',
  oidc: 'by a token of the identity provider',
  session: 'by a log-in in this browser',
  certificate: 'by a client certificate',
};

const all = 'everything';
// May has the verbs of permissions, each with its objects.
function May({ of }: { of: string[] | null | undefined }) {
  const verbs = Map.groupBy((of ?? []).map((one) => one.split(' ')), ([verb = '']) => verb);
  return (
    <>
      {[...verbs].map(([verb, on]) => (
        <div key={verb}>{verb === '*' ? all : <>{verb} <span class="faint">{on.map(([, what]) => what).join(', ')}</span></>}</div>
      ))}
    </>
  );
}
const only = (globs: string[] | null | undefined) => (globs ?? ['all']).join(', ');

export function Access() {
  const found = useGet<Me>('/me', false);
  const me = found.data;
  const keys = useGet<KeyList>('/keys?limit=1000', false);
  const refused = keys.error instanceof Problem && keys.error.status === 403;
  const open = me?.auth === 'none';
  return (
    <Page
      title="Access"
      head={
        me && {
          state: open ? { word: 'open to all', role: 'person' } : { word: 'logged in', role: 'done' },
          cause: open ? 'Nobody logs in here: everybody who reaches this address may do everything. Set access.keys or access.oidc in the configuration.' : `You are ${me.name}, known ${known[me.auth] ?? me.auth}.`,
        }
      }
      actions={
        <>
          {!refused && <Create />}
          {!refused && <Action {...endSessions('')} done={() => 'The sessions are ended.'} />}
          {(me?.auth === 'session' || me?.auth === 'key') && (
            <button type="button" onClick={logOut}>
              Log out
            </button>
          )}
        </>
      }
    >
      {found.isPending && <Awaited />}
      <div class="cols">
        <div class="stack">
          {refused ? (
            <Section title="API keys">
              <Empty>Your roles do not let you see keys, roles and bindings.</Empty>
            </Section>
          ) : (
            <>
              <Keys of={keys} />
              <Roles />
            </>
          )}
        </div>
        <div class="stack">
          <Loaded of={found} what="Who you are" height={160}>
            {(me) => (
              <Section title="You" note={me.name}>
                <Facts
                  of={[
                    ['Known', me.auth === 'none' ? 'not at all' : known[me.auth]],
                    ['Key', me.key],
                    ['Address', me.address],
                  ]}
                />
                <Grants label="Your roles" of={me.grants} empty="No role: ask an administrator for one." />
              </Section>
            )}
          </Loaded>
          {!refused && <WhoMay />}
        </div>
      </div>
    </Page>
  );
}

function Create() {
  const access = useGet<AccessShown>('/access', false);
  return <Action {...createKey((access.data?.roles ?? []).map((role) => role.name))} done={(answer) => <Secret of={answer as CreatedKey} />} />;
}

function Secret({ of }: { of: CreatedKey }) {
  return (
    <>
      <p>
        The key of <strong>{of.name}</strong>, role {of.role}. Keep it: nobody can read it again.
      </p>
      <Line text={of.secret} />
    </>
  );
}

const ended = (key: Key) => Boolean(key.revoked_at) || (key.expires_at !== undefined && Date.parse(key.expires_at) <= clock());

function Keys({ of }: { of: { data: KeyList | undefined; error: unknown; isPending: boolean } }) {
  const [past, setPast] = useState(false);
  return (
    <Loaded of={of} what="The API keys" height={160}>
      {({ keys }) => {
        const valid = keys.filter((key) => !ended(key));
        const shown = past ? keys : valid;
        return (
          <Section title="API keys" note={`${plural(valid.length, 'valid key')}`}>
            {keys.length > valid.length && (
              <label class="choice">
                <input type="checkbox" checked={past} onChange={(event) => setPast(event.currentTarget.checked)} /> {keys.length - valid.length} revoked or expired
              </label>
            )}
            <Table
              label="API keys"
              stacked
              rows={[...shown].reverse()}
              id={(key) => key.id}
              empty="There is no key: create one for each program that calls."
              columns={[
                { name: 'Name', show: (key) => <strong>{key.name}</strong>, wide: true },
                {
                  name: 'Role',
                  show: (key) => (
                    <>
                      {key.role} <small>{[...(key.job_types ?? []), ...(key.dags ?? []), ...(key.handlers ?? []), ...(key.worker ? [`worker ${key.worker}`] : [])].join(', ')}</small>
                    </>
                  ),
                },
                {
                  name: 'Created',
                  show: (key) => (
                    <>
                      <Time at={key.created_at} /> by {key.created_by}
                    </>
                  ),
                  full: true,
                },
                { name: 'Last use', show: (key) => (key.last_used ? <Time at={key.last_used} /> : <span class="faint">never</span>) },
                { name: 'State', show: (key) => <KeyState of={key} /> },
                {
                  name: 'Change',
                  show: (key) =>
                    ended(key) ? null : (
                      <span class="actions">
                        <Action {...rotateKey(key)} small done={(answer) => <Secret of={answer as CreatedKey} />} /> <Action {...revokeKey(key)} small />
                      </span>
                    ),
                },
              ]}
            />
          </Section>
        );
      }}
    </Loaded>
  );
}

function KeyState({ of }: { of: Key }) {
  if (of.revoked_at)
    return (
      <>
        <State word="revoked" role="canceled" /> <Time at={of.revoked_at} /> by {of.revoked_by}
      </>
    );
  if (ended(of)) return <State word="expired" role="canceled" />;
  return (
    <>
      <State word="valid" role="done" />
      {of.expires_at && (
        <div>
          <small>
            ends <Time at={of.expires_at} />
          </small>
        </div>
      )}
    </>
  );
}

function Roles() {
  const found = useGet<AccessShown>('/access', false);
  return (
    <Loaded of={found} what="Roles and bindings" height={400}>
      {({ roles, bindings }) => (
        <>
          <Section title="Bindings" note={bindings.length > 0 ? plural(bindings.length, 'binding') : undefined}>
            <Table
              label="Bindings"
              stacked
              rows={bindings}
              id={(one) => JSON.stringify(one)}
              empty="There are none: write access.bindings in the configuration. API keys have their role by themselves."
              columns={[
                { name: 'Who', show: (one) => <strong>{one.subject ?? (one.group ? `group ${one.group}` : one.key ? `key ${one.key}` : `certificate ${one.certificate}`)}</strong>, wide: true },
                { name: 'Role', show: (one) => one.role },
                { name: 'Job types', show: (one) => only(one.job_types) },
                { name: 'DAGs', show: (one) => only(one.dags) },
                { name: 'Handlers', show: (one) => only(one.handlers) },
              ]}
            />
          </Section>
          <Section title="Roles" note={plural(roles.length, 'role')}>
            <Table
              label="Roles"
              stacked
              rows={roles}
              id={(role) => role.name}
              empty=""
              columns={[
                {
                  name: 'Role',
                  show: (role) => (
                    <>
                      <strong>{role.name}</strong>
                      {!role.built_in && <small> by the configuration</small>}
                    </>
                  ),
                },
                { name: 'May', show: (role) => <May of={role.permissions} />, wide: true },
              ]}
            />
          </Section>
        </>
      )}
    </Loaded>
  );
}

// WhoMay answers for a person or groups, by the bindings of the configuration.
function WhoMay() {
  const [who, setWho] = useState('');
  const [groups, setGroups] = useState('');
  const named = who !== '' || groups !== '';
  const found = useGet<AccessShown>(named ? `/access${query({ name: who })}${groupsOf(groups).map((one, i) => `${i === 0 && who === '' ? '?' : '&'}group=${encodeURIComponent(one)}`).join('')}` : undefined, false);
  return (
    <Section title="What may a person do?">
      <Filters set={named}>
        <Find label="Person" value={who} set={setWho} />
        <Find label="Groups" value={groups} set={setGroups} />
      </Filters>
      {named ? (
        <Loaded of={found} what="What they may do">
          {({ grants }) => <Grants label="What they may do" of={grants} empty="Nothing: no binding names this person or a group of theirs." />}
        </Loaded>
      ) : (
        <p class="note">As the identity provider names them; groups are separated by commas.</p>
      )}
    </Section>
  );
}

const groupsOf = (text: string) => text.split(',').map((one) => one.trim()).filter((one) => one !== '');

function Grants({ of, label, empty }: { of: Me['grants']; label: string; empty: string }) {
  if (of.length === 0) return <p class="note">{empty}</p>;
  return (
    <ul class="grants" aria-label={label}>
      {of.map((grant) => (
        <li key={`${grant.role}${grant.job_types}${grant.dags}${grant.handlers}`}>
          <strong>{grant.role}</strong>
          {grant.job_types && <small> job types {only(grant.job_types)}</small>}
          {grant.dags && <small> DAGs {only(grant.dags)}</small>}
          {grant.handlers && <small> handlers {only(grant.handlers)}</small>}
          <May of={grant.permissions} />
        </li>
      ))}
    </ul>
  );
}
