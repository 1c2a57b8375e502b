// NoMatch is in place of a list that its filters have emptied: what was searched, the filters, and the way back.
import { Fragment } from 'preact';
import { setParams } from '../route';

// filters are the parameters of the address, each with its name and its value.
export function NoMatch({ of, filters }: { of: string; filters: Record<string, [string, string]> }) {
  const set = Object.values(filters).filter(([, value]) => value !== '');
  return (
    <>
      {of} has{' '}
      {set.map(([name, value], i) => (
        <Fragment key={name}>
          {i > 0 && ' and '}
          {name} <code>{value}</code>
        </Fragment>
      ))}
      .{' '}
      <button type="button" onClick={() => setParams(Object.fromEntries(Object.keys(filters).map((key) => [key, ''])))}>
        Show all
      </button>
    </>
  );
}
