// The files that an attempt has left.
import { base, query } from '../api';
import { useGet } from '../data';
import { itemPath } from '../runs';
import type { Artifact, Artifacts as Listed, ItemDetail } from '../types';
import { Awaited, Failure, Section, Table } from '../ui';
import { size } from './output';

export function Artifacts({ item, attempt }: { item: ItemDetail; attempt: number }) {
  const path = `${itemPath(item.run.workflow_id, item.id)}/artifacts`;
  const { data, error, isPending } = useGet<Listed>(`${path}${query({ attempt: attempt || undefined })}`);
  if (error) return <Section title="Artifacts"><Failure error={error} what="The artifacts cannot be listed" /></Section>;
  if (isPending) return <Awaited />;
  if (!data?.artifacts?.length) return null;
  const link = (name: string) => `${base}${path}/content${query({ name, attempt: data.attempt })}`;
  return (
    <Section title="Artifacts">
      <Table
        label={`Artifacts of ${item.id}`}
        rows={data.artifacts}
        id={(one: Artifact) => one.name}
        empty="None."
        columns={[
          { name: 'Name', show: (one: Artifact) => (one.error ? one.name : <a href={link(one.name)} download>{one.name}</a>), wide: true },
          { name: 'Size', show: (one: Artifact) => !one.error && size(one.size), number: true },
          { name: 'Not kept', show: (one: Artifact) => one.error },
        ]}
      />
    </Section>
  );
}
