import { useGet } from '../data';
import type { Me } from '../types';
import { Facts, Loaded, Page, Section, Table } from '../ui';
import { logOut } from './login';

const known: Record<string, string> = {
  none: 'nobody logs in here: everybody who reaches this address is you',
  key: 'by an API key',
  oidc: 'by a token of the identity provider',
  session: 'by a log-in in this browser',
  certificate: 'by a client certificate',
};

export function Access() {
  const found = useGet<Me>('/me', false);
  return (
    <Page
      title="Access"
      actions={
        (found.data?.auth === 'session' || found.data?.auth === 'key') && (
          <button type="button" onClick={logOut}>
            Log out
          </button>
        )
      }
    >
      <Loaded of={found} what="Who you are">
        {(me) => (
          <>
            <Section title="You">
              <Facts
                of={[
                  ['Name', me.name],
                  ['Known', known[me.auth] ?? me.auth],
                  ['Key', me.key],
                  ['Address', me.address],
                ]}
              />
            </Section>
            <Section title="What you may do">
              <Table
                label="Your roles"
                rows={me.grants}
                id={(grant) => `${grant.role}${grant.job_types}${grant.dags}`}
                empty="Nothing: ask an administrator for a role."
                columns={[
                  { name: 'Role', show: (grant) => grant.role },
                  { name: 'Job types', show: (grant) => (grant.job_types ?? ['all']).join(', ') },
                  { name: 'DAGs', show: (grant) => (grant.dags ?? ['all']).join(', ') },
                  { name: 'Permissions', show: (grant) => (grant.permissions ?? []).map((p) => (p === '* *' ? 'everything' : p)).join(', '), wide: true },
                ]}
              />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
